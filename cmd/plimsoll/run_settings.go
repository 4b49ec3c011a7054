package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/trial"
)

// runOptions are the flags of plimsoll run.
type runOptions struct {
	texts    map[string]*string // of experiment.Flags, by flag: "" for one that was not given
	switches map[string]*bool   // flags without a value, and those that switch off a setting of the file
	ons      []string
	remotes  []string

	figure   string // of a paper, by its id
	out      string
	resume   string
	keepData string
	destroy  []string
	dryRun   bool
	verbose  bool // in a dry run: each trial is named
	quiet    bool
}

// addTo adds the flags that change an experiment.
func (o *runOptions) addTo(f *pflag.FlagSet) {
	o.texts, o.switches = map[string]*string{}, map[string]*bool{}
	lists := map[string]*[]string{"on": &o.ons, "remote": &o.remotes}
	for _, s := range experiment.Flags() {
		switch {
		case s.Repeats:
			f.StringArrayVar(lists[s.Flag], s.Flag, nil, s.Help)
		case s.IsSwitch() && s.Flag != "":
			o.switches[s.Flag] = f.Bool(s.Flag, false, s.Help)
		case s.Flag != "":
			o.texts[s.Flag] = f.String(s.Flag, "", s.Help)
		}
		if s.Without != "" {
			o.switches[s.Without] = f.Bool(s.Without, false, s.Off)
		}
	}
}

// text returns the value of a flag; "" when it was not given.
func (o runOptions) text(flag string) string {
	if o.texts[flag] == nil {
		return ""
	}
	return *o.texts[flag]
}

// isOn reports whether a flag that takes no value was given.
func (o runOptions) isOn(flag string) bool { return o.switches[flag] != nil && *o.switches[flag] }

// anyGiven reports whether one of these flags was used, apart from --budget if it asks for more.
func (o runOptions) anyGiven(more bool) bool {
	for _, s := range experiment.Flags() {
		if s.Flag == "budget" && more {
			continue
		}
		if o.text(s.Flag) != "" || o.isOn(s.Flag) || o.isOn(s.Without) {
			return true
		}
	}
	return len(o.ons) > 0 || len(o.remotes) > 0
}

// applySettings overrides the experiment's settings with the command line's. The experiment is nil if it could not be
// read: the command line is checked all the same.
func applySettings(e *experiment.Experiment, t *trial.Options, o runOptions) error {
	r := settingsReader{}
	known := e != nil
	if !known {
		e = new(experiment.Experiment)
	}
	for _, s := range experiment.Flags() {
		r.setting(e, o, s)
	}
	host := hostinfo.New()
	r.problems = append(r.problems, checkHost(e.HostAsked, host)...)
	if known {
		e.Proportion(host.Capacity())
	}
	scale := r.scale(o, e.Scaled)
	remotes := r.remotes(o.remotes, scale.Catalog)
	if len(r.problems) > 0 || !known {
		return errors.Join(r.problems...)
	}
	if e.Seed != nil {
		t.Seed = *e.Seed
	} else {
		t.Seed = rand.Uint64() >> 11 // exact in every JSON reader
	}
	budget := e.Budget
	e.Budget = 0 // until Fit knows what all of it costs
	leftOut, err := scale.Apply(e)
	if err != nil {
		return err
	}
	unreached, err := experiment.Reach(e, remotes)
	if err != nil {
		return err
	}
	unpinned := e.Unpinned(host.Online())
	overfull := e.Overfull(host.Capacity())
	if len(e.Mixes) == 0 {
		return fmt.Errorf("no mix of %s fits this host: %s", e.Name,
			strings.Join(slices.Concat(unpinned, overfull), "; "))
	}
	e.Scaled = scale
	experiment.AddControl(e)
	t.LeftOut = slices.Concat(leftOut, unreached, unpinned, overfull)
	if err := checkPreconditioning(e); err != nil {
		return err
	}
	if wrong := e.CheckClients(); wrong != nil {
		return wrong
	}
	objective := o.text("objective")
	if objective != "" && !e.ObjectiveDecides() {
		return fmt.Errorf("--objective %s has no effect: no workload of %s runs in different numbers of instances, "+
			"or, for a p99, at different rates", objective, e.Name)
	}
	if budget > 0 {
		return experiment.Fit(e, budget)
	}
	ends := func(m experiment.Mix) bool { return experiment.MayEndEarly(e, e.WorkloadsOf(m)...) }
	target := o.text("precision")
	if target != "" && !slices.ContainsFunc(e.Mixes, ends) {
		return fmt.Errorf("--precision %s has no effect: only a trial of more than %s that is not of a fixed time "+
			"ends at a precision, and %s has none; give it --runtime 10m, or a --budget",
			target, stopping.DefaultRule.Min, e.Name)
	}
	return nil
}

// checkPreconditioning refuses to write whole devices where no workload can.
func checkPreconditioning(e *experiment.Experiment) error {
	fills := func(w experiment.Workload) bool { return w.Abilities().Filling != nil }
	onDevice := func(s experiment.Stack) bool { return stack.WritesDevice(s.Line) }
	if e.Precondition.Device && slices.ContainsFunc(e.Stacks, onDevice) && !slices.ContainsFunc(e.Workloads, fills) {
		return fmt.Errorf("no workload of %s can write a whole device, as preconditioning asks for (%s): job files "+
			"do only what they say; add one like W: {fio: {rw: randwrite, size: 1GiB}}",
			e.Name, e.Precondition)
	}
	if forgotten := e.CheckRounds(); forgotten != nil {
		return forgotten
	}
	return nil
}

// settingsReader parses flags and collects problems.
type settingsReader struct{ problems []error }

func (r *settingsReader) wrong(flag, text, what string) {
	r.problems = append(r.problems, fmt.Errorf("--%s takes %s, not %q", flag, what, text))
}

// setting reads the flags of one setting.
func (r *settingsReader) setting(e *experiment.Experiment, o runOptions, s experiment.Setting) {
	text := o.text(s.Flag)
	if o.isOn(s.Flag) && o.isOn(s.Without) {
		r.problems = append(r.problems, fmt.Errorf("--%s does not go together with --%s", s.Flag, s.Without))
	}
	for _, c := range s.Not {
		other := o.text(c.Flag)
		if text != "" && other != "" {
			r.problems = append(r.problems, fmt.Errorf("--%s %s does not go together with --%s %s: %s",
				s.Flag, text, c.Flag, other, c.Why))
		}
	}
	var err error
	if o.isOn(s.Without) {
		err = s.SetOff(e)
	}
	switch {
	case o.isOn(s.Flag):
		err = s.SetOn(e)
	case text != "":
		err = s.Set(e, text)
	}
	var wrong *field.Error
	switch {
	case errors.As(err, &wrong):
		r.problems = append(r.problems, fmt.Errorf("--%s takes %s, not %q: %s", s.Flag, wrong.Takes, text, wrong.Remedy))
	case err != nil:
		r.problems = append(r.problems, fmt.Errorf("--%s %s: %w", s.Flag, text, err))
	}
}

// scale reads what else fits an experiment to the host.
func (r *settingsReader) scale(o runOptions, s experiment.Scale) experiment.Scale {
	s.Catalog = stack.Catalog()
	unnamed := 0
	for _, text := range o.ons {
		name, source, named := strings.Cut(text, "=")
		named = named && experiment.IsName(name)
		if !named {
			unnamed++
			source = text
		}
		n := r.source(source, s.Catalog)
		if n == nil {
			continue
		}
		if _, twice := s.Each[name]; named && twice {
			r.problems = append(r.problems, fmt.Errorf("--on %s: stack %s is put on something already", text, name))
		}
		if named && n.Name == "dir" {
			r.problems = append(r.problems, fmt.Errorf("--on %s: a directory goes alone, as --on %s", text, source))
			continue
		}
		if named {
			if s.Each == nil {
				s.Each = map[string]line.Node{}
			}
			s.Each[name] = *n
			continue
		}
		s.On = append(s.On, *n)
		if n.Name != "dir" {
			continue
		}
		if unnamed > 1 || len(o.ons) > unnamed {
			r.problems = append(r.problems, fmt.Errorf("--on %s: several --on name block devices, each of which "+
				"makes a stack of its own; a directory goes alone", text))
			continue
		}
		mount, err := blockdev.MountOf(hostfs.Default(), n.Arg)
		if errors.Is(err, fs.ErrNotExist) {
			err = inputfile.NotThere("directory", n.Arg)
		}
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
		device := !slices.ContainsFunc(l.Sources(),
			func(n line.Node) bool { return !stack.WritesDevice(line.Line{Nodes: []line.Node{n}}) })
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
	r.wrong("on", text, "a block device (/dev/nvme0n1, by-id:NAME, serial:NUMBER, uuid:UUID, nguid:NGUID, "+
		"nvmeof(...)), several joined with +, or a directory (dir:/srv/data)")
	return nil
}

// remotes reads the targets that stacks are to find.
func (r *settingsReader) remotes(texts []string, catalog *line.Catalog) (out []line.Node) {
	for _, text := range texts {
		l, err := line.Parse(text)
		if err != nil || len(l.Nodes) != 1 || l.Nodes[0].Name != "nvmeof" || len(l.Nodes[0].And) > 0 {
			r.wrong("remote", text, "one nvmeof(transport=T, addr=ADDRESS, nqn=NQN, uuid=UUID), as plimsoll target "+
				"export prints it")
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
