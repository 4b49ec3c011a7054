package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestIsotonic(t *testing.T) {
	for _, c := range []struct{ values, weights, want []float64 }{
		{nil, nil, []float64{}},
		{[]float64{1, 2, 3}, []float64{1, 1, 1}, []float64{1, 2, 3}},
		{[]float64{1, 3, 2, 4}, []float64{1, 1, 1, 1}, []float64{1, 2.5, 2.5, 4}},
		{[]float64{1, 3, 2, 4}, []float64{1, 3, 1, 1}, []float64{1, 2.75, 2.75, 4}},
		{[]float64{5, 4, 3, 2, 1}, []float64{1, 1, 1, 1, 1}, []float64{3, 3, 3, 3, 3}},
		{[]float64{1, 5, 6, 1}, []float64{1, 1, 1, 1}, []float64{1, 4, 4, 4}}, // a pool takes in what is before it
	} {
		if got := Isotonic(c.values, c.weights); !slices.Equal(got, c.want) {
			t.Errorf("of %v with weights %v: %v, want %v", c.values, c.weights, got, c.want)
		}
	}
}

// The fit is the max-min of the means of all stretches around a value, which is another way to say the same.
func TestIsotonicIsTheMaxMinOfMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 8).Draw(t, "values")
		weights := rapid.SliceOfN(rapid.Float64Range(0.5, 8), len(values), len(values)).Draw(t, "weights")
		for i, got := range Isotonic(values, weights) {
			want := math.Inf(-1)
			for from := range i + 1 {
				least := math.Inf(1)
				for to := i + 1; to <= len(values); to++ {
					sum, weight := 0.0, 0.0
					for k := from; k < to; k++ {
						sum, weight = sum+values[k]*weights[k], weight+weights[k]
					}
					least = min(least, sum/weight)
				}
				want = max(want, least)
			}
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("value %d of %v becomes %g, want %g", i, values, got, want)
			}
		}
	})
}
