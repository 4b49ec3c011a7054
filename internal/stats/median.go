package stats

import (
	"math"
	"slices"
)

// Median is the middle value, or the mean of the two middle values. It is NaN
// when there are none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile is the q-quantile (q from 0 to 1) of type 7 in the numbering of
// Hyndman and Fan: linear between order statistics, the default of R and
// NumPy. It is NaN when there are no values.
func Quantile(values []float64, q float64) float64 {
	return quantileSorted(sorted(values), q)
}

// sorted returns the values in ascending order.
func sorted(values []float64) []float64 {
	values = slices.Clone(values)
	slices.Sort(values)
	return values
}

func quantileSorted(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	h := float64(len(sorted)-1) * min(max(q, 0), 1)
	i := int(h)
	f := h - float64(i)
	if f == 0 {
		return sorted[i]
	}
	// From the lower value upwards, and not beyond the upper one: rounding then
	// keeps the result between the two, and a higher q never gives less.
	return min(sorted[i]+f*(sorted[i+1]-sorted[i]), sorted[i+1])
}

// Interval is a confidence interval.
type Interval struct {
	Low, High float64
	Coverage  float64 // probability with which it holds the true value, 0 to 1
}

// Confidence is the coverage that intervals aim at.
const Confidence = 0.95

// MedianInterval is the shortest interval of two order statistics, equally
// far from both ends, that holds the median of the population with at least
// 95% probability, whatever the distribution. Below 6 values there is none:
// it is then the smallest and the largest value, and Coverage says what that
// is worth: 94% with 5 values, 88% with 4, 75% with 3, 50% with 2, 0 with 1.
// Without values the limits are NaN.
func MedianInterval(values []float64) Interval {
	n := len(values)
	if n == 0 {
		return Interval{Low: math.NaN(), High: math.NaN()}
	}
	sorted := sorted(values)
	// The median lies outside the k-th value from either end when fewer than
	// k of n fair coins show heads.
	k, outside := 1, 2*binomialHalf(n, 0)
	for 2*(k+1) <= n {
		wider := outside + 2*binomialHalf(n, k)
		if wider > 1-Confidence {
			break
		}
		k, outside = k+1, wider
	}
	return Interval{Low: sorted[k-1], High: sorted[n-k], Coverage: max(0, 1-outside)}
}

// binomialHalf is the probability of k heads among n fair coins.
func binomialHalf(n, k int) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x)); return v }
	return math.Exp(lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1) - float64(n)*math.Ln2)
}
