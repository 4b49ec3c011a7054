package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"plimsoll/internal/experiment"
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/breakdown"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/journal"
	"plimsoll/internal/result"
)

// recording is a recorder that runs while a trial is measured; nil for none.
type recording struct {
	recorder *capture.Recorder
	owns     func(iotrace.Owner) bool
	devices  []result.Device
}

// record starts to record what a stack's devices do, where the experiment asks
// for it. A host that cannot measures all the same, and t says why it was not
// traced; only what ends the run is an error.
func (r *runner) record(ctx context.Context, s *upStack, w experiment.Workload, t *result.Trial) (*recording, error) {
	if !r.Experiment.Trace {
		return nil, nil //nolint:nilnil // nothing is recorded, and that is no error
	}
	recorder, owns, err := r.startRecorder(ctx, s, w)
	switch {
	case err == nil:
		return &recording{recorder, owns, s.Devices}, nil
	case ctx.Err() != nil || errors.Is(err, journal.ErrWrite):
		return nil, err
	}
	t.Untraced = err.Error()
	return nil, nil //nolint:nilnil // as above
}

func (r *runner) startRecorder(ctx context.Context, s *upStack, w experiment.Workload) (*capture.Recorder, func(iotrace.Owner) bool, error) {
	if len(s.Devices) == 0 {
		return nil, nil, errors.New("the stack has no block device")
	}
	owns, err := application(s, w)
	if err != nil {
		return nil, nil, err
	}
	var devices []string
	for _, d := range s.Devices {
		devices = append(devices, cmp.Or(d.MajMin, d.Name))
	}
	// tracefs would cost half the speed and tell half of the parts.
	recorder, err := capture.Start(ctx, r.env.Journal, capture.Options{Devices: devices, Application: true, Way: "bpf"})
	return recorder, owns, err
}

// application tells whose requests a workload's are. A container has a control
// group of its own, and whatever is in it is the workload. On the host,
// processes of the workload's programs are, which run in our own group.
func application(s *upStack, w experiment.Workload) (func(iotrace.Owner) bool, error) {
	group, err := capture.Cgroup(s.Process())
	if err != nil {
		return nil, fmt.Errorf("the workload's control group: %w", err)
	}
	if s.Process() != os.Getpid() {
		return func(o iotrace.Owner) bool { return o.Cgroup == group }, nil
	}
	programs := w.Programs()
	return func(o iotrace.Owner) bool { return o.Cgroup == group && slices.Contains(programs, o.Command) }, nil
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
	calls := r.recorder.Calls()
	account, err := r.recorder.Stop()
	r.recorder = nil
	if err != nil {
		t.Untraced = "the recorder failed: " + err.Error()
		return
	}
	t.Trace = breakdown.Join(breakdown.Input{
		Account: account, Calls: calls, Owns: r.owns, Saw: m.all, Share: m.share, Devices: r.devices, Target: target,
	})
}
