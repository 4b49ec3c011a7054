package drive

import (
	"errors"
	"fmt"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/trial/site"
)

// What a result keeps of an error are words; what the runner looks for stays in the error.
func TestProblemOf(t *testing.T) {
	lacks := problem.New(problem.Unsupported, "xfs", "no mkfs.xfs", "install it").CausedBy(errors.New("exec"))
	for name, c := range map[string]struct {
		err  error
		want problem.Problem
	}{
		"of its own": {errors.New("disk full"), problem.Problem{What: "RR on xfs", Why: "disk full"}},
		"a problem": {fmt.Errorf("bring up: %w", lacks),
			problem.Problem{What: "xfs", Why: "no mkfs.xfs", Remedy: "install it"}},
	} {
		if got := ProblemOf("RR on xfs", c.err); *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
	if err := site.Limitless("a", fmt.Errorf("make a group: %w", journal.ErrWrite)); !errors.Is(err, journal.ErrWrite) {
		t.Errorf("that the journal cannot be written is not seen behind: %v", err)
	}
}
