package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// StratifiedMannWhitney returns the two-sided p value of the rank test of Mann and Whitney over several strata, each
// with its own level: values are ranked, and permuted, within their stratum only, and rank sums are added up. It is
// exact, ties included, where each stratum has up to 50 values, and the normal approximation above. Strata with an
// empty side are ignored; the p value is 1 if all are. The test is symmetric in x and y.
func StratifiedMannWhitney(x, y [][]float64) float64 {
	var from, to float64 // the rank sum of x (doubled), and what it is on average
	exact := true
	chances := []float64{1}      // of each rank sum that all strata so far can have
	var variance, strata float64 // of the doubled rank sum
	for i := range x {
		n, m := float64(len(x[i])), float64(len(y[i]))
		if n == 0 || m == 0 {
			continue
		}
		ranks, ties := midranks(x[i], y[i])
		total := n + m
		strata++
		for _, r := range ranks[:len(x[i])] {
			from += float64(r)
		}
		to += n * (total + 1)
		variance += 4 * n * m / 12 * (total + 1 - ties/(total*(total-1)))
		exact = exact && len(ranks) <= exactUpTo
		if exact {
			chances = convolve(chances, rankSums(ranks, len(x[i])))
		}
	}
	switch {
	case strata == 0 || from == to:
		return 1
	case !exact:
		distance := math.Abs(from-to) - 1 // for continuity
		if variance == 0 || distance <= 0 {
			return 1
		}
		return min(1, max(math.Erfc(distance/math.Sqrt(2*variance)), math.SmallestNonzeroFloat64))
	}
	tail := 0.0 // the smaller tail, always summed from its end: x and y may change places
	for s := range chances {
		if float64(s) <= min(from, 2*to-from) {
			tail += chances[s]
		}
	}
	return min(1, 2*tail)
}

// rankSums returns how likely each sum of n of the ranks is, by the sum.
func rankSums(ranks []int, n int) []float64 {
	ways := subsets(ranks, n)
	total := 0.0
	for _, w := range ways {
		total += w
	}
	for s := range ways {
		ways[s] /= total
	}
	return ways
}

// convolve returns the distribution of the sum of two independent whole numbers.
func convolve(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		if p == 0 {
			continue
		}
		for j, q := range b {
			sum[i+j] += p * q
		}
	}
	return sum
}

// SmallestStratifiedP is the smallest p value that StratifiedMannWhitney can give for strata of
// these sizes.
func SmallestStratifiedP(x, y [][]float64) float64 {
	p := 2.0
	for i := range x {
		if len(x[i]) > 0 && len(y[i]) > 0 {
			p *= SmallestP(len(x[i]), len(y[i])) / 2
		}
	}
	return min(1, p)
}

// RatioOfStrata returns the geometric mean, over strata, of median(subject) / median(baseline), with its bootstrap
// interval: values are resampled within their stratum. ok is false when there is no stratum, or one of them has no
// RatioOfMedians.
func RatioOfStrata(subject, baseline [][]float64, seed uint64) (r Ratio, ok bool) {
	// Order must not matter: the order of trials is random.
	x, y := make([][]float64, len(subject)), make([][]float64, len(baseline))
	for i := range subject {
		if !allPositive(subject[i]) || !allPositive(baseline[i]) {
			return Ratio{}, false
		}
		x[i], y[i] = sorted(subject[i]), sorted(baseline[i])
	}
	if len(x) == 0 {
		return Ratio{}, false
	}
	ratioOf := func(median func(values []float64) float64) float64 {
		logs := 0.0
		for i := range x {
			logs += math.Log(median(x[i]) / median(y[i]))
		}
		return math.Exp(logs / float64(len(x)))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	ratios := make([]float64, Resamples)
	for i := range ratios {
		ratios[i] = ratioOf(func(values []float64) float64 {
			return resampledMedian(rng, values, make([]float64, len(values)))
		})
	}
	slices.Sort(ratios)
	return Ratio{
		Ratio: ratioOf(func(values []float64) float64 { return quantileSorted(values, 0.5) }),
		Low:   quantileSorted(ratios, (1-Confidence)/2),
		High:  quantileSorted(ratios, (1+Confidence)/2),
	}, true
}
