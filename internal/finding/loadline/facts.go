// Package loadline answers how many instances a host carries: what mixes do together that differ
// in the number of their instances alone, where more of them do less, and why.
package loadline

import (
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/runview"
)

// Facts are the findings on mixes that differ in the number of their instances alone.
type Facts struct {
	Curve Curve `json:"curve"`

	series  runview.Series
	rate    string   // what throughput is counted in: "IOPS"
	runs    string   // what each instance does, and within which limits of its own
	marks   []string // that every number carries
	out     []int    // numbers with which an instance was measured while not all others were,
	outside float64  // the largest share of their time outside the common window
}

// Cells are the measurements behind the facts.
func (f *Facts) Cells() []*runview.Cell { return f.series.Cells() }

// last returns the point of the most instances.
func (c Curve) last() fact.ScalingPoint { return c.Points[len(c.Points)-1] }

// pointAt returns the point of a number of instances that was measured.
func (c Curve) pointAt(instances int) fact.ScalingPoint {
	return c.Points[slices.IndexFunc(c.Points, func(p fact.ScalingPoint) bool { return p.Instances == instances })]
}

// timesAlone is which share each instance of a point does of what each of the fewest does.
func (c Curve) timesAlone(p fact.ScalingPoint) float64 {
	first := c.Points[0]
	return p.Rate / float64(p.Instances) / (first.Rate / float64(first.Instances))
}

// unfair is where the slowest instance gets least; nil where all get about the same.
func (f *Facts) unfair() (least *fact.ScalingPoint) {
	for i, p := range f.Curve.Points {
		if p.Weakest > 0 && p.Weakest < threshold.UnfairShare && (least == nil || p.Weakest < least.Weakest) {
			least = &f.Curve.Points[i]
		}
	}
	return least
}

// beyond is the fewest instances beyond the load line, if they miss its objective; nil otherwise.
func (f *Facts) beyond() *fact.ScalingPoint {
	o := f.Curve.Line.Objective
	for i, p := range f.Curve.Points {
		if p.Instances <= f.Curve.Line.Instances {
			continue
		}
		if o.TooSlow(p) || o.TooLittle(p) {
			return &f.Curve.Points[i]
		}
		break
	}
	return nil
}

// hasLine reports whether anything is known of the line.
func (f *Facts) hasLine() bool {
	return f.Curve.Open == "" || f.Curve.Line.Low > 0 || !f.Curve.Line.Objective.None()
}

// binding is at which numbers of instances one resource binds.
type binding struct {
	resource  fact.Resource
	instances []string
	use       *fact.Use // at the largest number; nil where it has no limit
}

// bindings are the resources that limit all instances together.
func (c Curve) bindings() (bindings []binding) {
	for _, p := range c.Points {
		if p.Binds == "" {
			continue
		}
		i := slices.IndexFunc(bindings, func(b binding) bool { return b.resource == p.Binds })
		if i < 0 {
			i = len(bindings)
			bindings = append(bindings, binding{resource: p.Binds})
		}
		bindings[i].instances, bindings[i].use = append(bindings[i].instances, fmt.Sprint(p.Instances)), p.Use(p.Binds)
	}
	return bindings
}

// Curve has the measurements of all instances of a mix together, over their number.
type Curve struct {
	Stack    string              `json:"stack,omitempty"` // "" for a mix that names its own
	Workload string              `json:"workload"`        // with the policy of limits, if there is one: "C under mem"
	Host     fact.Host           `json:"host"`
	Points   []fact.ScalingPoint `json:"points"`            // ascending by instances
	Missing  []int               `json:"missing,omitempty"` // numbers of instances that were tried without a completed trial
	Memory   int64               `json:"memory,omitempty"`  // of the scaled-down host, in bytes; 0 where it has no limit of its own
	Floor    float64             `json:"floor,omitempty"`   // share by which setups of the same mix differ in their rate; 0 where not known
	Best     int                 `json:"best"`              // instances that together do most
	Valley   *Valley             `json:"valley,omitempty"`
	Rate     *Shape              `json:"rate,omitempty"` // of throughput; nil where Open says why
	P99      *Shape              `json:"p99,omitempty"`  // of latency; nil where it is not known
	Tail     *Tail               `json:"tail,omitempty"` // nil where p99 grows no more than the mean does
	Line     Line                `json:"line"`
	Open     string              `json:"open,omitempty"` // why it is not known where the curve changes; "" where it can
}

// Cause is the resource for which more instances do less.
type Cause string

// The causes of a valley.
const (
	CauseMemory  Cause = "memory"  // their data outgrows it: more of what they read comes from the device
	CauseCPU     Cause = "cpu"     // the processors are busy
	CauseUnknown Cause = "unknown" // nothing that was sampled explains it
)

// Valley is where throughput falls although more instances run.
type Valley struct {
	From  int     `json:"from"`  // instances before it falls
	To    int     `json:"to"`    // instances at which it has fallen most
	Ratio float64 `json:"ratio"` // of all together at To, to that at From
	P     float64 `json:"p"`     // how often noise alone would look like it
	Cause Cause   `json:"cause"`
}

// Line is how many instances a host carries for an objective: as many as together do
// as much as any number does, within 10%. Its interval is of samples in which setups are
// drawn anew, and the trials of each.
type Line struct {
	Objective fact.Objective `json:"objective,omitzero"`
	Instances int            `json:"instances"`         // of the numbers that were measured; 0 where none is known to meet the objective
	Unknown   []int          `json:"unknown,omitempty"` // numbers with too few operations for the p99 of an objective: not known to meet it or to miss it
	Enough    int            `json:"enough"`            // the fewest that do as much
	Low       int            `json:"low,omitempty"`     // 95% interval; Low and High are 0 where there is none,
	High      int            `json:"high,omitempty"`    // which is below four setups
	BringUps  int            `json:"bring_ups"`         // of the number that has fewest
	Odds      []Odds         `json:"odds,omitempty"`    // ascending by instances
	room      int            // as Fit, of all scaled-down hosts of the run
	Fit       int            `json:"fit,omitempty"`      // the most whose servers the scaled-down host's memory has room for; 0 where that is not known
	Next      int            `json:"next,omitempty"`     // instances to measure next; 0 for none
	NextWhy   Next           `json:"next_why,omitempty"` // "" where nothing is left to measure
}

// ShareOf is in which share of the samples a number of instances is the line; without
// samples, 1 for the line itself.
func (l Line) ShareOf(instances int) float64 {
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

// Full reports whether the scaled-down host has no memory for the servers of more instances than the line is at.
func (l Line) Full() bool { return l.Fit > 0 && l.Instances >= l.Fit }

// Decided reports whether the interval holds one number alone.
func (l Line) Decided() bool { return l.Low > 0 && l.Low == l.High }

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
	NextLonger  Next = "longer"  // operations were too few for the percentile that the objective asks for
	NextAgain   Next = "again"   // no number is left between: more setups would show it
)

// Shape describes a metric over the number of instances.
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
