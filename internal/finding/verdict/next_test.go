package verdict

import (
	"testing"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// What a verdict leaves open comes with the command that would settle it: more instances of the same run, or more time.
func TestSettle(t *testing.T) {
	done := result.Trial{Block: 4, ElapsedSeconds: 60, Status: result.TrialDone, Instances: []result.Instance{
		{Status: result.TrialDone, Measurement: &result.Measurement{Seconds: 1}},
	}}
	on := []string{"/bin/plimsoll", "run", "density", "--on", "/dev/sdx", "-o", "out", "--seed=3", "--instances", "8"}
	for _, c := range []struct {
		name       string
		confidence fact.Confidence
		why        loadline.Next
		command    []string
		want       string
	}{
		{"settled", fact.Sure, "", on, ""},
		{"more may be carried", fact.Likely, loadline.NextBeyond, on, "plimsoll run density --on /dev/sdx --instances 16"},
		{"of a run that was resumed", fact.Likely, loadline.NextBeyond, []string{"plimsoll", "run", "--resume", "last"},
			"plimsoll run density --instances 16"},
		{"words that a shell reads otherwise", fact.Likely, loadline.NextBeyond, []string{"plimsoll", "run", "my file"}, ""},
		{"a number between", fact.Sure, loadline.NextBetween, on, ""},
		{"open", fact.Likely, loadline.NextAgain, on, "plimsoll run --resume out --budget +1m"},
		{"too early", fact.TooEarly, loadline.NextBeyond, on, "plimsoll run --resume out --budget +1m"},
	} {
		run := &result.Run{ID: "R", Command: c.command, Trials: []result.Trial{done}}
		run.Experiment.Name = "density"
		curve := loadline.Curve{Line: loadline.Line{Next: 16, NextWhy: c.why}}
		f := fact.Finding{
			Facts:          Facts{Answers: Answers{LoadLine: &loadline.Facts{Curve: curve}}},
			Recommendation: &fact.Recommendation{Confidence: c.confidence},
		}
		settle(&runview.View{Run: run}, &f)
		if r := f.Recommendation; r.Command != c.want || (r.Seconds > 0) != (c.want != "") {
			t.Errorf("%s: %q in %v s, not %q", c.name, r.Command, r.Seconds, c.want)
		}
	}
}
