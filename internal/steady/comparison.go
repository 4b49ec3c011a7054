package steady

import (
	"math"
	"slices"

	"plimsoll/internal/stats"
)

// Outcome is what a comparison of two points has come to.
type Outcome string

// The outcomes of comparisons.
const (
	Differ    Outcome = "differ"     // their rates do, by whatever ratio
	Alike     Outcome = "alike"      // the ratio of their rates is 1 within the target
	NoVerdict Outcome = "no verdict" // neither, so far
)

// Compare gives the outcome of a comparison of two points: that of the first
// look at it that gave a verdict. There are looks at as many trials of both as
// Fewest says, at half as many again, and so on up to Most. Each spends a part
// of the level, and the sum over all looks is the level: who looks until
// something is significant otherwise always finds it. For the same reason a
// look leaves out trials that one of the points has and the other lacks.
func (s Study) Compare(a, b StudyPoint) Outcome {
	return s.withDefaults().compare(a.Values, b.Values)
}

func (s Study) compare(a, b []float64) Outcome {
	looks := s.looks()
	for k, n := range looks {
		if n > min(len(a), len(b)) {
			break
		}
		if outcome := look(a[:n], b[:n], s.Target, (1-s.Confidence)*share(k, len(looks))); outcome != NoVerdict {
			return outcome
		}
	}
	return NoVerdict
}

// looks are the numbers of trials at which a comparison is looked at: each is
// half as many again as the one before, and the last is Most.
func (s Study) looks() (looks []int) {
	for n := s.Fewest; n < s.Most; n += (n + 1) / 2 {
		looks = append(looks, n)
	}
	if s.Fewest <= s.Most {
		looks = append(looks, s.Most)
	}
	return looks
}

// share of the level that look k, from 0, of several spends. The smallest
// p value that four trials can have is 0.57 of 5%: less would be spent in vain.
// The other looks share the rest equally.
func share(k, looks int) float64 {
	const first = 0.6
	if k == 0 {
		return first
	}
	return (1 - first) / float64(looks-1)
}

// look compares two points at a level. A verdict takes two tests: that of ranks
// is exact whatever the distribution, as long as it is the same one; that of
// trimmed means holds when one point is much noisier than the other. Alike are
// points of which neither is the faster by the margin; each half of that has
// the level, and one side (Schuirmann 1987).
func look(a, b []float64, margin, level float64) Outcome {
	if above(a, b, 0, level) != 0 && ranksDiffer(a, b, 0, level) {
		return Differ
	}
	m := math.Log1p(margin)
	if above(a, b, m, 2*level) > 0 && above(a, b, -m, 2*level) < 0 && ranksDiffer(a, b, m, 2*level) && ranksDiffer(a, b, -m, 2*level) {
		return Alike
	}
	return NoVerdict
}

// above is 1 when a, multiplied by the exponential of shift, is above b by the
// test of trimmed means at a level, -1 when it is below, and 0 when neither.
func above(a, b []float64, shift, level float64) int {
	switch difference, p := trimmedTest(a, b, shift); {
	case p >= level:
		return 0
	case difference > 0:
		return 1
	}
	return -1
}

func ranksDiffer(a, b []float64, shift, level float64) bool {
	shifted := make([]float64, len(a))
	for i, v := range a {
		shifted[i] = v * math.Exp(shift)
	}
	return stats.MannWhitney(shifted, b) < level
}

// trimmedTest is Yuen's test (1974) of the logarithms of two points: Welch's,
// but with means that leave out a fifth of the values at either end, so that one
// outlier does not hide a difference. Of fewer than five values none is left
// out. It gives by how much a, multiplied by the exponential of shift, is above
// b in logarithms, and the two-sided p value; that is 1 where a value is not
// above 0. The degrees of freedom are rounded down, to the safe side.
func trimmedTest(a, b []float64, shift float64) (difference, p float64) {
	var mean, variance, degrees [2]float64 // variance of the mean
	for i, values := range [][]float64{a, b} {
		logs := make([]float64, len(values))
		for j, v := range values {
			if !(v > 0) || math.IsInf(v, 1) {
				return 0, 1
			}
			logs[j] = math.Log(v)
		}
		slices.Sort(logs)
		n, cut := len(logs), len(logs)/5
		mean[i], _ = meanAndSquares(logs[cut : n-cut])
		for j := range cut {
			logs[j], logs[n-1-j] = logs[cut], logs[n-1-cut]
		}
		_, squares := meanAndSquares(logs)
		kept := float64(n - 2*cut)
		variance[i], degrees[i] = squares/(kept*(kept-1)), kept-1
	}
	difference = mean[0] - mean[1] + shift
	sum := variance[0] + variance[1]
	switch {
	case difference == 0:
		return 0, 1
	case sum == 0:
		return difference, 0
	}
	free := int(sum * sum / (variance[0]*variance[0]/degrees[0] + variance[1]*variance[1]/degrees[1]))
	free = max(1, free)
	t := math.Abs(difference) / math.Sqrt(sum)
	return difference, 1 - studentWithin(math.Atan(t/math.Sqrt(float64(free))), free)
}
