package verdict

import (
	"math"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// settle gives a verdict on instances, policies, tenants or rates the command that would settle what it leaves open: more
// instances, where the line may lie beyond those that were measured, or more time for the same run. Where no command
// does, as for a number between two others or another rate, there is none.
func settle(v *runview.View, f *fact.Finding) {
	verdict, ok := f.Facts.(Facts)
	if !ok {
		return
	}
	r := f.Recommendation
	open := r.Confidence != fact.Sure // what more time for the same run may tell
	if verdict.LoadLine != nil && r.Confidence != fact.TooEarly {
		open = open && verdict.LoadLine.Curve.Line.NextWhy == "" || verdict.LoadLine.Curve.Line.NextWhy == loadline.NextAgain
		if r.Command = verdict.LoadLine.Command(v.Run); r.Command != "" {
			_, seconds := spent(v)
			verdict.CommandMinutes = int(max(1, math.Ceil(seconds/60)))
			r.Seconds = 60 * float64(verdict.CommandMinutes)
		}
	}
	offers := verdict.Overload != nil && verdict.Overload.Overload.Next > 0 && r.Confidence != fact.TooEarly
	if open && !offers {
		last, _ := spent(v)
		propose(v, r, &verdict, max(2, stats.FewestPairs-last, last/2))
	}
	f.Facts = verdict
}

// spent returns the last block in which something was measured, and the time that all trials took.
func spent(v *runview.View) (last int, seconds float64) {
	for _, t := range v.Run.Trials {
		seconds += t.ElapsedSeconds
		if t.Measured() != nil {
			last = max(last, t.Block)
		}
	}
	return last, seconds
}
