// Package workload names what drives load. A workload is pure: it writes the
// files and the command line of a step, and reads the step's output; the
// runner in internal/trial decides where the step runs, host or container.
//
// Each kind of workload has a folder of its own and is one entry of the table
// in internal/workload/kinds.
package workload

import (
	"slices"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// Target describes the stack to a workload.
type Target struct {
	Path      string // directory or block device, as the workload's process sees it
	Block     bool   // Path is a block device
	SizeBytes int64  // what may be written there
	Container bool   // the process runs in a container
	Elsewhere bool   // the measured server was started by somebody else
}

// Timing is the length of a measurement.
type Timing struct {
	Ramp    time.Duration // not measured, directly before Runtime
	Runtime time.Duration // measured; the most of it, for a step that is watched

	// Sample is the interval at which a watched step reports; 0 for a step that is not watched. Only workloads with
	// the ability Watch use it.
	Sample time.Duration
}

// ScratchDir is the placeholder in Argv for the directory that holds a step's
// files and outputs, as the step's process sees it.
const ScratchDir = "@scratch@"

// ImageDir is the placeholder in Argv of a step on the host for the directory that an image's
// root file system is in.
const ImageDir = "@image@"

// NetworkFile is the placeholder in Argv of a step on the host for the file of the network
// namespace that the instance's server is in.
const NetworkFile = "@network@"

// ServerDir is the base name of the directory of a server from an image, in its scratch
// directory: it belongs to the server's account, and has the socket.
const ServerDir = "server"

// Self is the program name that stands for this program itself, in Argv and Programs:
// the load generator and the embedded server are subcommands of it.
const Self = "plimsoll"

// Step is one process to run on a target.
type Step struct {
	// names files kept from the step beside its outputs: "server"; "" for the measured step
	Name    string
	Argv    []string          // Argv[0] is a program name, found in PATH; ScratchDir is replaced in every word
	Files   map[string][]byte // written to the scratch directory before the start, by base name
	Outputs []string          // base names of files that the process leaves in the scratch directory
	Dir     string            // working directory; "" for the scratch directory
	// one of Outputs, when the process appends to it while it runs and SIGINT ends it well; "" otherwise
	Live string
	// Kept is the path, in the root of the process's image, of a file that it starts faster with and that an earlier
	// step left; words of Argv that name it are left out where it is not there. "" for none.
	Kept string
	// Gate is one of Files, when the process reads it first and begins only then; ""
	// otherwise.
	Gate string
	// Credentials is the source of the process's standard input: "env:NAME" or "file:PATH"; "" for nothing.
	Credentials string
	// Of what runs until it is asked to end:
	Ends     string        // the signal that ends it well: "INT"; "" for "TERM"
	EndCodes []int         // exit codes that are accepted then, beside 0
	Patience time.Duration // how long it may take until it is ready; 0 for DefaultPatience
	// Warms reports whether the process gets faster under load for longer than a ramp takes, as with just-in-time
	// compilation.
	Warms bool
	// Starts is a rough estimate of the start-up time on a host of two slow cores that starts others at the same
	// time.
	Starts time.Duration
}

// DefaultPatience bounds the start of a server that sets no limit: it may have to read its log first.
const DefaultPatience = 2 * time.Minute

// Awaited bounds the time until the step's process is ready.
func (s *Step) Awaited() time.Duration {
	if s.Patience > 0 {
		return s.Patience
	}
	return DefaultPatience
}

// EndedWell reports whether an exit code is that of a process which ended well when it was asked to.
func EndedWell(code int, codes []int) bool { return code == 0 || slices.Contains(codes, code) }

// Exit is the exit status of a step's process.
type Exit struct {
	Code      int    // exit code; 128+n when signal n ended it
	Signal    string // "killed"; "" when it exited by itself
	OOMKilled bool   // the kernel's OOM killer ended a process of the step
	Asked     bool   // the process was asked to end, with SIGINT, which Code and Signal are then the result of
	Stderr    string // last 32 KiB
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
	// *problem.Problem that names cause and remedy.
	Read(outputs map[string][]byte, exit Exit) (result.Measurement, error)
	// Programs names the programs that steps start ("fio").
	Programs() []string
	// Abilities returns what else it can do.
	Abilities() Abilities
}

// Abilities are the optional parts of a workload; nil for one that it lacks.
type Abilities struct {
	// Watch follows one process of a step that Drive made for this Timing, whose
	// Sample is above 0, and which can be ended before its time.
	Watch func(Timing) Watch

	// Warm reads the data of the measured step through the page cache, in order, so that a trial does not begin with
	// an empty one. It returns nil when the workload bypasses the cache, or does not read.
	Warm func(Target) (*Step, error)

	Scaling *Scaling  // its load can be made to fit a host
	Filling *Filling  // it can write all of a block device
	Asking  *Question // the installed program knows more than we do of the user's own file
	Serving *Serving  // it drives a server of its own

	// Metadata reports whether its operations are on names and inodes, which a file system has in memory and journals.
	Metadata bool

	Elsewhere *Elsewhere // it drives a server that somebody else started

	// Phases replace the workload where the user's file declares several that run one after another.
	Phases []Phase
	// Notes list changes to the user's own file, with reasons.
	Notes []string
}

// Phase is a workload that a workload declares.
type Phase struct {
	Name     string // of a section of the user's file
	Workload Workload
}

// Elsewhere is the server that a workload drives, where somebody else started it.
type Elsewhere struct {
	Server string // where it is, or where that is said
	// Credentials is the source of the driver's secret: "env:NAME" or "file:PATH"; "" for none.
	Credentials string
	// Makes is the schema that Prepare makes there and fills; "" where records are read that are there.
	Makes string
	// Replace permits removing an existing object of that name.
	Replace func()
}

// Serving is the server that a workload drives. It runs in the instance's place and
// under its limits; what Drive made then runs beside it on the host, outside of those
// limits, in the same scratch directory.
type Serving struct {
	// Data is the base name of the directory, below the target's path, that Prepare makes
	// and that the server serves. It can be copied while no server has it open.
	Data string
	// Content describes everything that the data depends on: equal texts mean equal data.
	Content string
	// Image is the server's image; nil for this program.
	Image *Image
	// Bytes is the space that it takes while no server has it open.
	Bytes int64
	// MergeBytes is the room in which it rewrites its largest files at once, beyond NeedBytes; 0 for none. Servers on one
	// drive have it together.
	MergeBytes int64
	// Layout is what the server has the defaults of; nil for Plimsoll's own.
	Layout *ServerLayout
	// ReadOnly reports whether the load leaves the data unchanged, so that the next trial can start with it.
	ReadOnly bool
	// Warms is Step.Warms of the server. If the load is read-only, the server has a network namespace of its own, and
	// stays up between trials.
	Warms bool
	// Starts is Step.Starts of the server.
	Starts time.Duration
	// Serve is the server's process.
	Serve func(Target) (*Step, error)
	// Ready is a process on the host that ends well as soon as the server answers.
	Ready func(Target) (*Step, error)
	// Said parses the outputs of Ready: the server's version, "" if unknown, and its values of options that were set
	// beyond its parameters.
	Said func(outputs map[string][]byte) (version string, settings map[string]string)
	// Check returns a process that runs on the host after the measurement, alone, and fails if the data is damaged;
	// nil for none.
	Check func(Target) (*Step, error)
	// Failed explains the end of a server, or of the process of Prepare, from an Exit that is a failure.
	Failed func(Exit) *problem.Problem
}

// ServerLayout describes whose defaults a server's parameters have.
type ServerLayout struct {
	Server    string // "Cassandra"
	Version   string // "2.1"
	Differs   []string
	IsDefault func(parameter string) bool // reports whether a parameter has the layout's value
}

// Image identifies the container image of a server.
type Image struct {
	Name    string // of one that is kept
	Make    string // how to get one, where none is kept
	Account string // that its programs run as, by its name in the image

	Major  int    // the oldest major version that has Option; 0 for any
	Option string // that needs that version, as the file has it: "io_method: io_uring"
	// Rings is the number of rings of io_uring that the server makes, 0 for none. Docker's default profile refuses them
	// from version 25 on.
	Rings int
}

// ImageOf returns the image of the server that a workload drives; nil for none.
func ImageOf(w Workload) *Image {
	if serving := w.Abilities().Serving; serving != nil {
		return serving.Image
	}
	return nil
}

// Records is the size of a database: the number of records, and the bytes of values in each.
type Records struct{ Count, Bytes int64 }

// Scaling fits a workload's load to a host.
type Scaling struct {
	Jobs    int     // threads or processes that do I/O at the same time
	Records Records // size of the data; zero for a workload without records
	// To returns the workload with so many jobs, on a file of so many bytes; 0
	// leaves either as it is. The error is why there can be no such one.
	To func(jobs int, bytes int64) (Workload, error)
}

// Filling writes a whole block device.
type Filling struct {
	// Fill writes the target, a block device, once from start to end.
	Fill func(Target) (*Step, error)
	// Filled checks the outputs of Fill; like Workload.Read, it returns a *problem.Problem when the process failed.
	Filled func(outputs map[string][]byte, exit Exit) error
}

// Watch follows one process. It is not safe for concurrent use.
type Watch interface {
	// Feed takes bytes that the process appended to its step's Live output, and returns the rates, in I/Os per
	// second, of the intervals that these complete: each of about Sample. It returns none for the ramp.
	Feed(appended []byte) []float64
	// Whole is Workload.Read for the whole time of an ended process, ramp included.
	Whole(exit Exit) (result.Measurement, error)
	// Read is Whole without the ramp and without the first warmup intervals
	// after it, a multiple of WarmupUnit.
	Read(exit Exit, warmup int) (result.Measurement, error)
	// Final returns the final output of the process, without its reports.
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
	Decode func(node *yaml.Node, open func(name string) ([]byte, error)) (Workload, problem.List)
	// Schema describes the parameters to editors, defaults included.
	Schema func() *jsonschema.Schema
}
