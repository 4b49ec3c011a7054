package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/observe"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload"
)

// patience is how long the parts of a trial may take that have no time of
// their own: set-up, and writing back.
var patience = 20 * time.Minute

// slowest is the least speed, in bytes per second, at which laying out files
// is waited for.
const slowest = 4 << 20

// patient ends a trial that hangs: on a device or an engine that does not
// answer.
func (r *runner) patient(ctx context.Context, t result.Trial) (context.Context, context.CancelFunc) {
	w := r.loads[t.Workload]
	timing := w.Timing(r.Experiment.Timing)
	asked := r.Experiment.Precondition
	limit := patience + timing.Ramp + timing.Runtime + time.Duration(asked.Rounds)*asked.Round
	bytes := w.NeedBytes() + r.env.Regions.Bytes()
	if asked.Device {
		bytes += r.toFill(r.lines[t.Stack].Line)
	}
	limit += time.Duration(max(1, asked.Passes)) * time.Duration(bytes/slowest) * time.Second
	return context.WithTimeoutCause(ctx, limit, &workload.Error{Problem: result.Problem{
		What:   fmt.Sprintf("%s on %s", t.Workload, t.Stack),
		Why:    fmt.Sprintf("it had not ended after %s, and was given up", limit.Round(time.Second)),
		Remedy: "see whether the device and the Docker engine still answer: dmesg; ps -eo pid,stat,wchan:32,args",
	}})
}

// toFill is the size of a stack's devices that are to be written as a whole.
func (r *runner) toFill(l line.Line) (bytes int64) {
	occupies := r.env.Occupies(l)
	for i, source := range l.Sources() {
		if !r.fills(occupies[i]) {
			continue
		}
		if d, err := r.host.Locate(source.Arg); err == nil {
			bytes += int64(d.SizeBytes)
		}
	}
	return bytes
}

// measure brings what the trial needs into place and drives the workload.
func (r *runner) measure(ctx context.Context, t *result.Trial) error {
	if p := r.given[t.Stack]; p != nil {
		return &stack.Unsupported{Problem: *p}
	}
	s, err := r.bringUp(ctx, t)
	if err != nil {
		return err
	}
	t.BringUp, t.Region = s.number, s.Region
	w := r.loads[t.Workload]
	scratch, err := r.store.ArtifactDir(*t)
	if err != nil {
		return err
	}
	t.Artifacts = filepath.Join("artifacts", filepath.Base(scratch))
	if scratch, err = filepath.Abs(scratch); err != nil {
		return err
	}
	if err := r.precondition(ctx, s, w, t, scratch); err != nil {
		return err
	}
	m, counters, err := r.drive(ctx, s, w, t, scratch)
	if err != nil {
		return err
	}
	honesty := observe.Judge(m.all, counters, m.share)
	t.Measurement, t.Honesty = &m.steady, &honesty
	if t.TargetCPU != nil {
		t.TargetCPU.IOs = float64(m.all.IOs()) / m.share
	}
	return s.Flush()
}

// measured is what a workload reported.
type measured struct {
	all    result.Measurement // of all its time, or of as much as it reports on
	share  float64            // of its time that all is about: what the devices counted is about the whole
	steady result.Measurement // without ramp and warm-up
}

// drive runs the workload's measured step and gives what the workload reported
// and what the devices counted. A step that can be watched ends as soon as its
// mean is known; t then says why.
func (r *runner) drive(ctx context.Context, s *upStack, w experiment.Workload, t *result.Trial, scratch string) (m measured, counted observe.Counters, err error) {
	timing := w.Timing(r.Experiment.Timing)
	follow := r.follow(w, &timing)
	step, err := w.Drive(s.Target, timing)
	if err != nil {
		return m, counted, err
	}
	if err := s.Flush(); err != nil {
		return m, counted, err
	}
	if err := s.Ready(); err != nil {
		return m, counted, err
	}
	recording, err := r.record(ctx, s, w, t)
	if err != nil {
		return m, counted, err
	}
	defer recording.abandon()
	there, err := r.target(ctx, s)
	if err != nil {
		return m, counted, err
	}
	before, err := observe.ReadCounters(s.Devices)
	if err != nil {
		return m, counted, err
	}
	var live func([]byte) bool
	if follow != nil {
		live = follow.feed
	}
	around := r.lookAround(s)
	outputs, exit, err := s.Run(ctx, step, scratch, live)
	if err != nil {
		return m, counted, err
	}
	around.end()
	after, err := observe.ReadCounters(s.Devices)
	if err != nil {
		return m, counted, err
	}
	did, err := there()
	if err != nil {
		return m, counted, err
	}
	t.TargetCPU = did.cpu
	if counted = after.Since(before); follow != nil {
		m, err = follow.end(exit, t, filepath.Join(scratch, step.Live))
	} else {
		m.all, err = w.Read(outputs, exit)
		m.steady, m.share = m.all, m.all.RuntimeSeconds/(m.all.RuntimeSeconds+timing.Ramp.Seconds())
	}
	if err == nil {
		recording.end(t, m, did.namespace)
		t.Neighbours = around.tell(m)
	}
	return m, counted, err
}
