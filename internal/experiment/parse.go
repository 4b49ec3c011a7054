package experiment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// Options are the inputs of Parse besides the file.
type Options struct {
	Catalog *line.Catalog   // what stacks may be made of
	Kinds   []workload.Kind // what may drive load
	// reads a file that a workload names, relative to the experiment's folder
	Open  func(name string) ([]byte, error)
	Scale string // of the file's scales, the one that is read; "" for the file as it is
	// BuiltIn leaves the file's other scales unread: tests read those of built-in experiments
	BuiltIn bool

	file  string        // its name
	asked hostOverrides // of what mixes are made of
}

// Parse reads an experiment file. file is its name, for messages. The error
// is a problem.List with everything that is wrong, in the order of lines.
func Parse(file string, text []byte, o Options) (*Experiment, error) {
	o.file = file
	p := &parser{
		Options: o, values: map[string]*yaml.Node{},
		e: &Experiment{
			Repeat: DefaultRepeat,
			Timing: workload.Timing{Runtime: DefaultRuntime},
			Source: string(text),
			File:   file,
			parsed: &o,
		},
	}
	root := p.Root(text, aFile)
	if root != nil && o.Scale != "" {
		root = p.atScale(root)
		p.e.parsed.Scale = "" // its source is of that scale
	}
	if root != nil {
		p.file(root)
	}
	if len(p.Problems) == 0 && o.asked.empty() && !o.BuiltIn {
		p.checkScales(file, text)
	}
	if len(p.Problems) > 0 {
		return nil, p.Problems.Sorted().Within(file)
	}
	return p.e, nil
}

var describe, isNull = field.Describe, field.IsNull

// aFile describes an experiment file for errors.
var aFile = field.File{
	Name:  "experiment",
	Begin: `begin with "name: " and "question: "; plimsoll list shows experiments that are built in`,
	Remedy: func(text []byte, message string) string {
		switch {
		case strings.Contains(message, "did not find expected ',' or") && bytes.Contains(text, []byte("${")):
			return `between braces or brackets, YAML takes no ${name} without quotes: write $name, or "${name}"`
		case fioSection.Match(text):
			return "is this a job file of fio? plimsoll init writes the experiment that runs it: plimsoll init my.fio"
		}
		return ""
	},
}

var fioSection = regexp.MustCompile(`(?m)\A\[[^,\]]+\]\s*$`)

// maxFileBytes bounds what is read of the files that an experiment names.
const maxFileBytes = 16 << 20

// open reads a file that a workload names, and records its content: a run that is resumed later uses the same.
func (p *parser) open(name string) ([]byte, error) {
	text, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	p.fileBytes += len(text)
	if p.fileBytes > maxFileBytes {
		return nil, fmt.Errorf("the files that the experiment names have more than %s together, each as often as it is "+
			"named", units.FormatSize(maxFileBytes))
	}
	file := result.NewInputFile(name, text)
	file.Text = string(text)
	if !slices.Contains(p.e.Files, file) {
		p.e.Files = append(p.e.Files, file)
	}
	return text, nil
}

type parser struct {
	Options
	field.Reader
	e *Experiment

	factors      []*factor  // in the order of the file
	factorNode   *yaml.Node // nil for none; so are stackNode and workloadNode
	stackNode    *yaml.Node
	workloadNode *yaml.Node
	filled       int // number of values made by filling in levels
	fileBytes    int // read of files that workloads name
	baseline     *yaml.Node
	mixNode      *yaml.Node            // nil when each workload runs alone
	hostNode     *yaml.Node            // nil for no scaled-down host
	values       map[string]*yaml.Node // of the keys of the file
	stackNodes   []*yaml.Node          // of e.Stacks
}

// file reads the keys of the table in settings.go.
func (p *parser) file(root *yaml.Node) {
	fields := map[string]func(*yaml.Node){}
	for _, s := range settings {
		if s.Key != "" {
			fields[s.Key] = func(n *yaml.Node) {
				p.values[s.Key] = n
				s.value.read(p, n, s.Key)
			}
		}
	}
	seen := p.Mapping(root, "an experiment", fields)
	if seen == nil {
		return
	}
	for _, s := range settings {
		if s.Required != "" && !seen[s.Key] {
			p.Problem(root, "the experiment has no "+s.Key, s.Required)
		}
	}
	factors, stacks, workloads := p.factorNode, p.stackNode, p.workloadNode
	if factors != nil {
		p.readFactors(factors)
	}
	p.scaleCounts()
	p.e.Factors = p.typedFactors()
	var stackDecls, workloadDecls, mixDecls []*declared
	if stacks != nil {
		stackDecls = p.declarations(stacks, "stack", "raw: loop(size=1GiB)")
	}
	if workloads != nil {
		workloadDecls = p.declarations(workloads, "workload", "randread: {fio: {rw: randread, bs: 4KiB, size: 256MiB}}")
	}
	if p.mixNode != nil {
		mixDecls = p.declarations(p.mixNode, "mix", mixExample)
	}
	if p.hostNode != nil {
		said := true // what is wrong is said when it is read
		p.mentions("host", &said, scalars(p.hostNode)...)
	}
	if stacks != nil && workloads != nil {
		p.checkUsed(factors)
	}
	brief := !p.checkCount(cmp.Or(factors, root), stackDecls, workloadDecls, mixDecls)
	names := p.expand(stackDecls, "stack", brief, p.stack)
	if !brief {
		p.checkBaseline(names)
	}
	loads := p.expand(workloadDecls, "workload", brief, p.workload)
	if workloads != nil && stacks != nil {
		p.readMixes(mixDecls, workloadDecls, names, loads, brief)
	}
	if p.asked.instances == 0 { // else sources grow with them
		p.checkSpace()
	}
	p.checkTargets()
	p.checkMemory()
	p.checkObjective()
	p.checkElasticity()
	p.checkRounds()
	if p.e.Fixed && p.e.Operations > 0 {
		p.Problem(p.values["operations"], "operations and fixed both end a trial", "leave one of them out")
	}
	p.checkClients()
}

func (p *parser) stack(r expansion) {
	n := r.value
	if n.Kind != yaml.ScalarNode || isNull(n) {
		p.Problem(n, fmt.Sprintf("stack %s is written on one line, not as %s", r.declared, describe(n)),
			"write "+r.declared+": loop(size=1GiB) > xfs")
		return
	}
	text := strings.TrimSpace(n.Value)
	l, err := line.Parse(text)
	var problems problem.List
	var defs []line.Def
	if !errors.As(err, &problems) {
		defs, problems = l.Resolve(p.Catalog)
	}
	for _, found := range problems {
		p.Problem(n, fmt.Sprintf("stack %s, column %d: %s", r.declared, found.At.Column, found.What), found.Remedy)
	}
	if len(problems) == 0 {
		gives := defs[len(defs)-1].Gives
		p.e.Stacks = append(p.e.Stacks, Stack{Name: r.name, Line: l, Text: text, Raw: gives == line.Block,
			Contained: gives == line.View, Levels: r.levels})
		p.stackNodes = append(p.stackNodes, n)
	}
}

func (p *parser) workload(r expansion) {
	var kinds []string
	for _, k := range p.Kinds {
		kinds = append(kinds, k.Name)
	}
	n := r.value
	remedy := fmt.Sprintf("write %s: {KIND: {...}}; known kinds are %s", r.declared, strings.Join(kinds, ", "))
	switch {
	case n.Kind != yaml.MappingNode:
		p.Problem(n, fmt.Sprintf("workload %s is %s, but needs its kind and parameters", r.declared, describe(n)), remedy)
		return
	case len(n.Content) != 2:
		p.Problem(n, fmt.Sprintf("workload %s has %d kinds, but needs one", r.declared, len(n.Content)/2), remedy)
		return
	}
	kind, params := n.Content[0], n.Content[1]
	i := slices.Index(kinds, kind.Value)
	if i < 0 {
		p.Problem(kind, fmt.Sprintf("unknown kind %q of workload %s", kind.Value, r.declared),
			suggest.DidYouMean(kind.Value, kinds))
		return
	}
	w, problems := p.Kinds[i].Decode(params, p.open)
	for _, found := range problems {
		found.What = fmt.Sprintf("workload %s: %s", r.declared, found.What)
		p.Problems = append(p.Problems, found)
	}
	if len(problems) > 0 {
		return
	}
	phases := w.Abilities().Phases
	if len(phases) == 0 {
		p.e.Workloads = append(p.e.Workloads, Workload{Name: r.name, Workload: w, Levels: r.levels})
		return
	}
	if p.mixNode != nil {
		p.Problem(n, fmt.Sprintf("workload %s has %d phases, which run one after another", r.declared, len(phases)),
			"write a job file for each, so that mixes can name them")
	}
	for i, phase := range phases {
		name := fmt.Sprintf("%s-%d-%s", r.name, i+1, notInNames.ReplaceAllString(phase.Name, "_"))
		p.e.Workloads = append(p.e.Workloads, Workload{Name: name[:min(len(name), maxName)], Workload: phase.Workload,
			Levels: r.levels})
	}
}

// checkBaseline compares the baseline with the names of all stacks. A stack
// that is itself wrong is named all the same.
func (p *parser) checkBaseline(names []string) {
	if p.e.Baseline != "" && len(names) > 0 && !slices.Contains(names, p.e.Baseline) {
		p.Problem(p.baseline, fmt.Sprintf("the baseline %q is no stack of this experiment", p.e.Baseline),
			suggest.DidYouMean(p.e.Baseline, names))
	}
}

// usable is the share of a device that a file system surely leaves to files.
// Of ext4, xfs and btrfs, xfs leaves the least, 78% of 384 MiB; all leave more
// of larger devices.
const usable = 0.75

// capacity is the size of a stack's source.
type capacity struct {
	source  string // its name
	sources int
	size    int64 // of all sources
	usable  int64 // by files
}

// roomOf returns the room of a stack on sources of a declared size. A device's
// size is only known on the host, and compared there.
func (p *parser) roomOf(s Stack) (r capacity, ok bool) {
	defs, _ := s.Line.Resolve(p.Catalog)
	option, ok := defs[0].Option("size")
	if !ok || option.Value != line.Size {
		return r, false
	}
	size, err := field.Bytes.Parse(defs[0].Setting(s.Line.Nodes[0], "size"))
	if err != nil {
		return r, false
	}
	// Each device gets as much as the smallest one holds.
	sources := s.Line.Sources()
	if slices.ContainsFunc(sources, func(n line.Node) bool { return n.Name != sources[0].Name }) {
		return r, false
	}
	for _, source := range sources[1:] {
		other, err := field.Bytes.Parse(defs[0].Setting(source, "size"))
		if err == nil {
			size = min(size, other)
		}
	}
	size *= int64(len(sources))
	r = capacity{source: sources[0].Name, sources: len(sources), size: size, usable: size}
	if slices.ContainsFunc(defs, func(d line.Def) bool { return d.Below == line.Block }) {
		r.usable = int64(float64(size) * usable)
	}
	if slices.ContainsFunc(defs, func(d line.Def) bool { return d.Gives == line.Pool }) {
		r.usable = int64(float64(r.usable) * usable) // a file system on a pool that must not fill up
	}
	return r, true
}

// tooSmall reports the contents that need more than a stack has room for. total is what all contents need there.
func (p *parser) tooSmall(n *yaml.Node, s Stack, r capacity, contents string, need, total int64) {
	p.Problem(n,
		fmt.Sprintf("stack %s is too small for %s: it needs %s, and %s of %s can be used",
			s.Name, contents, approximately(need), approximately(r.usable), units.FormatSize(r.size)),
		fmt.Sprintf("write %s(size=%s) or more, or give the workload a smaller size", r.source,
			sufficientSize(total, r.usable, r.size, r.sources)))
}

// checkTarget adds a problem if a workload cannot run on a stack.
func (p *parser) checkTarget(n *yaml.Node, s Stack, w Workload, target workload.Target) {
	_, err := w.Drive(target, w.Timing(p.e.Timing))
	if no := problem.Of(err); no != nil {
		p.Problem(n, fmt.Sprintf("workload %s cannot run on stack %s: %s", w.Name, s.Name, no.Why), no.Remedy)
	}
}

// approximately prints a size in whole MiB when it is large.
func approximately(bytes int64) string {
	const mib = 1 << 20
	if bytes > mib {
		bytes -= bytes % mib
	}
	return units.FormatSize(bytes)
}

// sufficientSize returns a size, in whole MiB, of a source with room for need bytes.
func sufficientSize(need, room, size int64, sources int) string {
	const mib = 1 << 20
	if room != size {
		need = int64(float64(need)*float64(size)/float64(room)) + 1
	}
	need = (need + int64(sources) - 1) / int64(sources)
	return units.FormatSize((need + mib - 1) / mib * mib)
}

// text reads a text that is not empty.
func (p *parser) text(n *yaml.Node, key string) string {
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		p.Problem(n, fmt.Sprintf("%s is a text, not %s", key, describe(n)), "")
	case n.Tag != "!!str":
		p.Problem(n, fmt.Sprintf("%s is a text, not %s", key, describe(n)), fmt.Sprintf("write it in quotes: %q", n.Value))
	case strings.TrimSpace(n.Value) == "":
		p.Problem(n, key+" is empty", "")
	default:
		return strings.TrimSpace(n.Value)
	}
	return ""
}

func (p *parser) name(n *yaml.Node, key string) string {
	text := p.text(n, key)
	if text != "" {
		p.checkName(n, key)
	}
	return text
}

func (p *parser) checkName(n *yaml.Node, what string) {
	if !nameRegexp.MatchString(n.Value) {
		p.Problem(n, fmt.Sprintf("%s cannot be %q", what, n.Value),
			"it becomes part of file names: up to 64 letters, digits and - _ . with a letter or digit first")
	}
}
