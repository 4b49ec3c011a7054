package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/observe/honesty"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
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
func (r *runner) patient(ctx context.Context, t result.Trial, m experiment.Mix) (context.Context, context.CancelFunc) {
	timing := r.Experiment.TimingOf(m)
	asked := r.Experiment.Precondition
	limit := patience + timing.Ramp + timing.Runtime + time.Duration(asked.Rounds)*asked.Round
	bytes := r.env.Regions.Bytes()
	for _, in := range m.Instances(t.Stack) {
		bytes += r.loads[in.Workload].NeedBytes()
	}
	if asked.Device {
		_, stacks := siteOf(t.Stack, m)
		for _, name := range stacks {
			bytes += r.toFill(r.lines[name].Line)
		}
	}
	limit += time.Duration(max(1, asked.Passes)) * time.Duration(bytes/slowest) * time.Second
	return context.WithTimeoutCause(ctx, limit, &problem.Problem{
		What:   nameOfTrial(t),
		Why:    fmt.Sprintf("it had not ended after %s, and was given up", limit.Round(time.Second)),
		Remedy: "see whether the device and the Docker engine still answer: dmesg; ps -eo pid,stat,wchan:32,args",
	})
}

// nameOfTrial names what a trial ran, for people: "RR on xfs".
func nameOfTrial(t result.Trial) string {
	if t.Stack == "" {
		return t.Mix
	}
	return fmt.Sprintf("%s on %s", t.Mix, t.Stack)
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

// measure takes a trial through its phases: what it stands on comes up, instances
// get their places, files are laid out, limits are set and read back, caches filled;
// behind one barrier all instances start, are measured in one window and observed;
// what they did is read and written back.
func (r *runner) measure(ctx context.Context, t *result.Trial, m experiment.Mix) error {
	_, stacks := siteOf(t.Stack, m)
	for _, name := range stacks {
		if p := r.unsupported[name]; p != nil {
			return p
		}
	}
	s, err := r.bringUp(ctx, t, m)
	if err != nil {
		return err
	}
	t.BringUp, t.Region = s.number, s.bases[0].Region
	s.leave(m.Name)
	all, err := r.instances(ctx, s, t.Stack, m)
	if err != nil {
		return err
	}
	if err := r.scratch(t, all); err != nil {
		return err
	}
	if _, _, err := s.limit(m, all, false); err != nil {
		return err
	}
	r.clock.end(result.PhaseSetUp)
	if err := r.precondition(ctx, s, all, t); err != nil {
		return err
	}
	r.clock.end(result.PhaseLoad)
	if err := r.warm(ctx, s, all); err != nil {
		return err
	}
	r.clock.end(result.PhaseCache)
	defer all.abandoned()
	if err := r.serve(ctx, s, all); err != nil {
		return err
	}
	r.clock.end(result.PhaseServers)
	d, err := r.drive(ctx, s, m, all, t)
	if err != nil {
		return err
	}
	r.clock.drove(d.seconds())
	if err := d.store(s, t); err != nil {
		return err
	}
	if err := r.served(s, m, all); err != nil {
		return err
	}
	return s.flush()
}

// scratch makes the directories in which instances leave their artifacts: that of
// the trial where there is one instance, and one below it for each where there are
// several.
func (r *runner) scratch(t *result.Trial, all together) error {
	dir, err := r.store.ArtifactDir(*t)
	if err != nil {
		return err
	}
	t.Artifacts = filepath.Join("artifacts", filepath.Base(dir))
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, in := range all {
		in.scratch = dir
		if len(all) > 1 {
			in.scratch = filepath.Join(dir, fmt.Sprintf("instance-%d", in.Index))
		}
	}
	return nil
}

// warm fills the page cache, where workloads ask for it: all instances at the same
// time, so that each gets its share of a memory that does not hold all.
func (r *runner) warm(ctx context.Context, s *site, all together) error {
	steps := make([]*workload.Step, len(all))
	some := false
	for i, in := range all {
		warm := in.load.Abilities().Warm
		if warm == nil {
			continue
		}
		step, err := warm(in.place.Target)
		if err != nil {
			return err
		}
		steps[i], some = step, some || step != nil
	}
	serving := slices.ContainsFunc(all, func(in *instance) bool { return in.load.Abilities().Serving != nil })
	if s.small == nil && !some && !serving {
		return nil
	}
	// What one trial left is not what the next begins with.
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.dropCaches(all); err != nil {
		return err
	}
	if !some {
		return nil
	}
	r.env.Trace("filling the page cache")
	return all.each(func(in *instance) error {
		if steps[in.Index] == nil {
			return nil
		}
		outputs, exit, err := in.place.Run(ctx, steps[in.Index], filepath.Join(in.scratch, "warm"), nil)
		if err != nil {
			return err
		}
		serving := in.load.Abilities().Serving
		if serving == nil {
			_, err = in.load.Read(outputs, exit)
			return err
		}
		if exit.Code != 0 {
			return serving.Failed(exit)
		}
		return nil
	})
}

// measured has the measurements that a workload reported.
type measured struct {
	all    result.Measurement // of all its time, or of as much as it reports on
	share  float64            // of its time that all is about: what the devices counted is about the whole
	steady result.Measurement // without ramp and warm-up
}

// whole is how many operations were done in all of the time, for each that all has.
func (m measured) whole() float64 {
	if m.share <= 0 {
		return 1
	}
	return 1 / m.share
}

// sumOf adds up what instances measured.
func sumOf(parts []measured) (sum measured) {
	if len(parts) == 1 {
		return parts[0]
	}
	var whole, steady []*result.Measurement
	var done, scaled float64
	for i := range parts {
		p := &parts[i]
		whole, steady = append(whole, &p.all), append(steady, &p.steady)
		n := float64(p.all.IOs())
		done, scaled = done+n, scaled+n*p.whole()
	}
	sum.all, sum.steady, sum.share = result.Together(whole...), result.Together(steady...), 1
	if scaled > 0 {
		sum.share = done / scaled
	}
	return sum
}

// seconds returns how long the instances were measured together.
func (d *driven) seconds() float64 {
	if d.window != nil {
		return d.window.Seconds
	}
	return sumOf(d.measured).steady.Seconds
}

// store tells t what its instances did. The error is that of the only instance, or of
// the first of several that died: the others keep what they measured.
func (d *driven) store(s *site, t *result.Trial) error {
	t.Instances = d.instances
	t.Miniature = d.small
	if d.failed != nil {
		return d.failed
	}
	t.Window = d.window
	sum := sumOf(d.measured)
	for i, b := range s.bases {
		var parts []measured
		judge := honesty.Judge
		for k, in := range d.all {
			if in.base != b {
				continue
			}
			parts = append(parts, d.measured[k])
			if in.server != nil || in.load.Abilities().Elsewhere != nil {
				judge = honesty.Behind
			}
			if in.load.Abilities().Metadata {
				judge = honesty.Files
			}
		}
		on := sumOf(parts)
		h := judge(on.all, d.counted[i], on.share)
		h.Stack = b.name
		t.Checks = append(t.Checks, h)
	}
	if t.TargetCPU != nil {
		t.TargetCPU.IOs = float64(sum.all.IOs()) * sum.whole()
	}
	if n := sum.steady.IOs(); n > 0 {
		t.Ramp = float64(sum.all.IOs()) * sum.whole() / float64(n)
	}
	return nil
}
