package fio

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/suggest"
	"plimsoll/internal/workload"
)

// Kind is fio's entry in the table of workloads.
var Kind = workload.Kind{
	Name:    name,
	Summary: "fio, from a few options or from a job file of your own",
	Decode:  decode,
	Params:  Params{},
}

// bounds of what a trial may last.
const (
	minRuntime = 100 * time.Millisecond
	maxRuntime = 24 * time.Hour
)

// decode reads the YAML below the key "fio". It goes on after a problem, so
// that all of them come at once.
func decode(node *yaml.Node, open func(string) ([]byte, error)) (workload.Workload, problem.List) {
	d := decoder{p: defaults(), line: map[string]int{}, good: map[string]bool{}}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		d.problem(node.Line, "fio needs options", "write them below it, for example: {rw: randread, size: 1GiB}")
		return nil, d.problems
	}
	d.mapping(node)
	if d.given("file") {
		return d.userFile(open)
	}
	d.check(node.Line)
	if len(d.problems) > 0 {
		return nil, d.problems.Sorted()
	}
	declared, err := yaml.Marshal(node)
	if err != nil {
		d.problem(node.Line, "these options of fio cannot be written back: "+err.Error(), "")
		return nil, d.problems
	}
	w := &builtin{Params: d.p, declared: string(declared)}
	if d.given("ramp") {
		ramp := time.Duration(d.p.Ramp)
		w.ramp = &ramp
	}
	return w, nil
}

// decoder collects options and problems.
type decoder struct {
	p        Params
	line     map[string]int  // of each option given
	good     map[string]bool // given, and its value could be read
	problems problem.List
}

func (d *decoder) problem(line int, what, remedy string) {
	d.problems.InLine(line, what, remedy)
}

func (d *decoder) given(key string) bool { return d.line[key] > 0 }

// option is how the value of one key is read.
type option struct {
	key  string
	read func(*decoder, *yaml.Node) error
}

// options are all keys, in the order of Params and of the documentation.
var options = []option{
	{"rw", oneOf(func(p *Params) *string { return &p.RW }, patterns)},
	{"bs", size(func(p *Params) *Size { return &p.BS })},
	{"jobs", count(func(p *Params) *int { return &p.Jobs }, 1, 1024)},
	{"iodepth", count(func(p *Params) *int { return &p.IODepth }, 1, 4096)},
	{"size", size(func(p *Params) *Size { return &p.Size })},
	{"direct", func(d *decoder, n *yaml.Node) error {
		if n.Tag != "!!bool" {
			return fmt.Errorf("write true or false")
		}
		return n.Decode(&d.p.Direct)
	}},
	{"engine", oneOf(func(p *Params) *string { return &p.Engine }, engines)},
	{"rwmixread", count(func(p *Params) *int { return &p.RWMixRead }, 1, 99)},
	{"cache", oneOf(func(p *Params) *string { return &p.Cache }, caches)},
	{"thinktime", duration(func(p *Params) *Duration { return &p.ThinkTime }, time.Millisecond)},
	{"runtime", duration(func(p *Params) *Duration { return &p.Runtime }, minRuntime)},
	{"ramp", duration(func(p *Params) *Duration { return &p.Ramp }, 0)},
	{"file", func(d *decoder, n *yaml.Node) error {
		if n.Value == "" {
			return fmt.Errorf("write the name of a job file")
		}
		d.p.File = n.Value
		return nil
	}},
}

func oneOf(field func(*Params) *string, known []string) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		if !slices.Contains(known, n.Value) {
			return fmt.Errorf("%s", suggest.DidYouMean(n.Value, known))
		}
		*field(&d.p) = n.Value
		return nil
	}
}

func size(field func(*Params) *Size) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := parseSize(n.Value)
		if err != nil {
			return err
		}
		*field(&d.p) = v
		return nil
	}
}

func count(field func(*Params) *int, low, high int) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if err != nil || v < low || v > high {
			return fmt.Errorf("write a whole number from %d to %d", low, high)
		}
		*field(&d.p) = v
		return nil
	}
}

func duration(field func(*Params) *Duration, low time.Duration) func(*decoder, *yaml.Node) error {
	return func(d *decoder, n *yaml.Node) error {
		v, err := parseDuration(n.Value)
		if err != nil {
			return err
		}
		if v < low || v > maxRuntime {
			return fmt.Errorf("write a time from %v to %v", low, maxRuntime)
		}
		if v%time.Millisecond != 0 {
			return fmt.Errorf("fio counts in milliseconds")
		}
		*field(&d.p) = Duration(v)
		return nil
	}
}

// mapping reads every key, known or not.
func (d *decoder) mapping(node *yaml.Node) {
	keys := make([]string, len(options))
	for i, o := range options {
		keys[i] = o.key
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		at := slices.Index(keys, key.Value)
		switch {
		case at < 0:
			d.problem(key.Line, fmt.Sprintf("unknown option %q of fio", key.Value), suggest.DidYouMean(key.Value, keys))
		case d.given(key.Value):
			d.problem(key.Line, fmt.Sprintf("%s is given twice", key.Value),
				fmt.Sprintf("the first is in line %d", d.line[key.Value]))
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			d.line[key.Value] = key.Line
			d.problem(key.Line, fmt.Sprintf("%s needs one value", key.Value), "")
		default:
			d.line[key.Value] = key.Line
			if err := options[at].read(d, value); err != nil {
				d.problem(value.Line, fmt.Sprintf("%s: %q cannot be used", key.Value, value.Value), err.Error())
				continue
			}
			d.good[key.Value] = true
		}
	}
}

// check looks at options together. Options that could not be read have their
// defaults here, so that one mistake gives one problem.
func (d *decoder) check(line int) {
	p := d.p
	if !d.given("rw") {
		d.problem(line, "fio lacks rw", "write one of randread, randwrite, read, write, randrw, rw; or file: for a "+
			"job file of your own")
	}
	if !d.given("size") {
		d.problem(line, "fio lacks size", "write how large the file is; larger than every cache that is not to answer")
	}
	if p.BS%512 != 0 || p.BS <= 0 || p.BS > Size(64*mib) {
		d.problem(d.line["bs"], fmt.Sprintf("bs of %s", p.BS),
			"write a multiple of 512 bytes from 512 to 64MiB: no device has smaller blocks")
		p.BS = defaults().BS
	} else if d.good["size"] {
		d.checkSize(p)
	}
	if buffers := int64(p.Jobs) * int64(p.IODepth) * int64(p.BS); buffers > maxBuffers {
		d.problem(line, fmt.Sprintf("jobs x iodepth x bs takes %s of memory for buffers alone", Size(buffers)),
			fmt.Sprintf("stay below %s", Size(maxBuffers)))
	}
	if d.given("rwmixread") && d.good["rw"] && !mixed(p.RW) {
		d.problem(d.line["rwmixread"], "rwmixread has no effect on "+p.RW, "leave it out, or write rw: randrw or rw")
	}
	if p.Cache == warm && p.Direct {
		d.problem(d.line["cache"], "cache: warm has no effect: direct goes past the page cache",
			"write direct: false, or leave cache out")
	}
	if p.IODepth > 1 && synchronous(p.Engine) {
		d.problem(d.line["iodepth"],
			fmt.Sprintf("iodepth %d has no effect: engine %s does one I/O at a time", p.IODepth, p.Engine),
			"use more jobs, or engine libaio or io_uring")
	}
	if p.IODepth > 1 && p.ThinkTime > 0 {
		d.problem(d.line["thinktime"], fmt.Sprintf("thinktime does not go with iodepth %d: a job waits for one I/O "+
			"at a time", p.IODepth), "use more jobs, each with an iodepth of 1")
	}
	if p.IODepth > 1 && p.Engine == "libaio" && !p.Direct {
		d.problem(d.line["iodepth"], fmt.Sprintf("iodepth %d has no effect: without direct, libaio finishes each I/O "+
			"before it takes the next", p.IODepth), "use more jobs, or engine io_uring, or direct: true")
	}
}

func (d *decoder) checkSize(p Params) {
	switch line := d.line["size"]; {
	case p.Size <= 0:
		d.problem(line, "size is 0", "write how large the file is")
	case p.Size%p.BS != 0:
		d.problem(line, fmt.Sprintf("size of %s is no multiple of bs, %s", p.Size, p.BS),
			fmt.Sprintf("write %d", roundUp(int64(p.Size), int64(p.BS))))
	case d.good["rw"] && p.region() < int64(p.BS):
		d.problem(line, fmt.Sprintf("size of %s is too small: each of %d sequential jobs has a region of its own, "+
			"and a block of %s does not fit", p.Size, p.Jobs, p.BS), fmt.Sprintf("write at least %d", int64(p.Jobs)*int64(p.BS)))
	}
}

// userFile goes on with the job file that the option file names.
func (d *decoder) userFile(open func(string) ([]byte, error)) (workload.Workload, problem.List) {
	line := d.line["file"]
	for _, o := range options {
		if o.key != "file" && d.given(o.key) {
			d.problem(d.line[o.key], o.key+" cannot stand beside file", "set it in the job file, or leave file out")
		}
	}
	if d.p.File == "" {
		return nil, d.problems.Sorted()
	}
	text, err := open(d.p.File)
	if err != nil {
		d.problem(line, fmt.Sprintf("the job file %s cannot be read: %v", d.p.File, err),
			"file is relative to the experiment file")
		return nil, d.problems.Sorted()
	}
	w, mistakes := newUserFile(d.p.File, text)
	for _, m := range mistakes {
		d.problem(line, fmt.Sprintf("%s:%d: %s", d.p.File, m.At.Line, m.What), m.Remedy)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.Sorted()
	}
	return w, nil
}
