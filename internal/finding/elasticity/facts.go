// Package elasticity answers what a limit of a scaled-down host is worth: what more, and less, of it does to
// throughput and latency.
package elasticity

import (
	"slices"

	"plimsoll/internal/fact"
)

// Facts has the findings on a mix whose limits the run varied.
type Facts struct {
	Elasticity Elasticity `json:"elasticity"`
}

// Elasticity has the effect of each limit of a scaled-down host at one number of instances. Each was relaxed and
// tightened, one at a time.
type Elasticity struct {
	Stack     string  `json:"stack,omitempty"` // "" for a mix that names its own
	Workload  string  `json:"workload"`
	Host      string  `json:"host"` // the scaled-down host, for people
	Instances int     `json:"instances"`
	Mix       string  `json:"mix"`  // that each is held against
	Rate      float64 `json:"rate"` // of all together, per second: the median of setups
	P99NS     float64 `json:"p99_ns,omitempty"`
	Limits    []Worth `json:"limits"` // in the order of the file format

	Used   fact.Resource   `json:"used,omitempty"` // what binds by what was used; "" where nothing does
	Helps  []fact.Resource `json:"helps"`          // resources that significantly raise total throughput if there is more of them; the greatest gain first
	Needed []fact.Resource `json:"needed"`         // resources that lower total throughput if there is less of them; the greatest loss first
	Agrees bool            `json:"agrees"`         // both sides name the same, or both nothing; see Open
	Open   bool            `json:"open,omitempty"` // too few setups to say what helps
	// Undecided are resources whose change may still change throughput by 10% or more.
	Undecided []fact.Resource `json:"undecided,omitempty"`

	Doubled *Doubled `json:"doubled,omitempty"` // nil where no model of the run is good enough
}

// Doubled is how many instances the host would carry with twice of each limit, as a model of the
// run predicts.
type Doubled struct {
	Off   float64 `json:"off"`   // how far the model is off for points that it was not fitted to: mean, as a share
	Line  int     `json:"line"`  // the load line with the limits as they are, by the model
	Moved []Moved `json:"moved"` // in the order of the file format

	Measured []Carried `json:"measured"` // on the scaled-down host as it is; ascending by instances
	Curve    []Carried `json:"curve"`    // predicted for it; ascending by instances
}

// Carried is the throughput of a number of instances together, measured or predicted.
type Carried struct {
	Instances int     `json:"instances"`
	Rate      float64 `json:"rate"` // per second
	Low       float64 `json:"low,omitempty"`
	High      float64 `json:"high,omitempty"` // interval of 90%; 0 for one that was measured
}

// Moved is a predicted load line.
type Moved struct {
	Limit     string        `json:"limit"` // the limit that is doubled
	Resource  fact.Resource `json:"resource"`
	Instances int           `json:"instances"`
	Low       int           `json:"low"` // interval of 90%
	High      int           `json:"high"`
	Most      int           `json:"most"` // instances up to which was looked

	Curve []Carried `json:"curve"` // ascending by instances
}

// Worth is the effect of one limit.
type Worth struct {
	Limit    string        `json:"limit"` // as files name it: "read-iops"
	Resource fact.Resource `json:"resource"`
	Less     *LimitChange  `json:"less,omitempty"` // nil where it was not measured
	More     *LimitChange  `json:"more,omitempty"`
	Failed   []float64     `json:"failed,omitempty"` // factors with which no trial was completed, although it was tried
	Rate     *Power        `json:"rate,omitempty"`   // of throughput; nil where it is not known
	P99      *Power        `json:"p99,omitempty"`
}

// LimitChange is the effect of a limit times a factor, against the limit as it is.
type LimitChange struct {
	Factor float64      `json:"factor"`
	Mix    string       `json:"mix"`
	Rate   fact.Effect  `json:"rate"`
	P99    *fact.Effect `json:"p99,omitempty"` // nil where latencies are not known
}

// Power is an elasticity: by how many percent a metric changes for each percent that a
// limit is larger, over all that was measured. Low and High are its 95% interval.
type Power struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// count are the limits that throughput depends on: what helps first, then what is needed.
func (f *Facts) count() (counting []Worth) {
	for _, r := range slices.Concat(f.Elasticity.Helps, f.Elasticity.Needed) {
		if !slices.ContainsFunc(counting, func(w Worth) bool { return w.Resource == r }) {
			counting = append(counting, f.Elasticity.worth(r))
		}
	}
	return counting
}

func (e *Elasticity) worth(r fact.Resource) Worth {
	return e.Limits[slices.IndexFunc(e.Limits, func(w Worth) bool { return w.Resource == r })]
}

// remaining returns the limits that throughput does not depend on, and the limits for which trials differ too much to
// decide.
func (f *Facts) remaining() (idle, noisy []fact.Resource) {
	e := f.Elasticity
	for _, w := range e.Limits {
		switch {
		case slices.Contains(e.Helps, w.Resource), slices.Contains(e.Needed, w.Resource):
		case slices.Contains(e.Undecided, w.Resource):
			noisy = append(noisy, w.Resource)
		case w.More != nil || w.Less != nil:
			idle = append(idle, w.Resource)
		}
	}
	return idle, noisy
}

// noneHelps reports whether limits were relaxed, and it is ruled out that one of them helps much.
func (f *Facts) noneHelps() bool {
	e := f.Elasticity
	relaxed := slices.ContainsFunc(e.Limits, func(w Worth) bool { return w.More != nil })
	return relaxed && len(e.Helps) == 0 && len(e.Undecided) == 0 && !e.Open
}

// BuyAtMost returns by how much more throughput a limit that was relaxed buys at most, as a share.
func (e *Elasticity) BuyAtMost() (largest float64) {
	for _, w := range e.Limits {
		if w.More != nil {
			largest = max(largest, w.More.Rate.High-1)
		}
	}
	return largest
}

// ChangeAtMost returns by how much more or less of some limits changes throughput at most, as a share.
func (e *Elasticity) ChangeAtMost(limits ...fact.Resource) (largest float64) {
	for _, w := range e.Limits {
		if !slices.Contains(limits, w.Resource) {
			continue
		}
		for _, c := range []*LimitChange{w.Less, w.More} {
			if c != nil {
				largest = max(largest, c.Rate.MayChange())
			}
		}
	}
	return largest
}

// carry are the limits of which twice as much would carry more, as a model predicts; carryNoMore are
// the others.
func (d *Doubled) carry() (carry []Moved, carryNoMore []fact.Resource) {
	for _, m := range d.Moved {
		if m.Low > d.Line {
			carry = append(carry, m)
		} else {
			carryNoMore = append(carryNoMore, m.Resource)
		}
	}
	return carry, carryNoMore
}
