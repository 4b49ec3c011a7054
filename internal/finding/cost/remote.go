package cost

import (
	_ "embed" // the sentences
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

//go:embed remote.tmpl
var remoteText string

// RemoteSentences are the sentences on what a fabric and its target take.
var RemoteSentences = prose.NewSheet(remoteText)

// Fabric is what a fabric adds to the I/Os of a stack, beside its twin on a device
// of this host.
type Fabric struct {
	Transport string       `json:"transport"` // NVMe/TCP
	Few       bool         `json:"few"`       // under some workload there are too few trials for an interval
	Under     []AddedUnder `json:"under"`     // in the order of the workloads
}

// AddedUnder is what a fabric adds under a workload.
type AddedUnder struct {
	Workload string          `json:"workload"`
	Alone    bool            `json:"alone"` // one I/O at a time
	Extra    fact.Difference `json:"extra_ns"`
	There    float64         `json:"there_ns,omitempty"` // mean total latency; 0 when not known
	Here     float64         `json:"here_ns,omitempty"`
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

// Fabrics tells what each stack on another host's device costs beside its twin
// on a device of this host: under every workload the latency that is added, in
// microseconds, and the throughput that is left.
func Fabrics(v *measured.View) []fact.Finding {
	var out []fact.Finding
	for _, s := range v.Stacks {
		twin := v.Twin(s)
		if twin == nil {
			continue
		}
		f := fact.Finding{
			ID: "fabric/" + s.Name, Case: "fabric", Kind: fact.KindComparison, Stacks: []string{s.Name, twin.Name},
			Caveats: measured.MarksOf(v.Under(v.Workloads[0].Name)...),
			Remarks: []fact.Remark{{Case: "caveat: two devices"}},
		}
		facts := Fabric{Transport: measured.TransportOf(s.Parsed)}
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
			if why := measured.Unfit(a, b); why != nil {
				f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: unfit", Facts: Unfit{w.Name, why}})
			}
			f.Evidence = append(f.Evidence, measured.Points(a, b)...)
			facts.Under = append(facts.Under, AddedUnder{w.Name, lowLoad(v, w), extra, meanOf(a), meanOf(b), e})
		}
		if len(facts.Under) > 0 {
			f.Facts = facts
			out = append(out, f)
		}
	}
	return out
}

// lowLoad reports whether a workload has one I/O at a time.
func lowLoad(v *measured.View, w result.Workload) bool {
	return slices.ContainsFunc(v.Driven(), func(d measured.Driven) bool {
		return d.Name == w.Name && d.Load.InFlight() == 1
	})
}

// meanOf is the mean total latency of a cell in ns; 0 when it is not known.
func meanOf(c *measured.Cell) float64 {
	l, _ := c.Latencies()
	return l.Total
}

// Target is what the I/Os of a stack cost the host that holds its device.
type Target struct {
	Transport string       `json:"transport"` // NVMe/TCP
	Loads     []TargetLoad `json:"loads"`     // in the order of the workloads
}

// TargetLoad is what a workload costs a target.
type TargetLoad struct {
	Workload   string        `json:"workload"`
	CPUs       int           `json:"cpus"`
	PerIO      fact.Estimate `json:"per_io_ns"`  // of processor time
	Initiators fact.Estimate `json:"initiators"` // hosts such as this one with which all of its processors are busy
}

// Worst is the load of which the target carries the fewest hosts.
func (t Target) Worst() TargetLoad {
	worst := t.Loads[0]
	for _, l := range t.Loads {
		if l.Initiators.Median < worst.Initiators.Median {
			worst = l
		}
	}
	return worst
}

// Targets tells what an I/O costs the host that holds a remote device, and how
// many hosts such as this one it can serve before its processors are full.
func Targets(v *measured.View) []fact.Finding {
	var out []fact.Finding
	for _, s := range v.Stacks {
		if !measured.Remote(s.Parsed) {
			continue
		}
		f := fact.Finding{
			ID: "target/" + s.Name, Case: "target", Kind: fact.KindComparison, Stacks: []string{s.Name},
			Remarks: []fact.Remark{{Case: "caveat: an estimate"}},
		}
		facts := Target{Transport: measured.TransportOf(s.Parsed)}
		for _, w := range v.Workloads {
			c := v.Cell(s.Name, w.Name)
			if c == nil {
				continue
			}
			l, ok := loadOnTarget(c)
			if ok {
				f.Evidence = append(f.Evidence, c.Point)
				facts.Loads = append(facts.Loads, l)
			}
		}
		if len(facts.Loads) == 0 {
			continue
		}
		f.Facts = facts
		worst := facts.Worst()
		f.Caveats = measured.MarksOf(v.Under(worst.Workload)...)
		if worst.Initiators.Coverage < stats.Confidence {
			f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: coverage", Facts: worst.Initiators})
		}
		out = append(out, f)
	}
	return out
}

// loadOnTarget reads what the target of a cell's stack spent. ok is false when
// nobody told.
func loadOnTarget(c *measured.Cell) (l TargetLoad, ok bool) {
	var perIO, initiators []float64
	l.Workload = c.Workload.Name
	for _, t := range c.Trials {
		spent, iops := t.TargetCPU, t.Measured().IOPS()
		if spent == nil || !(spent.IOs > 0) || !(spent.BusySeconds > 0) || !(iops > 0) {
			continue
		}
		l.CPUs = spent.CPUs
		perIO = append(perIO, 1e9*spent.PerIO())
		initiators = append(initiators, float64(spent.CPUs)/(spent.PerIO()*iops))
	}
	if len(perIO) == 0 {
		return l, false
	}
	l.PerIO, l.Initiators = measured.Estimate(perIO), measured.Estimate(initiators)
	return l, true
}
