package drive

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/trial/site"
	"plimsoll/internal/units"
)

// QuietLook is how long other processes are looked at: ticks of the clock, which processor time is counted in, are then
// few percent of it.
const QuietLook = 500 * time.Millisecond

// Noise looks at other processes for quietLook and says what they use; "" where that is little, or is not known.
func (r *Driver) Noise(ctx context.Context) (why string, err error) {
	up := r.sites.Up
	if up == nil {
		up = &site.Site{}
	}
	l := &look{driver: r, site: up}
	for _, d := range up.Disks() {
		l.disks = append(l.disks, disk{Disk: d})
	}
	l.before = l.now()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(QuietLook):
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
	return passed(before.disk, after.disk).Sub(passed(before.stacked, after.stacked))
}
