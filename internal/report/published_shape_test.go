package report

import (
	"strings"
	"testing"

	"plimsoll/internal/finding/fact"
)

// What ran in the place of the paper's database shows a shape, with its stand-in said once
// behind those that share it, and is neither among what was confirmed nor what is open.
func TestTerminalOfShapes(t *testing.T) {
	of := func(v fact.ClaimVerdict, id, standIn string) fact.Finding {
		claim := &fact.Claim{ID: id, Verdict: v, StandIn: standIn, Why: "because of " + id, Measured: "2x"}
		return fact.Finding{Kind: fact.KindPublished, Title: string(v) + ": " + id, Claim: claim}
	}
	const pebble = "the embedded server (pebble) in the place of Cassandra"
	findings := []fact.Finding{
		of(fact.ClaimSameShape, "first", pebble), of(fact.ClaimOtherShape, "second", pebble),
		of(fact.ClaimConfirmed, "third", ""), of(fact.ClaimNotTestable, "fourth", pebble),
	}
	got := strings.Join(strings.Fields(terminalText(t, sampleRun(), findings, TerminalOptions{Width: 200})), " ")
	for _, want := range []string{
		"- same shape here: first - another shape here: second Why: because of second A stand-in: " + pebble +
			" - confirmed here: third",
		"Not testable here: 1 published result",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, pebble); n != 1 {
		t.Errorf("the stand-in is said %d times in\n%s", n, got)
	}
}
