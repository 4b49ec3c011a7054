package stats

import (
	"maps"
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
// When subject and baseline are equals that met their conditions in random
// order, their differences are symmetric about 0. What the order itself costs
// makes differences of two values, of which the test finds too many to be
// significant: every second round is to have the reverse order.
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

// RunSpread is what is known of how much several runs differ beyond what the blocks within them explain, from other
// treatments that were measured in the same runs.
type RunSpread struct {
	// Times is the variance of the means of runs, as a multiple of what setups within runs let them vary by: at least 1.
	Times   float64
	Degrees float64 // of freedom of Times; 0 where it is not known
}

// RunSpreadOf estimates how much more the means of runs vary than setups within them explain, over groups of cells that
// share blocks: the ratio of the residual mean square of a fit of runs to that of fits within runs.
func RunSpreadOf(groups ...[]Cell) (s RunSpread) {
	var between, betweenDegrees, within, withinDegrees float64
	for _, cells := range groups {
		runs, known := unitsOf(cells, func(c Cell) int { return c.Run })
		if !known || len(runs) < 2 {
			continue
		}
		units := map[[2]int]bool{}
		for _, run := range slices.Sorted(maps.Keys(runs)) {
			var cellsOfRun []Cell
			for _, c := range cells {
				if c.Run == run {
					cellsOfRun = append(cellsOfRun, c)
					units[[2]int{c.Treatment, run}] = true
				}
			}
			fit := fitCells(cellsOfRun)
			within, withinDegrees = within+fit.squares, withinDegrees+float64(len(cellsOfRun)-fit.rank)
		}
		count := float64(len(cells)) / float64(len(units)) // cells of a unit, in the mean
		fit := fitCells(joined(cells, runs, func(c Cell) int { return c.Run }))
		between, betweenDegrees = between+count*fit.squares, betweenDegrees+float64(len(fit.cells)-fit.rank)
	}
	if betweenDegrees < 1 || withinDegrees < 1 || within == 0 {
		return s
	}
	s.Times = max(1, between/betweenDegrees/(within/withinDegrees))
	s.Degrees = 1 / (1/betweenDegrees + 1/withinDegrees)
	return s
}

// PairedRatioOfRuns is PairedRatio of pairs of several runs: the run of each pair is given. What a pair has in one
// run and not in the next is a part of the error: the units are the means of runs. With few runs their variance is
// hardly known, and is drawn towards what the other treatments of these runs show, see RunSpread. Of one run it is
// PairedRatio.
func PairedRatioOfRuns(subject, baseline []float64, runs []int, spread RunSpread) (p Paired, ok bool) {
	p, ok = PairedRatio(subject, baseline)
	if !ok || p.Pairs < FewestPairs || !slices.ContainsFunc(runs, func(r int) bool { return r != runs[0] }) {
		return p, ok
	}
	byRun := map[int][]float64{}
	for i, log := range logRatios(subject, baseline) {
		byRun[runs[i]] = append(byRun[runs[i]], log)
	}
	var means []float64
	within, inverse := 0.0, 0.0
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		mean, squares := MeanAndSquares(byRun[run])
		means = append(means, mean)
		within, inverse = within+squares, inverse+1/float64(len(byRun[run]))
	}
	mean, squares := MeanAndSquares(means)
	n := float64(len(means))
	variance, degrees := squares/(n-1), n-1
	if setups := float64(p.Pairs) - n; spread.Degrees > 0 && setups > 0 {
		expected, worth := spread.Times*within/setups*inverse/n, 1/(1/spread.Degrees+1/setups)
		variance = (degrees*variance + worth*expected) / (degrees + worth)
		degrees += worth
	}
	c := Contrast{Log: mean, Error: math.Sqrt(variance / n), Degrees: int(degrees + 1e-6)}
	p.Ratio, p.P = math.Exp(mean), c.P()
	p.Low, p.High = c.Interval((1 - Confidence) / 2)
	return p, true
}

// PairedTest tests whether the logarithm of the typical ratio of subject to baseline, see PairedRatio, is hypothesis.
// distance is how far above hypothesis the logarithm is; p is two-sided, and 1 if there is no ratio, or fewer pairs
// than FewestPairs.
func PairedTest(subject, baseline []float64, hypothesis float64) (distance, p float64) {
	if len(subject) < FewestPairs || !allPositive(subject) || !allPositive(baseline) {
		return 0, 1
	}
	t := trimmedMean(logRatios(subject, baseline))
	return t.mean - hypothesis, t.p(hypothesis)
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

// p returns the two-sided p value of the hypothesis about the mean.
func (t trimmedSums) p(hypothesis float64) float64 {
	switch distance := t.mean - hypothesis; {
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
	sorted := sorted(values)
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
