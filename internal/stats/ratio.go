package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is the number of bootstrap samples behind an interval.
const Resamples = 10_000

// Ratio is the ratio of two medians with its 95% bootstrap interval.
type Ratio struct{ Ratio, Low, High float64 }

// RatioOfMedians returns median(subject) / median(baseline), with the percentile bootstrap interval: both samples are
// resampled with replacement, Resamples times, and the interval holds the middle 95% of the ratios. The same
// arguments give the same result.
//
// ok is false for an empty sample, and for one with a value that is not a positive number.
func RatioOfMedians(subject, baseline []float64, seed uint64) (r Ratio, ok bool) {
	if !allPositive(subject) || !allPositive(baseline) {
		return Ratio{}, false
	}
	// Order must not matter: the order of trials is random.
	subject, baseline = sorted(subject), sorted(baseline)
	rng := rand.New(rand.NewPCG(seed, 0))
	ratios := make([]float64, Resamples)
	a, b := make([]float64, len(subject)), make([]float64, len(baseline))
	for i := range ratios {
		ratios[i] = resampledMedian(rng, subject, a) / resampledMedian(rng, baseline, b)
	}
	slices.Sort(ratios)
	return Ratio{
		Ratio: quantileSorted(subject, 0.5) / quantileSorted(baseline, 0.5),
		Low:   quantileSorted(ratios, (1-Confidence)/2),
		High:  quantileSorted(ratios, (1+Confidence)/2),
	}, true
}

// Difference is the difference of two medians with its 95% bootstrap interval.
type Difference struct{ Difference, Low, High float64 }

// DifferenceOfMedians returns median(subject) - median(baseline), with a percentile bootstrap interval as
// RatioOfMedians. ok is false for an empty sample, and for one with a value that is not finite.
func DifferenceOfMedians(subject, baseline []float64, seed uint64) (d Difference, ok bool) {
	infinite := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	if len(subject) == 0 || len(baseline) == 0 || slices.ContainsFunc(subject, infinite) ||
		slices.ContainsFunc(baseline, infinite) {
		return Difference{}, false
	}
	subject, baseline = sorted(subject), sorted(baseline)
	rng := rand.New(rand.NewPCG(seed, 0))
	differences := make([]float64, Resamples)
	a, b := make([]float64, len(subject)), make([]float64, len(baseline))
	for i := range differences {
		differences[i] = resampledMedian(rng, subject, a) - resampledMedian(rng, baseline, b)
	}
	slices.Sort(differences)
	return Difference{
		Difference: quantileSorted(subject, 0.5) - quantileSorted(baseline, 0.5),
		Low:        quantileSorted(differences, (1-Confidence)/2),
		High:       quantileSorted(differences, (1+Confidence)/2),
	}, true
}

// resampledMedian draws len(values) of them with replacement into buf.
func resampledMedian(rng *rand.Rand, values, buf []float64) float64 {
	for i := range buf {
		buf[i] = values[rng.IntN(len(values))]
	}
	slices.Sort(buf)
	return quantileSorted(buf, 0.5)
}

func allPositive(values []float64) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) || math.IsInf(v, 1) })
}
