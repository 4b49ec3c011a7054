package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding"
)

// publishedView is the published results that a run touches, and a word on
// the others.
type publishedView struct {
	Claims []publishedClaim
	Others string
}

type publishedClaim struct {
	finding.Finding
	Class  string // confirmed, contradicted, or unknown
	Stacks string
	Fine   string // caveats that not every number of the run has
}

// publishedResults sorts the published results by verdict: what was decided
// first. It is nil when the run touches none.
func publishedResults(findings []finding.Finding, said []string) *publishedView {
	v := &publishedView{}
	for _, f := range findings {
		switch {
		case f.Kind != finding.KindPublished:
		case f.Claim == nil:
			v.Others = f.Title + ". " + f.Why
		default:
			caveats := slices.DeleteFunc(slices.Clone(f.Caveats), func(c string) bool { return slices.Contains(said, c) })
			v.Claims = append(v.Claims, publishedClaim{f, verdictClass(f.Claim.Verdict), strings.Join(f.Stacks, " against "), strings.Join(caveats, "; ")})
		}
	}
	if len(v.Claims) == 0 {
		return nil
	}
	known := func(c publishedClaim) int {
		switch {
		case c.Claim.Verdict != finding.ClaimNotTestable:
			return 2
		case c.Claim.Measured != "":
			return 1
		}
		return 0
	}
	slices.SortStableFunc(v.Claims, func(a, b publishedClaim) int { return known(b) - known(a) })
	return v
}

func verdictClass(v finding.ClaimVerdict) string {
	switch v {
	case finding.ClaimConfirmed:
		return "confirmed"
	case finding.ClaimContradicted:
		return "contradicted"
	}
	return "unknown"
}

// published prints what became of published results: a sentence for each that
// was measured, and why where the data contradicts or does not decide. Those
// for which a stack or workload is missing are named on one line.
func (t *terminal) published() {
	v := publishedResults(t.findings, nil)
	if v == nil {
		return
	}
	t.section("Published results, tested here")
	var missing []string
	for _, c := range v.Claims {
		if c.Claim.Measured == "" {
			if !slices.Contains(missing, c.Claim.ID) {
				missing = append(missing, c.Claim.ID)
			}
			continue
		}
		paint := map[string]func(string) string{"confirmed": t.style.good, "contradicted": t.style.warn, "unknown": t.style.plain}[c.Class]
		t.text("  - ", "    ", c.Title, paint)
		if c.Claim.Verdict != finding.ClaimConfirmed {
			t.text("    ", "    ", "Why: "+c.Claim.Why, t.style.dim)
		}
		if c.Claim.StandIn != "" {
			t.text("    ", "    ", "A stand-in: "+c.Claim.StandIn, t.style.warn)
		}
	}
	if len(missing) > 0 {
		t.text("  - ", "    ", fmt.Sprintf("Not testable here for lack of a stack, workload or trial: %s. The report and --json say which", strings.Join(missing, ", ")), t.style.dim)
	}
	others, _, _ := strings.Cut(v.Others, ". ")
	if others != "" {
		t.text("  - ", "    ", others, t.style.dim)
	}
}
