package result

import (
	"slices"
	"testing"
)

// A run has been looked at where it is resumed with more rounds than at the last look.
func TestLooksWhenResumed(t *testing.T) {
	run := Run{Trials: []Trial{
		{Block: 1, Status: TrialDone}, {Block: 5, Status: TrialDone}, {Block: 6, Status: TrialPlanned},
	}}
	for range 2 { // resumed, and resumed again before anything was measured
		run.Looks = run.LooksWhenResumed()
		if !slices.Equal(run.Looks, []int{5}) {
			t.Fatalf("looks at %v", run.Looks)
		}
	}
	run.Trials[2].Status = TrialDone
	before := run.Looks
	if run.Looks = run.LooksWhenResumed(); !slices.Equal(run.Looks, []int{5, 6}) || !slices.Equal(before, []int{5}) {
		t.Errorf("looks at %v", run.Looks)
	}
	if looks := (&Run{}).LooksWhenResumed(); looks != nil {
		t.Errorf("a run of nothing was looked at %v", looks)
	}
}
