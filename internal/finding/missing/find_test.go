package missing_test

import (
	"strings"
	"testing"

	"plimsoll/internal/finding/missing"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Trials that were not measured are told of once for each reason, in plain words.
func TestFind(t *testing.T) {
	oom := &problem.Problem{What: "fio", Why: "killed for want\nof memory.", Remedy: "more memory"}
	run := &result.Run{
		Stacks: []result.Stack{{Name: "a"}, {Name: "b"}, {Name: "control", Control: "a"}},
		Mixes: []result.Mix{{Name: "RR"}, {Name: "RR-more", Varies: &result.Variation{Of: "RR"}},
			{Name: "RR-less", Varies: &result.Variation{Of: "RR"}}},
		Trials: []result.Trial{
			{Stack: "a", Mix: "RR", Status: result.TrialFailed, Problem: oom},
			{Stack: "control", Mix: "RW", Status: result.TrialFailed, Problem: oom},
			{Stack: "a", Mix: "RR", Status: result.TrialFailed, Problem: oom},
			{Mix: "both", Status: result.TrialSkipped},
			{Stack: "b", Mix: "RR-more", Status: result.TrialPlanned},
			{Stack: "b", Mix: "RR-less", Status: result.TrialPlanned},
			{Stack: "b", Mix: "RR", Status: result.TrialDone},
		},
	}
	want := []string{
		"3 trials failed (a and control, a copy of a, RR and RW): killed for want",
		"fio: killed for want of memory. What would change it: more memory.",
		"1 trial skipped (both): no reason was recorded", "no reason was recorded.",
		"2 trials not run (b, limits of RR varied): the run did not come to it",
		"the run did not come to it. What would change it: finish the run with --resume.",
		"1 trial lost (b, RR): the trial left no usable number", "the trial left no usable number. What would change it: see its artifacts.",
	}
	var got []string
	for _, f := range missing.Find(runview.New(run)) {
		got = append(got, f.Title, f.Why)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it says\n%s", strings.Join(got, "\n"))
	}
}
