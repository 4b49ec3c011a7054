package rules

import (
	_ "embed" // the sentences

	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

//go:embed unbound.tmpl
var unboundText string

// UnboundSentences are the sentences on limits that nothing came near.
var UnboundSentences = prose.NewSheet(unboundText)

// Unbound is what these sentences speak of.
type Unbound struct {
	Limits []fact.Unbound `json:"limits"`
}

// Quota names those whose own limit of CPUs is among them: the kernel tells of each whether that
// held an instance back.
func (u Unbound) Quota() (whose []string) {
	for _, l := range u.Limits {
		if l.Resource == fact.Processors && l.Workload != "" {
			whose = append(whose, UnboundSentences.Say("whose", l))
		}
	}
	return whose
}

// NeverBound names the limits that nothing came near, in any mix.
func NeverBound(v *measured.View) []fact.Finding {
	all := v.Unbound(elasticity.MayCount(v))
	if len(all) == 0 {
		return nil
	}
	f := fact.Finding{ID: "unbound", Case: "unbound", Kind: fact.KindCaveat, Facts: Unbound{Limits: all}}
	for _, c := range v.All() {
		if c.Stack.Name != "" {
			f.Stacks = measured.AppendNew(f.Stacks, c.Stack.Name)
		}
	}
	return []fact.Finding{f}
}
