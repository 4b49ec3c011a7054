package runview

import (
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/stats"
)

// MayBeLarge reports whether it is not ruled out that an effect on throughput is large.
func MayBeLarge(e fact.Effect) bool {
	return !e.HasInterval() || e.Low < 1-threshold.LargeRateChange || e.High > 1+threshold.LargeRateChange
}

// AdjustTogether corrects the p values of comparisons that are reported together for how many there
// are (Benjamini and Hochberg), and for how often the run was looked at. Those that are nil are none.
func (v *View) AdjustTogether(effects []*fact.Effect) {
	effects = slices.DeleteFunc(slices.Clone(effects), func(e *fact.Effect) bool { return e == nil })
	ps := make([]float64, len(effects))
	for i, e := range effects {
		ps[i] = e.P
	}
	for i, p := range v.adjusted(ps) {
		e := effects[i]
		e.Adjusted, e.Differs = p, !e.TooFew && p < stats.Alpha && e.Ratio > 0 && e.Size() >= threshold.Visible
	}
}

// adjusted returns the p values of tests that are read together, corrected for how many they are and for how often the
// run was looked at.
func (v *View) adjusted(ps []float64) []float64 {
	if len(ps) == 0 {
		return nil
	}
	perTest := stats.Alpha / float64(len(ps))
	paid := v.AtLook(perTest) / perTest
	all := stats.BenjaminiHochberg(ps)
	for i, p := range all {
		all[i] = min(1, p/paid)
	}
	return all
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
