package missing

import (
	"cmp"
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

const noReason = "no reason was recorded"

// Find names what was not measured, by reason.
func Find(v *runview.View) (out []fact.Finding) {
	var groups []*Facts
	type reason struct {
		status      result.TrialStatus
		why, remedy string
	}
	byReason := map[reason]*Facts{}
	for i := range v.Run.Trials {
		t := &v.Run.Trials[i]
		if runview.Measured(t) {
			continue
		}
		r, failure := reason{status: t.Status}, ""
		switch {
		case t.Problem != nil:
			failure, r.why, r.remedy = t.Problem.What, cmp.Or(t.Problem.Why, noReason), t.Problem.Remedy
		case t.Status == result.TrialDone:
			r.why, r.remedy = "the trial left no usable number", "see its artifacts"
		case t.Status == result.TrialPlanned:
			r.why, r.remedy = "the run did not come to it", "finish the run with --resume"
		default:
			r.why = noReason
		}
		f := byReason[r]
		if f == nil {
			f = &Facts{Status: t.Status, What: failure, Reason: r.why, Remedy: r.remedy}
			byReason[r], groups = f, append(groups, f)
		}
		f.Trials++
		f.stacks, f.Workloads = runview.AddNew(f.stacks, t.Stack), runview.AddNew(f.Workloads, mixOf(v, t))
	}
	for i, facts := range groups {
		f := fact.Finding{
			ID: fmt.Sprintf("missing/%d", i+1), Case: "missing", Kind: fact.KindMissing, Stacks: facts.stacks, Facts: facts,
			Title: facts.title(v.Run), Why: facts.why(),
		}
		if len(facts.Workloads) == 1 {
			f.Workload = facts.Workloads[0]
		}
		out = append(out, f)
	}
	return out
}

// mixOf names the mix of a trial. Those that the run added to vary limits, and did not come to,
// are one.
func mixOf(v *runview.View, t *result.Trial) string {
	for _, m := range v.Run.Mixes {
		if m.Name == t.Mix && m.Varies != nil && t.Status == result.TrialPlanned {
			return "limits of " + m.Varies.Of + " varied"
		}
	}
	return t.Mix
}
