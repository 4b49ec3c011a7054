// Package finding draws conclusions from the results of a run. It is pure:
// results in, findings out. Each question has a folder below, which reads a run
// through runview, and a line in the table of this file.
//
// Two runs are compared by finding/compare.
package finding

import (
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/caveat"
	"plimsoll/internal/finding/comparison"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/illusion"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/missing"
	"plimsoll/internal/finding/neighbours"
	"plimsoll/internal/finding/noise"
	"plimsoll/internal/finding/operations"
	"plimsoll/internal/finding/overload"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published"
	"plimsoll/internal/finding/ranking"
	"plimsoll/internal/finding/spending"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/finding/tornpages"
	"plimsoll/internal/finding/unbound"
	"plimsoll/internal/finding/verdict"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/runview"
)

// rule draws findings of one sort.
type rule struct {
	name string
	draw func(*runview.View) []fact.Finding
	// measured draws without predictions of a model; nil for a rule that has none.
	measured func(*runview.View) []fact.Finding

	points bool // also of points that were measured elsewhere, whose trials and devices nobody saw
}

// table has all rules, in the order in which their findings are shown.
var table = []rule{
	{name: "recommendation", draw: verdict.Find, points: true},
	{name: "neighbours", draw: neighbours.Find},
	{name: "scaling", draw: loadline.Find, points: true},
	{name: "elasticity", draw: elasticity.Find, measured: elasticity.Measured},
	{name: "policies", draw: policies.Find},
	{name: "overload", draw: overload.Find},
	{name: "torn-pages", draw: tornpages.Find},
	{name: "levels", draw: levels.Find, points: true},
	{name: "tenants", draw: tenants.Find, points: true},
	{name: "fastest", draw: ranking.Find},
	{name: "illusion", draw: illusion.Find},
	{name: "baseline", draw: comparison.Baseline},
	{name: "siblings", draw: comparison.Siblings},
	{name: "noise", draw: noise.Find},
	{name: "fabric", draw: cost.Fabrics},
	{name: "targets", draw: cost.Targets},
	{name: "drive", draw: cost.Drives},
	{name: "software", draw: cost.SoftwareShares},
	{name: "growth", draw: cost.Grows},
	{name: "contention", draw: cost.Contended},
	{name: "published", draw: published.Find},
	{name: "operations", draw: operations.Find},
	{name: "submission", draw: cost.Submission},
	{name: "amplification", draw: cost.Amplifications},
	{name: "journal", draw: cost.Journal},
	{name: "caveats", draw: caveat.Find, points: true},
	{name: "unbound", draw: unbound.Find},
	{name: "steadiness", draw: caveat.Steadiness},
	{name: "missing", draw: missing.Find},
	{name: "spending", draw: spending.Find},
}

// All draws every conclusion that the run supports, in the order of display.
// The same run gives the same findings. It accepts runs of any state, also
// without trials.
func All(run *result.Run) []fact.Finding {
	return draw(run, func(r rule) func(*runview.View) []fact.Finding { return r.draw })
}

// Measured draws what All does, without predictions of a model. The short form of a run shows none, and to fit a
// model takes longer than all else.
func Measured(run *result.Run) []fact.Finding {
	return draw(run, func(r rule) func(*runview.View) []fact.Finding {
		if r.measured != nil {
			return r.measured
		}
		return r.draw
	})
}

func draw(run *result.Run, drawOf func(rule) func(*runview.View) []fact.Finding) (findings []fact.Finding) {
	v := runview.New(run)
	elsewhere := points.Made(run)
	for _, r := range table {
		if elsewhere && !r.points {
			continue
		}
		for _, f := range drawOf(r)(v) {
			f.Rule = r.name
			findings = append(findings, f)
		}
	}
	return findings
}

// Pairs returns the comparison of rates of each stack with each other that was
// measured under the same workload, the control left out: by workload, in the
// order of the experiment. Which of them Differ is what every finding says.
func Pairs(run *result.Run) []PairOfStacks {
	v := runview.New(run)
	var out []PairOfStacks
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				e, ok := v.Compare(b, a)
				if ok {
					out = append(out, PairOfStacks{w.Name, e})
				}
			}
		}
	}
	return out
}

// PairOfStacks is the comparison of two stacks under a workload.
type PairOfStacks struct {
	Workload string
	Effect   fact.Effect
}

// Points returns what was measured of each mix on each stack, as reports show it: on the stacks of its tenants where
// these have their own, and with a scaled-down host as a mark. They are by mix, then by stack, both in the order of the
// experiment. A pair without a finished trial has no point.
func Points(run *result.Run) (points []fact.Point) {
	for _, c := range runview.New(run).All() {
		p := c.Point
		m, _ := run.Mix(p.Workload)
		places := m.Places(p.Stack)
		for _, name := range places {
			s, _ := run.Stack(name)
			for _, mark := range s.Marks {
				p.Marks = runview.AddNew(p.Marks, string(mark))
			}
		}
		p.Stack = strings.Join(places, " + ")
		host := prose.InHost(m.Host, run.Imported != nil)
		if host != "" {
			p.Marks = runview.AddNew(p.Marks, host)
		}
		points = append(points, p)
	}
	return points
}
