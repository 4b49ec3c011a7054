package rules

import (
	"cmp"
	_ "embed" // the sentences
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
)

//go:embed tenants.tmpl
var tenantsText string

// TenantsSentences are the sentences on what tenants of mixes do to each other.
var TenantsSentences = prose.NewSheet(tenantsText)

// Shared is what these sentences speak of.
type Shared struct {
	Tenants fact.Tenants       `json:"tenants"`
	Lose    []fact.TenantShare `json:"-"` // those that lose throughput, the most first
	Wait    []fact.TenantShare `json:"-"` // those that lose none, and wait longer, the most first
	Noisy   []fact.TenantShare `json:"-"` // those of which it cannot be told whether they lose any
	Open    bool               `json:"-"` // some have too few bring-ups
	Few     int                `json:"-"` // bring-ups of the mix that has fewest
	Unknown []string           `json:"-"` // workloads that were not measured alone
}

// Known reports whether anything is known of what tenants keep.
func (s Shared) Known() bool {
	return len(s.Tenants.Known()) > 0
}

func sharedOf(t fact.Tenants) *Shared {
	told := &Shared{Tenants: t}
	for i, m := range t.Mixes {
		if i == 0 || m.BringUps < told.Few {
			told.Few = m.BringUps
		}
		for _, s := range m.Tenants {
			switch {
			case !s.Known():
				told.Unknown = measured.AppendNew(told.Unknown, s.Workload)
			case s.Rate.TooFew:
				told.Open = true
			case s.Open:
				told.Noisy = append(told.Noisy, s)
				if s.Waits {
					told.Wait = append(told.Wait, s)
				}
			case s.Loses:
				told.Lose = append(told.Lose, s)
			case s.Waits:
				told.Wait = append(told.Wait, s)
			}
		}
	}
	slices.SortStableFunc(told.Lose, func(a, b fact.TenantShare) int { return cmp.Compare(a.Rate.Ratio, b.Rate.Ratio) })
	slices.SortStableFunc(told.Wait, func(a, b fact.TenantShare) int { return cmp.Compare(b.P99.Ratio, a.P99.Ratio) })
	return told
}

// Tenants says what tenants of mixes keep of what they do alone, who suffers from whom, and for
// want of what.
func Tenants(v *measured.View) (out []fact.Finding) {
	for _, t := range v.Tenants() {
		out = append(out, tenantsFinding(v, t))
	}
	return out
}

func tenantsFinding(v *measured.View, t fact.Tenants) fact.Finding {
	told := sharedOf(t)
	f := fact.Finding{
		ID: "tenants/" + t.Stack, Case: "tenants", Kind: fact.KindScaling, Facts: told, Tenants: &told.Tenants,
	}
	if t.Host != "" {
		f.ID += "/" + t.Host
	}
	var cells []*measured.Cell
	for _, m := range t.Mixes {
		cells = append(cells, v.Cell(t.Stack, m.Mix))
	}
	f.Evidence, f.Caveats = measured.Points(cells...), measured.MarksOf(cells...)
	if t.Stack != "" {
		f.Stacks = []string{t.Stack}
	}
	return f
}

// shared draws the verdict of a run that asks what tenants do to each other: on one stack and host,
// of mixes of several tenants, and of these alone. ok is false for any other run.
func shared(v *measured.View) (f fact.Finding, ok bool) {
	all := v.Tenants()
	if len(all) != 1 {
		return f, false
	}
	for _, c := range v.All() {
		if c.Stack.Name != all[0].Stack || !v.Sharing(c.Workload.Name) {
			return f, false
		}
	}
	f = tenantsFinding(v, all[0])
	told := sharedOf(all[0])
	f.ID, f.Case, f.Kind, f.Tenants, f.Facts = "recommendation", "shared", fact.KindRecommendation, nil, Verdict{Shared: told}
	f.Caveats = append(f.Caveats, doubts(v)...)
	f.Recommendation = &fact.Recommendation{Confidence: told.confidence(v)}
	return f, true
}

// confidence is how sure it is what tenants do to each other.
func (s *Shared) confidence(v *measured.View) fact.Confidence {
	switch {
	case s.Few < stats.FewestPairs || !s.Known(), len(s.Lose)+len(s.Wait) == 0 && len(s.Noisy) > 0:
		return fact.TooEarly
	case s.Open || len(s.Noisy) > 0 || len(s.Unknown) > 0 || v.Neighbours() != nil:
		return fact.Likely
	}
	return fact.Sure
}
