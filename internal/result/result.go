// Package result holds what a run measured: plain values with units in their
// names, as they are stored, exported and read by findings and reports.
//
// The package is pure. internal/result/store keeps these values on disk.
package result

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the version of run.json. It grows when a field changes its
// meaning or goes away; a new optional field leaves it as it is.
const SchemaVersion = 3

// RunStatus is the state of a run.
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
	// in the order of the experiment file; none where every workload runs alone
	Mixes  []Mix   `json:"mixes,omitempty"`
	Trials []Trial `json:"trials"` // in the order in which they were planned

	Regions []Region `json:"regions,omitempty"` // of the disk that stacks stood on in turn

	// Looks are the numbers of rounds after which the run had ended, and was resumed: its verdict may have been seen then.
	Looks []int `json:"looks,omitempty"`

	// Points are the reasons why each stack and workload got as many trials as it
	// did; nil for a run whose trials were all planned before it began.
	Points []PointStop `json:"points,omitempty"`

	Imported []InputFile `json:"imported,omitempty"` // where the numbers come from; nil for a run that was measured here

	// Pooled are the runs that this one has the trials of, oldest first; nil for a run that was measured by itself.
	Pooled []PooledRun `json:"pooled,omitempty"`
}

// PooledRun is a run whose trials are pooled with those of its repeats.
type PooledRun struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	Seed    uint64    `json:"seed"`
}

// LooksWhenResumed returns Looks of a run that is resumed, with the rounds that it has by now: it is the same where it
// has no more of them than at the last look.
func (r *Run) LooksWhenResumed() []int {
	rounds, last := 0, 0
	for _, t := range r.Trials {
		if t.Status == TrialDone {
			rounds = max(rounds, t.Block)
		}
	}
	if n := len(r.Looks); n > 0 {
		last = r.Looks[n-1]
	}
	if rounds <= last {
		return r.Looks
	}
	return append(slices.Clone(r.Looks), rounds)
}

// Stack returns the stack of that name.
func (r *Run) Stack(name string) (s Stack, ok bool) {
	return byName(r.Stacks, name, func(s Stack) string { return s.Name })
}

// Workload returns the workload of that name.
func (r *Run) Workload(name string) (w Workload, ok bool) {
	return byName(r.Workloads, name, func(w Workload) string { return w.Name })
}

// Mix returns the mix of that name: one that the run declares, or a workload alone, which is the mix of one instance.
// ok is false where the run declares neither.
func (r *Run) Mix(name string) (m Mix, ok bool) {
	m, ok = byName(r.Mixes, name, func(m Mix) string { return m.Name })
	if ok {
		return m, true
	}
	w, ok := r.Workload(name)
	return w.Alone(), ok
}

// Ran returns what ran at the same time: the run's mixes, or each workload alone.
func (r *Run) Ran() []Mix {
	if len(r.Mixes) > 0 {
		return r.Mixes
	}
	var all []Mix
	for _, w := range r.Workloads {
		all = append(all, w.Alone())
	}
	return all
}

// InSetups reports whether a run says which setup each trial was in. Its stacks are compared in pairs.
func (r *Run) InSetups() bool {
	return slices.ContainsFunc(r.Trials, func(t Trial) bool { return t.BringUp > 0 })
}

// RepeatUnit returns what a run repeats: "setup", "trial".
func (r *Run) RepeatUnit() string {
	if r.InSetups() {
		return "setup"
	}
	return "trial"
}

// StackNames returns the names of all stacks, as declared, and behind them those that only trials name.
func (r *Run) StackNames() []string {
	var names []string
	for _, s := range r.Stacks {
		names = append(names, s.Name)
	}
	for _, t := range r.Trials {
		if !slices.Contains(names, t.Stack) {
			names = append(names, t.Stack)
		}
	}
	return names
}

func byName[T any](values []T, name string, nameOf func(T) string) (found T, ok bool) {
	i := slices.IndexFunc(values, func(value T) bool { return nameOf(value) == name })
	if i < 0 {
		return found, false
	}
	return values[i], true
}

// Done returns how many trials were done.
func (r *Run) Done() (n int) {
	for i := range r.Trials {
		if r.Trials[i].Status == TrialDone {
			n++
		}
	}
	return n
}

// InputFile is a file that a run was made of.
type InputFile struct {
	Name   string `json:"name"` // as it was given
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of its content, in hexadecimal

	// Text is its content, of a file that an experiment names: --resume reads it from
	// here. "" of an imported file.
	Text string `json:"text,omitempty"`
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

	// of each workload in a setup; 0 for two in the first block, and one in the others
	Trials    int  `json:"trials,omitempty"`
	NoControl bool `json:"no_control,omitempty"` // no twin of the baseline was to be measured
	// every trial takes its whole time, however precise it is before
	Fixed bool `json:"fixed,omitempty"`
	// Operations that each instance was to make in the measured time of a trial; 0 for a time
	Operations int64 `json:"operations,omitempty"`
	// Data is how servers on one stack get theirs: "cloned" or "copied"; "" for cloned
	Data string `json:"data,omitempty"`
	// the precision to stop at: half of the 95% interval as a share of the mean
	Target float64 `json:"target,omitempty"`
	Trace  bool    `json:"trace,omitempty"` // trials were to be traced
	// that the workloads with most of them were given; 0 when they have their own
	Jobs int `json:"jobs,omitempty"`
	// that workloads' files were given; 0 when they have their own
	SizeBytes int64  `json:"size_bytes,omitempty"`
	Scale     string `json:"scale,omitempty"` // of the file's scales, the one that Source is of; "" for the file as it is
	// patterns of the names of the mixes, workloads and stacks that were to run; nil for all
	Only      []string `json:"only,omitempty"`
	Records   int      `json:"records,omitempty"`   // that each server was given; 0 when they have their own
	KeepFree  float64  `json:"keep_free,omitempty"` // share of file systems that files of stacks left free
	Instances int      `json:"instances,omitempty"` // of the mix with most, where it was not to be the file's
	// what was said of the scaled-down host beside what the file says
	HostAsked HostOverrides `json:"host_asked,omitzero"`
	// by which share each limit of the scaled-down host is varied at the load line; 0 where none is
	Elasticity float64 `json:"elasticity,omitempty"`
	// what was asked for beyond one pass over the files, as experiment files write it
	Precondition string `json:"precondition,omitempty"`
	// stacks and workloads that do not fit these settings, and why
	LeftOut       []string `json:"left_out,omitempty"`
	BudgetSeconds float64  `json:"budget_seconds,omitempty"` // of the whole run; 0 when there is none
	// how long all trials together may wait until other processes use little; 0 for a tenth of the budget
	WaitForQuietSeconds float64 `json:"wait_for_quiet_seconds,omitempty"`
	NoWait              bool    `json:"no_wait_for_quiet,omitempty"`
	// difference, as a share, up to which stacks are said to be equally good; 0 for the usual one
	Margin float64 `json:"margin,omitempty"`
	// what the host is to carry instances for; nil for the most throughput
	Objective *Objective `json:"objective,omitempty"`
	// where the load of database servers was generated; nil for this host
	Clients *Clients `json:"clients,omitempty"`
}

// Objective is a set of requirements on every instance, for the question of how many a host carries. What is 0 is not
// asked for.
type Objective struct {
	P99Seconds float64 `json:"p99_seconds,omitempty"` // latency that 99% of operations take at most
	Standalone float64 `json:"standalone,omitempty"`  // share of what one instance alone does, above 0 up to 1
}

// Mark is a caveat that is shown wherever a number of the stack appears.
type Mark string

// The marks of a stack.
const (
	MarkLoop   Mark = "loop device"        // the device is a file on another file system
	MarkMemory Mark = "served from memory" // tmpfs: there is no device
	// a server that somebody else started: its devices, memory and processors are not seen from here
	MarkElsewhere Mark = "server elsewhere"
	MarkShared    Mark = "shared directory" // dir: the host's own file system, with whatever else it holds

	// in a virtual machine of plimsoll lab: drives, and perhaps processors, are emulated
	MarkLab Mark = "lab (emulated)"
	// another host's device: its CPU, its load and the network are part of the number
	MarkRemote Mark = "NVMe over Fabrics"

	MarkImported Mark = "imported" // by the program that wrote the files; nothing of it was checked
)

// markLetters has each mark, and the letter that is short for it in tables.
var markLetters = map[Mark]string{
	MarkLoop: "L", MarkMemory: "M", MarkElsewhere: "S", MarkShared: "D", MarkLab: "E", MarkRemote: "F", MarkImported: "I",
}

// Letter returns the letter that is short for a mark in tables, which no other mark has; "" for a text that is none.
func (m Mark) Letter() string { return markLetters[m] }

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
	Name   string `json:"name"`   // kernel name: loop0, nvme0n1
	MajMin string `json:"majmin"` // "259:0"
	// "bottom": it holds the bytes; "top": it is the first and stands on others; "under": between them
	Role string `json:"role"`
	// how many devices are above it; those at the same depth are side by side, as the members of a stripe are
	Depth int `json:"depth,omitempty"`

	Buffered bool   `json:"buffered,omitempty"` // a loop device that reads and writes its file through the page cache
	Pool     string `json:"pool,omitempty"`     // ZFS pool on the device, with its cache in memory, the ARC, above
}

// Workload describes a load.
type Workload struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`    // "fio"
	Summary string `json:"summary"` // one line for people: "randread 4 KiB, 4 jobs x depth 16, libaio, direct"
	// fio's rw: randread, randwrite, read, write, randrw, rw; "" when the file mixes them
	Pattern  string `json:"pattern"`
	Declared string `json:"declared"` // the parameters as given, in YAML, or the user's job file

	// Identity is equal for imported workloads that are the same: all options of its jobs but those that name files,
	// logs or percentiles, in canonical form. "" for one that was measured here, and where the file lacks the
	// options.
	Identity string `json:"identity,omitempty"`

	Levels map[string]string `json:"levels,omitempty"` // of each factor that the workload depends on, its level's name

	Image *Image `json:"image,omitempty"` // that the server runs from which it drives; nil for none
	// Settings are options that its server was given beyond its parameters, as the server said it has them.
	Settings     map[string]string `json:"settings,omitempty"`
	ServerMemory int64             `json:"server_memory,omitempty"` // the least that this server can run in; 0 where not known
}

// Title returns the name and what the workload does: "randread 4 KiB, 1 job", where it is named as its pattern, and
// else "orders: randread 4 KiB, 1 job".
func (w Workload) Title() string {
	details := w.Details()
	switch {
	case details == "":
		return w.Name
	case strings.HasSuffix(w.Summary, w.Name+" "+details):
		return w.Name + " " + details
	}
	return w.Name + ": " + details
}

// Details returns what the workload does without the name, which stands beside it.
func (w Workload) Details() string {
	return strings.TrimPrefix(strings.TrimPrefix(w.Summary, w.Name+": "), w.Name+" ")
}

// Environment holds properties of a host that may affect a result and are not part of a stack.
type Environment struct {
	Hostname       string `json:"hostname"`
	Kernel         string `json:"kernel"`
	OS             string `json:"os"` // PRETTY_NAME of os-release
	CPUModel       string `json:"cpu_model"`
	CPUs           int    `json:"cpus"`         // online logical CPUs
	Governor       string `json:"cpu_governor"` // "" when the kernel has no cpufreq
	MemoryBytes    uint64 `json:"memory_bytes"`
	Virtualization string `json:"virtualization"` // "none", "kvm", ...; "" when not known
	CgroupVersion  string `json:"cgroup_version"` // "v1", "v2", "hybrid"
	FioVersion     string `json:"fio_version"`    // "3.33"; "" for none
	// of the dockerd that private engines are started from; "" for none
	DockerVersion string `json:"docker_version"`
	// in which the Docker engine that serves the host keeps containers: "overlay2"; "" for none
	StorageDriver string       `json:"storage_driver,omitempty"`
	Devices       []DeviceInfo `json:"devices"`
	Notes         []string     `json:"notes,omitempty"`
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
