package noise

import (
	"cmp"
	"math"

	"plimsoll/internal/fact"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// Find tells how far apart equal things came out.
func Find(v *runview.View) []fact.Finding {
	facts := Facts{Comparisons: v.Comparisons()}
	for _, w := range v.Workloads {
		n := fact.Noise{Workload: w.Name}
		if e, ok := v.Noise(w.Name); ok {
			n.Control, n.Twin = &e, e.Baseline
		}
		var points []runview.Sample
		for _, c := range v.Under(w.Name) {
			points = append(points, c.Rates)
		}
		if parts, ok := runview.Parts(points); ok {
			n.Within, n.Between, n.Blocks = known(parts.Within), known(parts.Between), known(parts.Blocks)
		}
		if n.Control != nil || n.Within != nil || n.Between != nil {
			n.Text = row(n)
			facts.byWorkload = append(facts.byWorkload, n)
		}
	}
	if len(facts.byWorkload) == 0 {
		return nil
	}
	f := fact.Finding{ID: "noise", Case: "equal", Kind: fact.KindNoise, Noise: facts.byWorkload}
	for _, n := range facts.byWorkload {
		facts.Control = facts.Control || n.Control != nil
		facts.stacks = facts.stacks || n.Control != nil || !v.Together(n.Workload)
		if n.Control != nil && !n.Control.TooFew {
			facts.Twin = cmp.Or(facts.Twin, n.Twin)
		}
		if n.Twin != "" {
			f.Stacks = runview.AddNew(f.Stacks, n.Twin)
		}
	}
	if facts.stacks {
		f.Case = "noise"
	}
	f.Facts, f.Title, f.Why = facts, facts.title(), facts.why()
	return []fact.Finding{f}
}

func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// TwinsApart are the workloads under which two copies of a stack differ significantly: something
// besides the stacks decides what is measured. That is tested under each workload, so p is corrected
// for how many there are.
func TwinsApart(v *runview.View) (out []fact.Doubt) {
	var apart []fact.Doubt
	var ps []float64
	for _, w := range v.Workloads {
		e, ok := v.Noise(w.Name)
		if ok && !e.TooFew {
			apart = append(apart, fact.Doubt{Kind: fact.DoubtTwins, Stacks: []string{e.Baseline}, Workload: w.Name, Apart: e.Size() - 1})
			ps = append(ps, e.P)
		}
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		if p < stats.Alpha {
			out = append(out, apart[i])
		}
	}
	return out
}
