// Package published judges results that papers published by what a run measured.
package published

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/loadline"
)

// Tested is a published result, and what the run says of it. The verdict is the
// claim's.
type Tested struct {
	Published  Value         `json:"published"`
	Subject    []string      `json:"subject"` // of the claim: what it is about, or of an ordering, best first
	Ordering   bool          `json:"ordering,omitempty"`
	Baseline   string        `json:"baseline,omitempty"`
	About      string        `json:"about,omitempty"`      // narrows it: RR
	Measured   fact.Remark   `json:"measured,omitzero"`    // what was; no case for nothing
	Reason     fact.Remark   `json:"reason"`               // of the verdict
	Grounds    []fact.Remark `json:"grounds,omitempty"`    // what was measured that explains the number
	Paper      string        `json:"paper"`                // what the paper puts it down to
	Experiment string        `json:"experiment,omitempty"` // the built-in one that tests it, where this run could not
	StandIn    string        `json:"stand_in,omitempty"`   // as claims.yaml describes it
	Instead    *Instead      `json:"instead,omitempty"`    // what ran in the place of the paper's database
}

// Others are the published results that a run does not touch.
type Others struct {
	Claims      int           `json:"claims"`
	Papers      []OfPaper     `json:"papers"`
	Experiments []Experiments `json:"experiments,omitempty"` // that test some of them
}

// OfPaper is how many of them are a paper's.
type OfPaper struct {
	Paper  string `json:"paper"`
	Claims int    `json:"claims"`
}

// Experiments is which of them a built-in experiment tests.
type Experiments struct {
	Name   string   `json:"name"`
	Claims []string `json:"claims"` // ids
}

// Value is a published value.
type Value struct {
	Ratio     bool     `json:"ratio,omitempty"` // it is a factor
	Unit      string   `json:"unit,omitempty"`  // share, IOPS, jobs
	Low       *float64 `json:"low,omitempty"`   // nil where only the other bound was published; both are nil for an order
	High      *float64 `json:"high,omitempty"`
	Tolerance float64  `json:"tolerance,omitempty"` // on either side; 0 when none was stated
	Parts     []Part   `json:"parts,omitempty"`     // instead, where one claim has several numbers
	Order     []string `json:"order,omitempty"`     // best first
}

// Part is one number of a claim that has several.
type Part struct {
	Name  string `json:"name"` // without its unit
	Value Value  `json:"value"`
}

// Band is what an interval is held against: a published value with its tolerance, in
// the quantity that both are of. What has no test has no P.
type Band struct {
	Quantity  string       `json:"quantity"` // as prose.Estimate has it: times, share, latency
	Low       float64      `json:"low"`      // of the interval
	High      float64      `json:"high"`
	From      float64      `json:"from,omitempty"` // of the published value; not of a bound
	To        float64      `json:"to,omitempty"`
	Limit     float64      `json:"limit,omitempty"` // of a bound
	Published Value        `json:"published,omitzero"`
	Effect    *fact.Effect `json:"effect,omitempty"`
	// Direction is that of an effect outside of the band, beside the band's: same, other,
	// or none; "" where the band holds 1.
	Direction string `json:"direction,omitempty"`
}

// Load is a load, as sentences have it.
type Load struct {
	Workload string `json:"workload,omitempty"`
	Jobs     int    `json:"jobs"`
	Depth    int    `json:"depth"`
}

// Lacking is a load that a claim is about, and the loads that a run has instead.
type Lacking struct {
	Role     string `json:"role"`
	Low      bool   `json:"low"`                 // one I/O at a time; otherwise at least
	Jobs     int    `json:"jobs,omitempty"`      // so many jobs, and
	InFlight int    `json:"in_flight,omitempty"` // so many I/Os in flight
	Have     []Load `json:"have"`
}

// OtherLoad is a load, and the paper's.
type OtherLoad struct {
	Here  Load `json:"here"`
	Paper Load `json:"paper"`
}

// OtherFS is a file system, and the paper's.
type OtherFS struct {
	Here  string `json:"here"`
	Paper string `json:"paper"`
}

// NoLock is a file system that reads without a lock by default, as the paper's did not.
type NoLock struct {
	FS     string `json:"fs"`
	Kernel string `json:"kernel"`
	Flag   string `json:"flag"` // of mount, that takes the lock again
}

// Lacks is what a run lacks to compare a stack with.
type Lacks struct {
	Stack string `json:"stack"`
	Line  string `json:"line"`
}

// Unmeasured is why a stack has no measurement under a workload.
type Unmeasured struct {
	Stack    string `json:"stack"`
	Workload string `json:"workload"`
	Status   string `json:"status,omitempty"` // result.TrialStatus: skipped, failed; "" when nothing is known
	Why      string `json:"why,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// Answered is an illusion that was looked for: what answered, and how fast.
type Answered struct {
	Stack  string       `json:"stack"`
	Served *fact.Served `json:"served,omitempty"` // how many of fio's I/Os the device served, where memory answered
	Ratio  *float64     `json:"ratio,omitempty"`  // of device I/Os to fio's, where the device did; nil when not known
	Effect fact.Effect  `json:"effect"`
}

// Longer is how much longer an I/O takes under one workload than under another.
type Longer struct {
	Stack  string      `json:"stack"`
	High   string      `json:"high"` // the workloads
	Low    string      `json:"low"`
	Effect fact.Effect `json:"effect"`
}

// Extra is the share of a remote latency that is more than the twin's.
type Extra struct {
	Stack string  `json:"stack"`
	Twin  string  `json:"twin"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Has is what was measured of a stack.
type Has struct {
	Stack    string        `json:"stack"`
	Quantity string        `json:"quantity"` // as prose.Estimate has it
	Value    fact.Estimate `json:"value"`
}

// HasParts is what was measured of the parts of a stack's I/Os.
type HasParts struct {
	Stack string    `json:"stack"`
	Parts []HasPart `json:"parts"`
}

// HasPart is one of them.
type HasPart struct {
	Name     string        `json:"name"`
	Quantity string        `json:"quantity"` // as prose.Estimate has it
	Value    fact.Estimate `json:"value"`
}

// Device is what a stack stands on, where that is no drive of a class.
type Device struct {
	Stack string `json:"stack"`
	Name  string `json:"name,omitempty"`
	Model string `json:"model,omitempty"`
	Class string `json:"class,omitempty"` // which the claim is not about
}

// Ranked are the subjects of an order, of which some are missing.
type Ranked struct {
	Ahead   []string      `json:"ahead"`
	Last    string        `json:"last"`
	Missing []fact.Remark `json:"missing"`
}

// Behind is a stack that is behind all others.
type Behind struct {
	Ahead  []string    `json:"ahead"`
	Effect fact.Effect `json:"effect"` // against the one that is least ahead
}

// Levels is how many levels a sweep has, where it takes more.
type Levels struct {
	Over  string `json:"over"` // "RW over jobs"
	Have  int    `json:"have"`
	Least int    `json:"least"`
}

// Curve is what the curve of a stack does over what its levels differ in.
type Curve struct {
	Stack string  `json:"stack"`
	Unit  string  `json:"unit"` // of places
	Parts []Shape `json:"parts"`
}

// Shape is what a curve does from one place to another.
type Shape struct {
	Does  string  `json:"does"` // level, rises, falls, unclear, cliff, jump
	Ratio float64 `json:"ratio"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
}

// Place is where a curve changes, or is said to.
type Place struct {
	Published float64   `json:"published"`
	Unit      string    `json:"unit"` // of all places
	Metric    string    `json:"metric,omitempty"`
	From      float64   `json:"from,omitempty"` // of the sweep, of an interval, or of what is not known
	To        float64   `json:"to,omitempty"`
	P         float64   `json:"p,omitempty"`
	Elsewhere []Between `json:"elsewhere,omitempty"` // where it changes
}

// Between is from one place to another.
type Between struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Instead is what instances ran in the place of what the paper's did. It can show the
// same shape as the paper's, or another one; what it measured is of another thing.
type Instead struct {
	Database string   `json:"database,omitempty"` // as people call it; "" where it is the paper's
	Of       string   `json:"of,omitempty"`       // the paper's database
	Asked    string   `json:"asked,omitempty"`    // YCSB's workload, or the run's name of it; "" where it is the paper's
	Roles    []string `json:"roles,omitempty"`    // the paper's
	Drives   []string `json:"drives,omitempty"`   // that one device stands for, limited to what each does: "a SATA SSD"
}

// Compared is two sets of instances, by a metric.
type Compared struct {
	Metric    string      `json:"metric"`
	Workload  string      `json:"workload"`
	Instances int         `json:"instances"`        // of each
	Than      int         `json:"than,omitempty"`   // of the baseline, where it has others
	Beside    string      `json:"beside,omitempty"` // the other workload of the mix
	Effect    fact.Effect `json:"effect"`           // of subject and baseline: policies, workloads, mixes
}

// Unmatched is instances that a run has none to compare with.
type Unmatched struct {
	Workload  string `json:"workload"`
	Instances int    `json:"instances"`
	Lacks     string `json:"lacks"` // a policy, or a workload
}

// Grown is what the most instances of a workload do, against the fewest.
type Grown struct {
	Workload string      `json:"workload"`
	From     int         `json:"from"`
	To       int         `json:"to"`
	Idle     int         `json:"idle,omitempty"` // up to so many, the disk moved nothing in some trial
	Effect   fact.Effect `json:"effect"`
}

// Moved is with how many instances most is done, with more of something and with less.
type Moved struct {
	Workload string `json:"workload"`
	Of       string `json:"of"`   // memory, drives
	Best     int    `json:"best"` // with more
	Less     int    `json:"less"` // with less
}

// Peak is where the instances of a workload together do most.
type Peak struct {
	Noun     string           `json:"noun"` // of what there are so many: container, user
	Workload string           `json:"workload"`
	First    int              `json:"first"` // fewest instances that were measured
	Most     int              `json:"most"`
	Best     int              `json:"best"`
	Rise     *fact.Effect     `json:"rise,omitempty"` // at Best, against First; nil where these are the same
	Valley   *loadline.Valley `json:"valley,omitempty"`
	Plateau  *loadline.Span   `json:"plateau,omitempty"` // where it stays level up to Most
}

// Instances is what more instances of a workload do together.
type Instances struct {
	Workload string           `json:"workload"`
	Most     int              `json:"most"` // that were measured
	Valley   *loadline.Valley `json:"valley,omitempty"`
}

// Latency is what an I/O takes on average, and the parts that fio tells, in ns.
type Latency struct {
	Total      float64 `json:"total_ns"`
	Submission float64 `json:"submission_ns"`
	Completion float64 `json:"completion_ns"`
}

// Takes is what an I/O takes on a stack, or under a workload.
type Takes struct {
	Stack    string  `json:"stack"`
	Workload string  `json:"workload,omitempty"`
	Latency  Latency `json:"latency"`
}

// Times is what an I/O takes on two stacks, and where the difference is.
type Times struct {
	Of   Takes   `json:"of"`
	Than Takes   `json:"than"`
	Part string  `json:"part,omitempty"`  // submission, completion; "" where the two take about as long
	In   float64 `json:"share,omitempty"` // of the difference that is in it
}

// Loads is what an I/O takes on one stack under two loads.
type Loads struct {
	High         Takes `json:"high"`
	Low          Takes `json:"low"`
	HighInFlight int   `json:"high_in_flight"`
	LowInFlight  int   `json:"low_in_flight"`
}

// Asked is what the device was asked for under a stack.
type Asked struct {
	Stack   string       `json:"stack"`
	Memory  *fact.Served `json:"memory,omitempty"`  // memory answered: how many of fio's I/Os the device served
	Devices []string     `json:"devices,omitempty"` // that hold the bytes
	IOs     float64      `json:"ios,omitempty"`     // that these wrote, for each of fio's
	Bytes   float64      `json:"bytes,omitempty"`
	Ratio   *float64     `json:"ratio,omitempty"` // I/Os that they served, for each of fio's, where no more is known
}

// Processor is the CPU time that fio takes for an I/O on two stacks, in ns.
type Processor struct {
	Of    string  `json:"of"`
	Takes float64 `json:"takes_ns"`
	Than  string  `json:"than"`
	Other float64 `json:"other_ns"`
}
