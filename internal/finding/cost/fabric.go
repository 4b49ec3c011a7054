package cost

import (
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Fabric is the cost that a fabric adds to the I/Os of a stack, beside its twin on a device
// of this host.
type Fabric struct {
	Transport string       `json:"transport"` // NVMe/TCP
	Few       bool         `json:"few"`       // under some workload there are too few trials for an interval
	Under     []AddedUnder `json:"under"`     // in the order of the workloads
}

// AddedUnder is the cost that a fabric adds under a workload.
type AddedUnder struct {
	Workload string          `json:"workload"`
	Alone    bool            `json:"alone"` // one I/O at a time
	ExtraNS  fact.Difference `json:"extra_ns"`
	RemoteNS float64         `json:"remote_ns,omitempty"` // mean total latency; 0 when not known
	LocalNS  float64         `json:"local_ns,omitempty"`
	Rates    fact.Effect     `json:"rates"`
}

// Telling are the two workloads that tell most of a fabric: of one I/O at a time; the
// first one where the run has none such.
func (f Fabric) Telling() []AddedUnder {
	alone := slices.DeleteFunc(slices.Clone(f.Under), func(a AddedUnder) bool { return !a.Alone })
	if len(alone) == 0 {
		return f.Under[:1]
	}
	return alone[:min(2, len(alone))]
}

// Unfit is why numbers under a workload are not the devices'.
type Unfit struct {
	Workload string       `json:"workload"`
	Stacks   []fact.Unfit `json:"stacks"`
}

// Fabrics finds what each stack on another host's device costs beside its twin
// on a device of this host: under every workload the latency that is added, in
// microseconds, and the throughput that is left.
func Fabrics(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, s := range v.Stacks {
		twin := v.Twin(s)
		if twin == nil {
			continue
		}
		f := fact.Finding{
			ID: "fabric/" + s.Name, Case: "fabric", Kind: fact.KindComparison, Stacks: []string{s.Name, twin.Name},
			Caveats: runview.MarksOf(v.Under(v.Workloads[0].Name)...),
		}
		prose.Remark(&f, "caveat: two devices", nil,
			"the two devices have to be one model: what differs between them is in these numbers too")
		facts := Fabric{Transport: runview.TransportOf(s.Parsed)}
		for _, w := range v.Workloads {
			a, b := v.Cell(s.Name, w.Name), v.Cell(twin.Name, w.Name)
			if a == nil || b == nil {
				continue
			}
			extra, ok := v.Apart(a.MeanLatencies(), b.MeanLatencies())
			facts.Few = facts.Few || extra.N < stats.FewestPairs
			e, ratio := v.Compare(a, b)
			if !ok || !ratio {
				continue
			}
			if why := runview.Unfit(a, b); why != nil {
				prose.Remark(&f, "caveat: unfit", Unfit{w.Name, why}, w.Name+": "+prose.Unfit(why))
			}
			f.Evidence = append(f.Evidence, runview.Points(a, b)...)
			facts.Under = append(facts.Under, AddedUnder{w.Name, lowLoad(v, w), extra, meanOf(a), meanOf(b), e})
		}
		if len(facts.Under) > 0 {
			f.Facts, f.Title, f.Why = facts, facts.title(s.Name, twin.Name), facts.why()
			out = append(out, f)
		}
	}
	return out
}

// lowLoad reports whether a workload has one I/O at a time.
func lowLoad(v *runview.View, w result.Workload) bool {
	return slices.ContainsFunc(v.Driven(), func(d runview.Driven) bool {
		return d.Name == w.Name && d.Load.InFlight() == 1
	})
}

// meanOf is the mean total latency of a cell in ns; 0 when it is not known.
func meanOf(c *runview.Cell) float64 {
	l, _ := c.Latencies()
	return l.Total
}

func (f Fabric) title(stack, twin string) string {
	adds := "adds"
	if f.Few {
		adds = "seems to add"
	}
	return fmt.Sprintf("%s, over %s, %s to an I/O of %s: %s", stack, f.Transport, adds, twin,
		plural.List(f.Telling(), func(a AddedUnder) string { return prose.Extra(a.ExtraNS) + " under " + a.Workload }))
}

func (f Fabric) why() string {
	return joined(f.Under, "; ") +
		". Differences compare medians of the trials' mean total latencies, with 95% intervals."
}

// String says what is added under a workload.
func (a AddedUnder) String() string {
	return fmt.Sprintf("%s: %s an I/O (%s, against %s), %s of the IOPS", a.Workload, prose.Extra(a.ExtraNS), mean(a.RemoteNS),
		mean(a.LocalNS), a.Rates.Written())
}

// mean writes a mean latency; 0 when it is not known.
func mean(ns float64) string {
	if ns == 0 {
		return "unknown"
	}
	return units.Latency(ns)
}
