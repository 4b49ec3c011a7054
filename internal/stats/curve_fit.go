package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	mostChanges  = 3
	signs        = 999  // random ones of a test
	curveSamples = 999  // of an interval
	perGap       = 64   // places for a knee from one level to the next
	leastNoise   = 1e-6 // no trial is more precise than one in a million

	// How much better a knee between two levels must fit than one at a level,
	// in squares of the noise: about what a change of one more parameter
	// gains by chance in 5% of cases.
	worthMoving = 10
)

// column is a term that a change adds to the line: a step by a constant between two levels, or a bend at a place.
type column struct {
	step  bool
	after int     // of a step: the first level behind it
	place float64 // of a bend: its place, in the logarithm of the factor
}

// fitter fits curves to medians of logarithms.
type fitter struct {
	x, u    []float64   // levels, and their logarithms
	values  [][]float64 // logarithms of the trials of each level, ascending
	medians []float64   // of values
	root    []float64   // square root of the number of trials: the weight of a level
	noise   float64     // of a trial: the mean deviation from its level's median
	columns []column    // that a change may be
	rng     *rand.Rand

	// Directions do not depend on data: samples of a bootstrap share them.
	further map[given]directions
	placed  map[givenGap]directions
}

// given is up to mostChanges columns as a key, the first ones of an array.
type given struct {
	columns [mostChanges]column
	count   int
}

// givenGap is a gap between two levels beside columns.
type givenGap struct {
	given
	gap int
}

// directions are what columns add to a basis: one unit vector each.
type directions struct {
	vectors [][]float64
	columns []column
}

func givenBy(columns []column) (key given) {
	key.count = copy(key.columns[:], columns)
	return key
}

func newFitter(levels []Level, seed uint64) *fitter {
	f := &fitter{rng: rand.New(rand.NewPCG(seed, 1)), further: map[given]directions{}, placed: map[givenGap]directions{}}
	for _, l := range levels {
		var logs []float64
		for _, v := range l.Values {
			logs = append(logs, math.Log(v))
		}
		slices.Sort(logs)
		f.x, f.u = append(f.x, l.X), append(f.u, math.Log(l.X))
		f.values, f.medians = append(f.values, logs), append(f.medians, quantileSorted(logs, 0.5))
		f.root = append(f.root, math.Sqrt(float64(len(logs))))
	}
	_, f.noise = f.weightedMedians(f.values)
	// A bend at the second level and a step before it are the same curve, and
	// so at the other end: bends stand for both there (see named).
	last := len(f.u) - 1
	for i := 1; i < last; i++ {
		f.columns = append(f.columns, column{place: f.u[i]})
	}
	for after := 2; after < last; after++ {
		f.columns = append(f.columns, column{step: true, after: after})
	}
	return f
}

// value returns the column's value at level i, for a weight of 1.
func (f *fitter) value(c column, i int) float64 {
	if !c.step {
		return max(0, f.u[i]-c.place)
	}
	if i < c.after {
		return 0
	}
	return 1
}

// around returns the last level before a change and the first one behind it; they are the same for a knee at a level.
func (f *fitter) around(c column) (end, next int) {
	if c.step {
		return c.after - 1, c.after
	}
	next, _ = slices.BinarySearch(f.u, c.place)
	if f.u[next] == c.place {
		return next, next
	}
	return next - 1, next
}

// place returns the range of a change on the scale of the factor.
func (f *fitter) place(c column) (from, to float64) {
	end, next := f.around(c)
	if c.step || end == next {
		return f.x[end], f.x[next]
	}
	return math.Exp(c.place), math.Exp(c.place)
}

// middle orders changes.
func (f *fitter) middle(c column) float64 {
	if c.step {
		return (f.u[c.after-1] + f.u[c.after]) / 2
	}
	return c.place
}

// basis is an orthonormal basis of the curves that a line and some columns
// can make, each level times its root.
type basis [][]float64

func (f *fitter) basis(columns []column) basis {
	var b basis
	constant, line := make([]float64, len(f.u)), make([]float64, len(f.u))
	for i := range f.u {
		constant[i], line[i] = f.root[i], f.root[i]*f.u[i]
	}
	b = append(b, unit(constant))
	if rest, ok := b.rest(line); ok {
		b = append(b, rest)
	}
	for _, c := range columns {
		if rest, ok := b.rest(f.vector(c)); ok {
			b = append(b, rest)
		}
	}
	return b
}

func (f *fitter) vector(c column) []float64 {
	v := make([]float64, len(f.u))
	for i := range v {
		v[i] = f.root[i] * f.value(c, i)
	}
	return v
}

// rest is the direction in which v leaves the basis; ok is false when it does
// not.
func (b basis) rest(v []float64) (rest []float64, ok bool) {
	rest = slices.Clone(v)
	for range 2 { // once more, against rounding
		for _, q := range b {
			d := dot(q, rest)
			for i := range rest {
				rest[i] -= d * q[i]
			}
		}
	}
	if dot(rest, rest) <= 1e-12*dot(v, v) {
		return nil, false
	}
	return unit(rest), true
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func unit(v []float64) []float64 {
	norm := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] /= norm
	}
	return v
}

// directionsOf returns the directions that columns add to a basis, without columns that add none.
func (f *fitter) directionsOf(b basis, columns []column) (d directions) {
	for _, c := range columns {
		if rest, ok := b.rest(f.vector(c)); ok {
			d.vectors, d.columns = append(d.vectors, rest), append(d.columns, c)
		}
	}
	return d
}

// directionsBeside returns the directions that changes at levels add to a line with the given changes.
func (f *fitter) directionsBeside(columns []column) directions {
	key := givenBy(columns)
	d, known := f.further[key]
	if !known {
		d = f.directionsOf(f.basis(columns), f.columns)
		f.further[key] = d
	}
	return d
}

// inGap returns the directions that knees between two levels add to a line with the given changes.
func (f *fitter) inGap(columns []column, gap int) directions {
	key := givenGap{givenBy(columns), gap}
	d, known := f.placed[key]
	if !known {
		var knees []column
		for k := 1; k < perGap; k++ {
			knees = append(knees, column{place: f.u[gap] + (f.u[gap+1]-f.u[gap])*float64(k)/perGap})
		}
		d = f.directionsOf(f.basis(columns), knees)
		f.placed[key] = d
	}
	return d
}

// best is the direction along which data has most, and how much.
func (d directions) best(data []float64) (index int, gain float64) {
	index = -1
	for i := range d.vectors {
		if g := d.gain(i, data); g > gain*(1+1e-9) {
			index, gain = i, g
		}
	}
	return index, gain
}

// gain returns how much of data is along a direction.
func (d directions) gain(i int, data []float64) float64 {
	along := dot(d.vectors[i], data)
	return along * along
}

// weighted returns medians multiplied by the square root of each level's number of values.
func (f *fitter) weighted(medians []float64) []float64 {
	v := make([]float64, len(medians))
	for i, m := range medians {
		v[i] = m * f.root[i]
	}
	return v
}

// statistic returns how much of the medians of values the best further change would explain, relative to their noise
// within levels. It sorts values.
func (f *fitter) statistic(d directions, values [][]float64) float64 {
	data, noise := f.weightedMedians(values)
	_, gain := d.best(data)
	return gain / (noise * noise)
}

// weightedMedians returns the weighted median of each level, and the noise of a trial. It sorts values.
func (f *fitter) weightedMedians(values [][]float64) (data []float64, noise float64) {
	deviation, free := 0.0, 0
	data = make([]float64, 0, len(values))
	for i, level := range values {
		slices.Sort(level)
		median := quantileSorted(level, 0.5)
		data = append(data, median*f.root[i])
		for _, v := range level {
			deviation += math.Abs(v - median)
		}
		free += len(level) - 1
	}
	return data, max(deviation/float64(free), leastNoise)
}

// test returns the p value of one more change than the given ones, anywhere on the curve. Without that change, the
// deviations of trials from the curve are noise and might have the opposite sign: the statistic of the data is
// compared with those of random signs (Winkler and others 2014). Each level keeps its own amount of noise.
func (f *fitter) test(columns []column) float64 {
	m := f.fit(columns, f.medians)
	further := f.directionsBeside(columns)
	var residuals []float64
	signed := make([][]float64, len(f.values))
	for i, level := range f.values {
		for _, v := range level {
			residuals = append(residuals, v-m.fitted[i])
		}
		signed[i] = slices.Clone(level)
	}
	observed := f.statistic(further, signed)
	as := 1 // the data have signs of their own
	for range signs {
		next := 0
		for _, level := range signed {
			for j := range level {
				level[j] = residuals[next]
				if f.rng.Uint64()&1 == 0 {
					level[j] = -level[j]
				}
				next++
			}
		}
		if f.statistic(further, signed) >= observed {
			as++
		}
	}
	return float64(as) / (signs + 1)
}

// choose finds the changes of the curve, the p value of each, and the p value of the first change that was tried.
func (f *fitter) choose() (chosen []column, pValues []float64, first float64) {
	limit := min(mostChanges, len(f.u)-MinLevels+1)
	first = f.test(nil)
	for p := first; p < Alpha && len(chosen) < limit; p = f.test(chosen) {
		next := f.search(len(chosen) + 1)
		f.loosen(next, f.weighted(f.medians), worthMoving)
		m := f.fit(next, f.medians)
		if small(m) {
			break
		}
		ps := make([]float64, len(next))
		for i := range ps {
			ps[i] = f.test(withoutColumn(m.columns, i))
		}
		if slices.Max(ps) >= Alpha {
			break // with the new change, another is not needed
		}
		chosen, pValues = m.columns, ps
	}
	return chosen, pValues, first
}

// search finds the best curve with a number of changes, its knees at levels. For up to two changes search tries all
// combinations of places. For more, it adds the best further change, and moves each to its best place given the others
// until none moves.
func (f *fitter) search(changes int) []column {
	data := f.weighted(f.medians)
	var found []column
	if changes == 1 {
		found = f.bestBeside(nil, data)
	} else {
		largest := 0.0
		for _, c := range f.columns {
			b := f.basis([]column{c})
			further := f.directionsBeside([]column{c})
			i, gain := further.best(data)
			along := dot(b[2], data)
			if sum := gain + along*along; i >= 0 && sum > largest*(1+1e-9) {
				largest, found = sum, []column{c, further.columns[i]}
			}
		}
	}
	for len(found) < changes {
		found = append(found, f.bestBeside(found, data)...)
	}
	return f.settle(found, data, 10)
}

// bestBeside returns the best change to add to the given ones; none if none improves the fit.
func (f *fitter) bestBeside(columns []column, data []float64) []column {
	further := f.directionsBeside(columns)
	if i, _ := further.best(data); i >= 0 {
		return further.columns[i : i+1]
	}
	return nil
}

// settle moves one change after the other to where it fits best given the
// others, at most so many rounds.
func (f *fitter) settle(columns []column, data []float64, rounds int) []column {
	columns = slices.Clone(columns)
	for range rounds {
		before := slices.Clone(columns)
		for i := range columns {
			columns[i] = f.bestBeside(withoutColumn(columns, i), data)[0]
		}
		if slices.Equal(before, columns) {
			break
		}
	}
	return columns
}

// loosen moves knees off their levels where that improves the fit by more than worth squares of the noise.
func (f *fitter) loosen(columns []column, data []float64, worth float64) {
	for i := range columns {
		columns[i] = f.between(columns, i, data, worth)
	}
}

// withoutColumn returns columns without the one at i.
func withoutColumn(columns []column, i int) []column {
	return slices.Delete(slices.Clone(columns), i, i+1)
}

// between returns the best place of knee i, from the level before it to the level behind it. Two levels must lie on
// either side of a place between levels: a single level does not determine a slope.
func (f *fitter) between(columns []column, i int, data []float64, worth float64) column {
	c := columns[i]
	if c.step {
		return c
	}
	level, _ := slices.BinarySearch(f.u, c.place)
	remaining := withoutColumn(columns, i)
	found, largest := c, worth*f.noise*f.noise
	further := f.directionsBeside(remaining)
	if at := slices.Index(further.columns, c); at >= 0 {
		largest += further.gain(at, data)
	}
	for gap := level - 1; gap <= level; gap++ { // the one before the level, and the one behind it
		if !f.hasNeighbours(columns, i, gap) {
			continue
		}
		knees := f.inGap(remaining, gap)
		for k, knee := range knees.columns {
			if g := knees.gain(k, data); g > largest*(1+1e-9) {
				found, largest = knee, g
			}
		}
	}
	return found
}

// hasNeighbours reports whether two levels lie between a knee in a gap and the next change or end of the curve, on
// both sides.
func (f *fitter) hasNeighbours(columns []column, i, gap int) bool {
	first, last := 0, len(f.u)-1
	for _, c := range withoutColumn(columns, i) {
		end, next := f.around(c)
		if next <= gap {
			first = max(first, next)
		} else if end > gap {
			last = min(last, end)
		} else {
			return false // it is in the same gap
		}
	}
	return gap-first >= 1 && last-gap-1 >= 1
}

// small reports whether one of the changes is too small to matter.
func small(m model) bool {
	for i, c := range m.columns {
		size := math.Abs(m.weights[i])
		if c.step && size < math.Log(smallStep) || !c.step && size < smallBend {
			return true
		}
	}
	return false
}
