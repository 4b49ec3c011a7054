package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
)

// missing names what was not measured, by reason.
func missing(v *view) []Finding {
	type reason struct {
		status      result.TrialStatus
		why, remedy string
	}
	type group struct {
		reason
		what      string
		trials    int
		stacks    []string
		workloads []string
	}
	var groups []*group
	byReason := map[reason]*group{}
	for i := range v.run.Trials {
		t := &v.run.Trials[i]
		if measured(t) {
			continue
		}
		r, what := reason{status: t.Status}, ""
		switch {
		case t.Problem != nil:
			what, r.why, r.remedy = t.Problem.What, t.Problem.Why, t.Problem.Remedy
		case t.Status == result.TrialDone:
			r.why, r.remedy = "the trial left no usable number", "see its artifacts"
		case t.Status == result.TrialPlanned:
			r.why, r.remedy = "the run did not come to it", "finish the run with --resume"
		default:
			r.why = "no reason was recorded"
		}
		g := byReason[r]
		if g == nil {
			g = &group{reason: r, what: what}
			byReason[r], groups = g, append(groups, g)
		}
		g.trials++
		g.stacks, g.workloads = appendNew(g.stacks, t.Stack), appendNew(g.workloads, t.Workload)
	}
	var out []Finding
	for i, g := range groups {
		ended := map[result.TrialStatus]string{
			result.TrialFailed: "failed", result.TrialSkipped: "skipped", result.TrialPlanned: "not run",
		}[g.status]
		if ended == "" {
			ended = "lost"
		}
		f := Finding{
			ID: fmt.Sprintf("missing/%d", i+1), Kind: KindMissing, Stacks: g.stacks,
			Title: fmt.Sprintf("%s %s (%s, %s): %s", plural.Count(g.trials, "trial"), ended, plural.And(g.stacks), plural.And(g.workloads), firstLine(g.why)),
		}
		if len(g.workloads) == 1 {
			f.Workload = g.workloads[0]
		}
		var why []string
		if g.what != "" {
			why = append(why, g.what+": "+g.why)
		} else {
			why = append(why, g.why)
		}
		if g.remedy != "" {
			why = append(why, "What would change it: "+g.remedy)
		}
		for i := range why {
			why[i] = strings.TrimRight(why[i], ". \n") + "."
		}
		f.Why = strings.Join(why, " ")
		out = append(out, f)
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimRight(line, ". ")
}
