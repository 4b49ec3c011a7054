// Package overload answers which rate of operations instances keep up with, and what becomes
// of more.
package overload

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/stats"
)

// Facts are the findings on mixes that differ in the rate that is offered.
type Facts struct {
	Overload Curve   `json:"overload"`         // of several, the one that keeps the highest rate
	Others   []Curve `json:"others,omitempty"` // of a verdict: the other stacks, by what they keep, highest first
}

// Curve has the completion and latency of operations that begin at a rate, whatever the server does, over that rate.
type Curve struct {
	Stack     string  `json:"stack,omitempty"` // "" for a mix that names its own
	Workload  string  `json:"workload"`        // what the names of the workloads have in common
	Host      string  `json:"host,omitempty"`  // the scaled-down host, for people; "" for the host itself
	Instances int     `json:"instances"`
	LimitNS   float64 `json:"limit_ns,omitempty"` // that p99 may take of a rate that is kept; 0 for any latency
	// FromSubmission reports whether latencies leave out how long operations wait to be sent, as fio's do.
	FromSubmission bool `json:"from_submission,omitempty"`

	Points []Point `json:"points"` // ascending by what is offered; at least two

	Kept     float64 `json:"kept,omitempty"`   // operations per second, offered: all rates up to it are kept; 0 for none
	Breaks   float64 `json:"breaks,omitempty"` // the lowest that is not kept; 0 where all are
	Low      float64 `json:"low,omitempty"`    // Kept in the setup in which it is lowest,
	High     float64 `json:"high,omitempty"`   // and in that in which it is highest
	BringUps int     `json:"bring_ups"`        // of the rate that has fewest
	Next     float64 `json:"next,omitempty"`   // what to offer next; 0 for nothing
}

// Point has the measurements at one rate. Values are medians of setups.
type Point struct {
	Mix      string  `json:"mix"`
	BringUps int     `json:"bring_ups"`
	Offered  float64 `json:"offered"`  // operations per second that were to begin, of all instances together
	Achieved float64 `json:"achieved"` // and that were completed
	Low      float64 `json:"low"`      // interval of Achieved; both are 0 below four setups
	High     float64 `json:"high"`     //
	// Done is the share of the operations whose time came that were completed, 0 to 1: the others
	// failed, or had not begun at the end.
	Done      float64 `json:"done"`
	P50NS     float64 `json:"p50_ns"` // latency from when operations were to begin
	P99NS     float64 `json:"p99_ns"`
	P99Low    float64 `json:"p99_low"` // interval of P99NS; both are 0 below four setups
	P99High   float64 `json:"p99_high"`
	ServiceNS float64 `json:"service_ns"` // 99th percentile from when they were sent, which is all that a closed loop sees
	// Growth is the amount that p99 gets longer while the trial lasts, in ns for each ns.
	Growth  float64 `json:"growth"`
	TooSlow bool    `json:"too_slow,omitempty"` // p99 is above the objective's
	// P99Unknown is why P99NS is not known, and whether it is within an objective; "" where it is.
	P99Unknown string  `json:"p99_unknown,omitempty"`
	Kept       bool    `json:"kept"` // nearly all were completed, in time, and latencies do not grow
	Errors     float64 `json:"errors,omitempty"`
	LagNS      float64 `json:"lag_ns"`             // 99th percentile of the generator's own lateness
	Hindered   int     `json:"hindered,omitempty"` // trials in which the generator was itself the bottleneck
	Trials     int     `json:"trials"`

	Uses  []fact.Use    `json:"uses,omitempty"`
	Binds fact.Resource `json:"binds,omitempty"` // what keeps it from doing more; "" where nothing that was measured does
}

// GrowthPerSecond is by how much p99 gets longer with every second, in ns.
func (p Point) GrowthPerSecond() float64 { return p.Growth * 1e9 }

// Late reports whether the generator was itself the bottleneck in half of the trials or more.
func (p Point) Late() bool { return p.Trials > 0 && 2*p.Hindered >= p.Trials }

// pointAt returns what became of a rate; nil where it was not offered.
func (f *Facts) pointAt(offered float64) *Point {
	for i := range f.Overload.Points {
		if f.Overload.Points[i].Offered == offered {
			return &f.Overload.Points[i]
		}
	}
	return nil
}

// highestKept returns the point of the highest rate that is kept; nil where none is.
func (f *Facts) highestKept() *Point { return f.pointAt(f.Overload.Kept) }

// broken returns the point of the lowest rate that is not kept; nil where all are.
func (f *Facts) broken() *Point { return f.pointAt(f.Overload.Breaks) }

// hidden is the highest rate, if it is not kept and a closed loop would have shown far shorter
// latencies; nil otherwise.
func (f *Facts) hidden() *Point {
	last := &f.Overload.Points[len(f.Overload.Points)-1]
	if last.Kept || !(last.ServiceNS > 0) || last.P99NS < threshold.HiddenWait*last.ServiceNS {
		return nil
	}
	return last
}

// late are the rates, kept or not, at which the generator was itself the bottleneck.
func (f *Facts) late(kept bool) (rates []float64) {
	for _, p := range f.Overload.Points {
		if p.Late() && p.Kept == kept {
			rates = append(rates, p.Offered)
		}
	}
	return rates
}

// slower are the rates below the highest that is kept whose p99 is above the objective.
func (f *Facts) slower() (rates []float64) {
	for _, p := range f.Overload.Points {
		if p.TooSlow && p.Offered < f.Overload.Kept {
			rates = append(rates, p.Offered)
		}
	}
	return rates
}

// unjudged are the rates of which it is not known whether they are kept: operations are too few for the p99 that the
// objective asks for.
func (f *Facts) unjudged() (rates []float64) {
	for _, p := range f.Overload.Points {
		if f.Overload.unjudged(p) {
			rates = append(rates, p.Offered)
		}
	}
	return rates
}

// unjudged reports whether a rate would be kept, if its p99 were known to be within the objective.
func (o Curve) unjudged(p Point) bool {
	return o.LimitNS > 0 && p.P99Unknown != "" && isKept(p.Done, p.Growth)
}

// tooFew reports whether too few setups tell which rate is kept.
func (f *Facts) tooFew() bool { return f.Overload.BringUps < stats.FewestPairs }

// decided reports whether all setups say the same.
func (f *Facts) decided() bool { return f.Overload.Low == f.Overload.High }

// alike are the stacks whose range of what setups keep meets that of the best: nothing tells them apart.
func (f *Facts) alike() (stacks []string) {
	for _, o := range f.Others {
		if o.Kept > 0 && o.High >= f.Overload.Low {
			stacks = append(stacks, o.Stack)
		}
	}
	return stacks
}
