package rounds

import (
	"math"
	"slices"
	"testing"
)

func TestWhereTimeIsSpent(t *testing.T) {
	ask := func(odds float64, blocks int, points ...int) Ask {
		return Ask{Points: points, Blocks: blocks, Odds: odds, Most: 20}
	}
	first := func(a Ask) Ask { a.First = true; return a }
	refines := func(a Ask) Ask { a.Refines = true; return a }
	costs := []float64{10, 10, 10, 30}
	for _, c := range []struct {
		story string
		asks  []Ask
		rest  float64
		next  []int
	}{
		{"nothing is asked", nil, 100, nil},
		{"there is time for all", []Ask{ask(0.9, 2, 0), ask(0.1, 9, 1)}, math.Inf(1), []int{0, 1}},
		{"what hardly any blocks decide waits", []Ask{ask(0.9, 2, 0), ask(0.1, 9, 1)}, 200, []int{0}},
		{"of first blocks those that fit", []Ask{first(ask(0.5, 4, 3)), first(ask(0.5, 4, 0, 1)), first(ask(0.5, 4, 2))},
			130, []int{0, 1, 2}},
		{"a dear one comes last, and is asked where it fits", []Ask{first(ask(0.5, 4, 3)), first(ask(0.5, 4, 0))}, 160,
			[]int{0, 3}},
		{"a point that two of them share is paid once", []Ask{first(ask(0.5, 4, 0, 1)), first(ask(0.5, 4, 0, 2))}, 120,
			[]int{0, 1, 2}},
		{"one that lacks time for its first blocks leaves it to others", []Ask{first(ask(0.5, 4, 3)), ask(0.2, 2, 0)}, 50,
			[]int{0}},
		{"a verdict before how large it is", []Ask{refines(ask(0.9, 1, 0)), ask(0.05, 2, 1)}, 100, []int{1}},
		{"how large it is where no verdict fits", []Ask{refines(ask(0.9, 1, 0)), ask(0.05, 9, 1)}, 20, []int{0}},
		{"where none fits the best has it all", []Ask{ask(0.5, 9, 1), ask(0.6, 9, 0)}, 20, []int{0}},
	} {
		if next := Spend(c.asks, costs, c.rest); !slices.Equal(next, c.next) {
			t.Errorf("%s: %v, want %v", c.story, next, c.next)
		}
	}
}
