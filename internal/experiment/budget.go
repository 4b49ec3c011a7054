package experiment

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/steady"
	"plimsoll/internal/workload"
)

// How a budget is spent.
const (
	// enoughRepeats are the blocks below which no test can find a difference.
	enoughRepeats = stats.FewestPairs
	// firstShare of a budget goes to so many blocks of every stack; the rest is
	// for those of which least is known then.
	firstShare = 0.7
	// shortest is the least measured time of a trial that a budget can force.
	shortest = 250 * time.Millisecond
)

// Fit makes the trials of e so short, and their first blocks so few, that all
// points are measured within a budget and time is left for those whose
// intervals are wide. It makes no trial longer than e says, and leaves the
// times that workloads have of their own. A budget in which not every point
// can be measured once is an error that says how much it takes.
func Fit(e *Experiment, budget time.Duration) error {
	full := e.Timing
	takes := func(repeat int, share float64) time.Duration {
		short := *e
		short.Repeat, short.Timing = repeat, scaled(full, share)
		return Estimate(&short) + Undo(e)
	}
	least := min(1, float64(shortest)/float64(full.Runtime))
	if need := takes(1, least); need > budget {
		return fmt.Errorf("a budget of %s is too short for %s: to set up its %s and measure each point once takes "+
			"about %s; give it more, smaller files (--size), or an experiment with fewer stacks and workloads",
			budget, e.Name, plural.Count(len(e.Stacks), "stack"), need.Round(time.Second))
	}
	first := time.Duration(firstShare * float64(budget))
	if e.Trials == 0 && takes(enoughRepeats, least) > first {
		e.Trials = 1 // blocks say more than what trials of one bring-up differ by
	}
	for e.Repeat = enoughRepeats; e.Repeat > 1 && takes(e.Repeat, least) > budget; e.Repeat-- {
	}
	affordable := func() (share float64) {
		// The cost grows linearly with the times.
		low, high := takes(e.Repeat, 0), takes(e.Repeat, 1)
		if high <= first || high <= low {
			return 1
		}
		return max(least, float64(first-low)/float64(high-low))
	}
	share := affordable()
	if scaled(full, share).Ramp < shortest {
		// It would be over before a rate is steady. The time is better measured.
		full.Ramp = 0
		share = affordable()
	}
	e.Timing, e.Budget = scaled(full, share), budget
	return nil
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
	return !e.Fixed && longest(e, together).Runtime > steady.DefaultRule.Min
}

// scaled is a part of both times, in whole milliseconds.
func scaled(t workload.Timing, share float64) workload.Timing {
	part := func(d time.Duration) time.Duration {
		if d = time.Duration(math.Round(share * float64(d))); d < time.Millisecond {
			return d
		}
		return d.Round(time.Microsecond).Truncate(time.Millisecond) // never longer, but for what floating point lost
	}
	t.Ramp, t.Runtime = part(t.Ramp), part(t.Runtime)
	return t
}
