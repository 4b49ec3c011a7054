package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
)

// publishedView is the published results that a run touches, and a word on
// the others.
type publishedView struct {
	Claims []publishedClaim // that were decided
	Open   []publishedClaim // that cannot be tested here
	Others string
}

type publishedClaim struct {
	fact.Finding
	Class  string // confirmed, contradicted, same-shape, other-shape, or unknown
	Stacks string
	Fine   string // caveats that not every number of the run has
}

// publishedResults sorts the published results: what was decided apart from what
// cannot be tested here, of which what was measured comes first. It is nil when the run touches none.
func publishedResults(findings []fact.Finding, said []string) *publishedView {
	v := &publishedView{}
	for _, f := range findings {
		switch {
		case f.Kind != fact.KindPublished:
		case f.Claim == nil:
			v.Others = f.Title + ". " + f.Why
		default:
			caveats := slices.DeleteFunc(slices.Clone(f.Caveats), func(c string) bool { return slices.Contains(said, c) })
			c := publishedClaim{f, verdictClass(f.Claim.Verdict), strings.Join(f.Stacks, " against "),
				strings.Join(caveats, "; ")}
			if f.Claim.Verdict == fact.ClaimNotTestable {
				v.Open = append(v.Open, c)
			} else {
				v.Claims = append(v.Claims, c)
			}
		}
	}
	if len(v.Claims)+len(v.Open) == 0 {
		return nil
	}
	measured := func(c publishedClaim) int {
		if c.Claim.Measured != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(v.Open, func(a, b publishedClaim) int { return measured(b) - measured(a) })
	return v
}

func verdictClass(v fact.ClaimVerdict) string {
	switch v {
	case fact.ClaimConfirmed:
		return "confirmed"
	case fact.ClaimContradicted:
		return "contradicted"
	case fact.ClaimSameShape:
		return "same-shape"
	case fact.ClaimOtherShape:
		return "other-shape"
	}
	return "unknown"
}

// published prints what became of published results: a sentence for each that
// was decided, and why where the data contradicts it. Those that cannot be
// tested here are counted on one line; the report has each with its reason.
func (t *terminal) published() {
	v := publishedResults(t.findings, nil)
	if v == nil {
		return
	}
	t.section("Published results, tested here")
	for i, c := range v.Claims {
		paint := t.style.plain
		switch c.Class {
		case "confirmed":
			paint = t.style.good
		case "contradicted":
			paint = t.style.warn
		}
		t.text("  - ", "    ", c.Title, paint)
		if slices.Contains([]string{"contradicted", "other-shape"}, c.Class) {
			t.text("    ", "    ", "Why: "+c.Claim.Why, t.style.dim)
		}
		again := i+1 < len(v.Claims) && v.Claims[i+1].Claim.StandIn == c.Claim.StandIn
		if c.Claim.StandIn != "" && !again { // said once of those in a row
			t.text("    ", "    ", "A stand-in: "+c.Claim.StandIn, t.style.warn)
		}
	}
	others, _, _ := strings.Cut(v.Others, ". ")
	parts := slices.DeleteFunc([]string{others}, func(s string) bool { return s == "" })
	var open []string
	for _, c := range v.Open {
		if !slices.Contains(open, c.Claim.ID) {
			open = append(open, c.Claim.ID)
		}
	}
	if len(open) > 0 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("%s; the report and --json say why",
			counted(len(open), "published result")))
	}
	if len(parts) > 0 {
		t.text("  - ", "    ", "Not testable here: "+strings.Join(parts, "; "), t.style.dim)
	}
}
