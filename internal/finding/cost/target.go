package cost

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Target is the cost of a stack's I/Os for the host that holds its device.
type Target struct {
	Transport string       `json:"transport"` // NVMe/TCP
	Loads     []TargetLoad `json:"loads"`     // in the order of the workloads
}

// TargetLoad is the cost of a workload for a target.
type TargetLoad struct {
	Workload   string        `json:"workload"`
	CPUs       int           `json:"cpus"`
	NSPerIO    fact.Estimate `json:"ns_per_io"`  // of processor time
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

// Targets finds what an I/O costs the host that holds a remote device, and how
// many hosts such as this one it can serve before its processors are full.
func Targets(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, s := range v.Stacks {
		if !runview.Remote(s.Parsed) {
			continue
		}
		f := fact.Finding{ID: "target/" + s.Name, Case: "target", Kind: fact.KindComparison, Stacks: []string{s.Name}}
		facts := Target{Transport: runview.TransportOf(s.Parsed)}
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
		worst := facts.Worst()
		f.Facts, f.Title, f.Why = facts, facts.title(), facts.why(s.Name)
		f.Caveats = runview.MarksOf(v.Under(worst.Workload)...)
		prose.Remark(&f, "caveat: an estimate", nil, "an estimate: processor time is taken to grow with the I/Os; the device and "+
			"the network have limits of their own, which this does not count")
		if initiators := worst.Initiators; initiators.Coverage < stats.Confidence {
			text := fmt.Sprintf("the intervals, of %s, hold with %s only: repeat 6 times or more",
				plural.Count(initiators.N, "trial"), units.Percent(initiators.Coverage))
			if initiators.Coverage == 0 {
				text = fmt.Sprintf("%s: too few for an interval; repeat 6 times or more", plural.Count(initiators.N, "trial"))
			}
			prose.Remark(&f, "caveat: coverage", initiators, text)
		}
		out = append(out, f)
	}
	return out
}

// loadOnTarget reads what the target of a cell's stack spent. ok is false when
// nobody told.
func loadOnTarget(c *runview.Cell) (l TargetLoad, ok bool) {
	var perIO, initiators []float64
	l.Workload = c.Workload.Name
	for _, t := range c.Trials {
		spent, iops := t.TargetCPU, t.Counts().IOPS()
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
	l.NSPerIO, l.Initiators = runview.Estimate(perIO), runview.Estimate(initiators)
	return l, true
}

func (t Target) title() string {
	w := t.Worst()
	return fmt.Sprintf("The target's %s %s %s such as this one over %s, when they do %s, which leaves least",
		plural.Count(w.CPUs, "processor"), plural.Choose(w.CPUs, "carries", "carry"), prose.Many(w.Initiators, "initiator"),
		t.Transport, w.Workload)
}

func (t Target) why(stack string) string {
	takes := plural.List(t.Loads, func(l TargetLoad) string { return prose.Estimate("latency", l.NSPerIO) + " under " + l.Workload })
	serves := plural.List(t.Loads, func(l TargetLoad) string {
		return prose.Estimate("digits", l.Initiators) + " of " + l.Workload
	})
	return fmt.Sprintf("An I/O of %s takes of the target's processors: %s. At the rates measured here, all of them are busy with "+
		"so many initiators: %s. Medians over the trials, with their intervals; the time is all that the target's processors "+
		"were busy, whatever with.", stack, takes, serves)
}
