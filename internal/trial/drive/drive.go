// Package drive measures one trial on a site that is up: it lays out files, drives workloads while it reads the devices'
// counters, says when they have run long enough, records what they asked of the devices, and watches other processes
// meanwhile. It knows neither a plan nor a store.
package drive

import (
	"context"
	"encoding/json"
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
	"plimsoll/internal/trial/site"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// New returns a driver of trials on sites. artifacts makes the directory of what a trial leaves;
// kept is where that is once the trial has ended.
func New(e *experiment.Experiment, on *site.Sites, artifacts func(t result.Trial) (dir, kept string, err error)) *Driver {
	return &Driver{Experiment: e, sites: on, artifacts: artifacts}
}

// Close ends what watches others during a run.
func (r *Driver) Close() { r.neighbours.close() }

// Driver measures one trial after the other on the site that is up.
type Driver struct {
	Experiment *experiment.Experiment
	sites      *site.Sites
	neighbours neighbours
	artifacts  func(t result.Trial) (dir, kept string, err error) // makes the directory of a trial's artifacts
}

// driven has the measurements of a trial's instances, by index.
type driven struct {
	instances site.Together
	measured  []measured
	results   []result.Instance
	failed    error               // why the first instance without a measurement has none
	counted   []blockdev.Counters // by base of the site
	small     *result.Limited
	window    *result.Window
}

// drive runs the measured steps of all instances at the same time. It returns the instances' measurements and the
// devices' counts. Steps that can be watched end as soon as the mean of their sum is known; t then has the reason.
func (r *Driver) drive(
	ctx context.Context, s *site.Site, m experiment.Mix, instances site.Together, t *result.Trial,
) (*driven, error) {
	timing := r.Experiment.TimingOf(m)
	follow := r.follow(m, instances, &timing)
	steps := make([]*workload.Step, len(instances))
	for i, in := range instances {
		step, err := in.Load.Drive(in.Placed.Target, timing)
		if err != nil {
			return nil, err
		}
		steps[i] = step
	}
	if err := s.Flush(); err != nil {
		return nil, err
	}
	if err := s.Readied(); err != nil {
		return nil, err
	}
	small, limits, err := s.Limit(m, instances, true)
	if err != nil {
		return nil, err
	}
	recording, err := r.record(ctx, s, instances, t)
	if err != nil {
		return nil, err
	}
	defer recording.abandon()
	endTarget, err := r.sites.Target(ctx, s)
	if err != nil {
		return nil, err
	}
	d := &driven{
		instances: instances,
		measured:  make([]measured, len(instances)),
		results:   make([]result.Instance, len(instances)),
		small:     small,
	}
	before, err := r.counters(s)
	if err != nil {
		return nil, err
	}
	series := r.observe(s, instances, timing)
	around := r.lookAround(s)
	ends, err := r.run(ctx, instances, steps, follow)
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
	target, err := endTarget()
	if err != nil {
		return nil, err
	}
	t.TargetCPU = target.CPU
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
		recording.end(t, sum, target.Namespace)
		t.Neighbours = around.tell(sum)
		d.window = windowOf(d.measured, ends)
		if follow != nil {
			follow.tell(t)
		}
	}
	return d, d.check(ctx)
}

// counters returns the counters of the devices of each stack on the site.
func (r *Driver) counters(s *site.Site) (all []blockdev.Counters, err error) {
	for _, b := range s.Bases {
		c, err := blockdev.ReadCounters(r.sites.Host.Roots, b.FileDevices())
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// run starts all instances behind one gate and waits until the last has ended. The error is why a step could not run;
// how a step ended is in its End.
func (r *Driver) run(
	ctx context.Context, instances site.Together, steps []*workload.Step, follow *follower,
) ([]site.End, error) {
	ends := make([]site.End, len(instances))
	for i, in := range instances {
		ends[i].Before = in.Used()
	}
	var gate *stack.Gate
	if len(instances) > 1 {
		gate = stack.NewGate(len(instances))
	}
	errs := make([]error, len(instances))
	var group sync.WaitGroup
	for i, in := range instances {
		group.Go(func() {
			var live func([]byte) bool
			if follow != nil {
				live = func(appended []byte) bool { return follow.feed(i, appended) }
			}
			before := ends[i].Before
			ends[i], errs[i] = in.Step(ctx, gate, steps[i], live)
			ends[i].Before = before
			if follow != nil {
				follow.ended(i)
			}
		})
	}
	group.Wait()
	for i, in := range instances {
		ends[i].After = in.Used()
	}
	return ends, errors.Join(errs...)
}

// read reads what the instances measured, and what they used.
func (d *driven) read(
	timing workload.Timing,
	follow *follower,
	steps []*workload.Step,
	ends []site.End, limits []*result.Limited,
) {
	for i, in := range d.instances {
		out := result.Instance{Index: in.Index, Tenant: in.Tenant, Workload: in.Workload, Stack: in.Stack, Limited: limits[i]}
		out.Usage = site.Usage(ends[i].Before, ends[i].After)
		if out.Limited != nil {
			out.Limited.Problems = append(out.Limited.Problems, site.Exceeded(in.Limits, out.Usage, ends[i].Before, ends[i].After)...)
		}
		m, err := readOf(in, timing, follow, steps[i], ends[i])
		if lost := in.Lost(); lost != nil {
			err = lost
		}
		d.results[i] = out
		if err != nil {
			d.fail(i, err)
			continue
		}
		d.measured[i] = m
		d.results[i].Status, d.results[i].Measurement = result.TrialDone, &d.measured[i].steady
	}
}

// fail keeps why an instance has no measurement.
func (d *driven) fail(i int, err error) {
	in, out := d.instances[i], &d.results[i]
	out.Status, out.Measurement, out.Problem = result.TrialFailed, nil, ProblemOf(in.Name(), err)
	if d.failed != nil {
		return
	}
	d.failed = err
	if len(d.instances) > 1 {
		failed := *out.Problem
		failed.What = in.Name() + ": " + failed.What
		d.failed = &failed
	}
}

// check has the instances check their data, if their workloads do. It runs when all steps have ended, and nothing is
// counted or recorded any more.
func (d *driven) check(ctx context.Context) error {
	errs := make([]error, len(d.instances))
	err := d.instances.Each(func(in *site.Instance) (err error) {
		i := slices.Index(d.instances, in)
		if d.results[i].Status == result.TrialDone {
			errs[i], err = in.Check(ctx)
		}
		return err
	})
	for i, err := range errs {
		if err != nil {
			d.fail(i, err)
		}
	}
	return err
}

// sampled adds to what instances used the means of what was sampled.
func (d *driven) sampled(series []result.Series) {
	for _, s := range series {
		if s.Instance < 0 || s.Instance >= len(d.results) || d.results[s.Instance].Usage == nil {
			continue
		}
		u := d.results[s.Instance].Usage
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

// ProblemOf is an error as a result keeps it: in words.
func ProblemOf(what string, err error) *problem.Problem {
	if p := problem.Of(err); p != nil {
		return &problem.Problem{What: p.What, Why: p.Why, Remedy: p.Remedy}
	}
	return &problem.Problem{What: what, Why: err.Error()}
}

// readOf reads what one instance measured.
func readOf(in *site.Instance, timing workload.Timing, follow *follower, step *workload.Step, e site.End) (m measured, err error) {
	if follow != nil {
		return follow.read(in.Index, e.Exit, filepath.Join(in.Scratch, step.Live))
	}
	m.reported, err = in.Load.Read(e.Outputs, e.Exit)
	m.steady = m.reported
	if whole := m.reported.Seconds + timing.Ramp.Seconds(); whole > 0 {
		m.share = m.reported.Seconds / whole
	}
	return m, err
}

// windowOf is the time in which all of several instances were measured: each was for
// so many seconds until it ended. nil for one instance.
func windowOf(parts []measured, ends []site.End) *result.Window {
	if len(parts) < 2 {
		return nil
	}
	var first, last time.Time // of the window
	for i, m := range parts {
		began := ends[i].Ended.Add(-seconds(m.steady.Seconds))
		if i == 0 || began.After(first) {
			first = began
		}
		if i == 0 || ends[i].Ended.Before(last) {
			last = ends[i].Ended
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

// observe begins to sample. A group that cannot be sampled is left out: it ends no trial.
func (r *Driver) observe(s *site.Site, instances site.Together, timing workload.Timing) *observer {
	subject := observe.Subject{Devices: s.Devices(), Host: true}
	for _, in := range instances {
		group, groupErr := in.Placed.StepGroup()
		if groupErr != nil {
			continue
		}
		g, err := observe.GroupAt(r.sites.Host.Roots, group.Path())
		if err == nil {
			subject.Instances = append(subject.Instances, observe.Instance{Index: in.Index, Group: g})
		}
	}
	if s.Small != nil {
		g, err := observe.GroupAt(r.sites.Host.Roots, s.Small.Group.Path())
		if err == nil {
			subject.Miniature = &g
		}
	}
	interval := min(observe.Every, max(shortestStep, (timing.Ramp+timing.Runtime)/leastSamples))
	recorder, err := observe.Start(subject, r.sites.Host.Roots, interval)
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

// clientCPU returns the processor time of the clients' machine, which each instance's generator measured: of the one
// that saw it busiest. It is nil where none did.
func clientCPU(ends []site.End) (busiest *result.ClientCPU, err error) {
	for _, e := range ends {
		text, ok := e.Outputs[ycsb.ClientCPUName]
		if !ok {
			continue
		}
		var c result.ClientCPU
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("processor time of the clients' machine: %w", err)
		}
		if busiest == nil || c.Busy() > busiest.Busy() {
			busiest = &c
		}
	}
	return busiest, nil
}
