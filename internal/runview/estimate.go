package runview

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/stats"
)

// Estimate returns the median of values with its interval. Below four values there is none: both ends are then the
// median, and the coverage is 0.
func Estimate(values []float64) fact.Estimate {
	e := fact.Estimate{N: len(values), Median: stats.Median(values)}
	e.Low, e.High = e.Median, e.Median
	if e.N >= stats.FewestPairs {
		interval := stats.MedianInterval(values)
		e.Low, e.High, e.Coverage = interval.Low, interval.High, interval.Coverage
	}
	return e
}

// Apart returns the difference of the medians of two samples, with its interval. ok is false where one is empty, or
// has a value that is not finite.
func (v *View) Apart(subject, baseline []float64) (d fact.Difference, ok bool) {
	of, ok := stats.DifferenceOfMedians(subject, baseline, v.Run.Seed)
	return fact.Difference{Median: of.Difference, Low: of.Low, High: of.High, N: min(len(subject), len(baseline))}, ok
}
