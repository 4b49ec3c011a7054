package stats

import (
	"math"
)

// moderate draws variances towards what they have in common, and adds the degrees of freedom that this is worth: with
// few values each, a variance by itself is hardly known, and several of the same kind are known well. How much they
// have in common is estimated from how far apart their logarithms are (Smyth, Linear models and empirical Bayes
// methods, SAGMB 3, 2004). Those without degrees of freedom become what is common. One or two stay as they are. Of
// few, one that is above what they have in common is not drawn below itself: it may be of another kind.
func moderate(variances, degrees []float64) {
	prior, worth := priorOf(variances, degrees)
	for i, d := range degrees {
		switch {
		case worth == 0 || prior == 0:
		case math.IsInf(worth, 1):
			variances[i], degrees[i] = prior, math.Inf(1)
		default:
			drawn := (worth*prior + d*variances[i]) / (worth + d)
			if len(variances) < fewVariances {
				drawn = max(drawn, variances[i])
			}
			variances[i] = drawn
			degrees[i] += worth
		}
	}
}

// fewVariances is how many do not show that one of them is of another kind. make bench NAME=verdicts: of three stacks,
// of which one varies four times as much as the others, 5% of runs of four rounds are sure and wrong, 7% without this.
const fewVariances = 5

// priorOf returns the common variance, and of how many degrees of freedom it is worth: 0 for none, and infinity where
// the variances differ by no more than chance.
func priorOf(variances, degrees []float64) (prior, worth float64) {
	var known []float64
	sum, whole := 0.0, 0.0
	for i, d := range degrees {
		if d > 0 {
			known = append(known, variances[i])
			sum, whole = sum+d*variances[i], whole+d
		}
	}
	if len(known) < 3 || sum == 0 { // what the fit leaves of two is the same of both
		return 0, 0
	}
	least := 1e-5 * Median(known) // a variance of 0 has no logarithm
	if least == 0 {
		return 0, 0
	}
	// Few variances hardly show how far they are apart: as many as weight are added that are as far apart as those of
	// stacks usually are.
	const usual, weight = 4, 2
	var logs []float64
	expected := 0.0
	for i, d := range degrees {
		if d > 0 {
			logs = append(logs, math.Log(max(variances[i], least))-digamma(d/2)+math.Log(d/2))
			expected += trigamma(d/2) / float64(len(known))
		}
	}
	mean, squares := MeanAndSquares(logs)
	n := float64(len(logs))
	beyond := (squares - (n-1)*expected + weight*trigamma(usual/2)) / (n - 1 + weight)
	if beyond <= 0 {
		return sum / whole, math.Inf(1)
	}
	half := trigammaInverse(beyond)
	return math.Exp(mean + digamma(half) - math.Log(half)), 2 * half
}

// digamma is the derivative of the logarithm of the gamma function, for x above 0.
func digamma(x float64) (y float64) {
	for ; x < 10; x++ {
		y -= 1 / x
	}
	s := 1 / (x * x)
	return y + math.Log(x) - 1/(2*x) - s*(1.0/12-s*(1.0/120-s/252))
}

// trigamma is the derivative of digamma.
func trigamma(x float64) (y float64) {
	for ; x < 10; x++ {
		y += 1 / (x * x)
	}
	s := 1 / (x * x)
	return y + 1/x + s/2 + s/x*(1.0/6-s*(1.0/30-s/42))
}

// trigammaInverse returns where trigamma is y, above 0.
func trigammaInverse(y float64) float64 {
	low, high := 1e-8, 1e8
	for range 200 {
		middle := math.Sqrt(low * high)
		if trigamma(middle) > y {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}
