package result

// Rates is the rate of a trial while it ran, from the workload's own
// counters. Only trials that may stop early have one.
type Rates struct {
	IntervalSeconds float64 `json:"interval_seconds"` // between two samples
	// of each interval, both directions; what came before the measured time is not in it
	IOPS   []float64 `json:"iops"`
	Warmup int       `json:"warmup"` // samples at the beginning that the measurement leaves out
}

// StopReason is the rule that ended a trial, or the trials of a point.
type StopReason string

// The reasons. All but StopPrecise, StopOperations and StopSettled end a trial, or a point,
// of which less is known than was asked for.
const (
	StopPrecise    StopReason = "precise"         // the mean is known as precisely as was asked for
	StopOperations StopReason = "operations done" // each instance made as many as were asked for
	StopMaximum    StopReason = "maximum reached" // the longest time was over before it was
	StopNever      StopReason = "never settled"   // so it was, and the rate had not become steady at all
	StopSettled    StopReason = "settled"         // every comparison that needs the point has its verdict
	StopBudget     StopReason = "budget spent"    // the time that the user gave was over
	StopRepeats    StopReason = "repeats done"    // the most trials of a point were run
	StopFailed     StopReason = "failed"          // its trials give no more numbers
)

// Stop records why a trial ended, and the precision of its mean. It is nil for trials of a fixed time.
type Stop struct {
	Reason   StopReason `json:"reason"`
	Why      string     `json:"why"` // for people
	MeanIOPS float64    `json:"mean_iops"`
	// the interval of the mean, corrected for autocorrelation; Low and High are 0 when there were too few samples for one
	LowIOPS    float64 `json:"low_iops"`
	HighIOPS   float64 `json:"high_iops"`
	Confidence float64 `json:"confidence"` // of the interval, 0 to 1
}

// Point is a mix on a stack. Stack is "" for a mix whose tenants have stacks of their own.
type Point struct{ Stack, Mix string }

// PointStop records why a run that decides the number of trials as it goes stopped measuring a stack and mix.
type PointStop struct {
	Stack    string     `json:"stack"`
	Mix      string     `json:"mix"`
	Reason   StopReason `json:"reason"`
	Why      string     `json:"why"`                 // for people
	Trials   int        `json:"trials"`              // that gave a measurement
	BringUps int        `json:"bring_ups,omitempty"` // that these trials were in
	// RelativeHalfWidth is half of the 95% interval of the mean over setups, as
	// a share of it; 0 when there were too few for one.
	RelativeHalfWidth float64 `json:"relative_half_width"`
}

// PreconditioningKind is the method of writing to a stack before it is measured.
type PreconditioningKind string

// What was written. The SNIA specification asks for the device.
const (
	PreconditionedFile   PreconditioningKind = "file written"   // all that the workload may touch, no more
	PreconditionedDevice PreconditioningKind = "device written" // the whole device
)

// Preconditioning describes the writes to a stack before a trial, in the sense of the SNIA Solid State Storage
// Performance Test Specification.
type Preconditioning struct {
	// Workload-independent: Bytes were written, sequentially, Passes times.
	Kind   PreconditioningKind `json:"kind"`
	Passes int                 `json:"passes"`
	Bytes  int64               `json:"bytes"`
	// ClonedBytes is the size of servers' files that share their blocks with other servers' until they are written.
	ClonedBytes int64 `json:"cloned_bytes,omitempty"`
	// Workload-dependent: the workload itself, round after round, until it was
	// steady; nil when none were asked for.
	Rounds *Rounds `json:"rounds,omitempty"`
}

// Rounds holds a measurement for each round of a workload-dependent preconditioning, and the verdict on the last
// window (stopping.Criteria).
type Rounds struct {
	Seconds float64   `json:"seconds"` // of one round
	IOPS    []float64 `json:"iops"`    // of each round, the oldest first
	Settled bool      `json:"settled"`
	Why     string    `json:"why,omitempty"` // why not; "" when settled
	// The window is rounds From to To-1, counted from 0. Excursion and Slope
	// are shares of its Average; First and Last are its least-squares line at
	// its ends.
	From      int     `json:"from"`
	To        int     `json:"to"`
	Average   float64 `json:"average_iops"`
	Excursion float64 `json:"excursion"`
	Slope     float64 `json:"slope"`
	First     float64 `json:"first_iops"`
	Last      float64 `json:"last_iops"`
}
