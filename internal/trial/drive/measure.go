package drive

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
	"plimsoll/internal/trial/site"
	"plimsoll/internal/workload"
)

// patience is how long the parts of a trial may take that have no time of
// their own: set-up, and writing back.
var patience = 20 * time.Minute

// Patient ends a trial that hangs: on a device or an engine that does not
// answer.
func (r *Driver) Patient(ctx context.Context, t result.Trial, m experiment.Mix) (context.Context, context.CancelFunc) {
	timing := r.Experiment.TimingOf(m)
	asked := r.Experiment.Precondition
	limit := patience + timing.Ramp + timing.Runtime + time.Duration(asked.Rounds)*asked.Round
	bytes := r.sites.Env.Regions.Bytes()
	for _, in := range m.Instances(t.Stack) {
		bytes += r.sites.Loads[in.Workload].NeedBytes()
	}
	if asked.Device {
		_, stacks := site.KeyOf(t.Stack, m)
		for _, name := range stacks {
			bytes += r.toFill(r.sites.Lines[name].Line)
		}
	}
	limit += time.Duration(max(1, asked.Passes)) * time.Duration(bytes/site.Slowest) * time.Second
	return context.WithTimeoutCause(ctx, limit, &problem.Problem{
		What:   NameOfTrial(t),
		Why:    fmt.Sprintf("it had not ended after %s, and was given up", limit.Round(time.Second)),
		Remedy: "see whether the device and the Docker engine still answer: dmesg; ps -eo pid,stat,wchan:32,args",
	})
}

// NameOfTrial names what a trial ran, for people: "RR on xfs".
func NameOfTrial(t result.Trial) string {
	if t.Stack == "" {
		return t.Mix
	}
	return fmt.Sprintf("%s on %s", t.Mix, t.Stack)
}

// toFill is the size of a stack's devices that are to be written as a whole.
func (r *Driver) toFill(l line.Line) (bytes int64) {
	occupies := r.sites.Env.Occupies(l)
	for i, source := range l.Sources() {
		if !r.sites.Fills(occupies[i]) {
			continue
		}
		if d, err := r.sites.Host.Locate(source.Arg); err == nil {
			bytes += int64(d.SizeBytes)
		}
	}
	return bytes
}

// Measure takes a trial through its phases. The site comes up, instances get their places, files are laid out, limits
// are set and read back, caches are filled. Behind one barrier all instances start, are measured in one window and
// observed. Their outputs are read into t, and the site's data is written back.
func (r *Driver) Measure(ctx context.Context, t *result.Trial, m experiment.Mix) error {
	s, err := r.sites.BringUp(ctx, t, m)
	if err != nil {
		return err
	}
	t.BringUp, t.Region = s.Number, s.Bases[0].Region
	s.Leave(m.Name)
	instances, err := r.sites.Instances(ctx, s, t.Stack, m)
	if err != nil {
		return err
	}
	if err := r.scratch(t, instances); err != nil {
		return err
	}
	if _, _, err := s.Limit(m, instances, false); err != nil {
		return err
	}
	r.sites.Clock.End(result.PhaseSetUp)
	if err := r.sites.Precondition(ctx, s, instances, t); err != nil {
		return err
	}
	if err := r.commit(ctx, s, m, instances); err != nil {
		return err
	}
	r.sites.Clock.End(result.PhaseLoad)
	if err := r.warm(ctx, s, instances); err != nil {
		return err
	}
	r.sites.Clock.End(result.PhaseCache)
	defer instances.Abandoned()
	if err := r.sites.Serve(ctx, s, instances); err != nil {
		return err
	}
	r.sites.Clock.End(result.PhaseServers)
	d, err := r.drive(ctx, s, m, instances, t)
	if err != nil {
		return err
	}
	r.sites.Clock.Drove(d.seconds())
	if err := d.store(s, t); err != nil {
		return err
	}
	if err := r.sites.Served(s, m, instances); err != nil {
		return err
	}
	return s.Flush()
}

// commit puts the files of instances on stacks that ask for it into layers of an image. The containers are new then,
// and get their limits again.
func (r *Driver) commit(ctx context.Context, s *site.Site, m experiment.Mix, instances site.Together) error {
	changed := false
	for _, in := range instances {
		if !in.Placed.Committed() {
			continue
		}
		if err := in.Placed.Commit(ctx); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	_, _, err := s.Limit(m, instances, false)
	return err
}

// scratch sets the directories in which instances leave their artifacts: the trial's for one instance, and a directory
// below the trial's for each of several.
func (r *Driver) scratch(t *result.Trial, instances site.Together) error {
	dir, kept, err := r.artifacts(*t)
	if err != nil {
		return err
	}
	for _, in := range instances {
		in.Scratch, in.Kept = dir, kept
		if len(instances) > 1 {
			instance := fmt.Sprintf("instance-%d", in.Index)
			in.Scratch, in.Kept = filepath.Join(dir, instance), filepath.Join(kept, instance)
		}
	}
	return nil
}

// warm fills the page cache, if workloads ask for that: all instances at the same time, so that each gets its share of
// a memory that is too small for all files.
func (r *Driver) warm(ctx context.Context, s *site.Site, instances site.Together) error {
	steps := make([]*workload.Step, len(instances))
	warms := false
	for i, in := range instances {
		warm := in.Load.Abilities().Warm
		if warm == nil {
			continue
		}
		step, err := warm(in.Placed.Target)
		if err != nil {
			return err
		}
		steps[i], warms = step, warms || step != nil
	}
	serving := slices.ContainsFunc(instances, func(in *site.Instance) bool { return in.Load.Abilities().Serving != nil })
	if s.Small == nil && !warms && !serving {
		return nil
	}
	// No trial begins with the cache that another left.
	if err := s.Flush(); err != nil {
		return err
	}
	if err := s.DropCaches(instances); err != nil {
		return err
	}
	if !warms {
		return nil
	}
	r.sites.Env.Trace("filling the page cache")
	return instances.Each(func(in *site.Instance) error {
		if steps[in.Index] == nil {
			return nil
		}
		outputs, exit, err := in.Placed.Run(ctx, steps[in.Index], filepath.Join(in.Scratch, "warm"), nil)
		if err != nil {
			return err
		}
		serving := in.Load.Abilities().Serving
		if serving == nil {
			_, err = in.Load.Read(outputs, exit)
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
	reported result.Measurement // of the whole time, or of the part that the workload reports on
	share    float64            // of the whole time that reported covers; the devices count in the whole time
	steady   result.Measurement // without ramp and warm-up
}

// whole returns how many operations were done in the whole time for each reported one.
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
		whole, steady = append(whole, &p.reported), append(steady, &p.steady)
		n := float64(p.reported.IOs())
		done, scaled = done+n, scaled+n*p.whole()
	}
	sum.reported, sum.steady, sum.share = result.Together(whole...), result.Together(steady...), 1
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
func (d *driven) store(s *site.Site, t *result.Trial) error {
	t.Instances = d.results
	t.Miniature = d.small
	if d.failed != nil {
		return d.failed
	}
	t.Window = d.window
	sum := sumOf(d.measured)
	for i, b := range s.Bases {
		var parts []measured
		judge := honesty.Judge
		for k, in := range d.instances {
			if in.Base != b {
				continue
			}
			parts = append(parts, d.measured[k])
			if in.Server != nil || in.Load.Abilities().Elsewhere != nil {
				judge = honesty.Behind
			}
			if in.Load.Abilities().Metadata {
				judge = honesty.Files
			}
		}
		on := sumOf(parts)
		h := judge(on.reported, d.counted[i], on.share)
		h.Stack = b.Name
		t.Checks = append(t.Checks, h)
	}
	if t.TargetCPU != nil {
		t.TargetCPU.IOs = float64(sum.reported.IOs()) * sum.whole()
	}
	if n := sum.steady.IOs(); n > 0 {
		t.Ramp = float64(sum.reported.IOs()) * sum.whole() / float64(n)
	}
	return nil
}
