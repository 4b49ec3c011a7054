package stats

import (
	"cmp"
	"slices"
)

// BenjaminiHochberg adjusts the p values of tests that are read together
// (Benjamini and Hochberg 1995): of the tests whose adjusted value is below a
// level, no more than that share is expected to be there by chance. It holds
// for independent tests, and for tests that err together, as comparisons with
// a common stack do. The result is in the order of ps; an adjusted value is
// never below its own p.
func BenjaminiHochberg(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	adjusted := make([]float64, len(ps))
	running := 1.0
	for rank, i := range slices.Backward(order) {
		running = min(running, ps[i]*float64(len(ps))/float64(rank+1))
		adjusted[i] = running
	}
	return adjusted
}
