package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/breakdown"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
)

// recording is a recorder that runs while a trial is measured; nil for none.
type recording struct {
	recorder *capture.Recorder
	owns     func(iotrace.Owner) bool
	because  string // why owns may be mistaken; "" where it is not
	devices  []result.Device
}

// record starts to record what the devices of a site do, where the experiment asks
// for it. A host that cannot measures all the same, and t says why it was not
// traced; only what ends the run is an error.
func (r *runner) record(ctx context.Context, s *site, all together, t *result.Trial) (*recording, error) {
	if !r.Experiment.Trace {
		return nil, nil //nolint:nilnil // nothing is recorded, and that is no error
	}
	started, err := r.startRecorder(ctx, s, all)
	switch {
	case err == nil:
		return started, nil
	case ctx.Err() != nil || errors.Is(err, journal.ErrWrite):
		return nil, err
	}
	t.Untraced = err.Error()
	return nil, nil //nolint:nilnil // as above
}

func (r *runner) startRecorder(ctx context.Context, s *site, all together) (*recording, error) {
	measured := s.devices()
	if len(measured) == 0 {
		return nil, errors.New("the stack has no block device")
	}
	owns, because, err := application(all)
	if err != nil {
		return nil, fmt.Errorf("the workload's cgroup: %w", err)
	}
	var devices []string
	for _, d := range measured {
		devices = append(devices, cmp.Or(d.MajMin, d.Name))
	}
	// tracefs would cost half the speed and tell half of the parts.
	recorder, err := capture.Start(ctx, r.env.Journal, capture.Options{Devices: devices, Application: true, Way: "bpf"})
	if err != nil {
		return nil, err
	}
	return &recording{recorder: recorder, owns: owns, because: because, devices: measured}, nil
}

// application tells whose requests the workloads' are: those of their steps' control
// groups, and of nothing else, whatever a neighbour's program is called. Where
// the steps have no group of their own, they are those of the workload's programs
// in the group that we are in, and because says what that may mistake.
func application(all together) (owns func(iotrace.Owner) bool, because string, err error) {
	var ids []uint64
	var programs []string
	var none error
	for _, in := range all {
		programs = append(programs, in.load.Programs()...)
		group, lacks := in.place.StepGroup()
		if lacks != nil {
			none = lacks
			continue
		}
		id, err := group.ID()
		if err != nil {
			return nil, "", err
		}
		ids = append(ids, id)
	}
	if none == nil {
		return func(o iotrace.Owner) bool { return slices.Contains(ids, o.Cgroup) }, "", nil
	}
	slices.Sort(programs)
	programs = slices.Compact(programs)
	ours, err := cgroup.Of(os.Getpid())
	if err != nil {
		return nil, "", err
	}
	id, err := ours.ID()
	because = fmt.Sprintf(
		"whether a request is the workload's or of another %s in the same cgroup: it has none of its own (%v)",
		strings.Join(programs, " or "),
		none,
	)
	return func(o iotrace.Owner) bool { return o.Cgroup == id && slices.Contains(programs, o.Command) }, because, err
}

// abandon ends a recording that nobody asks for any more.
func (r *recording) abandon() {
	if r == nil || r.recorder == nil {
		return
	}
	_, _ = r.recorder.Stop() // what it left behind is journalled
	r.recorder = nil
}

// end ends the recording and tells t where the time of its I/Os went.
func (r *recording) end(t *result.Trial, m measured, target *breakdown.Target) {
	if r == nil {
		return
	}
	calls := r.recorder.RecordsCalls()
	account, err := r.recorder.Stop()
	r.recorder = nil
	if err != nil {
		t.Untraced = "the recorder failed: " + err.Error()
		return
	}
	t.Trace = breakdown.Join(breakdown.Input{
		Account: account, Calls: calls, Owns: r.owns, Saw: m.all, Share: m.share, Devices: r.devices, Target: target,
	})
	if r.because == "" {
		return
	}
	for name, b := range map[string]*result.Breakdown{"read": t.Trace.Read, "write": t.Trace.Write} {
		if b != nil {
			t.Trace.Missing = append(t.Trace.Missing, name+": "+r.because)
		}
	}
	slices.Sort(t.Trace.Missing)
}
