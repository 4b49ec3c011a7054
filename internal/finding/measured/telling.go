package measured

import (
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
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

// RateUnit is what rates are counted in: what databases do are operations, and no I/Os.
func RateUnit(cells ...*Cell) string {
	if slices.ContainsFunc(cells, func(c *Cell) bool { return c.Source() != result.SourceServer }) {
		return IOPS
	}
	return "ops/s"
}

// Runs says in a few words what an instance of a workload does; "" where nothing tells.
func (v *View) Runs(workload string) string {
	for _, w := range v.Workloads {
		if w.Name == workload {
			return w.Summary
		}
	}
	return ""
}
