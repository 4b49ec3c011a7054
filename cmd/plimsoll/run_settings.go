package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"plimsoll/internal/experiment"
	"plimsoll/internal/observe"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/steady"
	"plimsoll/internal/trial"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// runOptions are the flags of plimsoll run.
type runOptions struct {
	seed    string
	repeat  string
	trials  string
	runtime string
	ramp    string
	fixed   string
	target  string
	budget  string
	jobs    string
	size    string
	ons     []string
	remotes []string
	trace   bool
	noTrace bool

	noControl    bool
	precondition string

	out     string
	resume  string
	destroy []string
	dryRun  bool
	quiet   bool
}

// addTo adds the flags that change an experiment.
func (o *runOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.seed, "seed", "", "`number` that fixes the trials' random order (default: the file's, or a random one)")
	f.StringVar(&o.repeat, "repeat", "", "`number` of blocks: in each, every stack is brought up anew and measured (default: the file's)")
	f.StringVar(&o.trials, "trials", "", "`number` of trials of each workload in one bring-up (default: the file's, or two in the first block and one in the others)")
	f.StringVar(&o.runtime, "runtime", "", "measured `time` of each trial, such as 30s; of longer ones than 40s, the most (default: the file's)")
	f.StringVar(&o.ramp, "ramp", "", "`time` before it that is not measured (default: the file's)")
	f.StringVar(&o.fixed, "fixed", "", "measure every trial for exactly this `time`, such as 10m, however soon its mean is known")
	f.StringVar(&o.target, "target", "", "how precisely to know a mean: half of its 95% interval, as a `share` of it (default: the file's, or 3%)")
	f.StringVar(&o.budget, "budget", "", "`time` for the whole run, such as 15m: it goes where intervals are widest; with --resume, +6m is so much more")
	f.StringVar(&o.jobs, "jobs", "", "`number` of jobs of the workloads that have most; the others get no more")
	f.StringVar(&o.size, "size", "", "`size` of every workload's file, such as 4GiB; loop devices grow with it")
	f.StringVar(&o.precondition, "precondition", "", "what is written before the first trial, such as `snia`, or passes=2,rounds=25,round=10s (default: the file's, or the workload's files once)")
	f.BoolVar(&o.trace, "trace", false, "record what block requests do meanwhile, and tell where the latency of I/Os is spent (default: the file's)")
	f.BoolVar(&o.noTrace, "no-trace", false, "record nothing, whatever the file says")
	f.BoolVar(&o.noControl, "no-control", false, "measure no twin of the baseline, which tells the run's noise floor")
	f.StringArrayVar(&o.ons, "on", nil, "a `device` (see --destroy) or dir:PATH to take the place of loop devices; with several --on, each stack is measured on each device")
	f.StringArrayVar(&o.remotes, "remote", nil, "where stacks on nvmeof(transport=T) find their target: `nvmeof(...)`, as plimsoll target export prints it; one for each transport")
}

// given tells whether one of these flags was used.
func (o runOptions) given() bool {
	return slices.ContainsFunc([]string{o.seed, o.repeat, o.trials, o.runtime, o.ramp, o.fixed, o.target, o.budget, o.jobs, o.size, o.precondition},
		func(s string) bool { return s != "" }) || len(o.ons) > 0 || len(o.remotes) > 0 || o.trace || o.noTrace || o.noControl
}

// settings has the command line win over the experiment, which is nil when it
// cannot be read: what is wrong with the command line is told all the same.
func settings(e *experiment.Experiment, t *trial.Options, o runOptions) error {
	r := settingsReader{}
	known := e != nil
	if !known {
		e = new(experiment.Experiment)
	}
	r.times("repeat", o.repeat, &e.Repeat)
	r.times("trials", o.trials, &e.Trials)
	e.NoControl = e.NoControl || o.noControl
	const aTime = "a time of more than nothing with its unit, such as 500ms, 10s or 2m30s"
	r.time("runtime", o.runtime, 1, aTime, &e.Timing.Runtime)
	r.time("ramp", o.ramp, 0, "a time with its unit, such as 5s, or 0s for none", &e.Timing.Ramp)
	if r.time("fixed", o.fixed, 1, aTime, &e.Timing.Runtime); o.fixed != "" {
		e.Fixed = true
	}
	if o.target != "" {
		share, err := strconv.ParseFloat(strings.TrimSuffix(o.target, "%"), 64)
		if e.Target = share / 100; err != nil || !strings.HasSuffix(o.target, "%") || !(share > 0 && share < 100) {
			r.wrong("target", o.target, "a share of the mean, above 0% and below 100%, such as 3%")
		}
	}
	switch {
	case o.seed != "":
		seed, err := strconv.ParseUint(o.seed, 10, 64)
		if t.Seed = seed; err != nil {
			r.wrong("seed", o.seed, "a whole number from 0 to 2^64-1")
		}
	case e.Seed != nil:
		t.Seed = *e.Seed
	default:
		t.Seed = rand.Uint64() >> 11 // exact in every JSON reader
	}
	if o.precondition != "" {
		p, err := experiment.ParsePrecondition(o.precondition)
		if e.Precondition = p; err != nil {
			r.problems = append(r.problems, fmt.Errorf("--precondition %s: %w", o.precondition, err))
		}
	}
	if e.Trace = (e.Trace || o.trace) && !o.noTrace; o.trace && o.noTrace {
		r.problems = append(r.problems, errors.New("--trace does not go together with --no-trace"))
	}
	scale := r.scale(o)
	remotes := r.remotes(o.remotes, scale.Catalog)
	var budget time.Duration
	r.time("budget", o.budget, 1, "a time of more than nothing with its unit, such as 3m or 1h30m", &budget)
	r.exclude("budget", o.budget, "fixed", o.fixed, "in a budget, trials take what time there is")
	r.exclude("budget", o.budget, "repeat", o.repeat, "in a budget, each point gets as many trials as it needs")
	r.exclude("fixed", o.fixed, "runtime", o.runtime, "both are the measured time")
	r.exclude("fixed", o.fixed, "target", o.target, "a fixed time ends at no precision")
	if len(r.problems) > 0 || !known {
		return errors.Join(r.problems...)
	}
	leftOut, err := scale.Apply(e)
	if err != nil {
		return err
	}
	unreached, err := experiment.Reach(e, remotes)
	if err != nil {
		return err
	}
	e.Scaled = scale
	experiment.AddControl(e)
	t.LeftOut = slices.Concat(leftOut, unreached)
	if err := checkPreconditioning(e); err != nil {
		return err
	}
	if budget > 0 {
		return experiment.Fit(e, budget)
	}
	ends := func(w experiment.Workload) bool { return experiment.MayEndEarly(e, w) }
	if o.target != "" && !slices.ContainsFunc(e.Workloads, ends) {
		return fmt.Errorf("--target %s would change nothing: only a trial of more than %s that is not of a fixed time ends at a precision, and %s has none; give it --runtime 10m, or a --budget",
			o.target, steady.DefaultRule.Min, e.Name)
	}
	return nil
}

// checkPreconditioning refuses to write whole devices where no workload can.
func checkPreconditioning(e *experiment.Experiment) error {
	fills := func(w experiment.Workload) bool { _, ok := w.Workload.(workload.Filler); return ok }
	onDevice := func(s experiment.Stack) bool { return stack.WritesDevice(s.Line) }
	if e.Precondition.Device && slices.ContainsFunc(e.Stacks, onDevice) && !slices.ContainsFunc(e.Workloads, fills) {
		return fmt.Errorf("no workload of %s can write a whole device, as preconditioning asks for (%s): job files do only what they say; add one like W: {fio: {rw: randwrite, size: 1GiB}}",
			e.Name, e.Precondition)
	}
	return nil
}

// settingsReader reads flags and collects what is wrong with them.
type settingsReader struct{ problems []error }

func (r *settingsReader) wrong(flag, text, what string) {
	r.problems = append(r.problems, fmt.Errorf("--%s takes %s, not %q", flag, what, text))
}

// times reads a number of repetitions into to, if the flag was given.
func (r *settingsReader) times(flag, text string, to *int) {
	if text == "" {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > experiment.MaxRepeat {
		r.wrong(flag, text, fmt.Sprintf("a number from 1 to %d", experiment.MaxRepeat))
		return
	}
	*to = n
}

// time reads a time of at least least into to, if the flag was given.
func (r *settingsReader) time(flag, text string, least time.Duration, what string, to *time.Duration) {
	if text == "" {
		return
	}
	d, err := time.ParseDuration(text)
	if *to = d; err != nil || d < least {
		r.wrong(flag, text, what)
	}
}

// exclude refuses two flags that cannot go together.
func (r *settingsReader) exclude(flag, text, other, otherText, why string) {
	if text != "" && otherText != "" {
		r.problems = append(r.problems, fmt.Errorf("--%s %s does not go together with --%s %s: %s", flag, text, other, otherText, why))
	}
}

// decimalSize is a size in units that not everybody reads alike.
var decimalSize = regexp.MustCompile(`^\s*(\d+)\s*([kKmMgGtT][bB])\s*$`)

// scale reads what fits an experiment to the host.
func (r *settingsReader) scale(o runOptions) (s experiment.Scale) {
	s.Catalog = stack.Catalog()
	if o.jobs != "" {
		n, err := strconv.Atoi(o.jobs)
		if s.Jobs = n; err != nil || n < 1 {
			r.wrong("jobs", o.jobs, "a number from 1")
		}
	}
	if o.size != "" {
		bytes, err := units.ParseSize(o.size)
		s.Bytes = bytes
		decimal := decimalSize.FindStringSubmatch(o.size)
		switch {
		case err != nil || bytes <= 0:
			r.wrong("size", o.size, "a size with its unit, such as 512MiB or 4GiB")
		case decimal != nil: // as sizes of workloads are read
			r.problems = append(r.problems, fmt.Errorf("--size %s: %s is 1000 to some and 1024 to others: write %s%siB",
				o.size, decimal[2], decimal[1], strings.ToUpper(decimal[2][:1])))
		}
	}
	for _, text := range o.ons {
		n := r.source(text, s.Catalog)
		if n == nil {
			continue
		}
		s.On = append(s.On, *n)
		if n.Name != "dir" {
			continue
		}
		if len(o.ons) > 1 {
			r.problems = append(r.problems, fmt.Errorf("--on %s: several --on name block devices, each of which makes a stack of its own; a directory goes alone", text))
			continue
		}
		mount, err := observe.MountOf(n.Arg)
		if err != nil {
			r.problems = append(r.problems, fmt.Errorf("--on %s: %w", text, err))
			continue
		}
		s.FileSystem = mount.FSType
	}
	return s
}

// source reads what takes the place of loop devices; nil when that cannot be.
func (r *settingsReader) source(text string, catalog *line.Catalog) *line.Node {
	l, err := line.Parse(text)
	if err == nil && len(l.Nodes) == 1 {
		n := &l.Nodes[0]
		joined := len(n.And) > 0
		device := !slices.ContainsFunc(l.Sources(), func(n line.Node) bool { return !stack.WritesDevice(line.Line{Nodes: []line.Node{n}}) })
		if n.Name == "dir" && n.Arg != "" {
			if n.Arg, err = filepath.Abs(n.Arg); err != nil {
				r.problems = append(r.problems, err)
				return nil
			}
		}
		// What is joined needs something on it that makes one device of it.
		if device && joined || (device || n.Name == "dir" && !joined) && len(catalog.Check(l)) == 0 {
			return n
		}
	}
	r.wrong("on", text, "a block device (/dev/nvme0n1, by-id:NAME, serial:NUMBER, uuid:UUID, nguid:NGUID, nvmeof(...)), several joined with +, or a directory (dir:/srv/data)")
	return nil
}

// remotes reads the targets that stacks are to find.
func (r *settingsReader) remotes(texts []string, catalog *line.Catalog) (out []line.Node) {
	for _, text := range texts {
		l, err := line.Parse(text)
		if err != nil || len(l.Nodes) != 1 || l.Nodes[0].Name != "nvmeof" || len(l.Nodes[0].And) > 0 {
			r.wrong("remote", text, "one nvmeof(transport=T, addr=ADDRESS, nqn=NQN, uuid=UUID), as plimsoll target export prints it")
			continue
		}
		if problems := catalog.Check(l); len(problems) > 0 {
			r.problems = append(r.problems, fmt.Errorf("--remote %s: %s", text, problems[0]))
			continue
		}
		if experiment.Unreached(l.Nodes[0]) {
			r.wrong("remote", text, "a target's nqn= too, as plimsoll target export prints it")
			continue
		}
		out = append(out, l.Nodes[0])
	}
	return out
}

// restore gives an experiment the settings that a run was started with.
func restore(e *experiment.Experiment, run *result.Run) error {
	was := run.Experiment
	if _, err := (experiment.Scale{Jobs: was.Jobs, Bytes: was.SizeBytes, Catalog: stack.Catalog()}).Apply(e); err != nil {
		return err
	}
	var stacks []experiment.Stack
	for _, s := range run.Stacks { // with devices and directories as they were then
		// Of several devices, each made a stack of those of the file.
		name := strings.TrimSuffix(s.Name, "-"+s.Levels[experiment.FactorDevice])
		at := slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool { return d.Name == s.Name })
		if at < 0 {
			at = slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool { return d.Name == name })
		}
		if at < 0 && s.Control != "" { // it is in no file
			at = slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool {
				return d.Name == s.Control || d.Name == strings.TrimSuffix(s.Control, "-"+s.Levels[experiment.FactorDevice])
			})
		}
		if at < 0 {
			return fmt.Errorf("run %s has a stack %s that its experiment does not", run.ID, s.Name)
		}
		l, err := line.Parse(s.Line)
		if err != nil {
			return err
		}
		declared := e.Stacks[at]
		declared.Name, declared.Line, declared.Levels, declared.Control = s.Name, l, s.Levels, s.Control
		stacks = append(stacks, declared)
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	e.Stacks, e.Baseline, e.Repeat, e.Trials, e.NoControl = stacks, was.Baseline, was.Repeat, was.Trials, was.NoControl
	e.Timing.Runtime, e.Timing.Ramp, e.Budget = seconds(was.RuntimeSeconds), seconds(was.RampSeconds), seconds(was.BudgetSeconds)
	e.Fixed, e.Target, e.Trace, e.Precondition = was.Fixed, was.Target, was.Trace, experiment.Precondition{}
	if was.Precondition == "" {
		return nil
	}
	var err error
	e.Precondition, err = experiment.ParsePrecondition(was.Precondition)
	return err
}
