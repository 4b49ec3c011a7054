package runview

import (
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/stats"
)

// MarksOf returns the marks of the cells' stacks, each once.
func MarksOf(cells ...*Cell) []string {
	var out []string
	for _, c := range cells {
		out = AddNew(out, c.Point.Marks...)
	}
	return out
}

// Cell holds the finished trials of a stack under a workload.
type Cell struct {
	Stack     *Stack
	Workload  result.Workload
	Instances int             // of all its tenants
	Trials    []*result.Trial // done, with a measurement; never empty
	Rates     Sample          // of each setup, per second
	Point     fact.Point

	samples   map[sampleKey]Sample            // of Sample, each computed once
	setups    map[int]*setup                  // by number, see together; nil before the first sample
	whole     *group                          // all instances; nil before the first use
	latencies map[result.Stage]hist.Histogram // of Merge
}

// sampleKey names a metric. Metrics of an operation have its name for an ID.
type sampleKey struct{ id, unit string }

// setup is one setup of a cell, of which metrics share the merged measurements.
type setup struct {
	trials int
	merged *result.Measurement // nil until a metric needs it
}

// Sample returns the sample of a metric over the cell's trials, all instances together. The caller must not change it.
func (c *Cell) Sample(m Metric) Sample {
	key := sampleKey{m.ID, m.Unit}
	sample, known := c.samples[key]
	if known {
		return sample
	}
	if c.setups == nil {
		c.samples, c.setups = map[sampleKey]Sample{}, map[int]*setup{}
		for _, t := range c.Trials {
			if c.setups[t.BringUp] == nil {
				c.setups[t.BringUp] = &setup{}
			}
			c.setups[t.BringUp].trials++
		}
	}
	sample = slices.Clip(m.sample(c.Trials, c.allInstances(), func(trials []*result.Trial) (float64, bool) {
		return c.together(m, trials)
	}))
	c.samples[key] = sample
	return sample
}

// allInstances returns the group of all instances of the cell's trials.
func (c *Cell) allInstances() *group {
	if c.whole == nil {
		c.whole = groupOf(ofTenant(""))
	}
	return c.whole
}

// MeasuredOf returns what the instances of a trial of the cell measured together. Latencies are merged once.
func (c *Cell) MeasuredOf(t *result.Trial) *result.Measurement { return c.allInstances().measured(t) }

// together returns a metric of trials of one setup that all have it. The measurements of a whole setup are merged once
// for all metrics.
func (c *Cell) together(m Metric, trials []*result.Trial) (value float64, ok bool) {
	s := c.setups[trials[0].BringUp]
	if trials[0].BringUp <= 0 || len(trials) != s.trials {
		return m.together(trials, c.allInstances())
	}
	if s.merged == nil {
		measurements := make([]*result.Measurement, len(trials))
		for i, t := range trials {
			measurements[i] = c.MeasuredOf(t)
		}
		merged := result.Together(measurements...)
		s.merged = &merged
	}
	return m.ofMerged(s.merged)
}

// Operations returns the fewest operations that a setup has of a percentile, and whether all setups have enough for it
// to be known.
func (c *Cell) Operations(percentile Metric) (fewest uint64, enough bool) {
	enough = true
	for i, u := range c.Rates {
		count, known := percentile.operations(u.Trials, c.allInstances())
		if enough = enough && known; i == 0 || count < fewest {
			fewest = count
		}
	}
	return fewest, enough
}

// Enough reports whether every setup has operations enough for a metric to be known.
func (c *Cell) Enough(m Metric) bool {
	_, enough := c.Operations(m)
	return enough
}

// Finite reports whether x is a number.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Source returns what answered the trials.
func (c *Cell) Source() result.Source { return result.Source(c.Point.Source) }

// Honest reports whether the intended source answered the I/Os: the device, or a database or file system, whose caches
// are a part of it.
func (c *Cell) Honest() bool {
	return c.Source() == result.SourceDevice || c.Source().Operations()
}

func (c *Cell) summarise() fact.Point {
	p := fact.Point{
		Stack: c.Stack.Name, Workload: c.Workload.Name, Metric: IOPS,
		Estimate: Estimate(c.Rates.Values()), Trials: len(c.Trials), Source: string(c.source()),
	}
	for _, m := range c.Stack.Marks {
		p.Marks = append(p.Marks, string(m))
	}
	var ratios []float64
	for _, t := range c.Trials {
		if h := t.Honesty(); h != nil && h.Ratio != nil && Finite(*h.Ratio) {
			ratios = append(ratios, *h.Ratio)
		}
	}
	bytes := c.Sample(Bandwidth)
	if len(ratios) > 0 {
		r := stats.Median(ratios)
		p.Ratio = &r
	}
	if len(bytes) > 0 {
		e := Estimate(bytes.Values())
		p.BytesPerSecond, p.BytesLow, p.BytesHigh = e.Median, e.Low, e.High
	}
	p.P50NS, p.P99NS, p.P999NS = c.Sample(P50).Median(), c.Sample(P99).Median(), c.Sample(P999).Median()
	p.Percentiles = Percentiles(c)
	return p
}

// source returns the source that answered the trials' I/Os. A single trial from memory makes it memory: other
// processes can add to a device's counters and hide a cache, but nothing can reduce them. Otherwise the majority
// decides.
func (c *Cell) source() result.Source {
	votes := c.votes()
	switch {
	case votes[result.SourceMemory] > 0:
		return result.SourceMemory
	case votes[result.SourceServer] > 0:
		return result.SourceServer
	case votes[result.SourceFiles] > 0:
		return result.SourceFiles
	case votes[result.SourceDevice] > votes[result.SourceUnknown]:
		return result.SourceDevice
	}
	return result.SourceUnknown
}

// votes counts what answered the trials.
func (c *Cell) votes() map[result.Source]int {
	votes := map[result.Source]int{}
	for _, t := range c.Trials {
		s := result.SourceUnknown
		if t.Honesty() != nil && t.Honesty().Source != "" {
			s = t.Honesty().Source
		}
		votes[s]++
	}
	return votes
}

// FromMemory counts the trials that memory answered.
func (c *Cell) FromMemory() int { return c.votes()[result.SourceMemory] }

// Merge merges the latencies of a stage of all operations over all trials, once for each stage.
func (c *Cell) Merge(stage result.Stage) hist.Histogram {
	if merged, known := c.latencies[stage]; known {
		return merged
	}
	var parts []hist.Histogram
	for _, t := range c.Trials {
		parts = append(parts, c.MeasuredOf(t).Latency(stage))
	}
	if c.latencies == nil {
		c.latencies = map[result.Stage]hist.Histogram{}
	}
	c.latencies[stage] = hist.Merge(parts...)
	return c.latencies[stage]
}

// Points returns the points of cells.
func Points(cells ...*Cell) []fact.Point {
	var out []fact.Point
	for _, c := range cells {
		out = append(out, c.Point)
	}
	return out
}

// Names returns the names of the cells' stacks.
func Names(cells []*Cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.Stack.Name)
	}
	return out
}
