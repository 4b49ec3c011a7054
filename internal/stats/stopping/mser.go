package stopping

import (
	"fmt"
	"math"
)

// mserBatch is the 5 of MSER-5.
const mserBatch = 5

// mserTail is how many batches at the end cannot be the cut: the variance of fewer is too often small by chance.
const mserTail = 5

// Truncation is the warm-up that MSER5 found at the beginning of a series.
type Truncation struct {
	Cut int // samples to leave out, at most half of the series
	// Best is the cut when more than half may be cut; if the series is long enough, it equals Cut. If it is larger,
	// the series may have been warming up for most of its time, or still be.
	Best int
	// Enough reports whether there were enough samples to look for a warm-up.
	Enough bool
}

// MSER5 finds the warm-up to leave out, by White's marginal standard error
// rule on batches of five: of all d, it takes the one for which leaving out
// the first d batches makes the squared standard error of the rest,
//
//	sum of (batch - mean of the rest)^2 / (number of the rest)^2,
//
// smallest; the first of equals. Samples beyond the last whole batch take no
// part. It takes two batches beyond the tail, 35 samples in all.
//
// White (1997), An effective truncation heuristic for bias reduction in
// simulation output, Simulation 69(6); White, Cobb and Spratt (2000), A
// comparison of five steady-state truncation heuristics for simulation,
// Winter Simulation Conference. That a minimum in the second half means too
// little data, and the tail of five, are Hoad, Robinson and Davies (2010),
// Automating warm-up length estimation, J. Oper. Res. Soc. 61.
func MSER5(series []float64) Truncation {
	batches := batchMeans(series[:len(series)-len(series)%mserBatch], mserBatch)
	last := len(batches) - mserTail
	if last < 2 {
		return Truncation{}
	}
	// From the end to the beginning, Welford's update gives every tail's sum
	// of squares in one pass and without cancellation.
	var mean, squares float64
	best, bestInHalf := 0, 0
	least, leastInHalf := math.Inf(1), math.Inf(1)
	for d := len(batches) - 1; d >= 0; d-- {
		n := float64(len(batches) - d)
		delta := batches[d] - mean
		mean += delta / n
		squares += delta * (batches[d] - mean)
		if d > last {
			continue
		}
		error2 := squares / (n * n)
		if error2 <= least {
			best, least = d, error2
		}
		if 2*d <= len(batches) && error2 <= leastInHalf {
			bestInHalf, leastInHalf = d, error2
		}
	}
	return Truncation{Cut: bestInHalf * mserBatch, Best: best * mserBatch, Enough: true}
}

// Warming returns the warm-up to cut off a trial of a fixed time, in samples, and a reason to suspect that servers
// still warmed up afterwards; "" for none. It ignores changes of the mean below the usual target.
func Warming(series []float64) (cut int, why string) {
	warmup := MSER5(series)
	m, ok := MeanInterval(series[warmup.Cut:], DefaultRule.Confidence)
	if !warmup.Enough || !ok {
		return warmup.Cut, "it is too short to decide"
	}
	rise := average(series[warmup.Best:]) - m.Value
	if m.RiseP < 1-DefaultRule.Confidence {
		rise = max(rise, m.Rise)
	}
	if rise > DefaultRule.Target*m.Value {
		why = fmt.Sprintf("the rate still rose by %s", Percent(rise/m.Value))
	}
	return warmup.Cut, why
}

// batchMeans are the means of successive batches of size samples; what does
// not fill a batch at the end is left out.
func batchMeans(series []float64, size int) []float64 {
	means := make([]float64, 0, len(series)/size)
	for i := size; i <= len(series); i += size {
		means = append(means, average(series[i-size:i]))
	}
	return means
}
