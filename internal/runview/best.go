package runview

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// rateFit is the fit of the rates of stacks under a workload: what each does beside the others in the same rounds.
type rateFit struct {
	*stats.Fit
	number map[string]int // of a stack, as a treatment
}

// Margin returns the difference, as a share, up to which stacks of the run are said to be equally good.
func (v *View) Margin() float64 { return cmp.Or(v.Run.Experiment.Margin, stats.Margin) }

type fitKey struct {
	workload string
	source   result.Source // that answered all of the stacks; "" for all stacks
}

// fitOf returns the fit that compares cells of one workload: of the stacks of their source, which vary alike, or of all
// where the sources are several.
func (v *View) fitOf(cells ...*Cell) *rateFit {
	key := fitKey{cells[0].Workload.Name, cells[0].Source()}
	for _, c := range cells {
		if c.Source() != key.source {
			key.source = ""
		}
	}
	fit := v.fits[key]
	if fit == nil {
		fit = v.newFit(key)
		v.fits[key] = fit
	}
	return fit
}

func (v *View) newFit(key fitKey) *rateFit {
	cells := v.Under(key.workload)
	controls := v.controls[key.workload]
	cells = append(cells, controls...)
	fit := &rateFit{number: map[string]int{}}
	var fitted []*Cell
	for _, c := range cells {
		if key.source != "" && c.source() != key.source || !allAbove0(c.Rates.Values()) {
			continue
		}
		fit.number[c.Stack.Name] = len(fitted)
		fitted = append(fitted, c)
	}
	var samples []Sample
	for _, c := range fitted {
		samples = append(samples, c.Rates)
	}
	fit.Fit = stats.FitTwoWay(cellsOf(samples))
	fit.Calibrate(fit.copies(controls))
	return fit
}

// copies returns the controls that are fitted, with the stack that they are twins of as the first; none where that is
// not fitted. A run has controls of one stack alone.
func (f *rateFit) copies(controls []*Cell) (numbers []int) {
	for _, c := range controls {
		twin, known := f.number[c.Stack.Control]
		control, too := f.number[c.Stack.Name]
		if !known || !too || len(numbers) > 0 && numbers[0] != twin {
			continue
		}
		if len(numbers) == 0 {
			numbers = append(numbers, twin)
		}
		numbers = append(numbers, control)
	}
	return numbers
}

// cellsOf are the units of samples as cells of a design, the samples being its treatments. Blocks are rounds on a
// region. Where the setups of some sample are not known, all are in one block.
func cellsOf(samples []Sample) (cells []stats.Cell) {
	nested := !slices.ContainsFunc(samples, func(s Sample) bool { return !s.Nested() })
	blocks := map[[2]int]int{}
	for i, s := range samples {
		for _, u := range s {
			cell := stats.Cell{Treatment: i, Logs: []float64{math.Log(u.Value())}}
			if nested {
				at := [2]int{u.Round, u.Region}
				if _, known := blocks[at]; !known {
					blocks[at] = len(blocks)
				}
				cell.Block, cell.Cluster, cell.Run = blocks[at], u.Region, u.Run
			}
			cells = append(cells, cell)
		}
	}
	return cells
}

// RunSpread returns how much the pooled runs differ beyond what their rounds explain, by the rates of all that was
// measured in them: of the stacks of a workload, or of the mixes on a stack. It is 0 for a run by itself.
func (v *View) RunSpread() stats.RunSpread {
	if len(v.Run.Pooled) == 0 {
		return stats.RunSpread{}
	}
	return Once(v, "spread of runs", func() stats.RunSpread {
		together := map[string][]Sample{}
		for _, c := range append(v.All(), v.VariedCells()...) {
			key := c.Workload.Name
			if len(v.Run.Mixes) > 0 {
				key = c.Stack.Name
			}
			if allAbove0(c.Rates.Values()) && c.Rates.Nested() {
				together[key] = append(together[key], c.Rates)
			}
		}
		var groups [][]stats.Cell
		for _, key := range slices.Sorted(maps.Keys(together)) {
			groups = append(groups, cellsOf(together[key]))
		}
		return stats.RunSpreadOf(groups...)
	})
}

// WithoutRounds returns the values of samples without what all that were in a round share: on the average of all
// rounds. Where a value is not above 0, or setups are not known, values stay as they are.
func WithoutRounds(samples []Sample) [][]float64 {
	values := make([][]float64, len(samples))
	above0 := true
	for i, s := range samples {
		values[i] = s.Values()
		above0 = above0 && allAbove0(values[i]) && s.Nested()
	}
	if !above0 {
		return values
	}
	cells := cellsOf(samples)
	for i := range cells {
		cells[i].Cluster, cells[i].Run = 0, 0
	}
	fit := stats.FitTwoWay(cells)
	k := 0
	for i := range values {
		level, _ := fit.Level(i)
		usual := level - fit.Effect(i) // what rounds are on average
		for j := range values[i] {
			values[i][j] *= math.Exp(usual - fit.Block(cells[k].Block))
			k++
		}
	}
	return values
}

func allAbove0(values []float64) bool {
	for _, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func (f *rateFit) contrast(subject, baseline string) (c stats.Contrast, ok bool) {
	a, known := f.number[subject]
	b, too := f.number[baseline]
	if !known || !too {
		return c, false
	}
	return f.Contrast(a, b)
}

// Contrast returns the logarithm of the ratio of two cells of a workload. ok is false where they share no round, not
// even through others, or one has a setup that did nothing.
func (v *View) Contrast(subject, baseline *Cell) (c stats.Contrast, ok bool) {
	return v.fitOf(subject, baseline).contrast(subject.Stack.Name, baseline.Stack.Name)
}

// Level returns what a cell does beside the others of its workload, whichever rounds it was in: a rate to rank by. It
// is 0 where a setup did nothing.
func (v *View) Level(c *Cell) float64 {
	fit := v.fitOf(c)
	number, known := fit.number[c.Stack.Name]
	if !known {
		return 0
	}
	level, _ := fit.Fit.Level(number)
	return math.Exp(level)
}

// byLevel orders cells of a workload, the best first.
func (v *View) byLevel(a, b *Cell) int { return cmp.Compare(v.Level(b), v.Level(a)) }

// Range returns the ratio of two cells of one workload with its ends, each of which is exceeded with a probability of
// level at one look at the run or another. ok is false where it is not known.
func (v *View) Range(subject, baseline *Cell, level float64) (r stats.Bound, ok bool) {
	c, ok := v.Contrast(subject, baseline)
	if !ok || c.Degrees < 1 || min(len(subject.Rates), len(baseline.Rates)) < stats.FewestPairs {
		return r, false
	}
	r.Ratio = math.Exp(c.Log)
	r.Low, r.High = c.Interval(v.AtLook(level))
	return r, bounded(r)
}

// Best compares each of some cells of one workload with the best of the others, see stats.Fit.Best: level is that of
// all looks at the run. ok is false where that is not known.
func (v *View) Best(cells []*Cell, level float64) (bounds []stats.Bound, ok bool) {
	if len(cells) == 0 {
		return nil, false
	}
	fit := v.fitOf(cells...)
	var among []int
	for _, c := range cells {
		number, known := fit.number[c.Stack.Name]
		if !known || len(c.Rates) < stats.FewestPairs {
			return nil, false
		}
		among = append(among, number)
	}
	bounds, ok = fit.Best(among, v.AtLook(level))
	for i := range bounds {
		bounds[i].Margin = v.Margin()
	}
	return bounds, ok && (len(bounds) < 2 || !slices.ContainsFunc(bounds, func(b stats.Bound) bool { return !bounded(b) }))
}

// BestOf returns which of some cells does most, by their indices: beside the others in the same rounds, whatever mixes
// and stacks they are of. It returns as well those that may do most, ascending: all where that is not known.
func (v *View) BestOf(cells []*Cell) (best int, maybe []int) {
	var samples []Sample
	var indices []int
	known := true
	for i, c := range cells {
		samples, indices = append(samples, c.Rates), append(indices, i)
		known = known && len(c.Rates) >= stats.FewestPairs && allAbove0(c.Rates.Values())
		if c.Rates.Median() > cells[best].Rates.Median() {
			best = i
		}
	}
	if !known {
		return best, indices
	}
	fit := stats.FitTwoWay(cellsOf(samples))
	bounds, ok := fit.Best(indices, v.AtLook(stats.Alpha))
	if !ok {
		return best, indices
	}
	for i, b := range bounds {
		if b.MayBeBest() {
			maybe = append(maybe, i)
		}
		if fit.Effect(i) > fit.Effect(best) {
			best = i
		}
	}
	return best, maybe
}

// bounded reports whether something is known of a ratio: where hardly anything is, its ends are beyond all numbers.
func bounded(b stats.Bound) bool {
	return b.Ratio > 0 && b.Low > 0 && Finite(b.High) && Finite(b.Ratio)
}
