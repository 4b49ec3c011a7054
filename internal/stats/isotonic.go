package stats

import "slices"

// Isotonic returns the values that never fall and are nearest to some values, by squares of what each differs times
// its weight: isotonic regression, by pooling adjacent violators (Barlow, Bartholomew, Bremner and Brunk, Statistical
// Inference under Order Restrictions, 1972). Weights are above 0. It panics when the lengths differ.
func Isotonic(values, weights []float64) []float64 {
	if len(values) != len(weights) {
		panic("stats: values and weights of different lengths")
	}
	type pool struct {
		mean, weight float64
		length       int
	}
	var pools []pool
	for i, v := range values {
		pools = append(pools, pool{v, weights[i], 1})
		for len(pools) > 1 && pools[len(pools)-2].mean >= pools[len(pools)-1].mean {
			before, last := pools[len(pools)-2], pools[len(pools)-1]
			weight := before.weight + last.weight
			mean := before.mean + (last.mean-before.mean)*(last.weight/weight)
			pools = append(pools[:len(pools)-2], pool{mean, weight, before.length + last.length})
		}
	}
	fitted := make([]float64, 0, len(values))
	for _, p := range pools {
		fitted = append(fitted, slices.Repeat([]float64{p.mean}, p.length)...)
	}
	return fitted
}
