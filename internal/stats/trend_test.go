package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The oracle deals the values out to the levels anew, many times, and counts
// how often they rise or fall as clearly as the observed ones.
func TestTrendIsThatOfPermutations(t *testing.T) {
	for name, samples := range map[string][][]float64{
		"rises":        {{1, 2, 4}, {3, 5, 6}, {5, 7, 8}},
		"rises, ties":  {{1, 1, 2, 2}, {2, 2, 3, 3}, {2, 3, 3, 4}},
		"falls":        {{9, 8, 7, 3}, {6, 5, 8, 4}, {5, 2, 1, 6}, {4, 3, 2, 7}},
		"nothing":      {{1, 5, 9}, {2, 6, 7}, {3, 4, 8}},
		"unequal":      {{1, 2}, {1, 3, 4, 6, 7}, {5, 6, 8}},
		"rises slowly": {{1, 4, 6, 3, 8}, {2, 7, 9, 4, 5}, {5, 8, 10, 6, 11}},
	} {
		p, _ := Trend(samples)
		if want := permuted(samples); math.Abs(p-want) > 0.03 {
			t.Errorf("%s: p is %.3f, and %.3f of the permutations are as clear", name, p, want)
		}
	}
}

func permuted(samples [][]float64) float64 {
	rising := func(values []float64) (sum float64) {
		var levels []int
		for i, s := range samples {
			levels = append(levels, slices.Repeat([]int{i}, len(s))...)
		}
		for i := range values {
			for j := range i {
				if levels[i] > levels[j] && values[i] != values[j] {
					sum += math.Copysign(1, values[i]-values[j])
				}
			}
		}
		return sum
	}
	values := slices.Concat(samples...)
	observed := math.Abs(rising(values))
	rng := rand.New(rand.NewPCG(1, 1))
	const times = 20_000
	as := 0
	for range times {
		rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		if math.Abs(rising(values)) >= observed {
			as++
		}
	}
	return float64(as) / times
}

func TestTrendProperties(t *testing.T) {
	values := rapid.SliceOfN(rapid.Float64Range(0, 10), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(values, 0, 5).Draw(t, "samples")
		p, _ := Trend(samples)
		if !(p > 0 && p <= 1) {
			t.Fatalf("p is %v", p)
		}
		turned := slices.Clone(samples)
		slices.Reverse(turned)
		if other, _ := Trend(turned); math.Abs(other-p) > 1e-9 {
			t.Fatalf("p is %v, and %v the other way round", p, other)
		}
	})
	if p, rises := Trend([][]float64{{1, 2, 3, 4}, {5, 6, 7, 8}}); !rises ||
		p != MannWhitney([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}) {
		t.Errorf("two levels: %v, %t", p, rises)
	}
	for _, samples := range [][][]float64{nil, {{1, 2}}, {{1, 2}, nil}, {{1, 1}, {1, 1}, {1, 1}}} {
		if p, rises := Trend(samples); p != 1 || rises {
			t.Errorf("%v: %v, %t", samples, p, rises)
		}
	}
}
