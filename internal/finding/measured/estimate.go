package measured

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/stats"
)

// Estimate returns the median of values with its interval.
func Estimate(values []float64) fact.Estimate {
	interval := stats.MedianInterval(values)
	return fact.Estimate{
		N: len(values), Median: stats.Median(values), Low: interval.Low, High: interval.High, Coverage: interval.Coverage,
	}
}

// Apart returns how much the median of one sample is above that of another. ok is
// false where one is empty, or holds what is no finite number.
func (v *View) Apart(subject, baseline []float64) (d fact.Difference, ok bool) {
	of, ok := stats.DifferenceOfMedians(subject, baseline, v.Run.Seed)
	return fact.Difference{Median: of.Difference, Low: of.Low, High: of.High, N: min(len(subject), len(baseline))}, ok
}
