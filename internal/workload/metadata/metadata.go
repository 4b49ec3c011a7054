// Package metadata is the workload kind "metadata": many small files that are created, looked at and unlinked. The
// generator of package loadgen does so, in the place of the instance; fio has no engine that syncs what it creates,
// or goes on for a given time. The package is pure.
package metadata

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// Kind is the entry in the table of workloads.
var Kind = workload.Kind{
	Name:    name,
	Summary: "many small files that are created, looked at and unlinked",
	Decode: func(node *yaml.Node, _ func(string) ([]byte, error)) (workload.Workload, problem.List) {
		return decode(node)
	},
	Schema: func() *jsonschema.Schema {
		p := defaults()
		return parameters.Schema(&p)
	},
}

const name = "metadata"

// Base names of the files of steps.
const (
	fillName   = "fill.json"
	planName   = "load.json"
	outputName = "load.ndjson"
	gateName   = "gate"
)

// Params are the parameters in an experiment file.
type Params struct {
	Files   int
	Size    int64
	Threads int
	Lookups float64
	// Overwrites is the share of operations that write to a file that is there.
	Overwrites float64
	Fsync      bool
	Runtime    time.Duration  // 0: the experiment's
	Ramp       *time.Duration // nil: the experiment's
}

const maxThreads = 1024

var parameters = field.Table[Params]{
	field.Of("files", "that are there when a trial begins, of all threads together; their number stays the same",
		field.Count(1, ycsb.MaxFiles).Like("10000"), func(p *Params) *int { return &p.Files }),
	field.Of("size", "bytes of each file", field.Size(0, ycsb.MaxFileBytes).Like("4KiB"),
		func(p *Params) *int64 { return &p.Size }),
	field.Of("threads", "each with a separate directory, and one operation at a time", field.Count(1, maxThreads),
		func(p *Params) *int { return &p.Threads }),
	field.Of(
		"lookups",
		"share of operations that look at a file that is there: half of them stat it, half open, read and "+
			"close it. The others create a file and unlink the oldest, alternately",
		field.Share("50%", "from 0% to 100%",
			func(share float64) bool { return share >= 0 && share <= 1 }),
		func(p *Params) *float64 { return &p.Lookups },
	),
	field.Of("overwrites",
		"share of operations that open a file, write its first 4 KiB and close it, one file after the other. At 100% the "+
			"workload ends after the first write of each file",
		field.Share("0%", "from 0% to 100%", func(share float64) bool { return share >= 0 && share <= 1 }),
		func(p *Params) *float64 { return &p.Overwrites }),
	field.Of("fsync", "whether each file that is created is synced before it is closed", field.Switch,
		func(p *Params) *bool { return &p.Fsync }),
	field.Of("runtime", "measured time; overrides the experiment's",
		field.Duration(time.Millisecond, 24*time.Hour).Like("30s"), func(p *Params) *time.Duration { return &p.Runtime }),
	field.Maybe("ramp", "time before the measured time; overrides the experiment's",
		field.Duration(0, 24*time.Hour).Like("5s"), func(p *Params) **time.Duration { return &p.Ramp }),
}

func defaults() Params {
	return Params{Files: 10000, Size: 4096, Threads: 4, Lookups: 0.5, Fsync: true}
}

func decode(node *yaml.Node) (workload.Workload, problem.List) {
	p := defaults()
	var r field.Reader
	given := parameters.Decode(&r, node, name, &p)
	if p.Files < p.Threads && len(r.Problems) == 0 {
		line := given.Line["files"]
		if line == 0 {
			line = given.Line["threads"]
		}
		r.Problems.InLine(line, fmt.Sprintf("%s for %s: each thread needs one", plural.Count(p.Files, "file"),
			plural.Count(p.Threads, "thread")), "write more files, or fewer threads")
	}
	if p.Lookups+p.Overwrites > 1+1e-9 && len(r.Problems) == 0 {
		r.Problems.InLine(given.Line["overwrites"], fmt.Sprintf("lookups of %s and overwrites of %s are more than all",
			units.Percent(p.Lookups), units.Percent(p.Overwrites)), "write shares of 100% together, or less")
	}
	declared, err := yaml.Marshal(node)
	if err != nil {
		r.Problem(node, "these parameters cannot be written back: "+err.Error(), "")
	}
	return &files{p, string(declared)}, r.Problems
}

// files is a declared workload.
type files struct {
	Params
	declared string
}

// Info implements workload.Workload.
func (w *files) Info() result.Workload {
	return result.Workload{Kind: name, Summary: w.summary(), Declared: w.declared}
}

// summary is the workload in one line.
func (w *files) summary() string {
	changes := "without fsync"
	if w.Fsync {
		changes = "fsync of each"
	}
	text := fmt.Sprintf("%s of %s, %s", plural.Count(w.Files, "file"), units.FormatSize(w.Size),
		plural.Count(w.Threads, "thread"))
	if w.Lookups > 0 {
		text += fmt.Sprintf(", %s stat and open", units.Percent(w.Lookups))
	}
	if w.Overwrites > 0 {
		text += fmt.Sprintf(", %s overwrite", units.Percent(w.Overwrites))
	}
	if changing := 1 - w.Lookups - w.Overwrites; changing > 1e-9 {
		text += fmt.Sprintf(", %s create and unlink, %s", units.Percent(changing), changes)
	}
	return text
}

// Space that a file takes beside its bytes, and in which bytes are counted.
const (
	inodeBytes = 1 << 10
	blockBytes = 4 << 10
)

// NeedBytes implements workload.Workload.
func (w *files) NeedBytes() int64 {
	blocks := (w.Size + blockBytes - 1) / blockBytes
	return int64(w.Files+w.Threads) * (blocks*blockBytes + inodeBytes)
}

// Layout implements workload.Workload.
func (w *files) Layout() string {
	return fmt.Sprintf("plimsoll-files-%dx%dx%d", w.Threads, w.Files, w.Size)
}

// Timing implements workload.Workload.
func (w *files) Timing(experiment workload.Timing) workload.Timing {
	t := experiment
	if w.Runtime > 0 {
		t.Runtime = w.Runtime
	}
	if w.Ramp != nil {
		t.Ramp = *w.Ramp
	}
	return t
}

// fits refuses what has no files, or no room for them.
func (w *files) fits(target workload.Target) error {
	if target.Block {
		return failure("files have names in a file system, and this stack is a bare device without one",
			"put a file system on it, for example > xfs, or leave the stack out of this workload with only")
	}
	if need := w.NeedBytes(); target.SizeBytes > 0 && need > target.SizeBytes {
		return failure(fmt.Sprintf("the files take %d bytes, and %d may be written there", need, target.SizeBytes),
			"give the stack a larger size or the workload fewer files")
	}
	return nil
}

// plan returns what the generator does on a target.
func (w *files) plan(target workload.Target) *ycsb.Plan {
	return &ycsb.Plan{
		Files: &ycsb.Files{Dir: path.Join(target.Path, w.Layout()), Count: w.Files, Bytes: int(w.Size), Lookups: w.Lookups,
			Overwrites: w.Overwrites, Fsync: w.Fsync},
		Threads: w.Threads, Fresh: true, Runtime: time.Millisecond, Output: outputName,
	}
}

// Prepare creates the files.
func (w *files) Prepare(target workload.Target) (*workload.Step, error) {
	err := w.fits(target)
	if err != nil {
		return nil, err
	}
	return &workload.Step{
		Argv:  []string{workload.Self, "generate", "--load", workload.ScratchDir + "/" + fillName},
		Files: map[string][]byte{fillName: w.plan(target).Text()}, Outputs: []string{fillName},
	}, nil
}

// Drive is the measured step.
func (w *files) Drive(target workload.Target, t workload.Timing) (*workload.Step, error) {
	err := w.fits(target)
	if err != nil {
		return nil, err
	}
	plan := w.plan(target)
	if plan.Files.OnlyOverwrites() && t.Ramp > 0 {
		return nil, failure("overwrites of 100% end once each file had one, and the ramp would take them",
			"write ramp: 0s")
	}
	plan.Gate, plan.Ramp, plan.Runtime, plan.Sample = gateName, t.Ramp, t.Runtime, t.Sample
	step := &workload.Step{
		Argv:    []string{workload.Self, "generate", workload.ScratchDir + "/" + planName},
		Files:   map[string][]byte{planName: plan.Text(), gateName: []byte("go\n")},
		Outputs: []string{outputName},
		Gate:    gateName,
	}
	if t.Sample > 0 {
		step.Live = outputName
	}
	return step, nil
}

// Read implements workload.Workload. Of Prepare, it says why that failed.
func (w *files) Read(outputs map[string][]byte, exit workload.Exit) (result.Measurement, error) {
	if _, filled := outputs[fillName]; filled {
		if exit.Code == 0 {
			return result.Measurement{}, nil
		}
		return result.Measurement{}, failure("laying out the files failed: "+
			strings.TrimPrefix(strings.TrimSpace(exit.Stderr), workload.Self+": "), "")
	}
	watch := w.watch(workload.Timing{})
	watch.Feed(outputs[outputName])
	return watch.Read(exit, 0)
}

func (w *files) watch(workload.Timing) workload.Watch { return ycsb.WatchFiles(w.Threads) }

// Programs implements workload.Workload.
func (w *files) Programs() []string { return []string{workload.Self} }

// Abilities implements workload.Workload.
func (w *files) Abilities() workload.Abilities {
	return workload.Abilities{
		Watch: w.watch,
		Scaling: &workload.Scaling{
			Jobs:    w.Threads,
			Records: workload.Records{Count: int64(w.Files), Bytes: w.Size},
			To:      w.scale,
		},
		Metadata: true,
	}
}

// scale returns the workload with so many threads, and with so many files that their bytes are so many.
func (w *files) scale(jobs int, bytes int64) (workload.Workload, error) {
	values := map[string]string{}
	if jobs > 0 {
		values["threads"] = strconv.Itoa(jobs)
	}
	if bytes > 0 && w.Size > 0 {
		values["files"] = strconv.FormatInt((bytes-1)/w.Size+1, 10)
	}
	declared, err := workload.Redeclare(w.declared, values)
	if err != nil {
		return nil, err
	}
	scaled, problems := decode(declared)
	return scaled, problems.Unplaced().Err()
}

func failure(why, remedy string) *problem.Problem {
	return problem.New(problem.Failed, "", why, remedy)
}
