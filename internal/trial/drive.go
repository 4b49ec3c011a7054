package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/observe"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload"
)

// each does something for all instances at the same time, and returns what went
// wrong with the first of them.
func (all together) each(do func(*instance) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, in := range all {
		group.Go(func() { errs[i] = do(in) })
	}
	group.Wait()
	for i, err := range errs {
		if err == nil {
			continue
		}
		if len(all) > 1 {
			return fmt.Errorf("%s: %w", all[i].name(), err)
		}
		return err
	}
	return nil
}

// driven has the measurements of a trial's instances, by index.
type driven struct {
	all       together
	measured  []measured
	instances []result.Instance
	failed    error               // why an instance has no measurement; of the first that has none
	counted   []blockdev.Counters // by base of the site
	small     *result.Limited
	window    *result.Window
}

// drive runs the measured steps of all instances at the same time, and returns what
// they reported and what the devices counted. Steps that can be watched end as soon
// as the mean of all together is known; t then says why.
func (r *runner) drive(ctx context.Context, s *site, m experiment.Mix, all together, t *result.Trial) (*driven, error) {
	timing := r.Experiment.TimingOf(m)
	follow := r.follow(m, all, &timing)
	steps := make([]*workload.Step, len(all))
	for i, in := range all {
		step, err := in.load.Drive(in.place.Target, timing)
		if err != nil {
			return nil, err
		}
		steps[i] = step
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	if err := s.readied(); err != nil {
		return nil, err
	}
	small, limits, err := s.limit(m, all, true)
	if err != nil {
		return nil, err
	}
	recording, err := r.record(ctx, s, all, t)
	if err != nil {
		return nil, err
	}
	defer recording.abandon()
	there, err := r.target(ctx, s)
	if err != nil {
		return nil, err
	}
	d := &driven{
		all:       all,
		measured:  make([]measured, len(all)),
		instances: make([]result.Instance, len(all)),
		small:     small,
	}
	before, err := r.counters(s)
	if err != nil {
		return nil, err
	}
	series := r.observe(s, all, timing)
	around := r.lookAround(s)
	ends, err := r.run(ctx, all, steps, follow)
	if err != nil {
		_ = series.stop()
		return nil, err
	}
	around.end()
	t.Series = series.stop()
	after, err := r.counters(s)
	if err != nil {
		return nil, err
	}
	did, err := there()
	if err != nil {
		return nil, err
	}
	t.TargetCPU = did.cpu
	t.ClientCPU, err = clientCPU(ends)
	if err != nil {
		return nil, err
	}
	for i := range before {
		d.counted = append(d.counted, after[i].Since(before[i]))
	}
	if follow != nil {
		follow.decide()
	}
	d.read(timing, follow, steps, ends, limits)
	d.sampled(t.Series)
	t.DeviceBusy = busiest(t.Series)
	if d.failed == nil {
		sum := sumOf(d.measured)
		recording.end(t, sum, did.namespace)
		t.Neighbours = around.tell(sum)
		d.window = windowOf(d.measured, ends)
		if follow != nil {
			follow.tell(t)
		}
	}
	return d, d.check(ctx)
}

// counters returns the counters of the devices of each stack on the site.
func (r *runner) counters(s *site) (all []blockdev.Counters, err error) {
	for _, b := range s.bases {
		c, err := blockdev.ReadCounters(r.host.Roots, b.devices())
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// end is how an instance's step ended.
type end struct {
	outputs       map[string][]byte
	exit          workload.Exit
	at            time.Time
	before, after used
}

// run starts all instances behind one gate and waits until the last has ended. An
// error is of what kept a step from being run, not of how it ended.
func (r *runner) run(ctx context.Context, all together, steps []*workload.Step, follow *follower) ([]end, error) {
	ends := make([]end, len(all))
	for i, in := range all {
		ends[i].before = in.used()
	}
	var gate *stack.Gate
	if len(all) > 1 {
		gate = stack.NewGate(len(all))
	}
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, in := range all {
		group.Go(func() {
			var live func([]byte) bool
			if follow != nil {
				live = func(appended []byte) bool { return follow.feed(i, appended) }
			}
			before := ends[i].before
			ends[i], errs[i] = in.step(ctx, gate, steps[i], live)
			ends[i].before = before
			if follow != nil {
				follow.ended(i)
			}
		})
	}
	group.Wait()
	for i, in := range all {
		ends[i].after = in.used()
	}
	return ends, errors.Join(errs...)
}

// read reads what the instances measured, and what they used.
func (d *driven) read(
	timing workload.Timing,
	follow *follower,
	steps []*workload.Step,
	ends []end,
	limits []*result.Limited,
) {
	for i, in := range d.all {
		out := result.Instance{Index: in.Index, Tenant: in.Tenant, Workload: in.Workload, Stack: in.Stack, Limited: limits[i]}
		out.Usage = usage(ends[i].before, ends[i].after)
		if out.Limited != nil {
			out.Limited.Problems = append(out.Limited.Problems, exceeded(in.Limits, out.Usage, ends[i].before, ends[i].after)...)
		}
		m, err := in.read(timing, follow, steps[i], ends[i])
		if lost := in.lost(); lost != nil {
			err = lost
		}
		d.instances[i] = out
		if err != nil {
			d.fail(i, err)
			continue
		}
		d.measured[i] = m
		d.instances[i].Status, d.instances[i].Measurement = result.TrialDone, &d.measured[i].steady
	}
}

// fail keeps why an instance has no measurement.
func (d *driven) fail(i int, err error) {
	in, out := d.all[i], &d.instances[i]
	out.Status, out.Measurement, out.Problem = result.TrialFailed, nil, problemOf(in.name(), err)
	if d.failed != nil {
		return
	}
	d.failed = err
	if len(d.all) > 1 {
		failed := *out.Problem
		failed.What = in.name() + ": " + failed.What
		d.failed = &failed
	}
}

// check has the data of instances looked at, where they have that done: when all have ended, and nothing is counted
// or recorded any more.
func (d *driven) check(ctx context.Context) error {
	said := make([]error, len(d.all))
	err := d.all.each(func(in *instance) (err error) {
		at := slices.Index(d.all, in)
		if d.instances[at].Status == result.TrialDone {
			said[at], err = in.check(ctx)
		}
		return err
	})
	for i, err := range said {
		if err != nil {
			d.fail(i, err)
		}
	}
	return err
}

// sampled adds to what instances used the means of what was sampled.
func (d *driven) sampled(series []result.Series) {
	for _, s := range series {
		if s.Instance < 0 || s.Instance >= len(d.instances) || d.instances[s.Instance].Usage == nil {
			continue
		}
		u := d.instances[s.Instance].Usage
		switch mean := s.Mean(); s.Metric {
		case "memory.file":
			u.CacheBytes = int64(mean)
		case "memory.anonymous", "memory.shared":
			u.FixedBytes += int64(mean)
		case "pressure.io.some":
			u.IOPressure = mean
		case "pressure.cpu.some":
			u.CPUPressure = mean
		case "pressure.memory.some":
			u.MemoryPressure = mean
		}
	}
}

// busiest is the mean utilisation of the device that was busiest; 0 where none was
// sampled.
func busiest(series []result.Series) (share float64) {
	for _, s := range series {
		if s.Metric == "io.utilisation" {
			share = max(share, s.Mean())
		}
	}
	return share
}

// problemOf is an error as a result keeps it: in words.
func problemOf(what string, err error) *problem.Problem {
	if p := problem.Of(err); p != nil {
		return &problem.Problem{What: p.What, Why: p.Why, Remedy: p.Remedy}
	}
	return &problem.Problem{What: what, Why: err.Error()}
}

// read reads what one instance measured.
func (in *instance) read(timing workload.Timing, follow *follower, step *workload.Step, e end) (m measured, err error) {
	if follow != nil {
		return follow.read(in.Index, e.exit, filepath.Join(in.scratch, step.Live))
	}
	m.all, err = in.load.Read(e.outputs, e.exit)
	m.steady = m.all
	if whole := m.all.Seconds + timing.Ramp.Seconds(); whole > 0 {
		m.share = m.all.Seconds / whole
	}
	return m, err
}

// windowOf is the time in which all of several instances were measured: each was for
// so many seconds until it ended. nil for one instance.
func windowOf(parts []measured, ends []end) *result.Window {
	if len(parts) < 2 {
		return nil
	}
	var first, last time.Time // of the window
	for i, m := range parts {
		began := ends[i].at.Add(-seconds(m.steady.Seconds))
		if i == 0 || began.After(first) {
			first = began
		}
		if i == 0 || ends[i].at.Before(last) {
			last = ends[i].at
		}
	}
	w := &result.Window{Start: first.UTC(), Seconds: max(0, last.Sub(first).Seconds())}
	for _, m := range parts {
		if m.steady.Seconds > 0 {
			w.Outside = max(w.Outside, 1-w.Seconds/m.steady.Seconds)
		}
	}
	return w
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// observer samples what instances, devices and the host do; nil for none.
type observer struct{ recorder *observe.Recorder }

const (
	// leastSamples are wanted of a trial, however short it is.
	leastSamples = 8
	// shortestStep is how often the kernel's files are read at most.
	shortestStep = 100 * time.Millisecond
)

// observe begins to sample. What cannot be sampled is left out, and ends no trial.
func (r *runner) observe(s *site, all together, timing workload.Timing) *observer {
	subject := observe.Subject{Devices: s.devices(), Host: true}
	for _, in := range all {
		group, none := in.place.StepGroup()
		if none != nil {
			continue
		}
		g, err := observe.GroupAt(r.host.Roots, group.Path())
		if err == nil {
			subject.Instances = append(subject.Instances, observe.Instance{Index: in.Index, Group: g})
		}
	}
	if s.small != nil {
		g, err := observe.GroupAt(r.host.Roots, s.small.group.Path())
		if err == nil {
			subject.Miniature = &g
		}
	}
	every := min(observe.Every, max(shortestStep, (timing.Ramp+timing.Runtime)/leastSamples))
	recorder, err := observe.Start(subject, r.host.Roots, every)
	if err != nil {
		return nil
	}
	return &observer{recorder}
}

// stop ends the sampling and returns the series.
func (o *observer) stop() []result.Series {
	if o == nil {
		return nil
	}
	return o.recorder.Stop()
}
