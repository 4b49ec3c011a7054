package published

import (
	"math"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/workload/fio"
)

// wanted is the load that a claim is about.
type wanted struct {
	role string
	low  bool // one I/O at a time
	// Otherwise at least so many jobs, and so many I/Os in flight.
	jobs, inFlight int
	paper          fio.Load // what the paper had, as far as it says
}

const (
	// busy is how many I/Os in flight it takes at least to call a load high.
	busy = 32
	// manyJobs is how many parallel jobs MSST'17 calls a high load (section 5.5).
	manyJobs = 16
)

// wantedLoad is the load of a claim's test, for one of its roles.
func wantedLoad(t *claims.Test, role string) wanted {
	switch t.Load {
	case claims.Low:
		return wanted{role: role, low: true, paper: fio.Load{Jobs: 1, Depth: 1}}
	case claims.Parallel: // MSST'17 section 5.5
		return wanted{role: role, jobs: manyJobs, inFlight: manyJobs, paper: fio.Load{Jobs: manyJobs, Depth: 32}}
	}
	// MSST'17 section 5
	return wanted{role: role, jobs: max(1, t.Jobs), inFlight: busy, paper: fio.Load{Jobs: 32, Depth: 32}}
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

// nearest finds the workload that is nearest to what the paper ran. ok is
// false when none will do; like then has those that only differ in the number
// of I/Os in flight.
func nearest(v *measured.View, w wanted) (best measured.Driven, like []measured.Driven, ok bool) {
	for _, d := range v.Driven() {
		switch {
		case measured.RoleOf(d.Load) != w.role:
		case !w.fits(d.Load):
			like = append(like, d)
		case !ok || w.distance(d.Load) < w.distance(best.Load):
			best, ok = d, true
		}
	}
	return best, like, ok
}

// Load is a load, as sentences have it.
type Load struct {
	Workload string `json:"workload,omitempty"`
	Jobs     int    `json:"jobs"`
	Depth    int    `json:"depth"`
}

func loadOf(l fio.Load) Load { return Load{Jobs: l.Jobs, Depth: l.Depth} }

// Lacking is a load that a claim is about, and the loads that a run has instead.
type Lacking struct {
	Role     string `json:"role"`
	Low      bool   `json:"low"`                 // one I/O at a time; otherwise at least
	Jobs     int    `json:"jobs,omitempty"`      // so many jobs, and
	InFlight int    `json:"in_flight,omitempty"` // so many I/Os in flight
	Have     []Load `json:"have"`
}

// lacking says why none of the run's workloads of a role will do.
func (w wanted) lacking(like []measured.Driven) judgement {
	facts := Lacking{Role: w.role, Low: w.low, Jobs: w.jobs, InFlight: w.inFlight}
	for _, d := range like {
		facts.Have = append(facts.Have, Load{d.Name, d.Load.Jobs, d.Load.Depth})
	}
	return notTestable("no such load", facts)
}

// OtherLoad is a load, and the paper's.
type OtherLoad struct {
	Here  Load `json:"here"`
	Paper Load `json:"paper"`
}

// otherLoad says how a load differs from the paper's.
func (w wanted) otherLoad(l fio.Load) []fact.Remark {
	if l.Jobs == w.paper.Jobs && l.Depth == w.paper.Depth {
		return nil
	}
	return []fact.Remark{{Case: "caveat: other load", Facts: OtherLoad{loadOf(l), loadOf(w.paper)}}}
}

// Unmeasured is why a stack has no measurement under a workload.
type Unmeasured struct {
	Stack    string `json:"stack"`
	Workload string `json:"workload"`
	Status   string `json:"status,omitempty"` // result.TrialStatus: skipped, failed; "" when nothing is known
	Why      string `json:"why,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// unmeasured says why a claim cannot be tested on a stack that has no measurement.
func unmeasured(v *measured.View, s *measured.Stack, workload string) judgement {
	for _, t := range v.Run.Trials {
		if t.Stack != s.Name || t.Mix != workload || t.Problem == nil {
			continue
		}
		if t.Status == result.TrialSkipped || t.Status == result.TrialFailed {
			facts := Unmeasured{s.Name, workload, string(t.Status), strings.TrimRight(t.Problem.Why, "."), t.Problem.Remedy}
			return notTestable("unmeasured", facts)
		}
	}
	return notTestable("unmeasured", Unmeasured{Stack: s.Name, Workload: workload})
}
