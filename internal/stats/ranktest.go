package stats

import (
	"math"
	"slices"
)

// Alpha is the level of tests: a difference is significant below it.
const Alpha = 0.05

// exactUpTo is the largest number of values, both samples together, for which
// MannWhitney is exact. All counts of subsets are then below 2^53, and so
// whole numbers in a float64.
const exactUpTo = 50

// MannWhitney is the two-sided p value of the rank test of Mann and Whitney
// (Wilcoxon): how often two samples of the same distribution would differ as
// much as x and y do. It is symmetric in x and y, and in (0, 1].
//
// Up to 50 values it is exact, ties included: the distribution of the rank
// sum over all ways to deal the observed (mid)ranks out to the two samples,
// and twice the smaller tail. Above, it is the normal approximation with the
// corrections for ties and continuity. It is 1 when a sample is empty.
func MannWhitney(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 1
	}
	if len(x) > len(y) {
		x, y = y, x // the tails swap, and p stays; the smaller one is cheaper to count
	}
	ranks, ties := midranks(x, y)
	if len(ranks) <= exactUpTo {
		return exactP(ranks, len(x))
	}
	return normalP(ranks, len(x), ties)
}

// SmallestP is the smallest p value that MannWhitney can give for samples of
// these sizes: the samples do not overlap at all. 3 against 3 give 0.1.
func SmallestP(n, m int) float64 {
	p := 2.0
	for i := 1; i <= min(n, m); i++ {
		p *= float64(i) / float64(max(n, m)+i) // 2 / binomial(n+m, n)
	}
	return min(1, p)
}

// RepeatsNeeded is the smallest number of values per sample with which a
// difference can be significant at all.
func RepeatsNeeded() int {
	n := 1
	for SmallestP(n, n) >= Alpha {
		n++
	}
	return n
}

// midranks ranks x and y together, from 1, equal values sharing the mean of
// their ranks. Ranks are doubled, which makes them whole; those of x come
// first. ties is the sum of t^3-t over groups of t equal values.
func midranks(x, y []float64) (doubled []int, ties float64) {
	pooled := slices.Concat(x, y)
	order := make([]int, len(pooled))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case pooled[a] < pooled[b]:
			return -1
		case pooled[a] > pooled[b]:
			return 1
		}
		return 0
	})
	doubled = make([]int, len(pooled))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && pooled[order[j]] == pooled[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			doubled[k] = i + 1 + j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return doubled, ties
}

// exactP counts, for every rank sum, the subsets of n ranks that have it.
func exactP(ranks []int, n int) float64 {
	observed := 0
	for _, r := range ranks[:n] {
		observed += r
	}
	var lower, upper, total float64 // both with the observed one
	for s, w := range subsets(ranks, n) {
		total += w
		if s <= observed {
			lower += w
		}
		if s >= observed {
			upper += w
		}
	}
	return min(1, 2*min(lower, upper)/total)
}

// subsets counts the subsets of n ranks by their sum.
func subsets(ranks []int, n int) []float64 {
	largest := 0
	for _, r := range ranks {
		largest += r
	}
	ways := make([][]float64, n+1) // by size of the subset and doubled rank sum
	for k := range ways {
		ways[k] = make([]float64, largest+1)
	}
	ways[0][0] = 1
	reach := 0
	for i, r := range ranks {
		reach += r
		for k := min(n, i+1); k >= 1; k-- {
			for s := r; s <= reach; s++ {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[n]
}

func normalP(ranks []int, n int, ties float64) float64 {
	sum := 0.0
	for _, r := range ranks[:n] {
		sum += float64(r) / 2
	}
	a, b, total := float64(n), float64(len(ranks)-n), float64(len(ranks))
	u := sum - a*(a+1)/2
	spread := math.Sqrt(a * b / 12 * (total + 1 - ties/(total*(total-1))))
	distance := math.Abs(u-a*b/2) - 0.5
	if spread == 0 || distance <= 0 {
		return 1
	}
	p := math.Erfc(distance / spread / math.Sqrt2)
	return min(1, max(p, math.SmallestNonzeroFloat64))
}
