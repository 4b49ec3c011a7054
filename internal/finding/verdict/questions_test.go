package verdict

import (
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// TestWholeHost: a settled verdict on a scaled-down host has the command for the whole one, without its limits.
func TestWholeHost(t *testing.T) {
	for _, c := range []struct {
		name    string
		host    fact.Host
		command []string
		want    string
	}{
		{"scaled down", fact.Host{Origin: fact.ScaledDown, Has: "2 CPUs"},
			[]string{"plimsoll", "run", "density", "--host", "cpus=2", "--host=memory=1GiB", "--budget", "6m", "-o", "out"},
			"plimsoll run density --budget 6m --no-limits"},
		{"resumed", fact.Host{Origin: fact.ScaledDown, Has: "2 CPUs"}, []string{"plimsoll", "run", "--resume", "last"},
			"plimsoll run density --no-limits"},
		{"whole", fact.Host{Origin: fact.WholeHost}, []string{"plimsoll", "run", "density", "--no-limits"}, ""},
		{"imported", fact.Host{Origin: fact.ImportedHost, Has: "2 CPUs"}, nil, ""},
	} {
		run := &result.Run{ID: "R", Command: c.command, Experiment: result.Experiment{Name: "density"}}
		f, r := Facts{Answer: &loadline.Facts{Curve: loadline.Curve{Host: c.host}}}, &fact.Recommendation{Confidence: fact.Sure}
		next := f.settle(&runview.View{Run: run}, r)
		if said := f.sayNext(r, next); r.Command != c.want || (said == "for the whole host: "+c.want) != (c.want != "") {
			t.Errorf("%s: %q, not %q", c.name, r.Command, c.want)
		}
	}
}

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
		{"words that a shell reads otherwise", fact.Likely, loadline.NextBeyond, []string{"plimsoll", "run", "my file"},
			"plimsoll run 'my file' --instances 16"},
		{"a number between", fact.Sure, loadline.NextBetween, on, ""},
		{"open", fact.Likely, loadline.NextAgain, on, "plimsoll run --resume out --budget +1m"},
		{"too early", fact.TooEarly, loadline.NextBeyond, on, "plimsoll run --resume out --budget +1m"},
	} {
		run := &result.Run{ID: "R", Command: c.command, Trials: []result.Trial{done}}
		run.Experiment.Name = "density"
		curve := loadline.Curve{Line: loadline.Line{Next: 16, NextWhy: c.why}}
		f, r := Facts{Answer: &loadline.Facts{Curve: curve}}, &fact.Recommendation{Confidence: c.confidence}
		f.settle(&runview.View{Run: run}, r)
		if r.Command != c.want || (r.Seconds > 0) != (c.want != "") {
			t.Errorf("%s: %q in %v s, not %q", c.name, r.Command, r.Seconds, c.want)
		}
	}
}
