package published

import (
	"strings"
	"testing"

	"plimsoll/internal/fact"
)

// What ran in the place of the paper's database shows a shape, with its stand-in said once behind those that
// share it, and is neither among what was confirmed nor what is open. Each has its reason in a folded part.
func TestWhatIsShown(t *testing.T) {
	const pebble = "the embedded server (pebble) in the place of Cassandra"
	decided := func(v fact.ClaimVerdict, id, standIn string) fact.Finding {
		f := fact.Finding{Title: string(v) + ": " + id, Why: "why " + id, Caveats: []string{"a mark", "a caveat of " + id},
			Remarks: []fact.Remark{{Case: "caveat"}}}
		f.Claim = &fact.Claim{ID: id, Verdict: v, StandIn: standIn, Why: "because of " + id, Measured: "2x"}
		return f
	}
	unmeasured := decided(fact.ClaimNotTestable, "fourth", "")
	unmeasured.Claim.Measured = ""
	s := claimsSection([]fact.Finding{
		decided(fact.ClaimSameShape, "first", pebble), decided(fact.ClaimOtherShape, "second", pebble),
		decided(fact.ClaimConfirmed, "third", ""),
		decided(fact.ClaimContradicted, "bad", ""), unmeasured, decided(fact.ClaimNotTestable, "fifth", pebble),
		decided(fact.ClaimNotTestable, "fifth", pebble),
	}, Others{Claims: 2, Papers: []OfPaper{{"MSST'17", 2}}, Experiments: []Experiments{{"quick", []string{"a", "b"}}}})
	var remarks []string
	for _, r := range s.Remarks {
		remarks = append(remarks, r.Text)
		if r.Warn != strings.HasPrefix(r.Text, "contradicted") {
			t.Errorf("%q is to be minded: %t", r.Text, r.Warn)
		}
	}
	want := "same shape here: first\n" +
		"another shape here: second. Why: because of second. A stand-in: " + pebble + "\n" +
		"confirmed here: third\ncontradicted here: bad. Why: because of bad\n" +
		"Not testable here: 2 published results; the report and --json say why; 2 more published results are not about stacks or " +
		"workloads of this run: 2 of MSST'17"
	if got := strings.Join(remarks, "\n"); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	var parts []string
	for _, p := range s.Parts {
		text := p.Title + ":"
		for _, r := range p.Tables[0].Rows {
			if r.Words != "" {
				text += " / " + r.Words
			}
			if len(r.Cells) > 0 && len(r.Cells) != len(p.Tables[0].Columns) {
				t.Errorf("%s: %d cells in %d columns", p.Title, len(r.Cells), len(p.Tables[0].Columns))
			}
		}
		parts = append(parts, text)
	}
	want = "What was measured, and why each is judged as it is: / why first Mind: a mark; a caveat of first. / why second " +
		"Mind: a mark; a caveat of second. / " +
		"why third Mind: a mark; a caveat of third. / why bad Mind: a mark; a caveat of bad.\n" +
		"3 published results not testable here, each with its reason: / why fifth Mind: a mark; a caveat of fifth. / why fifth Mind: a mark; a caveat of fifth. / " +
		"why fourth Mind: a mark; a caveat of fourth.\nExperiments that test the others, or why there is none:"
	if got := strings.Join(parts, "\n"); got != want {
		t.Errorf("parts are\n%s\nwant\n%s", got, want)
	}
	if cells := s.Parts[2].Tables[0].Rows[0].Cells; cells[0].String() != "plimsoll run quick" || cells[1].String() != "a, b" {
		t.Errorf("the others are tested by %v", cells)
	}
	if rows := s.Parts[2].Tables[1].Rows; len(rows) == 0 || rows[0].Cells[3].String() == "-" {
		t.Error("it does not say why no experiment can judge the rest")
	}
	if verdict := s.Parts[0].Tables[0].Rows[0].Cells[4].String(); verdict != "same shape here, by a stand-in" {
		t.Errorf("the first verdict is %q", verdict)
	}
}
