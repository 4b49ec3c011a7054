package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stats"
)

// settle gives a verdict on instances, policies, tenants or rates the command that would settle what it leaves open: more
// instances, where the line may lie beyond those that were measured, or more time for the same run. Where no command
// does, as for a number between two others or another rate, there is none.
func settle(v *measured.View, f *fact.Finding) {
	verdict, ok := f.Facts.(Verdict)
	if !ok {
		return
	}
	why := fact.NextAgain
	if f.Recommendation.Confidence == fact.Sure {
		why = ""
	}
	if verdict.Carries != nil {
		line := verdict.Carries.Curve.Line
		if line.NextWhy != "" && f.Recommendation.Confidence != fact.TooEarly {
			why = line.NextWhy
		}
		if why == fact.NextBeyond && v.Run.ID != "" {
			beyond(v, f.Recommendation, &verdict, line.Next)
		}
	}
	offers := verdict.Offered != nil && verdict.Offered.Overload.Next > 0 && f.Recommendation.Confidence != fact.TooEarly
	if why == fact.NextAgain && !offers {
		last, _ := spent(v)
		propose(v, f.Recommendation, &verdict, max(2, stats.FewestPairs-last, last/2))
	}
	f.Facts = verdict
}

// beyond proposes the run once more, with so many instances at most.
func beyond(v *measured.View, r *fact.Recommendation, f *Verdict, instances int) {
	e := v.Run.Experiment
	name := e.Name
	if e.File != "" {
		name = e.File
	}
	words := []string{"plimsoll", "run", name}
	if at := slices.Index(v.Run.Command, "run"); at >= 0 && !slices.Contains(v.Run.Command, "--resume") {
		words = append([]string{"plimsoll"}, without(v.Run.Command[at:], "-o", "--out", "--instances", "--seed")...)
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, " '\"$\\\n") }) {
		return // the shell would read it otherwise
	}
	_, seconds := spent(v)
	minutes := max(1, math.Ceil(seconds/60))
	r.Command = strings.Join(append(words, "--instances", fmt.Sprint(instances)), " ")
	r.Seconds, f.Minutes = 60*minutes, int(minutes)
}

// without returns the words of a command line without some of its flags and their values.
func without(words []string, flags ...string) (kept []string) {
	for i := 0; i < len(words); i++ {
		flag, _, joined := strings.Cut(words[i], "=")
		switch {
		case !slices.Contains(flags, flag):
			kept = append(kept, words[i])
		case !joined:
			i++
		}
	}
	return kept
}

// spent returns the last block in which something was measured, and the time that all trials took.
func spent(v *measured.View) (last int, seconds float64) {
	for _, t := range v.Run.Trials {
		seconds += t.ElapsedSeconds
		if t.Measured() != nil {
			last = max(last, t.Block)
		}
	}
	return last, seconds
}
