package result

import (
	"time"

	"plimsoll/internal/problem"
)

// TrialStatus is how a trial, or an instance of it, ended.
type TrialStatus string

// The states of a trial.
const (
	TrialPlanned TrialStatus = "planned"
	TrialDone    TrialStatus = "done"
	TrialFailed  TrialStatus = "failed"  // tried, and ended with a reason
	TrialSkipped TrialStatus = "skipped" // not tried: the host cannot, with the reason
)

// Trial is one measured run of a point: of a mix on a stack.
type Trial struct {
	Seq    int    `json:"seq"`   // from 1, the order of execution
	Block  int    `json:"block"` // from 1, the random block it belongs to
	Stack  string `json:"stack"` // "" for a mix whose tenants stand on stacks of their own
	Mix    string `json:"mix"`
	Repeat int    `json:"repeat"` // from 1
	// of its stack, from 1: trials of one bring-up are not independent of each other; 0 when not known
	BringUp int `json:"bring_up,omitempty"`
	// Number of the Region of the run that its stack stood on; 0 for none of the run's making
	Region         int              `json:"region,omitempty"`
	Status         TrialStatus      `json:"status"`
	Problem        *problem.Problem `json:"problem,omitempty"` // why failed or skipped
	Started        time.Time        `json:"started,omitzero"`
	ElapsedSeconds float64          `json:"elapsed_seconds,omitempty"` // wall clock, preparation and teardown included

	// Instances are what ran at the same time, by Index; nil for a trial that was
	// not run.
	Instances []Instance `json:"instances,omitempty"`

	// Window is the time in which all instances were measured; nil for a trial of
	// one instance, whose own time it is.
	Window *Window `json:"window,omitempty"`

	// Ramp is RampFactor; 0 where nothing tells.
	Ramp float64 `json:"ramp_factor,omitempty"`

	Checks []Honesty `json:"honesty,omitempty"` // of each stack that instances stood on, in their order
	Rates  *Rates    `json:"rates,omitempty"`   // of a trial that could stop early, or whose servers warm up
	Stop   *Stop     `json:"stop,omitempty"`    // nil for a trial of a fixed time

	// Warming is why servers may still have got faster while they were measured; "" where nothing says so.
	Warming string `json:"warming,omitempty"`

	// Miniature is what the kernel says of the limits of the smaller host that the
	// instances shared; nil for none.
	Miniature *Limited `json:"miniature,omitempty"`

	// DeviceBusy is the share of the time in which the busiest of the devices below had a
	// request under way; 0 where nothing was sampled.
	DeviceBusy float64 `json:"device_busy,omitempty"`

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
	// mix; nil for the others, and where the workload lays out no file.
	Preconditioning *Preconditioning `json:"preconditioning,omitempty"`

	// Series are what was sampled meanwhile. They are stored apart, and read when
	// they are asked for.
	Series []Series `json:"-"`

	Artifacts string `json:"artifacts,omitempty"` // directory, relative to the run directory
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
	Usage       *Usage           `json:"usage,omitempty"`   // nil where it had no control group of its own
}

// Limited is what was asked for, what the kernel says that it holds, and what
// speaks against it.
type Limited struct {
	Asked    Limits   `json:"asked"`
	ReadBack Limits   `json:"read_back"`
	Problems []string `json:"problems,omitempty"` // "the memory limit was exceeded: ...", for people
}

// Usage is what the control group of an instance used in a trial, ramp included.
type Usage struct {
	Seconds          float64 `json:"seconds"` // that passed meanwhile
	CPUSeconds       float64 `json:"cpu_seconds"`
	ThrottledSeconds float64 `json:"throttled_seconds,omitempty"` // in which it was held back by its CPU limit
	PeakMemoryBytes  int64   `json:"peak_memory_bytes,omitempty"` // since its place was made, page cache included
	OOMKills         int     `json:"oom_kills,omitempty"`

	// Means of what was sampled meanwhile; 0 where nothing was, or the kernel does not
	// tell.
	CacheBytes int64   `json:"cache_bytes,omitempty"` // page cache charged to it
	FixedBytes int64   `json:"fixed_bytes,omitempty"` // memory of its programs, also what they share: no shortage frees it
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

// MostOutside is how much of its time an instance may be measured outside the window of all without
// a word.
const MostOutside = 0.05

// One returns the instances of a trial in which a workload alone measured m: one
// without names of its own; none for nil.
func One(m *Measurement) []Instance {
	if m == nil {
		return nil
	}
	return []Instance{{Status: TrialDone, Measurement: m}}
}

// Measured returns what the instances measured together, see Together; nil when
// none of them measured anything. Of a trial of one instance it is that one's own
// measurement, not a copy.
func (t *Trial) Measured() *Measurement {
	return t.measured(func(*Instance) bool { return true })
}

// OfTenant returns what the instances of a tenant measured together, as Measured
// does.
func (t *Trial) OfTenant(tenant string) *Measurement {
	return t.measured(func(i *Instance) bool { return i.Tenant == tenant })
}

func (t *Trial) measured(wanted func(*Instance) bool) *Measurement {
	var all []*Measurement
	for i := range t.Instances {
		if m := t.Instances[i].Measurement; m != nil && wanted(&t.Instances[i]) {
			all = append(all, m)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	together := Together(all...)
	return &together
}

// RampFactor is how many operations a trial completed in all of its time,
// ramp included, for each one that is in its measurement: what devices and control
// groups count is about all of it. It is 1 where nothing tells.
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
