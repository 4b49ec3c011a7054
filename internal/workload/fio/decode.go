package fio

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// Kind is fio's entry in the table of workloads.
var Kind = workload.Kind{
	Name:    name,
	Summary: "fio, from a few options or from a job file of your own",
	Decode:  decode,
	Schema:  schema,
}

// decode reads the YAML below the key "fio". It goes on after a problem, so
// that all of them come at once.
func decode(node *yaml.Node, open func(string) ([]byte, error)) (workload.Workload, problem.List) {
	d := decoder{p: defaults()}
	if node.Kind != yaml.MappingNode {
		d.Problem(node, "fio needs options", "write them below it, for example: {rw: randread, size: 1GiB}")
		return nil, d.Problems
	}
	d.read(node)
	if d.Has("file") {
		return d.userFile(open)
	}
	if d.Has("env") {
		d.problem(d.Line["env"], "env has no effect without file", "leave it out")
	}
	d.check(node.Line)
	if len(d.Problems) > 0 {
		return nil, d.Problems.Sorted()
	}
	declared, err := yaml.Marshal(node)
	if err != nil {
		d.Problem(node, "these options of fio cannot be written back: "+err.Error(), "")
		return nil, d.Problems
	}
	return &builtin{Params: d.p, declared: string(declared)}, nil
}

// decoder collects options and problems.
type decoder struct {
	field.Reader
	field.Given
	p Params
}

func (d *decoder) read(node *yaml.Node) { d.Given = options.Decode(&d.Reader, node, name, &d.p) }

func (d *decoder) problem(line int, what, remedy string) { d.Problems.InLine(line, what, remedy) }

// check checks options against each other. Options that could not be read have their defaults here, so that one
// mistake causes one problem.
func (d *decoder) check(line int) {
	p := d.p
	if !d.Has("rw") {
		d.problem(line, "fio lacks rw", "write one of randread, randwrite, read, write, randrw, rw; or file: for a "+
			"job file of your own")
	}
	if !d.Has("size") {
		d.problem(line, "fio lacks size", "write how large the file is; larger than every cache that is not to answer")
	}
	if d.Good["size"] && d.Good["bs"] == d.Has("bs") {
		d.checkSize(p)
	}
	if buffers := int64(p.Jobs) * int64(p.IODepth) * p.BS; buffers > maxBuffers {
		d.problem(line, fmt.Sprintf("jobs x iodepth x bs takes %s of memory for buffers alone", formatSize(buffers)),
			fmt.Sprintf("stay below %s", formatSize(maxBuffers)))
	}
	if d.Has("rwmixread") && d.Good["rw"] && !mixed(p.RW) {
		d.problem(d.Line["rwmixread"], "rwmixread has no effect on "+p.RW, "leave it out, or write rw: randrw or rw")
	}
	for _, s := range p.syncs() {
		if s.interval > 0 && d.Good["rw"] && !writes(p.RW) {
			d.problem(d.Line[s.key], s.key+" has no effect on "+p.RW+", which writes nothing", "leave it out")
		}
	}
	if p.Fsync > 0 && p.Fdatasync > 0 {
		d.problem(d.Line["fdatasync"], "fdatasync does not go with fsync: fio counts both as one", "leave one of both out")
	}
	d.checkRate()
	if p.Cache == warm && p.Direct {
		d.problem(d.Line["cache"], "cache: warm has no effect: direct goes past the page cache",
			"write direct: false, or leave cache out")
	}
	if p.IODepth > 1 && synchronous(p.Engine) {
		d.problem(d.Line["iodepth"],
			fmt.Sprintf("iodepth %d has no effect: engine %s does one I/O at a time", p.IODepth, p.Engine),
			"use more jobs, or engine libaio or io_uring")
	}
	if p.IODepth > 1 && p.ThinkTime > 0 {
		d.problem(d.Line["thinktime"], fmt.Sprintf("thinktime does not go with iodepth %d: a job waits for one I/O "+
			"at a time", p.IODepth), "use more jobs, each with an iodepth of 1")
	}
	if p.IODepth > 1 && p.Engine == "libaio" && !p.Direct {
		d.problem(d.Line["iodepth"], fmt.Sprintf("iodepth %d has no effect: without direct, libaio finishes each I/O "+
			"before it takes the next", p.IODepth), "use more jobs, or engine io_uring, or direct: true")
	}
}

// checkRate checks the rate of an open loop.
func (d *decoder) checkRate() {
	p, line := d.p, d.Line["rate"]
	if p.Rate == 0 {
		return
	}
	perJob := p.Rate / float64(p.Jobs)
	switch {
	case perJob != math.Trunc(perJob):
		d.problem(line, fmt.Sprintf("rate %v is no multiple of %d jobs, and fio takes whole requests per second of each",
			p.Rate, p.Jobs), fmt.Sprintf("write %v", max(1, math.Round(perJob))*float64(p.Jobs)))
	case perJob > maxJobRate:
		d.problem(line,
			fmt.Sprintf("rate %v is %v of each job, and fio keeps %d at most exactly", p.Rate, perJob, maxJobRate),
			fmt.Sprintf("write jobs: %v", math.Ceil(p.Rate/maxJobRate)))
	}
	if mixed(p.RW) {
		d.problem(line, "rate does not go with "+p.RW+": fio has a rate of reads and one of writes",
			"write two workloads, one of reads and one of writes")
	}
	if p.ThinkTime > 0 {
		d.problem(d.Line["thinktime"], "thinktime does not go with rate: requests begin when they are due",
			"leave one of both out")
	}
}

func (d *decoder) checkSize(p Params) {
	switch line := d.Line["size"]; {
	case p.Size%p.BS != 0:
		d.problem(line, fmt.Sprintf("size of %s is no multiple of bs, %s", formatSize(p.Size), formatSize(p.BS)),
			"write "+units.FormatSize(roundUp(p.Size, p.BS))+", or count in KiB, MiB or GiB")
	case d.Good["rw"] && p.region() < p.BS:
		d.problem(line, fmt.Sprintf("size of %s is too small: each of %d sequential jobs has a region of its own, "+
			"and a block of %s does not fit", formatSize(p.Size), p.Jobs, formatSize(p.BS)),
			"write at least "+units.FormatSize(int64(p.Jobs)*p.BS))
	}
}

// userFile parses the job file that the option file names.
func (d *decoder) userFile(open func(string) ([]byte, error)) (workload.Workload, problem.List) {
	line := d.Line["file"]
	for _, key := range options.Keys() {
		if key != "file" && key != "env" && d.Has(key) {
			d.problem(d.Line[key], key+" cannot be given with file", "set it in the job file, or leave file out")
		}
	}
	if d.p.File == "" {
		return nil, d.Problems.Sorted()
	}
	text, err := open(d.p.File)
	if err != nil {
		d.problem(line, fmt.Sprintf("the job file %s cannot be read: %v", d.p.File, err),
			"file is relative to the experiment file")
		return nil, d.Problems.Sorted()
	}
	w, mistakes := newUserFile(source{name: d.p.File, text: text, env: d.p.Env, open: open})
	for _, m := range mistakes {
		d.problem(line, fmt.Sprintf("%s:%d: %s", d.p.File, m.At.Line, m.What), m.Remedy)
	}
	if len(d.Problems) > 0 {
		return nil, d.Problems.Sorted()
	}
	return w, nil
}
