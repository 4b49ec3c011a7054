package main

import (
	"strings"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// Of many trials, every tenth gets a line where no person watches, and each that was not measured.
func TestLinesOfManyTrials(t *testing.T) {
	measured := result.Trial{Status: result.TrialDone, Instances: []result.Instance{
		{Status: result.TrialDone, Measurement: &result.Measurement{Seconds: 1}},
	}}
	failed := result.Trial{Status: result.TrialFailed, Problem: &problem.Problem{Why: "the disk is full"}}
	for _, c := range []struct {
		all   int
		lines string
	}{
		{20, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"},
		{35, "1 7 10 20 30 35"},
	} {
		var out strings.Builder
		l := &lines{w: &out, pace: pace{experiment: &experiment.Experiment{}}}
		for done := 1; done <= c.all; done++ {
			trial := measured
			if done == 7 {
				trial = failed
			}
			l.End(trial, done, c.all)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			number, _, _ := strings.Cut(strings.TrimPrefix(line, "["), "/")
			got = append(got, number)
		}
		if strings.Join(got, " ") != c.lines {
			t.Errorf("of %d trials: %s, not %s", c.all, strings.Join(got, " "), c.lines)
		}
	}
}
