// Package caveat says what limits the conclusions of a run: how it was measured, and whether what
// was measured was steady.
package caveat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/cost"
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
	if clients := v.Run.Experiment.Clients; clients != nil {
		say("clients", stacksOf(cells, func(c *runview.Cell) bool { return busiestClients(c) != nil }),
			Facts{Clients: clients.Host})
		saturated := func(c *runview.Cell) bool {
			cpu := busiestClients(c)
			return cpu != nil && cpu.Busy() > threshold.SaturatedClients
		}
		if at := slices.IndexFunc(cells, saturated); at >= 0 {
			say("clients-saturated", stacksOf(cells, saturated), Facts{Clients: clients.Host,
				ClientCPU: busiestClients(cells[at])})
		}
	}
	say("cloned", stacksOf(cells, hasClones), Facts{})
	say("memory", marked(v, result.MarkMemory), Facts{})
	bottoms, affected := sharedBottoms(v)
	say("system-device", affected, Facts{Devices: bottoms})
	say("doubted", stacksOf(cells, func(c *runview.Cell) bool { return len(doubts(c)) > 0 }),
		Facts{Reason: firstOf(doubts(cells...))})
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
	tooFew := stacksOf(cells, func(c *runview.Cell) bool { return c.Rates.Nested() && c.Point.N < stats.FewestPairs })
	say("repeats", tooFew, Facts{Needed: stats.FewestPairs, AllStacks: len(tooFew) == len(v.Stacks) && len(tooFew) > 1})
	worst := slices.MaxFunc(cells, func(a, b *runview.Cell) int { return cmp.Compare(spread(a), spread(b)) })
	say("spread", stacksOf(cells, func(c *runview.Cell) bool { return spread(c) > threshold.WideInterval }),
		Facts{Widest: &Width{worst.Stack.Name, worst.Workload.Name, spread(worst)}, Allowed: threshold.WideInterval})
	return out
}

// hasClones reports whether servers of a cell began with files that share blocks.
func hasClones(c *runview.Cell) bool {
	return slices.ContainsFunc(c.Trials, func(t *result.Trial) bool {
		return t.Preconditioning != nil && t.Preconditioning.ClonedBytes > 0
	})
}

// doubts returns the reasons to doubt measurements that these themselves note, each once, in their order as texts.
func doubts(cells ...*runview.Cell) (reasons []string) {
	for _, c := range cells {
		for _, t := range c.Trials {
			for _, in := range t.Instances {
				if in.Measurement != nil {
					reasons = runview.AddNew(reasons, in.Measurement.Notes...)
				}
			}
		}
	}
	slices.Sort(reasons)
	return reasons
}

// firstOf joins the first few of texts, and counts the rest.
func firstOf(texts []string) string {
	const few = 3
	if more := len(texts) - few; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(texts[:few], "; "), more)
	}
	return strings.Join(texts, "; ")
}

// busiestClients returns the processors of the clients' machine in the trial in which they were busiest; nil where this
// host generated the load.
func busiestClients(c *runview.Cell) (busiest *result.ClientCPU) {
	for _, t := range c.Trials {
		if t.ClientCPU != nil && (busiest == nil || t.ClientCPU.Busy() > busiest.Busy()) {
			busiest = t.ClientCPU
		}
	}
	return busiest
}

// standIns are what servers that stand in for others say of themselves, and the workloads that they answered.
func standIns(run *result.Run) (texts, workloads []string) {
	for _, w := range run.Workloads {
		if w.Image.StandsIn() != "" {
			texts, workloads = runview.AddNew(texts, w.Image.Version), append(workloads, w.Name)
		}
	}
	return texts, workloads
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
func stacksOf(cells []*runview.Cell, holds func(*runview.Cell) bool) []string {
	var out []string
	for _, c := range cells {
		switch {
		case !holds(c):
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
		m := c.MeasuredOf(t)
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
		return cmp.Compare(a.Counts().Seconds, b.Counts().Seconds)
	})
	return shortest.Counts().Seconds
}
