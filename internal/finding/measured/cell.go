package measured

import (
	"math"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// MarksOf returns the marks of the cells' stacks, each once.
func MarksOf(cells ...*Cell) []string {
	var out []string
	for _, c := range cells {
		for _, m := range c.Point.Marks {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// Cell is what the finished trials of a stack under a workload measured.
type Cell struct {
	Stack    *Stack
	Workload result.Workload
	Trials   []*result.Trial // done, with a measurement; never empty
	Rates    samples.Sample
	IOPS     []float64 // of each bring-up
	Point    fact.Point
}

// Sample returns what the cell's trials measured by a metric, all instances
// together.
func (c *Cell) Sample(m samples.Metric) samples.Sample {
	return samples.Take(c.Trials, func(t *result.Trial) (float64, bool) { return m.Of(t, "") })
}

// Finite reports whether x is a number.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Source returns what answered the trials.
func (c *Cell) Source() result.Source { return result.Source(c.Point.Source) }

// Honest reports whether what was asked answered: the device, or a database, whose caches are a
// part of it.
func (c *Cell) Honest() bool {
	return c.Source() == result.SourceDevice || c.Source() == result.SourceServer
}

func (c *Cell) summarise() fact.Point {
	p := fact.Point{
		Stack: c.Stack.Name, Workload: c.Workload.Name, Metric: IOPS,
		N: len(c.IOPS), Trials: len(c.Trials), Source: string(c.answered()),
	}
	p.Median, p.Low, p.High, p.Coverage = MedianOf(c.IOPS)
	for _, m := range c.Stack.Marks {
		p.Marks = append(p.Marks, string(m))
	}
	var ratios []float64
	for _, t := range c.Trials {
		if h := t.Honesty(); h != nil && h.Ratio != nil && Finite(*h.Ratio) {
			ratios = append(ratios, *h.Ratio)
		}
	}
	bytes := c.Sample(samples.Bandwidth)
	if len(ratios) > 0 {
		r := stats.Median(ratios)
		p.Ratio = &r
	}
	if len(bytes) > 0 {
		p.BytesPerSecond, p.BytesLow, p.BytesHigh, _ = MedianOf(bytes.Means())
	}
	total := c.Merge(result.Total)
	for _, q := range []struct {
		percent float64
		to      *float64
	}{{50, &p.P50NS}, {99, &p.P99NS}, {99.9, &p.P999NS}} {
		ns, _ := hist.Percentile(total.Bins, q.percent)
		*q.to = float64(ns)
	}
	return p
}

// MedianOf returns the median with its interval. Below four values there is no
// interval: its limits are then the median, and its coverage is 0.
func MedianOf(values []float64) (median, low, high, coverage float64) {
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
func (c *Cell) answered() result.Source {
	votes := c.votes()
	switch {
	case votes[result.SourceMemory] > 0:
		return result.SourceMemory
	case votes[result.SourceServer] > 0:
		return result.SourceServer
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
