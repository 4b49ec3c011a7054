package stats

import (
	"math"
	"slices"
)

// Trend returns the two-sided p value of the test of Jonckheere and Terpstra: the probability that samples of one
// distribution would rise, or fall, from each to the next as clearly as these do. Samples are in the order of their
// levels. rises is the direction. The p value is 1 for fewer than two samples that have a value.
//
// Of two samples it is MannWhitney. Of more it is the normal approximation with the corrections for ties and for
// continuity, in Kendall's form: every pair of values of different levels counts for or against a rise.
func Trend(samples [][]float64) (p float64, rises bool) {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s []float64) bool { return len(s) == 0 })
	var pooled []float64
	sum, tiesX := 0.0, kendallTies{}
	for i, later := range samples {
		for _, earlier := range samples[:i] {
			for _, y := range later {
				for _, x := range earlier {
					switch {
					case y > x:
						sum++
					case y < x:
						sum--
					}
				}
			}
		}
		tiesX.add(float64(len(later)))
		pooled = append(pooled, later...)
	}
	rises = sum > 0
	switch len(samples) {
	case 0, 1:
		return 1, false
	case 2:
		return MannWhitney(samples[0], samples[1]), rises
	}
	slices.Sort(pooled)
	tiesY := kendallTies{}
	for i := 0; i < len(pooled); {
		j := i
		for j < len(pooled) && pooled[j] == pooled[i] {
			j++
		}
		tiesY.add(float64(j - i))
		i = j
	}
	n := float64(len(pooled))
	variance := (n*(n-1)*(2*n+5)-tiesX.v-tiesY.v)/18 + tiesX.pairs*tiesY.pairs/(2*n*(n-1)) +
		tiesX.triples*tiesY.triples/(9*n*(n-1)*(n-2))
	distance := math.Abs(sum) - 1
	if !(variance > 0) || distance <= 0 {
		return 1, rises
	}
	p = math.Erfc(distance / math.Sqrt(2*variance))
	return min(1, max(p, math.SmallestNonzeroFloat64)), rises
}

// kendallTies are the sums over groups of equal values that the variance of
// Kendall's S is corrected with.
type kendallTies struct{ v, pairs, triples float64 }

func (k *kendallTies) add(t float64) {
	k.v += t * (t - 1) * (2*t + 5)
	k.pairs += t * (t - 1)
	k.triples += t * (t - 1) * (t - 2)
}
