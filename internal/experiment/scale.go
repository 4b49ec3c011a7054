package experiment

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Scale fits an experiment to a host. Fields that are empty change nothing.
type Scale struct {
	// Only keeps the mixes, workloads and stacks whose names one of these patterns matches, as path.Match has them: where
	// none matches a stack, all stacks stay. The baseline stays.
	Only []string
	// Jobs is the maximum number of jobs of the workloads. Levels of a factor that are numbers of jobs keep their
	// meaning: those above Jobs are left out.
	Jobs int
	// Bytes is the size that every workload's file gets. Loop devices and tmpfs
	// that this would fill grow by as much.
	Bytes int64
	// Records is the number of records of each server; workloads without records stay as they are.
	Records int
	// On replaces the stacks' loop devices and, when it is a block device itself, the block devices of this host that
	// they name: a directory, or one or several devices, as the first node of a stack. A stack gets as many of them
	// as it has sources. Each of several such nodes makes a stack of its own: they are the levels of the factor
	// FactorDevice.
	On []line.Node
	// Each replaces the sources of the stacks of these names only, of any kind.
	Each map[string]line.Node
	// FileSystem is the type of the file system of a directory in On, such as "ext4".
	FileSystem string
	// Catalog has the sizes of sources that do not state one.
	Catalog *line.Catalog
}

// Apply changes e, and returns the reason for each stack and workload that it leaves out. It fails if the rest is no
// experiment.
func (s Scale) Apply(e *Experiment) (leftOut []string, err error) {
	var problems []error
	before := stackNeeds(e)
	if err := e.applyHostOverrides(); err != nil {
		return nil, err
	}
	if len(s.Only) > 0 {
		without, err := s.only(e)
		leftOut = append(leftOut, without...)
		problems = append(problems, err)
		before = stackNeeds(e)
	}
	if s.Jobs > 0 || s.Bytes > 0 || s.Records > 0 {
		without, wrong := s.workloads(e)
		leftOut, problems = append(leftOut, without...), append(problems, wrong...)
	}
	s.grow(e, before)
	if len(s.Each) > 0 {
		problems = append(problems, s.applyEach(e))
		leftOut = append(leftOut, e.prune()...)
	}
	if len(s.On) > 0 {
		without, err := s.sources(e)
		leftOut = append(leftOut, without...)
		leftOut = append(leftOut, e.prune()...)
		problems = append(problems, err)
	}
	if len(e.Workloads) == 0 {
		problems = append(problems, fmt.Errorf("no workload of %s is left: %s", e.Name, lines(leftOut)))
	}
	if len(e.Stacks) == 0 {
		problems = append(problems, fmt.Errorf("no stack of %s is left: %s", e.Name, lines(leftOut)))
	}
	if len(e.Mixes) == 0 && len(e.Workloads) > 0 && len(e.Stacks) > 0 {
		problems = append(problems, fmt.Errorf("no mix of %s is left: %s", e.Name, lines(leftOut)))
	}
	return leftOut, errors.Join(problems...)
}

// only leaves out what Only does not keep. It is an error if one of its patterns matches nothing.
func (s Scale) only(e *Experiment) (leftOut []string, err error) {
	unused := slices.Clone(s.Only)
	keeps := func(name string) (keep bool) {
		for _, pattern := range s.Only {
			ok, _ := path.Match(pattern, name) // what is no pattern was refused when it was read
			if ok {
				keep = true
				unused = slices.DeleteFunc(unused, func(u string) bool { return u == pattern })
			}
		}
		return keep
	}
	left := func(kind string, names []string) {
		if len(names) > 0 {
			leftOut = append(leftOut, fmt.Sprintf("%s %s: --only %s", plural.Of(len(names), kind), plural.And(names),
				strings.Join(s.Only, ",")))
		}
	}
	stacks, excluded := partition(e.Stacks, keeps, stackName)
	if len(stacks) > 0 {
		isBaseline := func(name string) bool { return name == e.Baseline }
		excluded = slices.DeleteFunc(excluded, isBaseline)
		e.Stacks = slices.DeleteFunc(e.Stacks, func(s Stack) bool { return slices.Contains(excluded, s.Name) })
		left("stack", excluded)
	}
	mixed := e.Mixed()
	mixes, excluded := partition(e.Mixes, keeps, mixName)
	if len(mixes) > 0 {
		e.Mixes = mixes
		left(map[bool]string{true: "mix", false: "workload"}[mixed], excluded)
	}
	if mixed {
		loads, excluded := partition(e.Workloads, keeps, func(w Workload) string { return w.Name })
		if len(loads) > 0 {
			e.Workloads = loads
			left("workload", excluded)
			leftOut = append(leftOut, e.prune()...)
		}
	}
	used := func(w Workload) bool {
		return slices.ContainsFunc(e.Mixes, func(m Mix) bool {
			return slices.ContainsFunc(m.Tenants, func(t Tenant) bool { return t.Workload == w.Name })
		})
	}
	e.Workloads = slices.DeleteFunc(slices.Clone(e.Workloads), func(w Workload) bool { return !used(w) })
	if len(unused) > 0 {
		return leftOut, fmt.Errorf("--only %s: no mix, workload or stack of %s has such a name; mixes: %s; stacks: %s",
			strings.Join(unused, ","), e.Name, plural.And(namesOf(e.Mixes, mixName)), plural.And(namesOf(e.Stacks, stackName)))
	}
	return leftOut, nil
}

// HasName reports whether a mix, workload or stack has a name that a pattern of Scale.Only matches.
func (e *Experiment) HasName(pattern string) bool {
	matches := func(name string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	}
	return slices.ContainsFunc(namesOf(e.Stacks, stackName), matches) ||
		slices.ContainsFunc(namesOf(e.Mixes, mixName), matches) ||
		slices.ContainsFunc(e.Workloads, func(w Workload) bool { return matches(w.Name) })
}

func stackName(s Stack) string { return s.Name }
func mixName(m Mix) string     { return m.Name }

func namesOf[T any](all []T, name func(T) string) (names []string) {
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

// partition returns the elements whose names are kept, and the names of the others.
func partition[T any](elements []T, keeps func(string) bool, name func(T) string) (kept []T, excluded []string) {
	for _, element := range elements {
		if keeps(name(element)) {
			kept = append(kept, element)
		} else {
			excluded = append(excluded, name(element))
		}
	}
	return kept, excluded
}

func lines(of []string) (text string) {
	for _, l := range of {
		text += "\n  " + l
	}
	return text
}

// stackNeeds returns the space that files need on each stack, in bytes.
func stackNeeds(e *Experiment) (bytes []int64) {
	for _, stack := range e.Stacks {
		bytes = append(bytes, e.Need(stack))
	}
	return bytes
}

func (s Scale) workloads(e *Experiment) (leftOut []string, problems []error) {
	largest := 0
	for _, w := range e.Workloads {
		if scaling := w.Abilities().Scaling; scaling != nil {
			largest = max(largest, scaling.Jobs)
		}
	}
	if s.Records > 0 && !slices.ContainsFunc(e.Workloads, Workload.hasRecords) {
		problems = append(problems, fmt.Errorf("--records %d has no effect: no workload of %s has records", s.Records,
			e.Name))
	}
	var kept []Workload
	for _, w := range e.Workloads {
		scaling := w.Abilities().Scaling
		if scaling == nil {
			leftOut = append(leftOut, fmt.Sprintf("workload %s: it cannot be scaled", w.Name))
			continue
		}
		jobs := scaling.Jobs
		switch {
		case s.Jobs == 0:
		case isLevel(w.Levels, jobs) && jobs > s.Jobs:
			leftOut = append(leftOut, fmt.Sprintf("workload %s: it has %d jobs, more than %d", w.Name, jobs, s.Jobs))
			continue
		case isLevel(w.Levels, jobs):
		case jobs == largest:
			jobs = s.Jobs
		default:
			jobs = min(jobs, s.Jobs)
		}
		bytes := s.Bytes
		if s.Records > 0 {
			bytes = int64(s.Records) * scaling.Records.Bytes
		}
		scaled, err := scaling.To(jobs, bytes)
		if err != nil {
			problems = append(problems, fmt.Errorf("workload %s: %w", w.Name, err))
			continue
		}
		w.Workload = scaled
		kept = append(kept, w)
	}
	e.Workloads = kept
	return append(leftOut, e.prune()...), problems
}

// hasRecords reports whether the data of a workload consists of records.
func (w Workload) hasRecords() bool {
	scaling := w.Abilities().Scaling
	return scaling != nil && scaling.Records.Bytes > 0
}

// isLevel reports whether a number of jobs is a level of a factor.
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
	for i, after := range stackNeeds(e) {
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
	size, err := field.Bytes.Parse(def.Setting(*source, "size"))
	if err != nil {
		return
	}
	whole := (int64(factor*float64(size)) + unit - 1) / unit * unit
	source.Options = slices.Clone(source.Options)
	setOption(source, "size", units.FormatSize(whole))
}

// setOption sets an option of a node.
func setOption(n *line.Node, key, value string) {
	for i := range n.Options {
		if n.Options[i].Key == key {
			n.Options[i].Value = value
			return
		}
	}
	n.Options = append(n.Options, line.Option{Key: key, Value: value})
}

// FactorDevice is the factor whose levels are the devices that stacks were put
// on, when these are several.
const FactorDevice = "device"

// sources puts s.On under every stack that stands on a loop device, or says
// why that would be another stack than was asked about.
func (s Scale) sources(e *Experiment) (leftOut []string, err error) {
	labels, err := s.labels(e)
	if err == nil {
		err = s.checkDistinctDrives(e)
	}
	if err != nil {
		return nil, err
	}
	named := slices.IndexFunc(e.Mixes, func(m Mix) bool { return !m.Crossed() })
	if len(s.On) > 1 && named >= 0 {
		return nil, fmt.Errorf("mix %s of %s names its stacks (on: %s), so it can be put on one device only: give one --on",
			e.Mixes[named].Name, e.Name, strings.Join(e.Mixes[named].On(), ", "))
	}
	var kept []Stack
	baseline := ""
	replaced := false
	for _, stack := range e.Stacks {
		if _, placed := s.Each[stack.Name]; placed {
			kept, replaced = append(kept, stack), true
			continue
		}
		for i, device := range s.On {
			on, takes, why := s.source(stack.Line, device, len(e.Stacks) == 1)
			if !takes && why == "" {
				kept = append(kept, stack)
				break // it stays what it is, on whichever device the others are
			}
			put := stack
			if len(s.On) > 1 {
				put.Name += "-" + labels[i]
				put.Levels = maps.Clone(stack.Levels)
				if put.Levels == nil {
					put.Levels = map[string]string{}
				}
				put.Levels[FactorDevice] = labels[i]
			}
			if why != "" {
				leftOut = append(leftOut, fmt.Sprintf("stack %s: %s", put.Name, why))
				continue
			}
			replaced = true
			put.Line, put.Text = on, on.String()
			kept = append(kept, put)
			if stack.Name == e.Baseline && baseline == "" {
				baseline = put.Name
			}
		}
	}
	if !replaced && len(kept) > 0 {
		return nil, s.checkUsed(e, leftOut)
	}
	unchanged := func(k Stack) bool { return k.Name == e.Baseline }
	if !slices.ContainsFunc(kept, unchanged) {
		e.Baseline = baseline
	}
	e.Stacks = kept
	if len(s.On) > 1 {
		factor := Factor{Name: FactorDevice}
		for _, label := range labels {
			factor.Levels = append(factor.Levels, result.Level{Factor: FactorDevice, Text: label})
		}
		e.Factors = append(slices.Clone(e.Factors), factor)
	}
	return leftOut, nil
}

// applyEach replaces the sources of the stacks in Each.
func (s Scale) applyEach(e *Experiment) error {
	var problems []error
	on := map[string]string{} // stacks by device
	for _, name := range slices.Sorted(maps.Keys(s.Each)) {
		source := line.Line{Nodes: []line.Node{s.Each[name]}}
		i := slices.IndexFunc(e.Stacks, func(stack Stack) bool { return stack.Name == name })
		if i < 0 {
			problems = append(problems, fmt.Errorf("--on %s=%s: %s has no stack %s; it has %s", name, source, e.Name, name,
				plural.And(namesOf(e.Stacks, stackName))))
			continue
		}
		for _, device := range devices(source) {
			if other, taken := on[device]; taken {
				problems = append(problems, fmt.Errorf("--on %s=%s: stack %s is on %s as well, and one drive cannot be both",
					name, source, other, device))
			}
			on[device] = name
		}
		put := line.Line{Nodes: append(slices.Clone(source.Nodes), e.Stacks[i].Line.Nodes[1:]...)}
		for _, wrong := range s.Catalog.Check(put) {
			problems = append(problems, fmt.Errorf("--on %s=%s: stack %s would be %s: %s", name, source, name, put, wrong))
		}
		e.Stacks = slices.Clone(e.Stacks)
		e.Stacks[i].Line, e.Stacks[i].Text = put, put.String()
	}
	return errors.Join(problems...)
}

// checkDistinctDrives returns an error where one --on would replace different drives that stacks name: the comparison
// between them would be made on one drive.
func (s Scale) checkDistinctDrives(e *Experiment) error {
	if len(s.On) != 1 || s.On[0].Name == "dir" {
		return nil
	}
	var named, proposed []string
	drives := map[string]bool{}
	for _, stack := range e.Stacks {
		_, placed := s.Each[stack.Name]
		sources := devices(stack.Line)
		remote := slices.ContainsFunc(stack.Line.Sources(), func(n line.Node) bool { return n.Name == nodeRemote })
		if placed || remote || len(sources) == 0 {
			continue // --remote says which drive that is
		}
		drives[strings.Join(sources, " ")] = true
		named = append(named, fmt.Sprintf("%s on %s", stack.Name, plural.And(sources)))
		proposed = append(proposed, fmt.Sprintf("--on '%s=%s'", stack.Name,
			strings.Join(slices.Repeat([]string{"serial:NUMBER"}, len(sources)), " + ")))
	}
	if len(drives) < 2 {
		return nil
	}
	return fmt.Errorf("--on %s would be one drive for several, and %s compares them: %s; name the drive of each: %s",
		line.Line{Nodes: s.On}, e.Name, plural.And(named), strings.Join(proposed, " "))
}

// checkUsed returns an error if no stack would use s.On: a run must not silently measure something else.
func (s Scale) checkUsed(e *Experiment, leftOut []string) error {
	var names, stacks []string
	for _, n := range s.On {
		names = append(names, "--on "+line.Line{Nodes: []line.Node{n}}.String())
	}
	for _, stack := range e.Stacks {
		stacks = append(stacks, fmt.Sprintf("stack %s: %s", stack.Name, stack.Line))
	}
	takes := "it takes the place of loop devices, and of block devices that a stack names"
	if s.On[0].Name == "dir" {
		takes = "a directory takes the place of loop devices"
	}
	why := ""
	if len(leftOut) > 0 {
		why = "\nand those that stand on loop devices cannot be there: " + lines(leftOut)
	}
	return fmt.Errorf("%s has no effect: %s, and %s measures%s%s\nto measure another place, name it in a copy of "+
		"the experiment",
		strings.Join(names, ", "), takes, e.Name, lines(stacks), why)
}

// labels names the devices of s.On, as names of stacks may have it.
func (s Scale) labels(e *Experiment) ([]string, error) {
	var labels []string
	var problems []error
	for _, n := range s.On {
		label := labelOf(n)
		if slices.Contains(labels, label) {
			problems = append(problems, fmt.Errorf("two devices would be called %s: name one in another way, such as "+
				"serial:NUMBER", label))
		}
		labels = append(labels, label)
	}
	if len(s.On) < 2 {
		return labels, nil
	}
	for _, levels := range e.levels() {
		if _, has := levels[FactorDevice]; has {
			return nil,
				fmt.Errorf("%s has a factor called %s: with it, only one --on is possible", e.Name, FactorDevice)
		}
	}
	for _, stack := range e.Stacks {
		for _, label := range labels {
			if name := stack.Name + "-" + label; len(name) > maxName {
				problems = append(problems, fmt.Errorf("stack %s would be called %s, which is longer than %d: name "+
					"the device in another way", stack.Name, name, maxName))
			}
		}
	}
	return labels, errors.Join(problems...)
}

// labelOf returns the part of a device's name that distinguishes it in names of stacks: LAB1 of serial:LAB1, nvme0n1
// of /dev/nvme0n1.
func labelOf(n line.Node) string {
	var parts []string
	for _, device := range append([]line.Node{{Name: n.Name, Arg: n.Arg, Options: n.Options}}, n.And...) {
		text := device.Arg
		for _, key := range []string{"nqn", "uuid"} {
			if value, ok := device.Option(key); ok && device.Arg == "" {
				text = value
			}
		}
		parts = append(parts, text[strings.LastIndexAny(text, "/:")+1:])
	}
	return strings.Map(func(r rune) rune {
		if r < 128 &&
			(r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}

// levels returns the levels of all stacks and mixes.
func (e *Experiment) levels() (all []map[string]string) {
	for _, s := range e.Stacks {
		all = append(all, s.Levels)
	}
	for _, m := range e.Mixes {
		all = append(all, m.Levels)
	}
	return all
}

// source puts a device under a stack, unless it takes none. why is the reason when that would be another stack. A
// stack that is compared with no other one stands on whatever file system a directory lies on.
func (s Scale) source(l line.Line, device line.Node, alone bool) (on line.Line, takes bool, why string) {
	sources, devs := l.Sources(), line.Line{Nodes: []line.Node{device}}.Sources()
	if slices.ContainsFunc(sources, func(n line.Node) bool { return n.Name == nodeRemote }) {
		return l, false, "" // which device that is, --remote says
	}
	loops := slices.ContainsFunc(sources, func(n line.Node) bool { return n.Name == "loop" })
	if !loops && (len(devices(l)) == 0 || device.Name == "dir") {
		return l, false, ""
	}
	for _, source := range sources {
		for _, o := range source.Options {
			passesCache := o.Key == "direct-io" && o.Value == "on" // as every other device does
			if o.Key != "size" && o.Key != "dir" && !passesCache {
				return l, true, fmt.Sprintf("%s=%s is about loop devices", o.Key, o.Value)
			}
		}
	}
	rest := l.Nodes[1:]
	if device.Name == "dir" {
		switch {
		case len(sources) > 1:
			return l, true, fmt.Sprintf("it stands on %d devices, and %s is a directory", len(sources), device.Arg)
		case len(rest) == 0:
			return l, true, "a directory has no raw device"
		case rest[0].Name != s.FileSystem && !alone:
			return l, true, fmt.Sprintf("%s lies on %s", device.Arg, s.FileSystem)
		case len(rest[0].Options) > 0:
			return l, true,
				fmt.Sprintf("%s lies on a file system that is there already, without the options of %s", device.Arg, rest[0])
		}
		rest = rest[1:]
	}
	if len(devs) < len(sources) {
		return l, true,
			fmt.Sprintf("it stands on %d devices, and there %s %d to put it on: join as many with +", len(sources),
				plural.Choose(len(devs), "is", "are"), len(devs))
	}
	return line.Line{Nodes: append([]line.Node{line.Join(devs[:len(sources)]...)}, rest...)}, true, ""
}
