package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/units"
)

// awaitQuiet waits until other processes use little of the processors and of the disks of the stack that is up, for what
// is left of the time that the run may wait. It does not look where the trial before was not disturbed.
func (r *runner) awaitQuiet(ctx context.Context) error {
	trials := r.store.Run().Trials
	left := r.Experiment.QuietWait() - waited(trials)
	if left < drive.QuietLook || !expectsNoise(trials) {
		return nil
	}
	defer r.sites.Clock.End(result.PhaseQuiet)
	until := time.Now().Add(left)
	for noted := false; time.Until(until) >= drive.QuietLook; {
		why, err := r.driver.Noise(ctx)
		if err != nil || why == "" {
			return err
		}
		if !noted {
			r.Progress.Note(fmt.Sprintf("waiting until other processes use less: %s; at most %s, or --no-wait-for-quiet", why,
				units.Elapsed(left.Seconds())))
			noted = true
		}
	}
	return nil
}

// expectsNoise reports whether the trial before was disturbed, or there was none.
func expectsNoise(trials []result.Trial) bool {
	for _, t := range slices.Backward(trials) {
		if t.Status == result.TrialDone {
			return runview.Disturbed(&t)
		}
	}
	return true
}

// waited returns how long trials have waited so far.
func waited(trials []result.Trial) (all time.Duration) {
	for _, t := range trials {
		all += time.Duration(result.SecondsOf(t.Phases, result.PhaseQuiet) * float64(time.Second))
	}
	return all
}
