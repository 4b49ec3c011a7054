package published

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
)

// claimsSection shows what became of published results: a sentence for each that was decided, and, folded, what was
// measured of each, with the reason of its verdict.
func claimsSection(found []fact.Finding, rest Others) *section.Section {
	s := &section.Section{Title: "Published results, tested here", Late: true}
	var decided, open []fact.Finding
	for _, f := range found {
		if f.Claim.Verdict == fact.ClaimNotTestable {
			open = append(open, f)
		} else {
			decided = append(decided, f)
		}
	}
	for i, f := range decided {
		text := f.Title
		against := f.Claim.Verdict == fact.ClaimContradicted || f.Claim.Verdict == fact.ClaimOtherShape
		if against {
			text += ". Why: " + f.Claim.Why
		}
		again := i+1 < len(decided) && decided[i+1].Claim.StandIn == f.Claim.StandIn
		if f.Claim.StandIn != "" && !again { // said once of those in a row
			text += ". A stand-in: " + f.Claim.StandIn
		}
		s.Remarks = append(s.Remarks, section.Remark{Text: text, Warn: f.Claim.Verdict == fact.ClaimContradicted})
	}
	var not []string
	if len(open) > 0 {
		var ids []string
		for _, f := range open {
			ids = append(ids, f.Claim.ID)
		}
		slices.Sort(ids)
		not = append(not, plural.Count(len(slices.Compact(ids)), "published result")+"; the report and --json say why")
	}
	if rest.Claims > 0 {
		not = append(not, rest.title())
	}
	if len(not) > 0 {
		s.Remarks = append(s.Remarks, section.Remark{Text: "Not testable here: " + strings.Join(not, "; ")})
	}
	measured := func(f fact.Finding) int { return min(len(f.Claim.Measured), 1) }
	slices.SortStableFunc(open, func(a, b fact.Finding) int { return measured(b) - measured(a) })
	for _, part := range []struct {
		title    string
		findings []fact.Finding
	}{
		{"What was measured, and why each is judged as it is", decided},
		{fmt.Sprintf("%s not testable here, each with its reason", plural.Count(len(open), "published result")), open},
	} {
		if len(part.findings) > 0 {
			s.Parts = append(s.Parts, &section.Section{Title: part.title, Tables: []section.Table{tested(part.findings)}})
		}
	}
	s.Parts = append(s.Parts, &section.Section{Title: "Experiments that test the others, or why there is none",
		Tables: rest.tables()})
	return s
}

// tested has a row for each result, and a line with the reasons.
func tested(findings []fact.Finding) section.Table {
	t := section.Table{
		Caption: "what papers measured on their hardware, and what this run measured: ratios of medians with 95% intervals, ~ for no " +
			"significant difference",
		Columns: []section.Column{
			{Head: "published result", Text: true}, {Head: "of", Text: true}, {Head: "published", Text: true},
			{Head: "measured here", Text: true}, {Head: "verdict", Text: true}, {Head: "where", Text: true},
		},
	}
	for _, f := range findings {
		c := f.Claim
		subject := strings.Join(f.Stacks, " against ")
		if f.Workload != "" {
			subject += " under " + f.Workload
		}
		verdict := string(c.Verdict)
		if c.StandIn != "" {
			verdict += ", by a stand-in"
		}
		why := f.Why
		if len(f.Caveats) > 0 {
			why += " Mind: " + strings.Join(f.Caveats, "; ") + "."
		}
		t.Rows = append(t.Rows,
			section.Row{Warn: c.Verdict == fact.ClaimContradicted, Cells: []section.Cell{
				section.Text(c.Statement), section.Text(subject), section.Text(c.Published), section.Text(c.Measured),
				section.Text(verdict),
				section.Text(fmt.Sprintf("%s, %s (%s)", c.Paper, c.Where, c.ID)),
			}},
			section.Row{Words: why})
	}
	return t
}

// tables have a row for each built-in experiment that tests some of the others, and one for each result that
// none can judge.
func (o Others) tables() []section.Table {
	tested := section.Table{Caption: "built-in experiments that test results which this run is not about", Columns: []section.Column{
		{Head: "command", Text: true}, {Head: "published results", Text: true},
	}}
	for _, e := range o.Experiments {
		tested.Rows = append(tested.Rows, section.Row{Cells: []section.Cell{
			section.Text("plimsoll run " + e.Name), section.Text(strings.Join(e.Claims, ", ")),
		}})
	}
	untested := section.Table{Caption: "results that no experiment can judge", Columns: []section.Column{
		{Head: "published result", Text: true}, {Head: "published", Text: true}, {Head: "where", Text: true}, {Head: "why", Text: true},
	}}
	for _, c := range claims.All() {
		if c.Test == nil {
			tested, value := Tested{Subject: c.Subject, Baseline: c.Baseline}, c.Note
			if c.Value != nil {
				value = valueOf(c).String()
			}
			untested.Rows = append(untested.Rows, section.Row{Cells: []section.Cell{
				section.Text(cmp.Or(tested.statement(), c.ID)), section.Text(value),
				section.Text(fmt.Sprintf("%s, %s (%s)", c.Paper, c.Where, c.ID)), section.Text(c.Untested),
			}})
		}
	}
	return slices.DeleteFunc([]section.Table{tested, untested}, func(t section.Table) bool { return len(t.Rows) == 0 })
}
