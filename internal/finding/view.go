package finding

import (
	"cmp"
	"math"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
)

// view is a run as rules look at it: grouped by stack and workload, and
// summarised once.
type view struct {
	run       *result.Run
	stacks    []*stack // as declared, then those that only trials name
	workloads []result.Workload
	cells     map[cellKey]*cell
	controls  map[string]*cell    // by workload: of the baseline's twin, which no rule sees
	rates     map[rateKey]float64 // adjusted p of all comparisons of rates
	effects   map[effectKey]Effect
}

type cellKey struct{ stack, workload string }
type effectKey struct{ subject, baseline, workload string }
type rateKey struct{ a, b, workload string } // a before b

// stack is a stack with its parsed line, which is empty when it does not parse.
type stack struct {
	result.Stack
	line line.Line
}

// cell is what the finished trials of a stack under a workload measured.
type cell struct {
	stack    *stack
	workload result.Workload
	trials   []*result.Trial // done, with a measurement; never empty
	rates    samples.Sample
	iops     []float64 // of each bring-up
	point    Point
}

func newView(run *result.Run) *view {
	if run == nil {
		run = &result.Run{}
	}
	v := &view{run: run, cells: map[cellKey]*cell{}, controls: map[string]*cell{}, effects: map[effectKey]Effect{}}
	controls := map[string]*stack{}
	for _, s := range run.Stacks {
		if s.Control != "" {
			controls[s.Name] = &stack{Stack: s}
			continue
		}
		v.declareStack(s)
	}
	for _, w := range run.Workloads {
		v.declareWorkload(w)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		s, w := controls[t.Stack], v.declareWorkload(result.Workload{Name: t.Workload})
		if s != nil {
			v.addControl(s, w, t)
			continue
		}
		s = v.declareStack(result.Stack{Name: t.Stack})
		if !measured(t) {
			continue
		}
		key := cellKey{t.Stack, t.Workload}
		c := v.cells[key]
		if c == nil {
			c = &cell{stack: s, workload: w}
			v.cells[key] = c
		}
		c.trials = append(c.trials, t)
	}
	for _, c := range v.cells {
		c.count()
		c.point = c.summarise()
	}
	for _, c := range v.controls {
		c.count()
	}
	v.adjust()
	return v
}

func (v *view) addControl(s *stack, w result.Workload, t *result.Trial) {
	if !measured(t) {
		return
	}
	if v.controls[w.Name] == nil {
		v.controls[w.Name] = &cell{stack: s, workload: w}
	}
	v.controls[w.Name].trials = append(v.controls[w.Name].trials, t)
}

// count makes the sample of the cell's trials.
func (c *cell) count() {
	c.rates = samples.Take(c.trials, func(t *result.Trial) (float64, bool) { return t.Measurement.IOPS(), true })
	c.iops = c.rates.Means()
}

// adjust corrects the p values of all comparisons of rates in the run for how
// many there are: each stack with each other under each workload. Which of
// them a rule looks at depends on what they say, so all of them count.
func (v *view) adjust() {
	v.rates = map[rateKey]float64{}
	var keys []rateKey
	var ps []float64
	for _, w := range v.workloads {
		cells := v.under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				p, ok := samples.PValue(a.rates, b.rates)
				if ok {
					keys, ps = append(keys, rateKeyOf(a, b)), append(ps, p)
				}
			}
		}
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		v.rates[keys[i]] = p
	}
}

func rateKeyOf(a, b *cell) rateKey {
	if a.stack.Name > b.stack.Name {
		a, b = b, a
	}
	return rateKey{a.stack.Name, b.stack.Name, a.workload.Name}
}

// floor is the ratio, above 1, by which the control differed from its twin
// under a workload; 0 when it is not known.
func (v *view) floor(workload string) float64 {
	e, ok := v.noise(workload)
	if !ok || e.TooFew {
		return 0
	}
	return e.size()
}

// noise compares the control with its twin. ok is false when there is none.
func (v *view) noise(workload string) (e Effect, ok bool) {
	c := v.controls[workload]
	if c == nil {
		return e, false
	}
	twin := v.cell(c.stack.Control, workload)
	if twin == nil {
		return e, false
	}
	return v.effect(metricIOPS, c.stack.Name, twin.stack.Name, c.rates, twin.rates)
}

func (v *view) declareStack(s result.Stack) *stack {
	if known := v.stack(s.Name); known != nil {
		return known
	}
	parsed, err := line.Parse(s.Line)
	if err != nil {
		parsed = line.Line{} // rules that need the layers pass over it
	}
	v.stacks = append(v.stacks, &stack{Stack: s, line: parsed})
	return v.stacks[len(v.stacks)-1]
}

func (v *view) declareWorkload(w result.Workload) result.Workload {
	for _, known := range v.workloads {
		if known.Name == w.Name {
			return known
		}
	}
	v.workloads = append(v.workloads, w)
	return w
}

// stack gives the stack of that name, or nil.
func (v *view) stack(name string) *stack {
	i := slices.IndexFunc(v.stacks, func(s *stack) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return v.stacks[i]
}

// cell gives what was measured of a stack under a workload, or nil.
func (v *view) cell(stack, workload string) *cell { return v.cells[cellKey{stack, workload}] }

// under gives the cells of a workload in the order of the stacks.
func (v *view) under(workload string) []*cell {
	var out []*cell
	for _, s := range v.stacks {
		if c := v.cell(s.Name, workload); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// all gives every cell: by workload, then by stack.
func (v *view) all() []*cell {
	var out []*cell
	for _, w := range v.workloads {
		out = append(out, v.under(w.Name)...)
	}
	return out
}

// ranking is the cells of a workload by what their numbers are worth, each
// group by median IOPS, best first.
type ranking struct{ honest, unchecked, memory []*cell }

func (v *view) rank(workload string) ranking {
	var r ranking
	for _, c := range v.under(workload) {
		switch c.source() {
		case result.SourceDevice:
			r.honest = append(r.honest, c)
		case result.SourceMemory:
			r.memory = append(r.memory, c)
		default:
			r.unchecked = append(r.unchecked, c)
		}
	}
	for _, group := range [][]*cell{r.honest, r.unchecked, r.memory} {
		slices.SortStableFunc(group, func(a, b *cell) int { return cmp.Compare(b.point.Median, a.point.Median) })
	}
	return r
}

// compare measures subject against baseline, both of one workload. ok is
// false when there is no ratio: a trial measured nothing at all.
func (v *view) compare(subject, baseline *cell) (e Effect, ok bool) {
	key := effectKey{subject.stack.Name, baseline.stack.Name, subject.workload.Name}
	if e, ok := v.effects[key]; ok {
		return e, e.Ratio > 0
	}
	e, ok = v.effect(metricIOPS, key.subject, key.baseline, subject.rates, baseline.rates)
	e.Adjusted, e.Floor = v.rates[rateKeyOf(subject, baseline)], v.floor(key.workload)
	e.Differs = !e.TooFew && e.Adjusted < stats.Alpha && (!ok || e.size() >= visible && e.size() > e.Floor)
	v.effects[key] = e
	return e, ok
}

// visible is the smallest ratio that is not written as 1.00x: what is less is
// no difference to anybody, however significant.
const visible = 1.005

// size is a ratio as a factor above 1.
func (e Effect) size() float64 { return max(e.Ratio, 1/e.Ratio) }

// effect measures one sample against another. ok is false when there is no
// ratio.
func (v *view) effect(metric, subject, baseline string, x, y samples.Sample) (e Effect, ok bool) {
	of, ok := samples.Compare(x, y, v.run.Seed)
	e = Effect{Metric: metric, Subject: subject, Baseline: baseline, P: of.P, N: of.N, Pairs: of.Pairs, TooFew: !of.Decidable()}
	e.Differs = !e.TooFew && e.P < stats.Alpha
	if !ok || !finite(of.Ratio) || of.Ratio <= 0 {
		return e, false
	}
	e.Ratio = of.Ratio
	if of.Low > 0 && finite(of.High) {
		e.Low, e.High = of.Low, of.High
	}
	return e, true
}

// level reports whether two stacks cannot be told apart under a workload.
func (v *view) level(a, b *cell) bool {
	e, _ := v.compare(a, b)
	return !e.Differs
}

const metricIOPS = "IOPS"

// measured tells whether a trial has a number that can be counted with.
func measured(t *result.Trial) bool {
	if t.Status != result.TrialDone || t.Measurement == nil {
		return false
	}
	iops := t.Measurement.IOPS()
	return finite(iops) && iops >= 0
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (c *cell) source() result.Source { return result.Source(c.point.Source) }

func (c *cell) honest() bool { return c.source() == result.SourceDevice }

func (c *cell) summarise() Point {
	p := Point{
		Stack: c.stack.Name, Workload: c.workload.Name, Metric: metricIOPS,
		N: len(c.iops), Trials: len(c.trials), Source: string(c.answered()),
	}
	p.Median, p.Low, p.High, p.Coverage = medianOf(c.iops)
	for _, m := range c.stack.Marks {
		p.Marks = append(p.Marks, string(m))
	}
	var ratios []float64
	for _, t := range c.trials {
		if h := t.Honesty; h != nil && h.Ratio != nil && finite(*h.Ratio) {
			ratios = append(ratios, *h.Ratio)
		}
	}
	bytes := samples.Take(c.trials, func(t *result.Trial) (float64, bool) {
		b := t.Measurement.BytesPerSecond()
		return b, finite(b)
	})
	if len(ratios) > 0 {
		r := stats.Median(ratios)
		p.Ratio = &r
	}
	if len(bytes) > 0 {
		p.BytesPerSecond, p.BytesLow, p.BytesHigh, _ = medianOf(bytes.Means())
	}
	total := c.merge(func(d result.Direction) hist.Histogram { return d.Total })
	for _, q := range []struct {
		percent float64
		to      *float64
	}{{50, &p.P50NS}, {99, &p.P99NS}, {99.9, &p.P999NS}} {
		ns, _ := hist.Percentile(total.Bins, q.percent)
		*q.to = float64(ns)
	}
	return p
}

// medianOf returns the median with its interval. Below four values there is no
// interval: its limits are then the median, and its coverage is 0.
func medianOf(values []float64) (median, low, high, coverage float64) {
	median = stats.Median(values)
	if len(values) < stats.FewestPairs {
		return median, median, median, 0
	}
	iv := stats.MedianInterval(values)
	return median, iv.Low, iv.High, iv.Coverage
}

// answered is what answered the trials. A single trial from memory makes the
// stack one that caches: other processes can add to a device's counters and
// hide a cache, but nothing can take from them. Otherwise most trials decide.
func (c *cell) answered() result.Source {
	votes := c.votes()
	switch {
	case votes[result.SourceMemory] > 0:
		return result.SourceMemory
	case votes[result.SourceDevice] > votes[result.SourceUnknown]:
		return result.SourceDevice
	}
	return result.SourceUnknown
}

// votes counts what answered the trials.
func (c *cell) votes() map[result.Source]int {
	votes := map[result.Source]int{}
	for _, t := range c.trials {
		s := result.SourceUnknown
		if t.Honesty != nil && (t.Honesty.Source == result.SourceDevice || t.Honesty.Source == result.SourceMemory) {
			s = t.Honesty.Source
		}
		votes[s]++
	}
	return votes
}

// fromMemory counts the trials that memory answered.
func (c *cell) fromMemory() int { return c.votes()[result.SourceMemory] }

// merge merges one latency of both directions over all trials.
func (c *cell) merge(which func(result.Direction) hist.Histogram) hist.Histogram {
	var parts []hist.Histogram
	for _, t := range c.trials {
		parts = append(parts, which(t.Measurement.Read), which(t.Measurement.Write))
	}
	return hist.Merge(parts...)
}

func points(cells ...*cell) []Point {
	var out []Point
	for _, c := range cells {
		out = append(out, c.point)
	}
	return out
}

func names(cells []*cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.stack.Name)
	}
	return out
}
