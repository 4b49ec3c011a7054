package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units/plural"
)

// fewestRuns is the number of runs, of both sides together, below which nothing is known of how much runs differ by
// themselves: with four there are two degrees of freedom.
const fewestRuns = 4

// inRuns returns the logarithm of the median of the setups of each pooled run, by its number; 0
// for a run by itself. A median that is not above 0 has none.
func inRuns(s runview.Sample) map[int]float64 {
	values := map[int][]float64{}
	for _, u := range s {
		values[u.Run] = append(values[u.Run], u.Value())
	}
	logs := map[int]float64{}
	for run, of := range values {
		if log := math.Log(stats.Median(of)); runview.Finite(log) {
			logs[run] = log
		}
	}
	return logs
}

// several reports whether a side has pooled runs.
func (s Sample) several() bool {
	for run := range s.runs {
		if run > 0 {
			return true
		}
	}
	return false
}

// judgeRuns sets the ratio, interval and p of a row with several runs on a side: each run is one number, since what a
// run has in all of its setups, and the next run has not, is no effect of what changed.
func (r *Row) judgeRuns() {
	c := stats.ContrastOfRuns(slices.Collect(maps.Values(r.B.runs)), slices.Collect(maps.Values(r.A.runs)))
	r.A.Runs, r.B.Runs = len(r.A.runs), len(r.B.runs)
	r.P, r.smallest, r.Ratio, r.Low, r.High = 1, 1, nil, nil, nil
	if min(r.A.Runs, r.B.Runs) == 0 {
		return
	}
	ratio := math.Exp(c.Log)
	r.Ratio = &ratio
	if r.A.Runs+r.B.Runs < fewestRuns {
		return
	}
	r.P, r.smallest = c.P(), 0
	low, high := c.Interval((1 - stats.Confidence) / 2)
	if invertible(low) && invertible(high) {
		r.Low, r.High = &low, &high
	}
}

// together returns the mean of the points of a curve in each run that has all of them.
func together(points []map[int]float64) map[int]float64 {
	means := map[int]float64{}
	for run := range points[0] {
		sum, in := 0.0, 0
		for _, p := range points {
			if log, ok := p[run]; ok {
				sum, in = sum+log, in+1
			}
		}
		if in == len(points) {
			means[run] = sum / float64(in)
		}
	}
	return means
}

// runsNote says what runs cannot show that are one on each side.
func (c *Comparison) runsNote() string {
	if c.severalRuns() {
		return ""
	}
	return "one run on each side does not show how much runs differ by themselves: several on each side do, " +
		"as in plimsoll compare A1 A2 A3 -- B1 B2 B3"
}

// tooFewRuns says how many runs a comparison of several takes.
func (r Row) tooFewRuns() string {
	return fmt.Sprintf("%s and %d do not show how much runs differ by themselves; it takes %d in all",
		plural.Count(r.A.Runs, "run"), r.B.Runs, fewestRuns)
}
