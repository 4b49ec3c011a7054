package rounds

import (
	"math"

	"plimsoll/internal/stats"
)

// Outcome is the result of a comparison of two points.
type Outcome string

// The outcomes of comparisons.
const (
	Differ    Outcome = "differ"     // their rates do, by whatever ratio
	Alike     Outcome = "alike"      // the ratio of their rates is 1 within the target
	NoVerdict Outcome = "no verdict" // neither, so far
)

// Compare returns the outcome of a comparison of two points: that of the first look with a verdict. Looks are at
// Fewest blocks of both, at half as many again, and so on up to Most. The looks share the significance level:
// repeated tests at the full level would always find a difference in the end. Blocks with only one of the points do
// not count.
func (s Study) Compare(a, b StudyPoint) Outcome {
	return s.withDefaults().compare(a, b)
}

func (s Study) compare(a, b StudyPoint) Outcome {
	x, y := common(a, b)
	looks := s.looks()
	for k, n := range looks {
		if n > len(x) {
			break
		}
		if outcome := look(x[:n], y[:n], s.Target, (1-s.Confidence)*share(k, len(looks))); outcome != NoVerdict {
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

// share returns the share of the level that look k of several spends, counted from 0: half of the rest for the first,
// since most differences are large, and equal shares for the others.
func share(k, looks int) float64 {
	const first = 0.5
	switch {
	case looks == 1:
		return 1
	case k == 0:
		return first
	}
	return (1 - first) / float64(looks-1)
}

// look compares pairs of values at a level. Points are alike when neither is
// the faster by the margin; each half of that has the level, and one side
// (Schuirmann 1987).
func look(a, b []float64, margin, level float64) Outcome {
	if _, p := stats.PairedTest(a, b, 0); p < level {
		return Differ
	}
	m := math.Log1p(margin)
	meanAbove, pAbove := stats.PairedTest(a, b, -m)
	meanBelow, pBelow := stats.PairedTest(a, b, m)
	if meanAbove > 0 && pAbove < 2*level && meanBelow < 0 && pBelow < 2*level {
		return Alike
	}
	return NoVerdict
}
