package verdict

import (
	"math"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/overload"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/finding/tornpages"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// Answer is the facts of the answer to a question, as JSON has them.
type Answer interface {
	// Next returns what the answer leaves open at a confidence, and what would settle it.
	Next(run *result.Run, c fact.Confidence) fact.Next
}

// question draws the verdict of a run whose mixes ask it: case, title, reasons and confidence. Quiet is whether the host
// was; ok is false for any other run.
type question func(v *runview.View, quiet bool) (f fact.Finding, answer Answer, ok bool)

// questions are those that a run's mixes can ask. The first that a run asks has its verdict; one that asks none is a
// choice among stacks. A new question is a line here.
var questions = []question{
	asked(importedPoints),
	asked(policies.Verdict),
	asked(loadLine),
	asked(tenants.Verdict),
	asked(overload.Verdict),
	asked(tornpages.Verdict),
	asked(levels.Verdict),
}

// asked is the question of a function that returns its facts.
func asked[A Answer](verdict func(*runview.View, bool) (fact.Finding, A, bool)) question {
	return func(v *runview.View, quiet bool) (fact.Finding, Answer, bool) {
		f, answer, ok := verdict(v, quiet)
		return f, answer, ok
	}
}

// loadLine asks how many instances a host carries, and what would move their number.
func loadLine(v *runview.View, _ bool) (fact.Finding, *loadline.Facts, bool) {
	f, facts, ok := loadline.Verdict(v)
	if !ok {
		return f, nil, false
	}
	moves := elasticity.Moves(v, facts.Cells(), facts.Curve.Line.Instances)
	if moves != "" && f.Recommendation.Confidence != fact.TooEarly {
		f.Title += "; " + moves
	}
	return f, facts, true
}

// answer returns the verdict of a run whose mixes ask a question. ok is false for a run that asks none.
func answer(v *runview.View) (f fact.Finding, ok bool) {
	for _, q := range questions {
		f, answer, ok := q(v, v.Neighbours() == nil)
		if !ok {
			continue
		}
		facts := Facts{Answer: answer}
		next := facts.settle(v, f.Recommendation)
		f.Facts, f.Caveats = facts, append(f.Caveats, doubts(v)...)
		f.Recommendation.Headline, f.Recommendation.Next = f.Title+".", facts.sayNext(f.Recommendation, next)
		explain(f.Recommendation)
		return f, true
	}
	return f, false
}

// settle gives a recommendation the command that would settle what its answer leaves open: the answer's own, or more
// time for the same run. There is none where neither would.
func (f *Facts) settle(v *runview.View, r *fact.Recommendation) fact.Next {
	next := f.Answer.Next(v.Run, r.Confidence)
	last, seconds := spent(v)
	switch {
	case next.Command != "":
		r.Command = next.Command
		if next.Purpose == "" {
			f.CommandMinutes = int(max(1, math.Ceil(seconds/60)))
			r.Seconds = 60 * float64(f.CommandMinutes)
		}
	case next.MoreTime && r.Confidence != fact.Sure:
		propose(v, r, f, max(2, stats.FewestPairs-last, last/2))
	}
	return next
}

// sayNext says what is open of an answer, and gives the command that would settle it.
func (f *Facts) sayNext(r *fact.Recommendation, next fact.Next) string {
	var parts []string
	if next.Open != "" {
		parts = append(parts, next.Open)
	}
	switch {
	case r.Command != "" && next.Purpose != "":
		parts = append(parts, next.Purpose+": "+r.Command)
	case r.Command != "":
		parts = append(parts, f.inMinutes()+": "+r.Command)
	case next.Open == "" && r.Confidence == fact.Sure:
		parts = append(parts, "nothing: the question is settled")
	}
	return strings.Join(parts, "; ")
}

// spent returns the last block in which something was measured, and the time that all trials took.
func spent(v *runview.View) (last int, seconds float64) {
	for _, t := range v.Run.Trials {
		seconds += t.ElapsedSeconds
		if t.Counts() != nil {
			last = max(last, t.Block)
		}
	}
	return last, seconds
}
