// Package result holds what a run measured: plain values with units in their
// names, as they are stored, exported and read by findings and reports.
//
// The package is pure. internal/result/store keeps these values on disk.
package result

import (
	"crypto/sha256"
	"fmt"
	"time"

	"plimsoll/internal/hist"
)

// SchemaVersion is the version of run.json. It grows when a field changes its
// meaning or goes away; a new optional field leaves it as it is.
const SchemaVersion = 1

// RunStatus tells how far a run came.
type RunStatus string

// The states of a run.
const (
	RunRunning     RunStatus = "running"     // under way, or ended without a word (crash, power loss)
	RunInterrupted RunStatus = "interrupted" // ended by the user; --resume goes on
	RunComplete    RunStatus = "complete"    // every trial was tried
)

// Run is one execution of an experiment on a host.
type Run struct {
	Schema      int         `json:"schema"`
	ID          string      `json:"id"`      // unique, sortable by start, usable as a file name
	Version     string      `json:"version"` // plimsoll's own version
	Command     []string    `json:"command"` // the command line that reproduces the run
	Status      RunStatus   `json:"status"`
	Seed        uint64      `json:"seed"` // of the random order of the trials
	Started     time.Time   `json:"started"`
	Finished    time.Time   `json:"finished,omitzero"`
	Experiment  Experiment  `json:"experiment"`
	Environment Environment `json:"environment"`
	Stacks      []Stack     `json:"stacks"`    // in the order of the experiment file
	Workloads   []Workload  `json:"workloads"` // in the order of the experiment file
	Trials      []Trial     `json:"trials"`    // in the order in which they were planned

	Regions []Region `json:"regions,omitempty"` // of the disk that stacks stood on in turn

	// Points tell of each stack and workload why it got as many trials as it
	// did; nil for a run whose trials were all planned before it began.
	Points []Point `json:"points,omitempty"`

	Imported []InputFile `json:"imported,omitempty"` // where the numbers come from; nil for a run that was measured here
}

// InputFile is a file that a run was made of.
type InputFile struct {
	Name   string `json:"name"` // as it was given
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of its content, in hexadecimal
}

// NewInputFile describes a file by its content.
func NewInputFile(name string, content []byte) InputFile {
	return InputFile{Name: name, Bytes: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
}

// Experiment is the question a run answers.
type Experiment struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	Baseline string `json:"baseline"` // name of the stack that others are compared with; "" for none
	Repeat   int    `json:"repeat"`   // blocks: in each, every stack was brought up anew once
	Source   string `json:"source"`   // text of the experiment file
	File     string `json:"file"`     // where it was read from; "" for a built-in experiment

	// Files are those that its workloads were read from, by the names that the
	// experiment file gives them: job files of the user's.
	Files []InputFile `json:"files,omitempty"`

	RuntimeSeconds float64 `json:"runtime_seconds"` // measured time of a trial, unless its workload says otherwise
	RampSeconds    float64 `json:"ramp_seconds"`    // time before it that is not measured

	Trials        int      `json:"trials,omitempty"`         // of each workload in a bring-up; 0 for two in the first block, and one in the others
	NoControl     bool     `json:"no_control,omitempty"`     // no twin of the baseline was to be measured
	Fixed         bool     `json:"fixed,omitempty"`          // every trial takes its whole time, however precise it is before
	Target        float64  `json:"target,omitempty"`         // the precision to stop at: half of the 95% interval as a share of the mean
	Trace         bool     `json:"trace,omitempty"`          // trials were to be traced
	Jobs          int      `json:"jobs,omitempty"`           // that the workloads with most of them were given; 0 when they have their own
	SizeBytes     int64    `json:"size_bytes,omitempty"`     // that workloads' files were given; 0 when they have their own
	Precondition  string   `json:"precondition,omitempty"`   // what was asked for beyond one pass over the files, as experiment files write it
	LeftOut       []string `json:"left_out,omitempty"`       // stacks and workloads that do not fit these settings, and why
	BudgetSeconds float64  `json:"budget_seconds,omitempty"` // of the whole run; 0 when there is none
}

// Mark is a caveat that is shown wherever a number of the stack appears.
type Mark string

// The marks of a stack.
const (
	MarkLoop   Mark = "loop device"        // the device is a file on another file system
	MarkMemory Mark = "served from memory" // tmpfs: there is no device
	MarkShared Mark = "shared directory"   // dir: the host's own file system, with whatever else it holds

	MarkLab    Mark = "lab (emulated)"    // in a virtual machine of plimsoll lab: drives, and perhaps processors, are emulated
	MarkRemote Mark = "NVMe over Fabrics" // another host's device: its CPU, its load and the network are part of the number

	MarkImported Mark = "imported" // measured elsewhere, by whoever wrote the files; nothing of it was checked
)

// Stack is a device and its layers, as declared and as found on the host.
type Stack struct {
	Name    string   `json:"name"`
	Line    string   `json:"line"` // one-line notation, source first
	Marks   []Mark   `json:"marks,omitempty"`
	Devices []Device `json:"devices,omitempty"` // top first, down to the disk under a loop
	Facts   []Fact   `json:"facts,omitempty"`   // read back from the host once the stack was up

	Levels map[string]string `json:"levels,omitempty"` // of each factor that the stack depends on, its level's name

	// Control names the stack that this one is an unnamed twin of, brought up
	// like any other: what differs between the two is the run's noise floor. ""
	// for a stack of the experiment.
	Control string `json:"control,omitempty"`
}

// Region is blocks of a disk that stacks stood on, one after the other, under
// their loop devices. What a stack measures depends on them.
type Region struct {
	Number   int    `json:"number"`             // from 1
	File     string `json:"file"`               // that they are part of
	Device   string `json:"device,omitempty"`   // kernel name of what holds the file; "" when not known
	Bytes    int64  `json:"bytes"`              // for all loop devices of a stack
	Position int64  `json:"position,omitempty"` // byte of the device at which it begins; 0 when not known
	Extents  int    `json:"extents,omitempty"`  // pieces that it lies in; 0 when not known
}

// Fact is a property of a stack that was read back, not assumed: "mount
// options", "loop direct-io", "storage driver".
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Device is a block device of a stack.
type Device struct {
	Name   string `json:"name"`            // kernel name: loop0, nvme0n1
	MajMin string `json:"majmin"`          // "259:0"
	Role   string `json:"role"`            // "bottom": it holds the bytes; "top": it is the first and stands on others; "under": between them
	Depth  int    `json:"depth,omitempty"` // how many devices are above it; those at the same depth are side by side, as the members of a stripe are

	Buffered bool `json:"buffered,omitempty"` // a loop device that reads and writes its file through the page cache
}

// Workload is what drove load.
type Workload struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`     // "fio"
	Summary  string `json:"summary"`  // one line for people: "randread 4 KiB, 4 jobs x depth 16, libaio, direct"
	Pattern  string `json:"pattern"`  // fio's rw: randread, randwrite, read, write, randrw, rw; "" when the file mixes them
	Declared string `json:"declared"` // the parameters as given, in YAML, or the user's job file

	// Identity is what an imported workload has in common with another that is
	// the same: all options of its jobs but those that name files, logs or
	// percentiles, in one spelling. "" for one that was measured here, and where
	// the file did not tell the options.
	Identity string `json:"identity,omitempty"`

	Levels map[string]string `json:"levels,omitempty"` // of each factor that the workload depends on, its level's name
}

// TrialStatus tells how a trial ended.
type TrialStatus string

// The states of a trial.
const (
	TrialPlanned TrialStatus = "planned"
	TrialDone    TrialStatus = "done"
	TrialFailed  TrialStatus = "failed"  // tried, and ended with a reason
	TrialSkipped TrialStatus = "skipped" // not tried: the host cannot, with the reason
)

// Trial is one measured run of a workload on a stack.
type Trial struct {
	Seq            int          `json:"seq"`   // from 1, the order of execution
	Block          int          `json:"block"` // from 1, the random block it belongs to
	Stack          string       `json:"stack"`
	Workload       string       `json:"workload"`
	Repeat         int          `json:"repeat"`             // from 1
	BringUp        int          `json:"bring_up,omitempty"` // of its stack, from 1: trials of one bring-up are not independent of each other; 0 when not known
	Region         int          `json:"region,omitempty"`   // Number of the Region of the run that its stack stood on; 0 for none of the run's making
	Status         TrialStatus  `json:"status"`
	Problem        *Problem     `json:"problem,omitempty"` // why failed or skipped
	Started        time.Time    `json:"started,omitzero"`
	ElapsedSeconds float64      `json:"elapsed_seconds,omitempty"` // wall clock, preparation and teardown included
	Measurement    *Measurement `json:"measurement,omitempty"`
	Honesty        *Honesty     `json:"honesty,omitempty"`
	Series         *Series      `json:"series,omitempty"` // nil for a trial that could not stop early
	Stop           *Stop        `json:"stop,omitempty"`   // nil for a trial of a fixed time

	// TargetCPU is what the target of a remote device spent; nil where nobody
	// tells.
	TargetCPU *TargetCPU `json:"target_cpu,omitempty"`

	// Neighbours is what others did meanwhile; nil where nobody looked, as in
	// imported runs.
	Neighbours *Neighbours `json:"neighbours,omitempty"`

	// Trace is where the time of its I/Os went; nil for a trial that was not
	// traced.
	Trace *Trace `json:"trace,omitempty"`

	// Untraced is why a trial that was to be traced was not; "" otherwise.
	Untraced string `json:"untraced,omitempty"`

	// Preconditioning is what was done before the first trial of its stack and
	// workload; nil for the others, and where the workload lays out no file.
	Preconditioning *Preconditioning `json:"preconditioning,omitempty"`

	Artifacts string `json:"artifacts,omitempty"` // directory, relative to the run directory
}

// TargetCPU is the processor time that another host, which holds a remote
// device, spent while a trial ran, ramp included. Whatever else that host did
// is in it.
type TargetCPU struct {
	BusySeconds float64 `json:"busy_seconds"` // of all its processors
	Seconds     float64 `json:"seconds"`      // that passed meanwhile
	CPUs        int     `json:"cpus"`         // its online logical CPUs
	IOs         float64 `json:"ios"`          // that the workload completed meanwhile
}

// PerIO is the processor time of an I/O, in seconds.
func (t TargetCPU) PerIO() float64 { return t.BusySeconds / t.IOs }

// Problem is an error for the person who reads it.
type Problem struct {
	What   string `json:"what"`             // what failed, on which object
	Why    string `json:"why"`              // the cause, in the words of whoever refused
	Remedy string `json:"remedy,omitempty"` // what would change it
}

// Measurement is what a workload reported of one instance in one trial.
type Measurement struct {
	RuntimeSeconds float64   `json:"runtime_seconds"` // measured time, ramp excluded
	Read           Direction `json:"read"`
	Write          Direction `json:"write"`
	UserCPU        float64   `json:"user_cpu"`   // share of one core, mean over jobs, 0 to 1
	SystemCPU      float64   `json:"system_cpu"` // share of one core, mean over jobs, 0 to 1
}

// IOs is the number of I/Os completed in both directions.
func (m Measurement) IOs() uint64 { return m.Read.IOs + m.Write.IOs }

// IOPS is the rate of both directions together, in I/Os per second.
func (m Measurement) IOPS() float64 { return m.Read.IOPS + m.Write.IOPS }

// BytesPerSecond is the bandwidth of both directions together.
func (m Measurement) BytesPerSecond() float64 { return m.Read.BytesPerSecond + m.Write.BytesPerSecond }

// Direction is the reads or the writes of a measurement.
type Direction struct {
	IOs            uint64         `json:"ios"`
	Bytes          uint64         `json:"bytes"`
	IOPS           float64        `json:"iops"`
	BytesPerSecond float64        `json:"bytes_per_second"`
	Submission     hist.Histogram `json:"submission"` // fio's slat
	Completion     hist.Histogram `json:"completion"` // fio's clat
	Total          hist.Histogram `json:"total"`      // fio's lat: what the application waits
}

// Source tells what answered the I/Os of a trial.
type Source string

// What the honesty check concludes.
const (
	SourceDevice  Source = "device"  // the device served about what fio issued
	SourceMemory  Source = "memory"  // the device served far less: a cache answered
	SourceUnknown Source = "unknown" // no device counter could be read
)

// Honesty is fio's word checked against the device's counters.
type Honesty struct {
	Source Source          `json:"source"`
	Reason string          `json:"reason"` // "loop7 counted 258100 reads, vda under it 367"
	Ratio  *float64        `json:"ratio"`  // I/Os that the stack served, at the device of its chain that counted least, per I/O that fio issued; nil when unknown
	Served []DeviceCounter `json:"served"` // top first
}

// DeviceCounter is what one device of the stack completed during a trial.
type DeviceCounter struct {
	Device     Device  `json:"device"`
	Reads      uint64  `json:"reads"`
	Writes     uint64  `json:"writes"`
	ReadBytes  uint64  `json:"read_bytes"`
	WriteBytes uint64  `json:"write_bytes"`
	Flushes    uint64  `json:"flushes,omitempty"` // of its write cache; 0 also where the kernel counts none (before 5.5)
	PerIO      float64 `json:"per_io"`            // (reads + writes) per I/O that fio issued
}

// Environment is what may change a result and is not part of a stack.
type Environment struct {
	Hostname       string       `json:"hostname"`
	Kernel         string       `json:"kernel"`
	OS             string       `json:"os"` // PRETTY_NAME of os-release
	CPUModel       string       `json:"cpu_model"`
	CPUs           int          `json:"cpus"`         // online logical CPUs
	Governor       string       `json:"cpu_governor"` // "" when the kernel has no cpufreq
	MemoryBytes    uint64       `json:"memory_bytes"`
	Virtualization string       `json:"virtualization"` // "none", "kvm", ...; "" when it cannot be told
	CgroupVersion  string       `json:"cgroup_version"` // "v1", "v2", "hybrid"
	FioVersion     string       `json:"fio_version"`    // "3.33"; "" for none
	DockerVersion  string       `json:"docker_version"` // of the dockerd that private engines are started from; "" for none
	Devices        []DeviceInfo `json:"devices"`
	Notes          []string     `json:"notes,omitempty"`
}

// DeviceInfo describes a block device of the host.
type DeviceInfo struct {
	Name       string `json:"name"`
	Path       string `json:"path"`
	MajMin     string `json:"majmin"`
	Model      string `json:"model"`
	Serial     string `json:"serial"`
	Firmware   string `json:"firmware"`
	SizeBytes  uint64 `json:"size_bytes"`
	Rotational bool   `json:"rotational"`
	Scheduler  string `json:"scheduler"`   // the active one
	WriteCache string `json:"write_cache"` // "write back", "write through"
}
