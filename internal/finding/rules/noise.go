package rules

import (
	"cmp"
	_ "embed" // the sentences
	"math"
	"slices"

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

	// Of workloads that are told together, the least and the greatest of each; nil where none is known.
	Within  []float64 `json:"-"`
	Between []float64 `json:"-"`
	Blocks  []float64 `json:"-"`
}

// mostSingly is how many workloads are told of one by one.
const mostSingly = 3

// span is the least and the greatest of what is known.
func span(all []fact.Noise, of func(fact.Noise) *float64) []float64 {
	var known []float64
	for _, n := range all {
		if x := of(n); x != nil {
			known = append(known, *x)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return []float64{slices.Min(known), slices.Max(known)}
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
	if len(all) > mostSingly {
		facts.Within = span(all, func(n fact.Noise) *float64 { return n.Within })
		facts.Between = span(all, func(n fact.Noise) *float64 { return n.Between })
		facts.Blocks = span(all, func(n fact.Noise) *float64 { return n.Blocks })
	}
	f := fact.Finding{ID: "noise", Case: "noise", Kind: fact.KindNoise, Noise: all}
	if !slices.ContainsFunc(all, func(n fact.Noise) bool { return n.Control != nil || !v.Together(n.Workload) }) {
		f.Case = "equal" // no stacks are compared, whose floor one would have to know
	}
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
