// Package workload names what drives load. A workload is pure: it writes the
// files and the command line of a step, and reads the step's output; the
// runner in internal/trial decides where the step runs, host or container.
//
// Each kind of workload has a folder of its own and is one entry of the table
// in internal/workload/kinds.
package workload

import (
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
)

// Target is what a stack offers to a workload.
type Target struct {
	Path      string // directory or block device, as the workload's process sees it
	Block     bool   // Path is a block device
	SizeBytes int64  // what may be written there
	Container bool   // the process runs in a container
}

// Timing is how long a trial measures.
type Timing struct {
	Ramp    time.Duration // not measured, directly before Runtime
	Runtime time.Duration // measured; the most of it, for a step that is watched

	// Sample asks for a step that can be watched, and says how often it is to
	// tell of itself; 0 for one that is not. Only Watchable workloads heed it.
	Sample time.Duration
}

// ScratchDir is the placeholder in Argv for the directory that holds a step's
// files and outputs, as the step's process sees it.
const ScratchDir = "@scratch@"

// Step is one process to run on a target.
type Step struct {
	Argv    []string          // Argv[0] is a program name, found in PATH; ScratchDir is replaced in every word
	Files   map[string][]byte // written to the scratch directory before the start, by base name
	Outputs []string          // base names of what the process leaves in the scratch directory
	Dir     string            // working directory; "" for the scratch directory
	Live    string            // one of Outputs, when the process appends to it while it runs and SIGINT ends it well; "" otherwise
}

// Exit is how a step's process ended.
type Exit struct {
	Code      int    // exit code; 128+n when signal n ended it
	Signal    string // "killed"; "" when it exited by itself
	OOMKilled bool   // the kernel's OOM killer ended a process of the step
	Asked     bool   // the process was asked to end, with SIGINT, and did: Code and Signal are what it makes of that
	Stderr    string // last 8 KiB
}

// Workload is one declared workload.
type Workload interface {
	// Info describes the workload for results and reports, without its name.
	Info() result.Workload
	// NeedBytes is the space that the workload's files take on a target.
	NeedBytes() int64
	// Layout names the files. On a file system, workloads of the same layout
	// share them, and those of another one lie beside them.
	Layout() string
	// Timing resolves the workload's own times against the experiment's.
	Timing(experiment Timing) Timing
	// Prepare lays out the files that Drive uses, so that no measured I/O
	// meets an unwritten extent. It returns nil when there is nothing to do.
	Prepare(Target) (*Step, error)
	// Drive is the measured step.
	Drive(Target, Timing) (*Step, error)
	// Read turns the outputs of Drive into a measurement. A process that
	// failed, was killed, or reported an error inside its output gives a
	// *Error that names cause and remedy.
	Read(outputs map[string][]byte, exit Exit) (result.Measurement, error)
	// Programs names the programs that steps start ("fio").
	Programs() []string
}

// Watchable is a workload whose measured step can be followed while it runs,
// and be ended before its time.
type Watchable interface {
	Workload
	// Watch follows one process of a step that Drive made for this Timing, whose
	// Sample is above 0.
	Watch(Timing) Watch
}

// Scalable is a workload whose load can be made to fit a host.
type Scalable interface {
	Workload
	// NumJobs is how many threads or processes do I/O at the same time.
	NumJobs() int
	// Scale gives the workload with so many jobs, on a file of so many bytes; 0
	// leaves either as it is. The error tells why there can be no such one.
	Scale(jobs int, bytes int64) (Workload, error)
}

// Filler is a workload that can write all of a block device.
type Filler interface {
	// Fill writes the target, a block device, once from start to end.
	Fill(Target) (*Step, error)
	// Filled reads the outputs of Fill; like Workload.Read, it gives a *Error
	// when the process failed.
	Filled(outputs map[string][]byte, exit Exit) error
}

// Watch follows one process. It is not safe for concurrent use.
type Watch interface {
	// Feed takes what the process appended to its step's Live output, and gives
	// the rates, in I/Os per second, of the intervals that it completes: each of
	// about Sample. The ramp gives none.
	Feed(appended []byte) []float64
	// Whole is as Workload.Read once the process ended: what it did in all its
	// time, the ramp included.
	Whole(exit Exit) (result.Measurement, error)
	// Read is Whole without the ramp and without the first warmup intervals
	// after it, a multiple of WarmupUnit.
	Read(exit Exit, warmup int) (result.Measurement, error)
	// Final is the output at the end of the process, without what it said
	// before.
	Final() []byte
}

// WarmupUnit is the granularity, in intervals, at which a Watch can leave out
// a beginning.
const WarmupUnit = 5

// Kind is one kind of workload: the key that selects it in an experiment
// file, and how its parameters are read.
type Kind struct {
	Name    string // "fio"
	Summary string
	// Decode reads the YAML below the key. Problems carry the line of the
	// offending node. dir is the experiment file's folder; open reads a file
	// that the parameters name (a user's .fio), relative to it.
	Decode func(node *yaml.Node, open func(name string) ([]byte, error)) (Workload, []Problem)
	// Params is a zero value of the Go type that the YAML decodes to; the
	// JSON Schema of experiment files is generated from it.
	Params any
}

// Problem is something wrong with a declaration, at a line of its file.
type Problem struct {
	Line   int
	What   string // "unknown option \"iodpeth\" of fio"
	Remedy string // "did you mean \"iodepth\"?"
}

// Error is why a step gave no measurement.
type Error struct{ result.Problem }

func (e *Error) Error() string {
	s := e.What + ": " + e.Why
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}
