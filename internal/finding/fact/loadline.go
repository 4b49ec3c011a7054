package fact

import "cmp"

// Objective is what a host is to carry instances for: the most throughput of all
// together, of those numbers of them at which the limits hold that are above 0.
type Objective struct {
	P99NS      float64 `json:"p99_ns,omitempty"`     // latency that 99% of operations take at most
	EachRate   float64 `json:"each_rate,omitempty"`  // operations a second that each instance does at least, on average
	Standalone float64 `json:"standalone,omitempty"` // the share of what one instance alone does that EachRate is, 0 to 1
}

// None reports whether the objective is the most throughput, without any limit.
func (o Objective) None() bool { return o == Objective{} }

// Unknown reports whether no number of instances can be held against the objective: what one
// alone does is not known.
func (o Objective) Unknown() bool { return o.Standalone > 0 && !(o.EachRate > 0) }

// TooSlow reports whether operations of so many instances take longer than the objective allows.
func (o Objective) TooSlow(p ScalingPoint) bool { return o.P99NS > 0 && !(p.P99NS <= o.P99NS) }

// TooLittle reports whether each of so many instances does less than the objective asks for.
func (o Objective) TooLittle(p ScalingPoint) bool {
	return o.EachRate > 0 && p.Rate < o.EachRate*float64(p.Instances)
}

// LoadLine is how many instances a host carries for an objective: as many as together do
// as much as any number does, within 10%. Its interval is of samples in which bring-ups are
// drawn anew, and the trials of each.
type LoadLine struct {
	Objective Objective `json:"objective,omitzero"`
	Instances int       `json:"instances"`          // of the numbers that were measured; 0 where none meets the objective
	Enough    int       `json:"enough"`             // the fewest that do as much
	Low       int       `json:"low,omitempty"`      // 95% interval; Low and High are 0 where there is none,
	High      int       `json:"high,omitempty"`     // which is below four bring-ups
	BringUps  int       `json:"bring_ups"`          // of the number that has fewest
	Odds      []Odds    `json:"odds,omitempty"`     // ascending by instances
	Next      int       `json:"next,omitempty"`     // instances to measure next; 0 for none
	NextWhy   Next      `json:"next_why,omitempty"` // "" where nothing is left to measure
}

// ShareOf is in which share of the samples a number of instances is the line; without
// samples, 1 for the line itself.
func (l LoadLine) ShareOf(instances int) float64 {
	if len(l.Odds) == 0 && instances == l.Instances {
		return 1
	}
	for _, o := range l.Odds {
		if o.Instances == instances {
			return o.Share
		}
	}
	return 0
}

// Decided reports whether the interval holds one number alone.
func (l LoadLine) Decided() bool { return l.Low > 0 && l.Low == l.High }

// Odds is in which share of the samples a number of instances is the load line, 0 to 1.
// Where they are not 1 in sum, no number met the objective in the others.
type Odds struct {
	Instances int     `json:"instances"`
	Share     float64 `json:"share"`
}

// Next is why a number of instances is worth measuring.
type Next string

// The reasons to measure on.
const (
	NextBeyond  Next = "beyond"  // the line may lie beyond all that was measured
	NextBelow   Next = "below"   // or below it
	NextBetween Next = "between" // between two numbers that were
	NextAlone   Next = "alone"   // what one instance does alone, which the objective asks for a share of, is not known
	NextAgain   Next = "again"   // no number is left between: more bring-ups would tell
)

// Shape is what a metric does over the number of instances.
type Shape struct {
	Knee    *Knee `json:"knee,omitempty"`    // nil for none
	Plateau *Span `json:"plateau,omitempty"` // where it stays within 10%: the longest; nil for none
	Fall    *Span `json:"fall,omitempty"`    // where it falls, for the first time; nil for nowhere
}

// Knee is where a curve bends: for throughput, where more instances begin to add less;
// for a latency, where they begin to add more.
type Knee struct {
	At     float64 `json:"at"`     // instances; it may lie between two numbers
	Low    float64 `json:"low"`    // 95% interval of At
	High   float64 `json:"high"`   //
	Before float64 `json:"before"` // by how many percent the metric grows for each percent of instances more
	After  float64 `json:"after"`
	P      float64 `json:"p"` // how often noise alone would look like it
}

// Span is a stretch of a curve.
type Span struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Ratio float64 `json:"ratio"` // of the metric at To, to that at From
}

// Tail is how much more the 99th percentile of latency grows than the mean.
type Tail struct {
	From  int     `json:"from"`  // the fewest instances
	Since int     `json:"since"` // the number from which on it has grown more, significantly
	At    int     `json:"at"`    // the most instances
	P99   float64 `json:"p99"`   // growth from From to At, as a ratio
	Mean  float64 `json:"mean"`
	Ratio float64 `json:"ratio"` // of both, with its 95% interval
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	P     float64 `json:"p"` // of At, for all numbers together
}

// Resource is what instances use.
type Resource string

// The resources.
const (
	Memory     Resource = "memory"      // page cache: what does not fit is read from the device again
	Processors Resource = "processors"  // of the miniature, or of the host
	OwnCPUs    Resource = "own cpus"    // the limit of each instance
	Reads      Resource = "reads"       // of the device a second, against a limit
	Writes     Resource = "writes"      //
	ReadBytes  Resource = "read bytes"  //
	WriteBytes Resource = "write bytes" //
	Device     Resource = "device"      // itself: it had a request under way nearly always, and instances waited for it
)

// resources are how people call them, and what it means that one binds.
var resources = map[Resource][2]string{
	"":         {"nothing", "nothing that was measured binds"},
	Memory:     {"memory", "memory: their files outgrow it, or they wait for it"},
	Processors: {"processors", "processors of all"},
	OwnCPUs:    {"own CPUs", "the CPUs that each may use"},
	Reads:      {"reads/s", "the reads that the device may do"},
	Writes:     {"writes/s", "the writes that the device may do"},
	ReadBytes:  {"bytes read/s", "the bytes that the device may read"},
	WriteBytes: {"bytes written/s", "the bytes that the device may write"},
	Device:     {"device", "the device itself"},
}

// Word is the resource in a table: "nothing" for none.
func (r Resource) Word() string { return cmp.Or(resources[r][0], string(r)) }

// Means tells what it means that the resource binds.
func (r Resource) Means() string { return cmp.Or(resources[r][1], string(r)) }

// Because is why instances do no more, where the resource binds: "the device is busy".
func (r Resource) Because() string {
	switch r {
	case Memory:
		return "their files outgrow its memory"
	case Processors:
		return "the processors are busy"
	case OwnCPUs:
		return "the CPUs that each may use are used up"
	case Device:
		return "the device is busy"
	}
	return "the device does all that it may"
}

// Use is how much of a resource instances use together.
type Use struct {
	Resource Resource `json:"resource"`
	Used     float64  `json:"used"`  // processors, or operations or bytes a second; for the device the share of the time
	Limit    float64  `json:"limit"` // in the same unit
	Binds    bool     `json:"binds"` // it is at its limit
}

// Share is the share of the limit that is used.
func (u Use) Share() float64 { return u.Used / u.Limit }
