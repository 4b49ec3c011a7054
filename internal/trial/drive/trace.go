package drive

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
	"plimsoll/internal/trial/site"
)

// recording is a recorder that runs while a trial is measured; nil for none.
type recording struct {
	recorder *capture.Recorder
	owns     func(iotrace.Owner) bool
	because  string // why owns may be mistaken; "" where it is not
	devices  []result.Device
}

// record starts to trace the devices of a site, if the experiment asks for it. A host that cannot trace still measures,
// and t.Untraced has the reason. An error ends the run.
func (r *Driver) record(
	ctx context.Context, s *site.Site, instances site.Together, t *result.Trial,
) (*recording, error) {
	if !r.Experiment.Trace {
		return nil, nil //nolint:nilnil // nothing is recorded, and that is no error
	}
	started, err := r.startRecorder(ctx, s, instances)
	switch {
	case err == nil:
		return started, nil
	case ctx.Err() != nil || errors.Is(err, journal.ErrWrite):
		return nil, err
	}
	t.Untraced = err.Error()
	return nil, nil //nolint:nilnil // as above
}

func (r *Driver) startRecorder(ctx context.Context, s *site.Site, instances site.Together) (*recording, error) {
	measured := s.Devices()
	if len(measured) == 0 {
		return nil, errors.New("the stack has no block device")
	}
	owns, because, err := application(instances)
	if err != nil {
		return nil, fmt.Errorf("the workload's cgroup: %w", err)
	}
	var devices []string
	for _, d := range measured {
		devices = append(devices, cmp.Or(d.MajMin, d.Name))
	}
	// tracefs would cost half the speed and show half of the parts.
	recorder, err := capture.Start(ctx, r.sites.Env.Journal, capture.Options{Devices: devices, Application: true, Way: "bpf"})
	if err != nil {
		return nil, err
	}
	return &recording{recorder: recorder, owns: owns, because: because, devices: measured}, nil
}

// application returns which owners' requests are the workloads': those of the steps' control groups, whatever a
// neighbour's program is called. If the steps have no group of their own, the workloads' programs in this process's
// group are their owners, and because says what that may confuse.
func application(instances site.Together) (owns func(iotrace.Owner) bool, because string, err error) {
	var ids []uint64
	var programs []string
	var groupErr error
	for _, in := range instances {
		programs = append(programs, in.Load.Programs()...)
		group, lacks := in.Placed.StepGroup()
		if lacks != nil {
			groupErr = lacks
			continue
		}
		id, err := group.ID()
		if err != nil {
			return nil, "", err
		}
		ids = append(ids, id)
	}
	if groupErr == nil {
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
		groupErr,
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
		Account: account, Calls: calls, Owns: r.owns, Saw: m.reported, Share: m.share, Devices: r.devices, Target: target,
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
