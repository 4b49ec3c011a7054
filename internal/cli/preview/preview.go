// Package preview says of an experiment, before it runs, what it would do, and
// what in it may surprise whoever runs it. It changes nothing.
package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/image"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/plan/rounds"
	"plimsoll/internal/units/plural"
)

// Preview describes a run before it starts.
type Preview struct {
	Name       string        `json:"name"`
	Question   string        `json:"question"`
	Stacks     int           `json:"stacks"`
	Control    bool          `json:"control"` // a run carries twins of the baseline beside them
	Controls   int           `json:"controls"`
	Workloads  int           `json:"workloads"`
	Mixes      int           `json:"mixes,omitempty"` // of workloads, where they do not each run alone
	Host       string        `json:"host,omitempty"`  // limits of the scaled-down host that all runs in, in words
	Trials     int           `json:"trials"`
	Takes      time.Duration `json:"-"`
	Seconds    float64       `json:"estimated_seconds"`
	Overwrites []string      `json:"overwrites,omitempty"` // devices that it would overwrite, as its stacks name them
	Warnings   []string      `json:"warnings,omitempty"`   // what may surprise, here or anywhere
}

// String is the preview on one line, without its warnings.
func (p Preview) String() string {
	stacks := plural.Count(p.Stacks, "stack")
	switch {
	case p.Controls == 1:
		stacks += " and a control"
	case p.Controls > 1:
		stacks += " and " + plural.Count(p.Controls, "control")
	}
	running := plural.Count(p.Workloads, "workload")
	if p.Mixes > 0 {
		running = fmt.Sprintf("%s of %s", plural.Count(p.Mixes, "mix"), running)
	}
	text := fmt.Sprintf("%s, %s, %s, about %s", stacks, running, plural.Count(p.Trials, "trial"), p.Takes)
	if p.Host != "" {
		text += "; in a scaled-down host of " + p.Host
	}
	if len(p.Overwrites) > 0 {
		text += "; overwrites " + plural.And(p.Overwrites)
	}
	return text
}

// Of looks at an experiment on this host. state is the directory that a run
// would work in.
func Of(ctx context.Context, e *experiment.Experiment, state string) (Preview, error) {
	run := *e
	experiment.AddControl(&run)
	takes := experiment.Estimate(&run)
	p := Preview{
		Name: e.Name, Question: e.Question, Stacks: len(e.Stacks), Control: len(run.Stacks) > len(e.Stacks),
		Controls:  len(run.Stacks) - len(e.Stacks),
		Workloads: len(e.Workloads),
		Trials:    len(experiment.Trials(&run, 0)), Takes: takes.Round(time.Second), Seconds: takes.Seconds(),
	}
	if e.Mixed() {
		p.Mixes = len(e.Mixes)
	}
	if e.Host != nil {
		p.Host = e.Host.String()
	}
	for _, s := range e.Stacks {
		for _, source := range s.Line.Sources() {
			alone := line.Line{Nodes: []line.Node{source}}
			if !stack.WritesDevice(alone) {
				continue
			}
			name := alone.String()
			if !slices.Contains(p.Overwrites, name) {
				p.Overwrites = append(p.Overwrites, name)
			}
		}
	}
	p.Warnings = slices.Concat(inFile(e), inStacks(e))
	here, err := onHost(ctx, e, state)
	p.Warnings = append(p.Warnings, here...)
	return p, err
}

// shortest is the measured time below which starting up is much of a trial.
const shortest = time.Second

// inFile says what an experiment asks for that is less than it seems.
func inFile(e *experiment.Experiment) []string {
	var out []string
	if fewest := rounds.DefaultStudy.Fewest; e.Repeat < fewest {
		out = append(out,
			fmt.Sprintf("%s: with fewer than %d no difference can be distinguished from chance",
				plural.Count(e.Repeat, "round"), fewest))
	}
	if e.Baseline == "" && len(e.Stacks) > 1 {
		out = append(out, "there is no baseline: stacks are ranked, but not compared with one of them")
	}
	var brief, buffered []string
	for _, w := range e.Workloads {
		if w.Timing(e.Timing).Runtime < shortest {
			brief = append(brief, w.Name)
		}
		if slices.Contains(strings.Split(w.Info().Summary, ", "), "buffered") {
			buffered = append(buffered, w.Name)
		}
	}
	if len(brief) > 0 {
		out = append(out,
			fmt.Sprintf("%s %s measured for less than %s: much of that is starting up", plural.And(brief),
				plural.Choose(len(brief), "is", "are"), shortest))
	}
	if len(buffered) > 0 {
		out = append(out,
			fmt.Sprintf("%s %s through the page cache (direct: false): memory answers much of that",
				plural.And(buffered), plural.Choose(len(buffered), "goes", "go")))
	}
	for _, w := range e.Workloads {
		for _, note := range w.Abilities().Notes {
			if !slices.Contains(out, note) { // phases of one file have the same
				out = append(out, note)
			}
		}
	}
	if e.Trace {
		out = append(out, "trials are traced, which costs some of their speed: compare them with traced ones")
	}
	return out
}

// fuseDriver is a storage driver that serves direct I/O from the page cache.
const fuseDriver = "fuse-overlayfs"

// inStacks says what stacks are not what they look like.
func inStacks(e *experiment.Experiment) []string {
	var out, memory, cached, fuse, relative, waiting []string
	for _, s := range e.Stacks {
		if slices.Contains(stack.Marks(s.Line), result.MarkMemory) {
			memory = append(memory, s.Name)
		}
		view := s.Line.Nodes[len(s.Line.Nodes)-1]
		if driver, _ := view.Option("driver"); view.Name == fuseDriver || driver == fuseDriver && view.Name != "volume" {
			fuse = append(fuse, s.Name)
		}
		for _, source := range s.Line.Sources() {
			if v, _ := source.Option("direct-io"); source.Name == "loop" && v == "off" {
				cached = append(cached, s.Name)
			}
			if experiment.Unreached(source) {
				waiting = append(waiting, s.Name)
			}
			if source.Name == "dir" && strings.HasPrefix(strings.TrimPrefix(s.Text, "dir:"), ".") {
				relative = append(relative, fmt.Sprintf("stack %s: its directory is %s, below the current directory "+
					"and not below the file's", s.Name, source.Arg))
			}
		}
	}
	say := func(names []string, one, many string) {
		if len(names) > 0 {
			out = append(out,
				fmt.Sprintf("%s %s %s", plural.Of(len(names), "stack"), plural.And(names), plural.Choose(len(names), one, many)))
		}
	}
	say(memory, "is in memory: it does not measure a disk", "are in memory: they do not measure a disk")
	say(cached, "answers from the page cache (direct-io=off)", "answer from the page cache (direct-io=off)")
	say(fuse, "may answer from memory: fuse-overlayfs does not pass O_DIRECT on",
		"may answer from memory: fuse-overlayfs does not pass O_DIRECT on")
	say(waiting, "needs --remote, which says where the other host's device is",
		"need --remote, which says where the other host's devices are")
	return slices.Concat(out, relative, Pointless(e))
}

// Pointless says which mount options of stacks change nothing, and which stacks are the same therefore. An option
// that another stack has the other one of is written to be compared with it.
func Pointless(e *experiment.Experiment) (out []string) {
	same := map[string][]string{} // names by what is left of their lines
	lines := map[string]bool{}
	has := func(option string) bool {
		return option != "" && slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool {
			return slices.ContainsFunc(s.Line.Nodes, func(n line.Node) bool {
				return slices.ContainsFunc(n.MountOptions(), func(o line.Option) bool { return o.String() == option })
			})
		})
	}
	for _, s := range e.Stacks {
		plain, pointless := stack.WithoutDefaults(s.Line)
		if text := s.Line.String(); !lines[text] { // twice the same line is meant
			lines[text] = true
			same[plain.String()] = append(same[plain.String()], s.Name)
		}
		for _, p := range pointless {
			since := ""
			if p.Since != "" {
				since = " since Linux " + p.Since
			}
			if !has(p.Against) {
				out = append(out, fmt.Sprintf("stack %s: %s is the default of %s%s: it has no effect", s.Name, p.Option,
					p.FileSystem, since))
			}
		}
	}
	for _, s := range e.Stacks {
		plain, pointless := stack.WithoutDefaults(s.Line)
		if names := same[plain.String()]; len(names) > 1 && len(pointless) > 0 {
			out = append(out, fmt.Sprintf("stacks %s are the same but for what is the default, and will measure the same",
				plural.And(names)))
			delete(same, plain.String())
		}
	}
	return out
}

// onHost says what this host would skip or refuse, and why.
func onHost(ctx context.Context, e *experiment.Experiment, state string) ([]string, error) {
	reached := *e
	reached.Stacks = slices.DeleteFunc(slices.Clone(e.Stacks), func(s experiment.Stack) bool {
		return slices.ContainsFunc(s.Line.Sources(), experiment.Unreached)
	})
	previews, refused, err := trial.DryRun(ctx,
		trial.Options{Experiment: &reached, State: state, Images: image.InState(state)})
	if err != nil {
		return nil, err
	}
	var reasons []string
	skipped := map[string][]string{}
	for i, p := range previews {
		if p.Skipped == "" {
			continue
		}
		if skipped[p.Skipped] == nil {
			reasons = append(reasons, p.Skipped)
		}
		skipped[p.Skipped] = append(skipped[p.Skipped], reached.Stacks[i].Name)
	}
	var out []string
	for _, why := range reasons {
		names := skipped[why]
		out = append(out,
			fmt.Sprintf("here, %s %s would be skipped: %s", plural.Of(len(names), "stack"), plural.And(names), why))
	}
	for _, err := range each(refused) {
		out = append(out, "here, a run would be refused as it is: "+err.Error())
	}
	return out, nil
}

// each takes errors apart that errors.Join put together.
func each(err error) []error {
	if err == nil {
		return nil
	}
	joined, several := err.(interface{ Unwrap() []error })
	if !several {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, each(e)...)
	}
	return all
}
