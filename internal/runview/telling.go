package runview

import (
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/stats"
)

// MayBeLarge reports whether it is not ruled out that an effect on throughput is large.
func MayBeLarge(e fact.Effect) bool {
	return !e.HasInterval() || e.Low < 1-threshold.LargeRateChange || e.High > 1+threshold.LargeRateChange
}

// AdjustTogether corrects the p values of comparisons that are reported together for how many there
// are (Benjamini and Hochberg). Those that are nil are none.
func AdjustTogether(all []*fact.Effect) {
	all = slices.DeleteFunc(slices.Clone(all), func(e *fact.Effect) bool { return e == nil })
	ps := make([]float64, len(all))
	for i, e := range all {
		ps[i] = e.P
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		e := all[i]
		e.Adjusted, e.Differs = p, !e.TooFew && p < stats.Alpha && e.Ratio > 0 && e.Size() >= max(threshold.Visible, e.Floor)
	}
}

// RateUnit returns the unit of the cells' rates: operations for databases and files, otherwise I/Os.
func RateUnit(cells ...*Cell) string {
	if slices.ContainsFunc(cells, func(c *Cell) bool { return !c.Source().Operations() }) {
		return IOPS
	}
	return "ops/s"
}

// Runs describes the load of an instance of a workload in a few words; "" where it is unknown.
func (v *View) Runs(workload string) string {
	w, _ := v.Run.Workload(workload)
	return w.Summary
}
