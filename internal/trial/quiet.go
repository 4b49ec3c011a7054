package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
)

// quietLook is how long other processes are looked at: ticks of the clock, which processor time is counted in, are then
// few percent of it.
const quietLook = 500 * time.Millisecond

// awaitQuiet waits until other processes use little of the processors and of the disks of the stack that is up, for what
// is left of the time that the run may wait. It does not look where the trial before was not disturbed.
func (r *runner) awaitQuiet(ctx context.Context) error {
	trials := r.store.Run().Trials
	left := r.Experiment.QuietWait() - waited(trials)
	if left < quietLook || !expectsNoise(trials) {
		return nil
	}
	defer r.clock.end(result.PhaseQuiet)
	until := time.Now().Add(left)
	for noted := false; time.Until(until) >= quietLook; {
		why, err := r.noise(ctx)
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
		all += seconds(result.SecondsOf(t.Phases, result.PhaseQuiet))
	}
	return all
}

// noise looks at other processes for quietLook and says what they use; "" where that is little, or is not known.
func (r *runner) noise(ctx context.Context) (why string, err error) {
	up := r.up
	if up == nil {
		up = &site{}
	}
	l := &look{runner: r, site: up}
	for _, d := range up.disks() {
		l.disks = append(l.disks, disk{Disk: d})
	}
	l.before = l.now()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(quietLook):
	}
	l.after = l.now()
	if cpu := l.processors(); cpu != nil {
		others, _ := cpu.OthersShare()
		if others >= threshold.CPUShareOfOthers {
			return units.Percent(others) + " of the CPUs now", nil
		}
	}
	for i, d := range l.disks {
		before, after := l.before.disks[i], l.after.disks[i]
		if before.err != nil || after.err != nil {
			continue
		}
		// Nothing of the run's own is under way, so that all that its devices did not pass on is of other processes.
		others := othersOf(before, after)
		if runview.Busy(others, l.seconds()) {
			return fmt.Sprintf("%s does %s I/Os a second now", d.Name, units.Rate(float64(others.IOs())/l.seconds())), nil
		}
	}
	return "", nil
}

// othersOf returns the I/Os of a disk beside those of the devices on it that are the run's own.
func othersOf(before, after counted) result.IOCount {
	passed := func(a, b blockdev.Counters) result.IOCount { return ios(b.Since(a)) }
	return passed(before.disk, after.disk).Sub(passed(before.above, after.above))
}
