// Package experiment reads experiment files: a question, the stacks and mixes
// of workloads that answer it, and how often each is tried. It validates them,
// with all problems at once, and lays out their trials.
//
// The package is pure. docs/reference/experiment-file.md describes the format.
package experiment

import (
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload"
)

// Experiment is a question and what answers it. Parse makes valid ones; a
// command line may then change Repeat, Trials, NoControl, Timing, Precondition, Fixed, Target, Objective,
// Trace, and Budget (see Fit).
type Experiment struct {
	Name      string
	Question  string
	Baseline  string // name of the stack that others are compared with; "" for none
	Repeat    int    // blocks: in each, every stack is brought up anew once
	Trials    int    // of each workload in a setup; 0 for as many as Rounds says
	NoControl bool   // the run carries no twin of its baseline: see AddControl
	Timing    workload.Timing
	Fixed     bool // every trial takes its full time
	// Operations that each instance makes in the measured time of a trial, which then ends; 0 for a time
	Operations int64
	Data       Data // how servers on one stack get theirs; "" for DataCloned
	// precision at which a trial or a point may end before its time: half of the 95% interval as a share of the mean
	Target float64
	Margin float64 // difference, as a share, up to which stacks are said to be equally good; 0 for stats.Margin
	// of the whole run, which decides as it goes how many trials each point gets; 0 for none, when all get Repeat
	Budget time.Duration
	// how long all trials together may wait until other processes use little; 0 for what QuietWait says
	WaitForQuiet time.Duration
	NoWait       bool // they do not wait
	Precondition Precondition
	// share by which each limit of the scaled-down host is relaxed and tightened at the load line; 0 for no such mixes
	Elasticity float64
	Objective  *result.Objective // requirements on instances; nil for the most throughput
	Clients    *result.Clients   // where the load of servers is generated; nil for this host
	Trace      bool              // each trial is told where its I/Os spent their time
	Scaled     Scale             // the argument of Scale.Apply; zero for an experiment as in its file
	Seed       *uint64           // of the order of the trials; nil to draw one for each run
	Factors    []Factor          // in the order of the file
	Stacks     []Stack           // in the order of the file
	Workloads  []Workload        // in the order of the file: what mixes are made of
	Mixes      []Mix             // all that runs, in the order of the file; workloads that run alone are mixes as well
	// the scaled-down host that all mixes run in; nil for none, or for one that depends on a factor: see Mix.Host
	Host      *result.Limits
	HostAsked result.HostOverrides // changes to Host from the command line
	KeepFree  float64              // share of file systems that files of stacks leave free
	Instances int                  // of the mix with most, as a command line says; 0 for as many as in the file
	Scales    []string             // that the file has, by name
	AtScale   string               // the one of them that it was read at; "" for the file as it is
	Source    string               // text of the file, at the scale that was asked for
	File      string               // name of the file, as Parse was given it
	Files     []result.InputFile   // that its workloads were read from, by the names that it gives them

	proportioned bool // Proportion set the number of instances or records

	parsed *Options // the options that it was read with; nil for one that was not read from a file
}

// Stack is a named stack.
type Stack struct {
	Name string
	Line line.Line
	Text string // as written; Line prints it canonically
	Raw  bool   // the workload uses a block device, and there are no files
	// Contained reports whether the workload runs in a container.
	Contained bool

	Levels map[string]string // of each factor that the stack depends on, its level's name; nil for none

	Control string // the stack that this one is an unnamed twin of; "" for a stack of the file
}

// Workload is a named workload.
type Workload struct {
	Name string
	workload.Workload

	Levels map[string]string // of each factor that the workload depends on, its level's name; nil for none
}

// Limits and defaults of the format.
const (
	MaxRepeat      = 1000
	MaxTrials      = 20_000
	MaxInstances   = 1000 // of a mix
	DefaultRepeat  = 5
	DefaultRuntime = 10 * time.Second
)
