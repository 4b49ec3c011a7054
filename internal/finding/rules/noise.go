package rules

import (
	"cmp"
	_ "embed" // the sentences
	"math"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
)

//go:embed noise.tmpl
var noiseText string

// NoiseSentences are the sentences on the noise floor.
var NoiseSentences = prose.NewSheet(noiseText)

// Floor is what a finding on noise says of all workloads together.
type Floor struct {
	Twin        string `json:"twin,omitempty"`        // the first stack that the control is a copy of
	Control     bool   `json:"control"`               // there is one
	Comparisons int    `json:"comparisons,omitempty"` // of rates, that p values are adjusted for
}

// Noise tells how far apart equal things came out: no smaller difference means
// anything.
func Noise(v *measured.View) []fact.Finding {
	var all []fact.Noise
	for _, w := range v.Workloads {
		n := fact.Noise{Workload: w.Name}
		if e, ok := v.Noise(w.Name); ok {
			n.Control, n.Twin = &e, e.Baseline
		}
		var points []samples.Sample
		for _, c := range v.Under(w.Name) {
			points = append(points, c.Rates)
		}
		if parts, ok := samples.Parts(points); ok {
			n.Within, n.Between, n.Blocks = known(parts.Within), known(parts.Between), known(parts.Blocks)
		}
		if n.Control != nil || n.Within != nil || n.Between != nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	facts := Floor{Comparisons: v.Comparisons()}
	f := fact.Finding{ID: "noise", Case: "noise", Kind: fact.KindNoise, Noise: all}
	for _, n := range all {
		facts.Control = facts.Control || n.Control != nil
		if n.Control != nil && !n.Control.TooFew {
			facts.Twin = cmp.Or(facts.Twin, n.Twin)
		}
		if n.Twin != "" {
			f.Stacks = measured.AppendNew(f.Stacks, n.Twin)
		}
	}
	f.Facts = facts
	return []fact.Finding{f}
}

func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// twinsApart are the workloads under which two copies of a stack differ
// significantly: something besides the stacks decides what is measured. That is
// tested under each workload, so p is corrected for how many there are.
func twinsApart(v *measured.View) (out []fact.Doubt) {
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
