package headroom

import (
	"math"
	"slices"
)

// Quantile is a quantile over the intervals of a recording.
type Quantile struct {
	Share float64 `json:"share"` // of the intervals that are at most Value
	// Value is nil if fewer than FewestAbove intervals lie above: see MoreSeconds.
	Value *float64 `json:"value"`
	// Low and High are the ends of the 95% interval. High is nil if no value of the recording bounds the quantile.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Effective is how many independent intervals say as much: those above a quantile come in stretches.
	Effective float64 `json:"effective_intervals"`
	// MoreSeconds is how much longer a recording has to be for Value, or for High; 0 if both are known.
	MoreSeconds float64 `json:"more_seconds,omitempty"`
}

// FewestAbove is how many intervals lie above a quantile that is said: with fewer, one more would move it anywhere.
const FewestAbove = 10

// fewestBatches is how many batches the variance between batches is estimated from.
const fewestBatches = 12

// quantileOf returns a quantile of values in the order of time, with a distribution-free interval: the quantile of the
// sample at the ends of an interval for the share of values below (Woodruff, JASA 47, 1952), which is Wilson's for as
// many independent values as say the same.
func quantileOf(values []float32, q, secondsEach float64) Quantile {
	n := float64(len(values))
	out := Quantile{Share: q}
	if need := math.Ceil(FewestAbove/min(q, 1-q) - 1e-9); n < need {
		out.MoreSeconds = (need - n) * secondsEach
		return out
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	value := sortedQuantile(sorted, q)
	inflation := inflationAbove(values, value)
	out.Value, out.Effective = &value, n/inflation
	low, high := wilson(q, out.Effective)
	if low*n >= 0.5 {
		v := sortedQuantile(sorted, low)
		out.Low = &v
	}
	if high*n <= n-0.5 {
		v := sortedQuantile(sorted, high)
		out.High = &v
		return out
	}
	// The upper end is below the largest value from about so many effective intervals on.
	needed := n
	for high*needed > needed-0.5 && needed < 1e12 {
		needed *= 1.1
		_, high = wilson(q, needed/inflation)
	}
	out.MoreSeconds = (needed - n) * secondsEach
	return out
}

// sortedQuantile is the smallest value with a share of at least q of the values at or below it.
func sortedQuantile(sorted []float32, q float64) float64 {
	i := int(math.Ceil(q*float64(len(sorted))-1e-9)) - 1
	return float64(sorted[min(max(i, 0), len(sorted)-1)])
}

// wilson returns Wilson's 95% interval for a share that was seen in n trials.
func wilson(p, n float64) (low, high float64) {
	const z = 1.959964
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
}

// inflationAbove returns by how much stretches of values above a level inflate the variance of their share: the
// variance between batches beside that of independent values (Conway, Management Science 9, 1963), by the larger of two
// lengths of batches, since what one length cuts in two the other holds. It is at least 1.
func inflationAbove(values []float32, level float64) float64 {
	n := len(values)
	exceeds := make([]bool, n)
	count := 0
	for i, v := range values {
		exceeds[i] = float64(v) > level
		if exceeds[i] {
			count++
		}
	}
	share := float64(count) / float64(n)
	if count == 0 || count == n {
		return 1
	}
	worst := 1.0
	for _, power := range []float64{1. / 2, 2. / 3} {
		length := int(math.Pow(float64(n), power))
		batches := n / max(1, length)
		if length < 2 || batches < fewestBatches {
			continue
		}
		squares := 0.0
		for b := range batches {
			c := 0
			for _, a := range exceeds[b*length : (b+1)*length] {
				if a {
					c++
				}
			}
			d := float64(c) - share*float64(length)
			squares += d * d
		}
		// The variance of few batches is known badly: its upper 80% end counts, by the normal
		// approximation of chi-squared.
		unsure := 1 - 0.84*math.Sqrt(2/float64(batches-1))
		worst = max(worst, squares/float64(batches-1)/(float64(length)*share*(1-share))/unsure)
	}
	return worst
}
