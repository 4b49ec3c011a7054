package measured

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/stats"
)

// What a change of throughput has to be, beside significant.
const (
	WorthTelling = 0.03 // to count: less moves nobody to change a limit
	MayMatter    = 0.1  // what has to be ruled out before there is said to be none
)

// AdjustTogether corrects the p values of comparisons that are told of together for how many there
// are (Benjamini and Hochberg).
func AdjustTogether(all []*fact.Effect) {
	ps := make([]float64, len(all))
	for i, e := range all {
		ps[i] = e.P
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		e := all[i]
		e.Adjusted, e.Differs = p, !e.TooFew && p < stats.Alpha && e.Ratio > 0 && e.Size() >= max(Visible, e.Floor)
	}
}
