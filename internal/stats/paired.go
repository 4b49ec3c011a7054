package stats

import (
	"math"
	"slices"
)

// FewestPairs is the number of pairs below which an interval or a test is meaningless: Student's t of three pairs has
// two degrees of freedom, and its interval is four times as wide as the effect.
const FewestPairs = 4

// Paired compares a subject with a baseline measured under the same conditions several times: on the same region of a
// disk, in the same block of trials. The effect of the conditions on both cancels.
type Paired struct {
	Ratio     float64 // subject / baseline: the typical one of the pairs
	Low, High float64 // 95% interval of Ratio; NaN below FewestPairs
	P         float64 // two-sided: that pairs of equals differ as much; 1 below FewestPairs
	Pairs     int
}

// PairedRatio compares subject[i] with baseline[i] for all i, which are values
// above 0, by the logarithms of their ratios: Student's t interval and test of
// their mean, trimmed of about a tenth at either end from eight pairs on
// (Yuen 1974), so that one disturbed trial does not hide a difference.
//
// The test needs no assumption on how values are distributed when subject and
// baseline are equals that met their conditions in random order: the
// differences are then symmetric about 0, and the test errs on the safe side.
//
// ok is false when there is no ratio: no pair, or a value that is not a
// positive number. It panics when the lengths differ.
func PairedRatio(subject, baseline []float64) (p Paired, ok bool) {
	if len(subject) != len(baseline) {
		panic("stats: pairs of different lengths")
	}
	if !allPositive(subject) || !allPositive(baseline) {
		return Paired{}, false
	}
	t := trimmedMean(logRatios(subject, baseline))
	p = Paired{Ratio: math.Exp(t.mean), Low: math.NaN(), High: math.NaN(), P: 1, Pairs: len(subject)}
	if p.Pairs < FewestPairs {
		return p, true
	}
	half := StudentQuantile((1+Confidence)/2, t.degrees) * t.standardError
	p.Low, p.High = math.Exp(t.mean-half), math.Exp(t.mean+half)
	p.P = t.p(0)
	return p, true
}

// PairedTest tests whether the typical ratio of subject to baseline, as
// PairedRatio has it, is the exponential of at. distance is how far above that
// it is, in logarithms; p is two-sided, and 1 where there is no ratio or fewer
// than FewestPairs.
func PairedTest(subject, baseline []float64, at float64) (distance, p float64) {
	if len(subject) < FewestPairs || !allPositive(subject) || !allPositive(baseline) {
		return 0, 1
	}
	t := trimmedMean(logRatios(subject, baseline))
	return t.mean - at, t.p(at)
}

func logRatios(subject, baseline []float64) []float64 {
	logs := make([]float64, len(subject))
	for i := range logs {
		logs[i] = math.Log(subject[i]) - math.Log(baseline[i])
	}
	return logs
}

// trimmedSums is a trimmed mean with the sums for its interval and test.
type trimmedSums struct {
	mean, standardError float64
	degrees             int
}

// p returns the two-sided p value of the hypothesis that the mean is at.
func (t trimmedSums) p(at float64) float64 {
	switch distance := t.mean - at; {
	case distance == 0:
		return 1
	case t.standardError == 0:
		return 0
	default:
		return StudentP(distance/t.standardError, t.degrees)
	}
}

// trimmedMean is the mean without about a tenth of the values at either end,
// and its standard error from the winsorized variance (Yuen 1974). Below
// eight values none is left out.
func trimmedMean(values []float64) trimmedSums {
	sorted := slices.Sorted(slices.Values(values))
	n, cut := len(sorted), (len(sorted)+2)/10
	kept := float64(n - 2*cut)
	mean, _ := MeanAndSquares(sorted[cut : n-cut])
	for i := range cut {
		sorted[i], sorted[n-1-i] = sorted[cut], sorted[n-1-cut]
	}
	_, squares := MeanAndSquares(sorted)
	return trimmedSums{mean, math.Sqrt(squares / (kept * (kept - 1))), n - 2*cut - 1}
}

// MeanAndSquares returns the mean of values and the sum of squared deviations from it.
func MeanAndSquares(values []float64) (mean, squares float64) {
	for i, v := range values {
		delta := v - mean
		mean += delta / float64(i+1)
		squares += delta * (v - mean)
	}
	return mean, squares
}

// GeometricMean returns the geometric mean of values above 0; NaN when there
// are none, or one is not above 0.
func GeometricMean(values []float64) float64 {
	if !allPositive(values) {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}
