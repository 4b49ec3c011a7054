package runview

import (
	"math"

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
}

// Sample returns the sample of a metric over the cell's trials, all instances together.
func (c *Cell) Sample(m Metric) Sample {
	return m.Sample(c.Trials, "")
}

// Operations returns the fewest operations that a setup has of a percentile, and whether all setups have enough for it
// to be known.
func (c *Cell) Operations(percentile Metric) (fewest uint64, enough bool) {
	enough = true
	for i, u := range c.Rates {
		count, known := percentile.operations(u.Trials, ofTenant(""))
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

// Merge merges the latencies of a stage of all operations over all trials.
func (c *Cell) Merge(stage result.Stage) hist.Histogram {
	var parts []hist.Histogram
	for _, t := range c.Trials {
		parts = append(parts, t.Measured().Latency(stage))
	}
	return hist.Merge(parts...)
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
