package stats

import "slices"

// Holm adjusts the p values of tests that are judged together (Holm 1979): the
// probability that any of those whose adjusted value is below a level is below
// it by chance stays below that level, however the tests hang together. The
// result is in the order of ps; an adjusted value is never below its own p.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(ps))
	running := 0.0
	for rank, i := range order {
		running = max(running, min(1, float64(len(ps)-rank)*ps[i]))
		adjusted[i] = running
	}
	return adjusted
}
