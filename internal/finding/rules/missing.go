package rules

import (
	"cmp"
	_ "embed" // the sentences
	"fmt"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
)

//go:embed missing.tmpl
var missingText string

// MissingSentences are the sentences on what was not measured.
var MissingSentences = prose.NewSheet(missingText)

// Unmeasured is how many trials were not measured for one reason.
type Unmeasured struct {
	Trials    int      `json:"trials"`
	Status    string   `json:"status"` // result.TrialStatus of all of them
	Workloads []string `json:"workloads"`
	What      string   `json:"what,omitempty"`
	Reason    string   `json:"reason"`
	Remedy    string   `json:"remedy,omitempty"` // what would change it
}

const noReason = "no reason was recorded"

// Missing names what was not measured, by reason.
func Missing(v *measured.View) []fact.Finding {
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
	for i := range v.Run.Trials {
		t := &v.Run.Trials[i]
		if samples.Measured(t) {
			continue
		}
		r, what := reason{status: t.Status}, ""
		switch {
		case t.Problem != nil:
			what, r.why, r.remedy = t.Problem.What, cmp.Or(t.Problem.Why, noReason), t.Problem.Remedy
		case t.Status == result.TrialDone:
			r.why, r.remedy = "the trial left no usable number", "see its artifacts"
		case t.Status == result.TrialPlanned:
			r.why, r.remedy = "the run did not come to it", "finish the run with --resume"
		default:
			r.why = noReason
		}
		g := byReason[r]
		if g == nil {
			g = &group{reason: r, what: what}
			byReason[r], groups = g, append(groups, g)
		}
		g.trials++
		g.stacks, g.workloads = measured.AppendNew(g.stacks, t.Stack), measured.AppendNew(g.workloads, mixOf(v, t))
	}
	var out []fact.Finding
	for i, g := range groups {
		f := fact.Finding{
			ID: fmt.Sprintf("missing/%d", i+1), Case: "missing", Kind: fact.KindMissing, Stacks: g.stacks,
			Facts: Unmeasured{Trials: g.trials, Status: string(g.status), Workloads: g.workloads, What: g.what, Reason: g.why, Remedy: g.remedy},
		}
		if len(g.workloads) == 1 {
			f.Workload = g.workloads[0]
		}
		out = append(out, f)
	}
	return out
}

// mixOf names the mix of a trial. Those that the run added to vary limits, and did not come to,
// are one.
func mixOf(v *measured.View, t *result.Trial) string {
	for _, m := range v.Run.Mixes {
		if m.Name == t.Mix && m.Varies != nil && t.Status == result.TrialPlanned {
			return "limits of " + m.Varies.Of + " varied"
		}
	}
	return t.Mix
}
