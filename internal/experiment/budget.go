package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/stats"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload"
)

// How a budget is spent.
const (
	// enoughRepeats are the blocks below which no test can find a difference.
	enoughRepeats = stats.FewestPairs
	// firstShare of a budget goes to so many blocks of every stack; the rest is
	// for those of which least is known then.
	firstShare = 0.7
	// scalingShare is the share of a budget for blocks that determine the load line, and the limits varied at it, in
	// an experiment about the number of instances: the rest is for the numbers next to the line.
	scalingShare = 0.85
	// shortest is the least measured time of a trial that a budget can force.
	shortest = 250 * time.Millisecond
)

// Fit shortens the trials of e, and reduces the first blocks, so that all points are measured within a budget and
// time is left for those with wide intervals. It lengthens no trial, and keeps the times that workloads set
// themselves. If the budget does not suffice to measure every point once, the error says how much would.
//
// In an experiment about the number of instances, only the first block is planned, with a coarse set of numbers,
// whose results decide on the others. One trial each is then enough, since more blocks are worth more.
func Fit(e *Experiment, budget time.Duration) error {
	full := e.Timing
	estimate, share := Estimate, firstShare
	if e.IsScaling() {
		estimate, share = scalingCost, scalingShare
		e.Trials = max(1, e.Trials)
	}
	elasticity := 0.0 // not in the least that a budget has to suffice for
	takes := func(repeat int, t workload.Timing) time.Duration {
		short := *e
		short.Elasticity, short.Repeat, short.Timing = elasticity, repeat, t
		return estimate(&short) + Undo(e)
	}
	least := scaleTiming(full, min(1, float64(shortest)/float64(full.Runtime)))
	if need := takes(1, least); need > budget {
		return fmt.Errorf("a budget of %s is too short for %s. To set up its %s and measure each point once takes "+
			"about %s; give it more, smaller files (--size), or an experiment with fewer stacks and workloads",
			budget, e.Name, plural.Count(len(e.Stacks), "stack"), need.Round(time.Second))
	}
	elasticity = e.Elasticity
	first := time.Duration(share * float64(budget))
	if e.Trials == 0 && takes(enoughRepeats, least) > first {
		e.Trials = 1 // blocks say more than what trials of one setup differ by
	}
	for e.Repeat = enoughRepeats; e.Repeat > 1 && takes(e.Repeat, least) > budget; e.Repeat-- {
	}
	// affordable is as much of the times as there is budget for, of those between two of
	// which one is a part of the other: the cost grows linearly with them.
	affordable := func(short, long workload.Timing) workload.Timing {
		low, high := takes(e.Repeat, short), takes(e.Repeat, long)
		if high <= first || high <= low {
			return long
		}
		share := max(0, float64(first-low)/float64(high-low))
		added := scaleTiming(workload.Timing{Ramp: long.Ramp - short.Ramp, Runtime: long.Runtime - short.Runtime}, share)
		return workload.Timing{Ramp: short.Ramp + added.Ramp, Runtime: short.Runtime + added.Runtime}
	}
	even := least // how short both become before the time in which nothing is measured does
	if e.serves() {
		// Caches of servers settle in a time of their own, whatever the budget.
		share := min(1, float64(full.Ramp)/float64(full.Runtime))
		even = workload.Timing{Ramp: full.Ramp, Runtime: max(least.Runtime, scaleTiming(full, share).Runtime)}
	}
	var timing workload.Timing
	if takes(e.Repeat, even) > first {
		timing = affordable(least, even)
	} else {
		timing = affordable(even, full)
	}
	if timing.Ramp < shortest {
		// The ramp would be over before a rate is steady. The time is better measured.
		full.Ramp, least.Ramp = 0, 0
		timing = affordable(least, full)
	}
	e.Timing, e.Budget = timing, budget
	if e.IsScaling() {
		e.Repeat = 1
	}
	return nil
}

// scalingCost estimates the time to determine the load lines of an experiment with a budget, and the effect of the
// limits there: a coarse set of each family and the two numbers beside its line, in as many blocks as e repeats.
func scalingCost(e *Experiment) time.Duration {
	likely := *e
	likely.Mixes = nil
	for _, f := range e.Families() {
		likely.Mixes = append(likely.Mixes, withNextTo(f)...)
	}
	total := ElasticityTakes(e)
	for _, cost := range Costs(&likely, Trials(&likely, 0)) {
		total += cost
	}
	return total
}

// serves reports whether any workload of a mix asks a server.
func (e *Experiment) serves() bool {
	return slices.ContainsFunc(e.Workloads, func(w Workload) bool { return w.Abilities().Serving != nil })
}

// MayEndEarly reports whether trials of workloads that run together end once
// their mean is known: all can be watched, their time is not fixed, and longer
// than the shortest after which a mean can be judged.
func MayEndEarly(e *Experiment, together ...Workload) bool {
	for _, w := range together {
		watchable := w.Abilities().Watch != nil
		if !watchable {
			return false
		}
	}
	return !e.Fixed && e.Operations == 0 && longest(e, together).Runtime > stopping.DefaultRule.Min
}

// scaleTiming returns both times multiplied by share, in whole milliseconds.
func scaleTiming(t workload.Timing, share float64) workload.Timing {
	part := func(d time.Duration) time.Duration {
		if d = time.Duration(math.Round(share * float64(d))); d < time.Millisecond {
			return d
		}
		return d.Round(time.Microsecond).Truncate(time.Millisecond) // never longer, but for what floating point lost
	}
	t.Ramp, t.Runtime = part(t.Ramp), part(t.Runtime)
	return t
}
