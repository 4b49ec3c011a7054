package result

import (
	"time"

	"plimsoll/internal/problem"
)

// TrialStatus is the state in which a trial, or an instance of it, ended.
type TrialStatus string

// The states of a trial.
const (
	TrialPlanned TrialStatus = "planned"
	TrialDone    TrialStatus = "done"
	TrialFailed  TrialStatus = "failed"  // tried, and ended with a reason
	TrialSkipped TrialStatus = "skipped" // not tried: the host cannot, with the reason
)

// Known reports whether s is one of the above.
func (s TrialStatus) Known() bool {
	return s == TrialPlanned || s == TrialDone || s == TrialFailed || s == TrialSkipped
}

// Trial is one measured run of a point: of a mix on a stack.
type Trial struct {
	Seq    int    `json:"seq"`           // from 1, the order of execution
	Block  int    `json:"block"`         // from 1, the random block it belongs to
	Run    int    `json:"run,omitempty"` // from 1, of the Pooled runs; 0 in a run that was measured by itself
	Stack  string `json:"stack"`         // "" for a mix whose tenants stand on stacks of their own
	Mix    string `json:"mix"`
	Repeat int    `json:"repeat"` // from 1
	// of its stack, from 1: trials of one setup are not independent of each other; 0 when not known
	BringUp int `json:"bring_up,omitempty"`
	// Number of the Region of the run that its stack stood on; 0 for none of the run's making
	Region         int              `json:"region,omitempty"`
	Status         TrialStatus      `json:"status"`
	Problem        *problem.Problem `json:"problem,omitempty"` // why failed or skipped
	Started        time.Time        `json:"started,omitzero"`
	ElapsedSeconds float64          `json:"elapsed_seconds,omitempty"` // wall clock, preparation and teardown included
	Phases         []Phase          `json:"phases,omitempty"`          // of ElapsedSeconds, in order; nil if not known

	// Instances ran at the same time; sorted by Index, nil for a trial that was not run.
	Instances []Instance `json:"instances,omitempty"`

	// Window is the time in which all instances were measured; nil for a trial of
	// one instance, whose own time it is.
	Window *Window `json:"window,omitempty"`

	// Ramp is RampFactor; 0 where it is unknown.
	Ramp float64 `json:"ramp_factor,omitempty"`

	Checks []Honesty `json:"honesty,omitempty"` // of each stack that instances stood on, in their order
	Rates  *Rates    `json:"rates,omitempty"`   // of a trial that could stop early, or whose servers warm up
	Stop   *Stop     `json:"stop,omitempty"`    // nil for a trial of a fixed time

	// Warming is a reason to suspect that servers still got faster while they were measured; "" for none.
	Warming string `json:"warming,omitempty"`

	// Miniature holds the limits of the scaled-down host that the instances shared, as the kernel reports them; nil
	// for none.
	Miniature *Limited `json:"miniature,omitempty"`

	// DeviceBusy is the share of the time in which the busiest of the devices below had a
	// request under way; 0 where nothing was sampled.
	DeviceBusy float64 `json:"device_busy,omitempty"`

	// TargetCPU is the processor time of a remote device's target; nil where it was not measured.
	TargetCPU *TargetCPU `json:"target_cpu,omitempty"`

	// ClientCPU is the processor time of the clients' machine; nil where clients ran on this host.
	ClientCPU *ClientCPU `json:"client_cpu,omitempty"`

	// Neighbours is the use of the host by other processes; nil where it was not measured, as in imported runs.
	Neighbours *Neighbours `json:"neighbours,omitempty"`

	// Trace divides the latency of the I/Os into parts; nil for a trial that was not traced.
	Trace *Trace `json:"trace,omitempty"`

	// Untraced is the reason why a planned trace failed; "" otherwise.
	Untraced string `json:"untraced,omitempty"`

	// Preconditioning describes the writes before the first trial of a stack and mix; nil for later trials, and where
	// the workload lays out no file.
	Preconditioning *Preconditioning `json:"preconditioning,omitempty"`

	// Series are the samples taken during the trial. They are stored apart and read on demand.
	Series []Series `json:"-"`

	Artifacts string `json:"artifacts,omitempty"` // directory, relative to the run directory
}

// Phase is a part of a trial's time.
type Phase struct {
	Name    PhaseName `json:"name"`
	Seconds float64   `json:"seconds"` // wall clock
}

// PhaseName names a phase.
type PhaseName string

// The phases of trials, in their order. Of a phase that a trial did not need it has none.
const (
	PhaseQuiet    PhaseName = "waiting for quiet" // until other processes use little
	PhaseTeardown PhaseName = "teardown"          // of the stack before, and of what the trial itself started
	PhaseSetUp    PhaseName = "set-up"            // stacks, containers, limits
	PhaseLoad     PhaseName = "load"              // files laid out, data loaded or fetched; preconditioning
	PhaseClone    PhaseName = "clone"             // each server's copy of the data
	PhaseCache    PhaseName = "cache"             // page caches emptied or filled
	PhaseServers  PhaseName = "servers"           // until each answers
	PhaseWarmUp   PhaseName = "warm-up"           // load runs and is not measured: ramp, start and end of the load
	PhaseWindow   PhaseName = "window"            // measured
)

// PhaseNames are all phases, in their order.
var PhaseNames = []PhaseName{
	PhaseQuiet, PhaseTeardown, PhaseSetUp, PhaseLoad, PhaseClone, PhaseCache, PhaseServers, PhaseWarmUp, PhaseWindow,
}

// SecondsOf returns the seconds of the phases of a name.
func SecondsOf(phases []Phase, name PhaseName) (seconds float64) {
	for _, p := range phases {
		if p.Name == name {
			seconds += p.Seconds
		}
	}
	return seconds
}

// Instance is one of the workloads that ran at the same time in a trial, in a
// place of its own.
type Instance struct {
	Index       int              `json:"index"`  // from 0
	Tenant      string           `json:"tenant"` // of the mix; for a workload alone, its name
	Workload    string           `json:"workload"`
	Stack       string           `json:"stack"`
	Status      TrialStatus      `json:"status"`
	Problem     *problem.Problem `json:"problem,omitempty"` // why it failed
	Measurement *Measurement     `json:"measurement,omitempty"`
	Limited     *Limited         `json:"limited,omitempty"` // nil for an instance without limits
	Usage       *Usage           `json:"usage,omitempty"`   // nil where it had no cgroup of its own
}

// Limited holds the limits that were asked for, those that the kernel reports, and any difference that matters.
type Limited struct {
	Asked    Limits   `json:"asked"`
	ReadBack Limits   `json:"read_back"`
	Problems []string `json:"problems,omitempty"` // "the memory limit was exceeded: ...", for people
}

// Usage is the resource use of an instance's cgroup during a trial, ramp included.
type Usage struct {
	Seconds          float64 `json:"seconds"` // that passed meanwhile
	CPUSeconds       float64 `json:"cpu_seconds"`
	ThrottledSeconds float64 `json:"throttled_seconds,omitempty"` // in which it was held back by its CPU limit
	PeakMemoryBytes  int64   `json:"peak_memory_bytes,omitempty"` // since its place was made, page cache included
	OOMKills         int     `json:"oom_kills,omitempty"`

	// Means of what was sampled meanwhile; 0 where nothing was, or the kernel does not
	// report it.
	CacheBytes int64 `json:"cache_bytes,omitempty"` // page cache charged to it
	// memory of its programs, shared parts included: the kernel cannot reclaim it
	FixedBytes int64   `json:"fixed_bytes,omitempty"`
	IOPressure float64 `json:"io_pressure,omitempty"` // share of the time in which some task of it waited for I/O

	CPUPressure    float64 `json:"cpu_pressure,omitempty"`    // for a processor
	MemoryPressure float64 `json:"memory_pressure,omitempty"` // for memory
}

// Window is the time in which all instances of a trial were measured.
type Window struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"`
	// Outside is the greatest share of its own measured time that an instance
	// spent outside the window, while not all others were measured.
	Outside float64 `json:"outside"`
}

// MaxOutside is the share of an instance's time that may lie outside the window common to all before a warning is
// given.
const MaxOutside = 0.05

// One returns the instances of a trial in which a workload alone measured m: one
// without names of its own; none for nil.
func One(m *Measurement) []Instance {
	if m == nil {
		return nil
	}
	return []Instance{{Status: TrialDone, Measurement: m}}
}

// Measured returns the sum of what the instances measured, see Together; nil when none measured anything. For a trial
// of one instance it returns that instance's own measurement, not a copy.
func (t *Trial) Measured() *Measurement {
	return t.MeasuredBy(func(*Instance) bool { return true })
}

// MeasuredBy returns what those instances measured together that are wanted, as Measured does.
func (t *Trial) MeasuredBy(wanted func(*Instance) bool) *Measurement {
	return t.sum(wanted, Together)
}

// Counts returns what Measured does, but for latencies, which may be missing: to merge them takes a thousand times
// as long.
func (t *Trial) Counts() *Measurement {
	return t.CountsBy(func(*Instance) bool { return true })
}

// CountsBy returns what MeasuredBy does, but for latencies, as Counts does.
func (t *Trial) CountsBy(wanted func(*Instance) bool) *Measurement {
	return t.sum(wanted, func(measurements ...*Measurement) Measurement {
		return addUp(measurements, func(*Operation, []Operation) {})
	})
}

// sum returns the measurement of the wanted instances, or, if there are several, what together makes of theirs.
func (t *Trial) sum(wanted func(*Instance) bool, together func(...*Measurement) Measurement) *Measurement {
	if len(t.Instances) == 1 { // as in most runs; called for each metric
		if wanted(&t.Instances[0]) {
			return t.Instances[0].Measurement
		}
		return nil
	}
	var measurements []*Measurement
	for i := range t.Instances {
		if m := t.Instances[i].Measurement; m != nil && wanted(&t.Instances[i]) {
			measurements = append(measurements, m)
		}
	}
	switch len(measurements) {
	case 0:
		return nil
	case 1:
		return measurements[0]
	}
	sum := together(measurements...)
	return &sum
}

// RampFactor returns the operations of the whole trial, ramp included, divided by those in its measurement. Counters
// of devices and control groups cover the whole trial and are divided by it. It is 1 where the ramp is unknown.
func (t *Trial) RampFactor() float64 {
	if t.Ramp == 0 {
		return 1
	}
	return t.Ramp
}

// Honesty returns the check of the stack that speaks most against the trial: one
// that was served from memory before one that is not known; nil when there is
// none.
func (t *Trial) Honesty() *Honesty {
	var worst *Honesty
	for i := range t.Checks {
		if worst == nil || t.Checks[i].Source.doubt() > worst.Source.doubt() {
			worst = &t.Checks[i]
		}
	}
	return worst
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
