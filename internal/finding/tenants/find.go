package tenants

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
)

// unseen is what a scaled-down host with limits of its own for reads and for writes cannot show.
const unseen = "the scaled-down host limits reads and writes apart, so that readers and writers never compete for its drive, and what " +
	"they would cost each other on a real one is not seen"

// Find says what tenants of mixes keep of what they do alone, who suffers from whom, and for want of what:
// on each stack and host.
func Find(v *runview.View) (out []fact.Finding) {
	for _, t := range v.Tenancies() {
		f, _ := find(t)
		out = append(out, f)
	}
	return out
}

func find(t runview.Tenancy) (fact.Finding, *Facts) {
	facts := factsOf(tenancy{t}.facts())
	f := fact.Finding{
		ID: "tenants/" + t.Stack.Name, Case: "tenants", Kind: fact.KindScaling, Facts: facts,
		Title: facts.whoSuffers(), Why: facts.details(), Section: facts.section(), Stacks: t.Stack.Names(),
	}
	if host := runview.HostText(t.Host); host != "" {
		f.ID += "/" + host
	}
	var cells []*runview.Cell
	for _, m := range t.Mixes {
		cells = append(cells, t.Cell(m.Name))
	}
	f.Evidence, f.Caveats = runview.Points(cells...), runview.MarksOf(cells...)
	if runview.ApartLimits(t.Host) {
		prose.Remark(&f, "caveat: limits apart", nil, unseen)
		if f.Section != nil {
			f.Section.Remarks = append(f.Section.Remarks, section.Remark{Text: prose.Capital(unseen) + ".", Warn: true})
		}
	}
	return f, facts
}

// Verdict draws the verdict of a run that asks what tenants do to each other: on one stack and host, of
// mixes of several tenants, and of these alone; on a host that was quiet or not. ok is false for any other
// run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, facts *Facts, ok bool) {
	tenancies := v.Tenancies()
	if len(tenancies) != 1 {
		return f, nil, false
	}
	for _, c := range v.All() {
		if c.Stack != tenancies[0].Stack || !v.Sharing(c.Workload.Name) {
			return f, nil, false
		}
	}
	f, facts = find(tenancies[0])
	f.ID, f.Case, f.Kind, f.Section = "recommendation", "tenants", fact.KindRecommendation, nil
	f.Recommendation = &fact.Recommendation{Confidence: facts.confidence(quiet)}
	f.Title = facts.verdict(f.Recommendation.Confidence)
	return f, facts, true
}

// Next returns what is open of what tenants do to each other; nothing where that is not known of any.
func (f *Facts) Next(_ *result.Run, c fact.Confidence) fact.Next {
	next := fact.MoreSetups(c)
	if !f.Known() {
		next.Open = ""
	}
	return next
}

// confidence is how sure it is what tenants do to each other.
func (f *Facts) confidence(quiet bool) fact.Confidence {
	switch {
	case f.fewest < stats.FewestPairs || !f.Known(), len(f.lose)+len(f.wait) == 0 && len(f.noisy) > 0:
		return fact.TooEarly
	case f.open || len(f.noisy) > 0 || len(f.unknown) > 0 || !quiet:
		return fact.Likely
	}
	return fact.Sure
}
