package trial

import (
	"errors"
	"fmt"
	"syscall"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/trial/drive"
)

// storeTrial stores a trial that ended. Where the disk of the run directory is full,
// the trial ends with that as its reason, gives back what it took of the disk,
// and the run is to pause: every trial after it would end likewise. The error is
// then syscall.ENOSPC.
func (r *runner) storeTrial(t result.Trial) (result.Trial, error) {
	outOfSpace := t.Status == result.TrialFailed && r.store.IsFull()
	if !outOfSpace {
		err := r.keepArtifacts(&t)
		if err == nil {
			err = r.store.SaveTrial(t)
		}
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return t, fmt.Errorf("store trial %d: %w", t.Seq, err)
		}
	}
	ended := result.Trial{
		Seq: t.Seq, Block: t.Block, Stack: t.Stack, Mix: t.Mix, Repeat: t.Repeat,
		Started: t.Started, ElapsedSeconds: t.ElapsedSeconds, BringUp: t.BringUp, Region: t.Region,
		Status: result.TrialFailed,
		Problem: &problem.Problem{
			What:   drive.NameOfTrial(t),
			Why:    fmt.Sprintf("the file system of the run directory (%s) is full, and its results could not be kept", r.Dir),
			Remedy: "free some space there, or move the run directory to a larger disk, and go on with --resume",
		},
	}
	kept := "it is stored with that reason"
	if err := errors.Join(r.store.DropArtifacts(store.ArtifactsOf(ended)), r.store.SaveTrial(ended)); err != nil {
		if !errors.Is(err, syscall.ENOSPC) {
			return t, fmt.Errorf("store trial %d: %w", t.Seq, err)
		}
		kept = "there was not even room for that reason, and it will be run again"
	}
	return ended, fmt.Errorf(
		"the run is paused: the file system of %s is full, which ended trial %d (%s on %s); %s. Free some space: %w",
		r.Dir, t.Seq, t.Mix, t.Stack, kept, syscall.ENOSPC)
}
