package model

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Miss is how often an operation reads the device, over the memory that an instance has:
//
//	reads(m) = Floor + Scale * max(0, 1 - m/Fits)^Shape
//
// A cache that forgets what was used longest ago, under records that are asked for
// equally often, is a straight line (Shape 1); popular records bend it.
type Miss struct {
	Floor Number `json:"floor"` // reads per operation that no memory saves
	Scale Number `json:"scale"` // and those that memory would, where there is none
	Fits  Number `json:"fits"`  // bytes in which all fits that is read again; 0 where nothing was seen to outgrow its memory
	Shape Number `json:"shape"`

	// Times are what was seen over memory where no such curve agrees, of the times of operations where reads were not
	// counted; none otherwise. Scale is then what memory saves between the first and the last.
	Times []Times `json:"times,omitempty"`
}

// Times is how many times as long as with all the memory that was tried an operation took.
type Times struct {
	Memory Number `json:"memory_bytes"`
	Times  Number `json:"times"`
}

// farBelow is the share of the least memory that was seen below which a curve through what was seen is level.
const farBelow = 0.25

// timesAt returns how many times as long an operation takes with so much memory: on the straight
// lines between what was seen, in logarithms, and on the first of them below, as far as farBelow.
func timesAt(all []Times, memory float64) float64 {
	last := len(all) - 1
	if memory == 0 || memory >= float64(all[last].Memory) {
		return float64(all[last].Times)
	}
	memory = max(memory, farBelow*float64(all[0].Memory))
	i := 0
	for i < last-1 && memory >= float64(all[i+1].Memory) {
		i++
	}
	a, b := all[i], all[i+1]
	part := math.Log(memory/float64(a.Memory)) / math.Log(float64(b.Memory/a.Memory))
	return float64(a.Times) * math.Pow(float64(b.Times/a.Times), part)
}

// timesOf returns what was seen over memory, each size once; less memory never helps.
func timesOf(all []observation) (times []Times) {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b observation) int { return cmp.Compare(b.x, a.x) })
	most := 1.0
	for _, o := range sorted {
		most = max(most, o.y)
		if n := len(times); n > 0 && float64(times[n-1].Memory) == o.x {
			times[n-1].Times = Number(most)
			continue
		}
		times = append(times, Times{Number(o.x), Number(most)})
	}
	slices.Reverse(times)
	return times
}

// agrees reports whether a curve says what was seen better than lines between the sizes beside it do.
func (c Miss) agrees(all []observation) bool {
	curve, lines := 0.0, 0.0
	times := timesOf(all)
	for i := 1; i < len(times)-1; i++ {
		seen, at := math.Log(float64(times[i].Times)), float64(times[i].Memory)
		others := slices.Concat(times[:i:i], times[i+1:])
		curve = math.Hypot(curve, math.Log(c.At(at))-seen)
		lines = math.Hypot(lines, math.Log(timesAt(others, at))-seen)
	}
	return curve <= lines
}

// At returns the device reads of an operation of an instance that has so many bytes of
// memory; 0 bytes are as many as there may be.
func (c Miss) At(memory float64) float64 {
	if last := len(c.Times) - 1; last > 0 {
		least, most := float64(c.Times[last].Times), float64(c.Times[0].Times)
		return float64(c.Floor) + float64(c.Scale)*(timesAt(c.Times, memory)-least)/(most-least)
	}
	left := 1 - memory/float64(c.Fits)
	if memory == 0 || c.Fits == 0 || left <= 0 {
		return float64(c.Floor)
	}
	return float64(c.Floor) + float64(c.Scale)*math.Pow(left, float64(c.Shape))
}

// observation is one level of what a demand depends on: x, what was measured there, and
// how much it counts.
type observation struct{ x, y, weight float64 }

// The shapes of miss curves that are tried, and over how many sizes.
const (
	sizesTried = 120
	leastShape = 0.5
	mostShape  = 4
	shapeStep  = 1.0905077 // the eighth root of 2
)

// What reads per operation are known to: a share, and as many at least.
const (
	readsShare = 0.03
	readsLeast = 0.005
)

// fitMiss fits a miss curve to reads over memory.
func fitMiss(all []observation) Miss {
	least, most, reads := math.Inf(1), 0.0, 0.0
	for _, o := range all {
		least, most, reads = min(least, o.x), max(most, o.x), max(reads, o.y)
	}
	level := Miss{Shape: 1}
	if len(all) == 0 || reads == 0 {
		return level
	}
	squaresOf := func(c Miss) (squares float64) {
		for _, o := range all {
			off := (c.At(o.x) - o.y) / (readsLeast + readsShare*o.y)
			squares += o.weight * off * off
		}
		return squares
	}
	best, lowest := level, math.Inf(1)
	consider := func(c Miss, parameters float64) {
		if squares := squaresOf(c) + 2*parameters; squares < lowest { // Akaike's criterion
			best, lowest = c, squares
		}
	}
	level.Floor, _ = fitLevels(all, func(float64) float64 { return 0 })
	consider(level, 1)
	if least == 0 || most <= least {
		return best
	}
	curve := func(i int, shape float64) Miss {
		fits := least * math.Pow(4*most/least, float64(i+1)/sizesTried)
		c := Miss{Fits: Number(fits), Shape: Number(shape)}
		c.Floor, c.Scale = fitLevels(all, func(m float64) float64 { return math.Pow(max(0, 1-m/fits), shape) })
		return c
	}
	for i := range sizesTried {
		for shape := leastShape; shape <= mostShape; shape *= shapeStep {
			parameters := 3.0
			if math.Abs(shape-1) > 0.01 {
				parameters = 4
			}
			if c := curve(i, shape); c.Scale > 0 {
				consider(c, parameters)
			}
		}
	}
	if best.Scale == 0 {
		return best
	}
	// Few sizes agree with many curves: the mean of them is taken, where the share of what fits that the least memory
	// is may be any.
	weights, mean, at := 0.0, 0.0, 0
	for i := range sizesTried {
		c := curve(i, float64(best.Shape))
		if c.Fits == best.Fits {
			at = i
		}
		if c.Scale > 0 {
			part := least / float64(c.Fits)
			w := part * math.Exp((squaresOf(best)-squaresOf(c))/2)
			weights, mean = weights+w, mean+w*part
		}
	}
	fits := least * weights / mean
	if i := int(math.Round(sizesTried*math.Log(fits/least)/math.Log(4*most/least))) - 1; i > at+1 || i < at-1 {
		if c := curve(max(i, 0), float64(best.Shape)); c.Scale > 0 {
			return c
		}
	}
	return best
}

// fewestBent is how many sizes of memory it takes to hold a bent curve against the others: two that lie between others.
const fewestBent = 4

// bent returns a curve of reads that may bend as it likes, of straight lines in logarithms that never rise with memory,
// where these say sizes that are left out better than c says what it was fitted to; c otherwise.
func (c Miss) bent(all []observation) Miss {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b observation) int { return cmp.Compare(a.x, b.x) })
	var sizes []observation
	for _, o := range sorted {
		if n := len(sizes); n > 0 && sizes[n-1].x == o.x {
			sizes[n-1] = pooled(sizes[n-1], o)
			continue
		}
		sizes = append(sizes, o)
	}
	if len(sizes) < fewestBent || !(sizes[0].x > 0) {
		return c
	}
	// What rises with memory is chance: neighbors that do are as one.
	level := []int{} // where each level begins
	means := []observation{}
	for i, o := range sizes {
		level, means = append(level, i), append(means, o)
		for n := len(means); n > 1 && means[n-1].y > means[n-2].y; n = len(means) {
			means = append(means[:n-2], pooled(means[n-2], means[n-1]))
			level = level[:n-1]
		}
	}
	for n, from := range level {
		to := len(sizes)
		if n+1 < len(level) {
			to = level[n+1]
		}
		for i := from; i < to; i++ {
			sizes[i].y = means[n].y
		}
	}
	first, last := sizes[0].y, sizes[len(sizes)-1].y
	if first-last <= readsLeast+readsShare*last {
		return c
	}
	// Few reads are as none.
	few := Number(last + readsLeast)
	held := c
	held.Floor, held.Scale = (c.Floor+readsLeast)/few, c.Scale/few
	for i := range sizes {
		sizes[i].y = (sizes[i].y + readsLeast) / float64(few)
	}
	if held.agrees(sizes) {
		return c
	}
	return Miss{Floor: Number(last), Scale: Number(first - last), Fits: Number(sizes[len(sizes)-1].x), Shape: 1,
		Times: timesOf(sizes)}
}

func pooled(a, b observation) observation {
	w := a.weight + b.weight
	return observation{a.x, (a.weight*a.y + b.weight*b.y) / w, w}
}

// fitLevels fits floor + scale * of(x), neither below 0, by least squares of what is off
// as a share.
func fitLevels(all []observation, of func(float64) float64) (floor, scale Number) {
	var w, wf, wff, wy, wfy float64
	for _, o := range all {
		known := readsLeast + readsShare*o.y
		weight := o.weight / (known * known)
		f := of(o.x)
		w, wf, wff, wy, wfy = w+weight, wf+weight*f, wff+weight*f*f, wy+weight*o.y, wfy+weight*f*o.y
	}
	if det := w*wff - wf*wf; det > 1e-12*w*wff {
		floor, scale = Number((wy*wff-wfy*wf)/det), Number((wfy*w-wf*wy)/det)
		if floor >= 0 && scale >= 0 {
			return floor, scale
		}
		if floor < 0 && wff > 0 {
			return 0, Number(max(0, wfy/wff))
		}
	}
	return Number(wy / w), 0
}

// Line is the time of an operation as a line over its device reads: Base, and More for each of them.
type Line struct {
	Base Number `json:"base"`
	More Number `json:"more"`
}

// At returns what an operation with so many reads needs.
func (l Line) At(reads float64) float64 { return float64(l.Base) + float64(l.More)*reads }

// fitLine fits a line over reads; what more of them take away is chance.
func fitLine(all []observation) Line {
	var x, y, w []float64
	spread := 0.0
	for _, o := range all {
		x, y, w = append(x, o.x), append(y, o.y), append(w, o.weight/(o.y*o.y))
		spread = max(spread, math.Abs(o.x-x[0]))
	}
	if len(x) == 0 {
		return Line{Base: Number(math.NaN())}
	}
	if spread > readsLeast {
		base, more := stat.LinearRegression(x, y, w, false)
		if base > 0 && more > 0 {
			return Line{Number(base), Number(more)}
		}
	}
	return Line{Base: Number(stat.Mean(y, w))}
}

// Writes is how often an operation writes to the device: At1 where an instance does one a
// second, and so many times that by the power of Batch more the more it does. Where
// commits wait for the device they are written together, and an operation that takes
// longer writes less.
type Writes struct {
	At1   Number `json:"at_1"`
	Batch Number `json:"batch,omitempty"` // 0 for always as many, below 1
}

// At returns the device writes of an operation of an instance that does so many a second.
func (w Writes) At(rate float64) float64 {
	if w.Batch == 0 || rate <= 0 {
		return float64(w.At1)
	}
	return float64(w.At1) * math.Pow(rate, float64(w.Batch))
}

// mostBatch keeps the writes of a second growing with operations.
const mostBatch = 0.9

// fewWrites are none: what the file system does now and then.
const fewWrites = 0.002

// fitWrites fits writes over the rate of an instance.
func fitWrites(all []observation) Writes {
	var x, y, w []float64
	for _, o := range all {
		if o.y > fewWrites && o.x > 0 {
			x, y, w = append(x, math.Log(o.x)), append(y, math.Log(o.y)), append(w, o.weight)
		}
	}
	if len(x) < len(all) || len(x) == 0 {
		return Writes{}
	}
	mean := stat.Mean(y, w)
	level := Writes{At1: Number(math.Exp(mean))}
	if len(x) < 3 {
		return level
	}
	_, batch := stat.LinearRegression(x, y, w, false)
	batch = min(batch, mostBatch)
	base := mean - batch*stat.Mean(x, w)
	squares := func(of func(x float64) float64) (sum float64) {
		for i := range x {
			sum += w[i] * (y[i] - of(x[i])) * (y[i] - of(x[i]))
		}
		return sum
	}
	bent := squares(func(x float64) float64 { return base + batch*x })
	flat := squares(func(float64) float64 { return mean })
	n := float64(len(x))
	const precise = 1e-6
	if batch > 0 && n*math.Log(bent+precise)+2*2 < n*math.Log(flat+precise)+2 {
		return Writes{Number(math.Exp(base)), Number(batch)}
	}
	return level
}
