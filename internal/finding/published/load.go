package published

import (
	"math"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/workload/fio"
)

const (
	// busy is how many I/Os in flight it takes at least to call a load high.
	busy = 32
	// manyJobs is how many parallel jobs MSST'17 calls a high load (section 5.5).
	manyJobs = 16
)

// wanted is the load that a claim is about, and what of it a run has.
type wanted struct {
	role string
	low  bool // one I/O at a time
	// Otherwise at least so many jobs, and so many I/Os in flight.
	jobs, inFlight int
	paper          fio.Load // what the paper had, as far as it says

	measured.Driven                   // the workload that is nearest to what the paper ran
	found           bool              // there is one
	like            []measured.Driven // those that only differ in the number of I/Os in flight
}

// workloadOf is the workload of a role that is nearest to the load of a claim.
func workloadOf(v *measured.View, load claims.Load, jobs int, role string) wanted {
	w := wanted{role: role, jobs: max(1, jobs), inFlight: busy, paper: fio.Load{Jobs: 32, Depth: 32}} // MSST'17 section 5
	switch load {
	case claims.Low:
		w.low, w.jobs, w.inFlight, w.paper = true, 0, 0, fio.Load{Jobs: 1, Depth: 1}
	case claims.Parallel: // MSST'17 section 5.5
		w.jobs, w.inFlight, w.paper.Jobs = manyJobs, manyJobs, manyJobs
	}
	for _, d := range v.Driven() {
		switch {
		case measured.RoleOf(d.Load) != role:
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

// none reports whether the run has no workload of that role at all.
func (w wanted) none() bool { return !w.found && len(w.like) == 0 }

// on begins the case of a stack under the workload. It is judged where none will do.
func (w wanted) on(stack string) claimCase {
	k := claimCase{stacks: []string{stack}, workload: w.Name}
	if w.found {
		if w.Load.Jobs != w.paper.Jobs || w.Load.Depth != w.paper.Depth {
			facts := OtherLoad{loadOf(w.Load), loadOf(w.paper)}
			k.caveats = []said{say("caveat: other load", facts, "%s here, %s in the paper", facts.Here, facts.Paper)}
		}
		return k
	}
	facts := Lacking{Role: w.role, Low: w.low, Jobs: w.jobs, InFlight: w.inFlight}
	for _, d := range w.like {
		facts.Have = append(facts.Have, Load{d.Name, d.Load.Jobs, d.Load.Depth})
	}
	k.workload, k.judgement = w.like[0].Name, notTestable("no such load", facts, "%s", facts)
	return k
}

func loadOf(l fio.Load) Load { return Load{Jobs: l.Jobs, Depth: l.Depth} }
