package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload"
)

// Scale fits an experiment to a host. Fields that are empty change nothing.
type Scale struct {
	// Jobs is how many jobs the workloads with the most of them get; none gets
	// more. Levels of a factor that are numbers of jobs keep their meaning:
	// those above Jobs are left out.
	Jobs int
	// Bytes is the size that every workload's file gets. Loop devices and tmpfs
	// that this would fill grow by as much.
	Bytes int64
	// On takes the place of the stacks' loop devices and, when it is a block
	// device itself, of the block devices of this host that they name: a directory, or one or
	// several devices, as the first node of a stack. A stack gets as many of
	// them as it has sources.
	On *line.Node
	// FileSystem is what a directory in On lies on, such as "ext4".
	FileSystem string
	// Catalog tells how large sources are that do not say so.
	Catalog *line.Catalog
}

// Apply changes e, and tells for each stack and workload that it leaves out
// why. It is an error when what remains is no experiment.
func (s Scale) Apply(e *Experiment) (leftOut []string, err error) {
	var problems []error
	if s.Jobs > 0 || s.Bytes > 0 {
		before := needs(e)
		leftOut, problems = s.workloads(e)
		s.grow(e, before)
	}
	if s.On != nil {
		leftOut = append(leftOut, s.sources(e)...)
	}
	if len(e.Workloads) == 0 {
		problems = append(problems, fmt.Errorf("no workload of %s is left: %s", e.Name, lines(leftOut)))
	}
	if len(e.Stacks) == 0 {
		problems = append(problems, fmt.Errorf("no stack of %s is left: %s", e.Name, lines(leftOut)))
	}
	return leftOut, errors.Join(problems...)
}

func lines(of []string) (text string) {
	for _, l := range of {
		text += "\n  " + l
	}
	return text
}

// needs is the space that files take on each stack.
func needs(e *Experiment) (bytes []int64) {
	for _, stack := range e.Stacks {
		bytes = append(bytes, e.Need(stack))
	}
	return bytes
}

func (s Scale) workloads(e *Experiment) (leftOut []string, problems []error) {
	most := 0
	for _, w := range e.Workloads {
		if scalable, ok := w.Workload.(workload.Scalable); ok {
			most = max(most, scalable.NumJobs())
		}
	}
	var kept []Workload
	for _, w := range e.Workloads {
		scalable, ok := w.Workload.(workload.Scalable)
		if !ok {
			leftOut = append(leftOut, fmt.Sprintf("workload %s: it cannot be scaled", w.Name))
			continue
		}
		jobs := scalable.NumJobs()
		switch {
		case s.Jobs == 0:
		case isLevel(w.Levels, jobs) && jobs > s.Jobs:
			leftOut = append(leftOut, fmt.Sprintf("workload %s: it has %d jobs, more than %d", w.Name, jobs, s.Jobs))
			continue
		case isLevel(w.Levels, jobs):
		case jobs == most:
			jobs = s.Jobs
		default:
			jobs = min(jobs, s.Jobs)
		}
		scaled, err := scalable.Scale(jobs, s.Bytes)
		if err != nil {
			problems = append(problems, fmt.Errorf("workload %s: %w", w.Name, err))
			continue
		}
		w.Workload = scaled
		kept = append(kept, w)
	}
	e.Workloads = kept
	return leftOut, problems
}

// isLevel tells whether a number of jobs is the level of a factor.
func isLevel(levels map[string]string, jobs int) bool {
	for _, level := range levels {
		if level == strconv.Itoa(jobs) {
			return true
		}
	}
	return false
}

// grow makes sources that have a size larger, by as much as what files need
// there did grow.
func (s Scale) grow(e *Experiment, before []int64) {
	for i, after := range needs(e) {
		if before[i] == 0 || after <= before[i] {
			continue
		}
		sources := e.Stacks[i].Line.Sources()
		for j := range sources {
			s.growSource(&sources[j], float64(after)/float64(before[i]))
		}
		e.Stacks[i].Line.Nodes[0] = line.Join(sources...)
	}
}

// growSource makes a source larger by a factor, if it has a size.
func (s Scale) growSource(source *line.Node, factor float64) {
	const unit = 1 << 20
	def, ok := s.Catalog.Lookup(source.Name, line.Nothing)
	if !ok {
		return
	}
	if o, ok := def.Option("size"); !ok || o.Value != line.Size {
		return
	}
	size, err := line.ParseSize(def.Setting(*source, "size"))
	if err != nil {
		return
	}
	whole := (int64(factor*float64(size)) + unit - 1) / unit * unit
	source.Options = slices.Clone(source.Options)
	setOption(source, "size", line.FormatSize(whole))
}

// setOption gives an option of a node a value.
func setOption(n *line.Node, key, value string) {
	for i := range n.Options {
		if n.Options[i].Key == key {
			n.Options[i].Value = value
			return
		}
	}
	n.Options = append(n.Options, line.Option{Key: key, Value: value})
}

// sources puts s.On under every stack that stands on a loop device, or says
// why that would be another stack than was asked about.
func (s Scale) sources(e *Experiment) (leftOut []string) {
	var kept []Stack
	for _, stack := range e.Stacks {
		on, why := s.source(stack.Line)
		if why != "" {
			leftOut = append(leftOut, fmt.Sprintf("stack %s: %s", stack.Name, why))
			if e.Baseline == stack.Name {
				e.Baseline = ""
			}
			continue
		}
		stack.Line, stack.Text = on, on.String()
		kept = append(kept, stack)
	}
	e.Stacks = kept
	return leftOut
}

func (s Scale) source(l line.Line) (on line.Line, why string) {
	sources, devs := l.Sources(), line.Line{Nodes: []line.Node{*s.On}}.Sources()
	if slices.ContainsFunc(sources, func(n line.Node) bool { return n.Name == nodeRemote }) {
		return l, "" // which device that is, --remote says
	}
	loops := slices.ContainsFunc(sources, func(n line.Node) bool { return n.Name == "loop" })
	if !loops && (len(devices(l)) == 0 || s.On.Name == "dir") {
		return l, ""
	}
	for _, source := range sources {
		for _, o := range source.Options {
			if o.Key != "size" && o.Key != "dir" {
				return l, fmt.Sprintf("%s=%s is about loop devices", o.Key, o.Value)
			}
		}
	}
	rest := l.Nodes[1:]
	if s.On.Name == "dir" {
		switch {
		case len(sources) > 1:
			return l, fmt.Sprintf("it stands on %d devices, and %s is a directory", len(sources), s.On.Arg)
		case len(rest) == 0:
			return l, "a directory has no raw device"
		case rest[0].Name != s.FileSystem:
			return l, fmt.Sprintf("%s lies on %s", s.On.Arg, s.FileSystem)
		case len(rest[0].Options) > 0:
			return l, fmt.Sprintf("%s lies on a file system that is there already, without the options of %s", s.On.Arg, rest[0])
		}
		rest = rest[1:]
	}
	if len(devs) < len(sources) {
		return l, fmt.Sprintf("it stands on %d devices, and there are %d to put it on: join as many with +", len(sources), len(devs))
	}
	return line.Line{Nodes: append([]line.Node{line.Join(devs[:len(sources)]...)}, rest...)}, ""
}
