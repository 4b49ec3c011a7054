package rules

import (
	"cmp"
	_ "embed" // the sentences
	"fmt"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

//go:embed policies.tmpl
var policiesText string

// PoliciesSentences are the sentences on what policies of limits cost.
var PoliciesSentences = prose.NewSheet(policiesText)

// Policed is what these sentences speak of.
type Policed struct {
	Policies fact.Policies `json:"policies"`
	Costs    []fact.Policy `json:"-"` // that cost throughput, the most first
	Level    []fact.Policy `json:"-"` // that do not
	Open     []fact.Policy `json:"-"` // of which that cannot be told
}

// Slow are the policies that are level in throughput, and not in p99.
func (p Policed) Slow() (all []fact.Policy) {
	for _, one := range p.Level {
		if tail := one.Tail(); tail != nil && tail.Ratio > 1 {
			all = append(all, one)
		}
	}
	return all
}

// TooFew reports whether some policy has too few bring-ups to tell anything.
func (p Policed) TooFew() bool {
	return slices.ContainsFunc(p.Policies.Policies, func(one fact.Policy) bool { return one.Cost == fact.CostUnknown })
}

// Few is how many bring-ups the policy has that has fewest.
func (p Policed) Few() int {
	few := p.Policies.None.BringUps
	for _, one := range p.Policies.Policies {
		few = min(few, one.BringUps)
	}
	return few
}

// Unfair are the policies under which the slowest instance gets far less than an equal share.
func (p Policed) Unfair() (all []fact.Policy) {
	for _, one := range append([]fact.Policy{p.Policies.None}, p.Policies.Policies...) {
		if one.Weakest > 0 && one.Weakest < unfair {
			all = append(all, one)
		}
	}
	return all
}

// Policies says what each policy of limits costs, against none.
func Policies(v *measured.View) (out []fact.Finding) {
	for _, of := range v.Policies() {
		out = append(out, policiesFinding(v, of))
	}
	return out
}

func policiesFinding(v *measured.View, of measured.Policied) fact.Finding {
	told := policedOf(v.Policy(of))
	f := fact.Finding{
		ID: fmt.Sprintf("policies/%s/%s-%d", of.Stack.Name, of.Workload, of.Instances), Case: "policies", Kind: fact.KindScaling,
		Workload: of.Workload, Facts: told, Policies: &told.Policies, Evidence: measured.Points(of.Cells...),
		Caveats: measured.MarksOf(of.Cells...),
	}
	if of.Stack.Name != "" {
		f.Stacks = []string{of.Stack.Name}
	}
	return f
}

func policedOf(p fact.Policies) *Policed {
	told := &Policed{Policies: p}
	for _, one := range p.Policies {
		switch one.Cost {
		case fact.CostSome:
			told.Costs = append(told.Costs, one)
		case fact.CostNone, fact.CostGain:
			told.Level = append(told.Level, one)
		default:
			told.Open = append(told.Open, one)
		}
	}
	slices.SortStableFunc(told.Costs, func(a, b fact.Policy) int {
		return cmp.Compare(a.Throughput.Ratio, b.Throughput.Ratio)
	})
	return told
}

// policed draws the verdict of a run that asks what policies of limits cost: on one stack, of
// mixes that differ in their policy. Where they differ in the number of instances, too, it is that
// at which those without limits do most. ok is false for any other run.
func policed(v *measured.View) (f fact.Finding, ok bool) {
	all := v.Policies()
	if len(all) == 0 {
		return f, false
	}
	for _, c := range v.All() {
		if c.Stack != all[0].Stack || !v.UnderPolicy(c.Workload.Name) {
			return f, false
		}
	}
	most := slices.MaxFunc(all, func(a, b measured.Policied) int {
		return cmp.Compare(v.Policy(a).None.Rate, v.Policy(b).None.Rate)
	})
	told := policedOf(v.Policy(most))
	f = policiesFinding(v, most)
	f.ID, f.Case, f.Kind, f.Workload, f.Policies = "recommendation", "policed", fact.KindRecommendation, "", nil
	f.Facts = Verdict{Policed: told}
	f.Caveats = append(f.Caveats, doubts(v)...)
	f.Recommendation = &fact.Recommendation{Confidence: told.confidence(v)}
	return f, true
}

// confidence is how sure it is what the policies cost.
func (p *Policed) confidence(v *measured.View) fact.Confidence {
	switch {
	case p.TooFew(), len(p.Costs)+len(p.Level) == 0:
		return fact.TooEarly
	case len(p.Open) > 0 || v.Neighbours() != nil:
		return fact.Likely
	}
	return fact.Sure
}
