package published

import (
	"fmt"
	"math"

	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// wanted is the load that a claim is about, and what of it a run has.
type wanted struct {
	role string
	low  bool // one I/O at a time
	// Otherwise at least so many jobs, and so many I/Os in flight.
	jobs, inFlight int
	paper          fio.Load // what the paper had, as far as it says

	runview.Driven                  // the workload that is nearest to what the paper ran
	found          bool             // there is one
	like           []runview.Driven // those that only differ in the number of I/Os in flight
}

// workloadOf is the workload of a role that is nearest to the load of a claim.
func workloadOf(v *runview.View, load claims.Load, jobs int, role string) wanted {
	w := wanted{role: role, jobs: max(1, jobs), inFlight: threshold.HighLoadInFlight, paper: fio.Load{Jobs: 32, Depth: 32}} // MSST'17 section 5
	switch load {
	case claims.Low:
		w.low, w.jobs, w.inFlight, w.paper = true, 0, 0, fio.Load{Jobs: 1, Depth: 1}
	case claims.Parallel: // MSST'17 section 5.5
		w.jobs, w.inFlight, w.paper.Jobs = threshold.ParallelJobs, threshold.ParallelJobs, threshold.ParallelJobs
	}
	for _, d := range v.Driven() {
		switch {
		case runview.RoleOf(d.Load) != role:
		case !w.fits(d.Load):
			w.like = append(w.like, d)
		case !w.found || w.distance(d.Load) < w.distance(w.Load):
			w.Driven, w.found = d, true
		}
	}
	return w
}

func (w wanted) fits(l fio.Load) bool {
	if w.low {
		return l.Jobs == 1 && l.Depth == 1
	}
	return l.Jobs >= w.jobs && l.InFlight() >= w.inFlight
}

// distance is how far a load is from the paper's, as a ratio on a log scale.
func (w wanted) distance(l fio.Load) float64 {
	apart := func(x, y int) float64 { return math.Abs(math.Log(float64(x) / float64(y))) }
	return apart(l.Jobs, w.paper.Jobs) + apart(l.Depth, w.paper.Depth)
}

// missing reports whether the run has no workload of that role at all.
func (w wanted) missing() bool { return !w.found && len(w.like) == 0 }

// newCase begins the case of a stack under the workload. It is judged where none will do.
func (w wanted) newCase(stack string) claimCase {
	k := claimCase{stacks: []string{stack}, workload: w.Name}
	if w.found {
		if w.Load.Jobs != w.paper.Jobs || w.Load.Depth != w.paper.Depth {
			k.caveats = []Reason{newReason("caveat: other load", "%s here, %s in the paper", loadText(w.Load), loadText(w.paper))}
		}
		return k
	}
	load := "1 job x depth 1"
	if !w.low {
		load = "at least "
		if w.jobs > 1 {
			load += fmt.Sprintf("%d jobs and ", w.jobs)
		}
		load += fmt.Sprintf("%d I/Os in flight", w.inFlight)
	}
	present := plural.List(w.like, func(d runview.Driven) string { return fmt.Sprintf("%s (%s)", d.Name, loadText(d.Load)) })
	k.workload = w.like[0].Name
	k.judgement = notTestable("no such load", "the claim is about %s of %s, and the run has %s", w.role, load, present)
	return k
}
