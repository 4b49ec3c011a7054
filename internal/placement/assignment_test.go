package placement

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// An assignment is a permutation, and none has a lower sum.
func TestAssignmentsAreTheCheapest(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		n := 1 + r.IntN(5)
		cost := make([][]float64, n)
		for i := range cost {
			for range n {
				cost[i] = append(cost[i], float64(r.IntN(6)))
			}
		}
		price := func(columns []int) (sum float64) {
			for i, j := range columns {
				sum += cost[i][j]
			}
			return sum
		}
		least := math.Inf(1)
		var walk func(columns []int)
		walk = func(columns []int) {
			if len(columns) == n {
				least = min(least, price(columns))
			}
			for j := range n {
				if !slices.Contains(columns, j) {
					walk(append(slices.Clone(columns), j))
				}
			}
		}
		walk(nil)
		got := assignment(cost)
		sorted := slices.Sorted(slices.Values(got))
		if len(got) != n || len(slices.Compact(sorted)) != n || price(got) != least {
			t.Fatalf("%v of %v costs %v, and the least is %v", got, cost, price(got), least)
		}
	}
}
