package finding

import (
	"cmp"
	"math"
	"slices"

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
	effects   map[effectKey]Effect
}

type cellKey struct{ stack, workload string }
type effectKey struct{ subject, baseline, workload string }

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
	iops     []float64       // one per trial
	point    Point
}

func newView(run *result.Run) *view {
	if run == nil {
		run = &result.Run{}
	}
	v := &view{run: run, cells: map[cellKey]*cell{}, effects: map[effectKey]Effect{}}
	for _, s := range run.Stacks {
		v.declareStack(s)
	}
	for _, w := range run.Workloads {
		v.declareWorkload(w)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		s, w := v.declareStack(result.Stack{Name: t.Stack}), v.declareWorkload(result.Workload{Name: t.Workload})
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
		c.iops = append(c.iops, t.Measurement.IOPS())
	}
	for _, c := range v.cells {
		c.point = c.summarise()
	}
	return v
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
	e, ok = v.effect(metricIOPS, key.subject, key.baseline, subject.iops, baseline.iops)
	v.effects[key] = e
	return e, ok
}

// effect measures one sample against another. ok is false when there is no
// ratio.
func (v *view) effect(metric, subject, baseline string, x, y []float64) (e Effect, ok bool) {
	e = Effect{Metric: metric, Subject: subject, Baseline: baseline, P: stats.MannWhitney(x, y), N: [2]int{len(x), len(y)}}
	e.Differs = e.P < stats.Alpha
	if r, ok := stats.RatioOfMedians(x, y, v.run.Seed); ok && r.Low > 0 && finite(r.High) {
		e.Ratio, e.Low, e.High = r.Ratio, r.Low, r.High
	}
	return e, e.Ratio > 0
}

// level tells whether two stacks cannot be told apart under a workload: by
// the test, or, where there are too few trials for the test to decide, by an
// interval of the ratio that holds 1.
func (v *view) level(a, b *cell) bool {
	if a.stack.Name > b.stack.Name {
		a, b = b, a // resampling may differ for the inverse of the ratio; the answer must not
	}
	e, ok := v.compare(a, b)
	if ok && !decidable(e.N) {
		return e.Low <= 1 && 1 <= e.High
	}
	return !e.Differs
}

// decidable tells whether so many trials can differ significantly at all.
func decidable(n [2]int) bool { return stats.SmallestP(n[0], n[1]) < stats.Alpha }

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
	iv := stats.MedianInterval(c.iops)
	p := Point{
		Stack: c.stack.Name, Workload: c.workload.Name, Metric: metricIOPS,
		N: len(c.iops), Median: stats.Median(c.iops), Low: iv.Low, High: iv.High, Coverage: iv.Coverage,
		Source: string(c.answered()),
	}
	for _, m := range c.stack.Marks {
		p.Marks = append(p.Marks, string(m))
	}
	var ratios, bytes []float64
	for _, t := range c.trials {
		if h := t.Honesty; h != nil && h.Ratio != nil && finite(*h.Ratio) {
			ratios = append(ratios, *h.Ratio)
		}
		if b := t.Measurement.BytesPerSecond(); finite(b) {
			bytes = append(bytes, b)
		}
	}
	if len(ratios) > 0 {
		r := stats.Median(ratios)
		p.Ratio = &r
	}
	if len(bytes) > 0 {
		iv := stats.MedianInterval(bytes)
		p.BytesPerSecond, p.BytesLow, p.BytesHigh = stats.Median(bytes), iv.Low, iv.High
	}
	total := c.merge(func(d result.Direction) result.Latency { return d.Total })
	for _, q := range []struct {
		percent float64
		to      *float64
	}{{50, &p.P50NS}, {99, &p.P99NS}, {99.9, &p.P999NS}} {
		ns, _ := stats.Percentile(total.Bins, q.percent)
		*q.to = float64(ns)
	}
	return p
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
func (c *cell) merge(which func(result.Direction) result.Latency) result.Latency {
	var parts []result.Latency
	for _, t := range c.trials {
		parts = append(parts, which(t.Measurement.Read), which(t.Measurement.Write))
	}
	return stats.MergeLatency(parts...)
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
