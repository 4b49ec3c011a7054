// Package caveat says what limits the conclusions of a run: how it was measured, and whether what
// was measured was steady.
package caveat

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// Facts are the facts of a caveat beside its stacks.
type Facts struct {
	Devices   []string `json:"devices,omitempty"`   // that carry the host's file system too
	Reason    string   `json:"reason,omitempty"`    // why a trial was not traced; what servers are that stand in for others
	Workloads []string `json:"workloads,omitempty"` // that such servers answered
	Needed    int      `json:"needed,omitempty"`    // setups
	AllStacks bool     `json:"all_stacks,omitempty"`
	Widest    *Width   `json:"widest,omitempty"`
	Allowed   float64  `json:"allowed,omitempty"` // width of an interval, as a share of its median
	// Clients is the machine that generated the load, as ssh reaches it, and ClientCPU what its processors did in the
	// trial in which they were busiest.
	Clients   string            `json:"clients,omitempty"`
	ClientCPU *result.ClientCPU `json:"client_cpu,omitempty"`
}

// Width is how wide an interval is, as a share.
type Width struct {
	Stack    string  `json:"stack"`
	Workload string  `json:"workload"`
	Share    float64 `json:"share"`
}

// Find says what limits the conclusions, one finding each.
func Find(v *runview.View) []fact.Finding {
	var out []fact.Finding
	say := func(name string, stacks []string, facts Facts) {
		if len(stacks) > 0 {
			title, why := facts.say(name, stacks)
			out = append(out, fact.Finding{ID: "caveats/" + name, Case: name, Kind: fact.KindCaveat, Stacks: stacks, Facts: facts,
				Title: title, Why: why})
		}
	}
	cells := v.All()
	if len(cells) == 0 {
		return nil
	}
	say("imported", marked(v, result.MarkImported), Facts{})
	say("histograms", stacksOf(cells, func(c *runview.Cell) bool {
		return 0 < withHistogram(c) && withHistogram(c) < len(c.Trials)
	}), Facts{})
	if said, by := standIns(v.Run); len(said) > 0 {
		say("stand-in", stacksOf(cells, func(*runview.Cell) bool { return true }),
			Facts{Reason: strings.Join(said, "; "), Workloads: by})
	}
	say("lab", marked(v, result.MarkLab), Facts{})
	say("loop", marked(v, result.MarkLoop), Facts{})
	say("shared", marked(v, result.MarkShared), Facts{})
	say("elsewhere", marked(v, result.MarkElsewhere), Facts{})
	if of := v.Run.Experiment.Clients; of != nil {
		say("clients", stacksOf(cells, func(c *runview.Cell) bool { return busiestClients(c) != nil }), Facts{Clients: of.Host})
		saturated := func(c *runview.Cell) bool {
			cpu := busiestClients(c)
			return cpu != nil && cpu.Busy() > threshold.SaturatedClients
		}
		if at := slices.IndexFunc(cells, saturated); at >= 0 {
			say("clients-saturated", stacksOf(cells, saturated), Facts{Clients: of.Host, ClientCPU: busiestClients(cells[at])})
		}
	}
	say("memory", marked(v, result.MarkMemory), Facts{})
	bottoms, below := sharedBottoms(v)
	say("system-device", below, Facts{Devices: bottoms})
	say("unchecked", stacksOf(cells, func(c *runview.Cell) bool { return c.Source() == result.SourceUnknown }), Facts{})
	say("traced", stacksOf(cells, func(c *runview.Cell) bool {
		return slices.ContainsFunc(c.Trials, func(t *result.Trial) bool { return t.Trace != nil })
	}), Facts{})
	untraced := func(c *runview.Cell) bool { return whyUntraced(c) != "" }
	if at := slices.IndexFunc(cells, untraced); at >= 0 {
		say("untraced", stacksOf(cells, untraced), Facts{Reason: whyUntraced(cells[at])})
	}
	say("mixed", stacksOf(cells, func(c *runview.Cell) bool {
		return 0 < c.FromMemory() && c.FromMemory() < len(c.Trials)
	}), Facts{})
	few := stacksOf(cells, func(c *runview.Cell) bool { return c.Rates.Nested() && c.Point.N < stats.FewestPairs })
	say("repeats", few, Facts{Needed: stats.FewestPairs, AllStacks: len(few) == len(v.Stacks) && len(few) > 1})
	worst := slices.MaxFunc(cells, func(a, b *runview.Cell) int { return cmp.Compare(spread(a), spread(b)) })
	say("spread", stacksOf(cells, func(c *runview.Cell) bool { return spread(c) > threshold.WideInterval }),
		Facts{Widest: &Width{worst.Stack.Name, worst.Workload.Name, spread(worst)}, Allowed: threshold.WideInterval})
	return out
}

// busiestClients returns the processors of the clients' machine in the trial in which they were busiest; nil where this
// host generated the load.
func busiestClients(c *runview.Cell) (most *result.ClientCPU) {
	for _, t := range c.Trials {
		if t.ClientCPU != nil && (most == nil || t.ClientCPU.Busy() > most.Busy()) {
			most = t.ClientCPU
		}
	}
	return most
}

// standIns are what servers that stand in for others say of themselves, and the workloads that they answered.
func standIns(run *result.Run) (said, workloads []string) {
	for _, w := range run.Workloads {
		if w.Image.StandsIn() != "" {
			said, workloads = runview.AddNew(said, w.Image.Version), append(workloads, w.Name)
		}
	}
	return said, workloads
}

// marked names the measured stacks with a mark.
func marked(v *runview.View, m result.Mark) []string {
	return slices.DeleteFunc(stacksOf(v.All(), func(*runview.Cell) bool { return true }), func(name string) bool {
		return !slices.ContainsFunc(v.Run.Stacks, func(s result.Stack) bool {
			return s.Name == name && slices.Contains(s.Marks, m)
		})
	})
}

// sharedBottoms names the devices that carry a file system of the host, and
// the stacks on them.
func sharedBottoms(v *runview.View) (devices, stacks []string) {
	for _, c := range v.All() {
		if !cost.Below(c) || watched(c) {
			continue // what others did there is known
		}
		for _, d := range c.Stack.Devices {
			if d.Role == runview.RoleBottom {
				devices, stacks = runview.AddNew(devices, d.Name), runview.AddNew(stacks, c.Stack.Name)
			}
		}
	}
	return devices, stacks
}

// watched reports whether it is known of every trial what others did on its
// disks.
func watched(c *runview.Cell) bool {
	return !slices.ContainsFunc(c.Trials, func(t *result.Trial) bool {
		return t.Neighbours == nil || !slices.ContainsFunc(t.Neighbours.Disks, func(d result.DiskShare) bool { return d.How == result.ByControlGroup })
	})
}

// stacksOf names the stacks with a cell that is so.
func stacksOf(cells []*runview.Cell, so func(*runview.Cell) bool) []string {
	var out []string
	for _, c := range cells {
		switch {
		case !so(c):
		case c.Stack.Name == "": // its tenants stand on their own
			for _, in := range c.Trials[0].Instances {
				out = runview.AddNew(out, in.Stack)
			}
		default:
			out = runview.AddNew(out, c.Stack.Name)
		}
	}
	return out
}

// whyUntraced says why a trial of a cell that was to be traced was not.
func whyUntraced(c *runview.Cell) string {
	for _, t := range c.Trials {
		if t.Untraced != "" {
			return t.Untraced
		}
	}
	return ""
}

// withHistogram counts the trials that have a histogram of total latency, or completed
// nothing that one could be of.
func withHistogram(c *runview.Cell) int {
	n := 0
	for _, t := range c.Trials {
		m := t.Measured()
		reads, writes := m.Operation(result.Read).Latency[result.Total], m.Operation(result.Write).Latency[result.Total]
		if m.IOs() == 0 || !reads.Bins.IsEmpty() || !writes.Bins.IsEmpty() {
			n++
		}
	}
	return n
}

// spread is the width of the median's interval as a share of the median.
func spread(c *runview.Cell) float64 {
	width := (c.Point.High - c.Point.Low) / c.Point.Median
	if math.IsNaN(width) || math.IsInf(width, 0) {
		return 0 // of no rate, or of numbers that are none
	}
	return width
}

// runtime is the shortest measured time of a cell's trials, in seconds.
func runtime(c *runview.Cell) float64 {
	shortest := slices.MinFunc(c.Trials, func(a, b *result.Trial) int {
		return cmp.Compare(a.Measured().Seconds, b.Measured().Seconds)
	})
	return shortest.Measured().Seconds
}
