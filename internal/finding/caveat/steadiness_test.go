package caveat

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// trialOf gives a finished trial of a stack under RW.
func trialOf(seq int, stack string, iops float64, change func(*result.Trial)) result.Trial {
	t := result.Trial{
		Seq: seq, Block: seq, Repeat: seq, Stack: stack, Mix: "RW", Status: result.TrialDone,
		Instances: result.One(&result.Measurement{Seconds: 2, Operations: result.ReadsWrites(result.Operation{}, result.Operation{Count: uint64(2 * iops), Rate: iops})}),
	}
	if change != nil {
		change(&t)
	}
	return t
}

func steadinessOf(run result.Run) map[string]fact.Finding {
	run.Stacks = []result.Stack{{Name: "raw", Line: "/dev/sdx"}, {Name: "xfs", Line: "/dev/sdx > xfs"}}
	run.Workloads = []result.Workload{{Name: "RW", Pattern: "randwrite"}}
	out := map[string]fact.Finding{}
	for _, f := range Steadiness(runview.New(&run)) {
		out[strings.TrimPrefix(f.ID, "steadiness/")] = f
	}
	return out
}

func TestSteadiness(t *testing.T) {
	rounds := func(settled bool, why string) func(*result.Trial) {
		return func(t *result.Trial) {
			t.Preconditioning = &result.Preconditioning{
				Kind: result.PreconditionedDevice, Passes: 2, Bytes: 1 << 30,
				Rounds: &result.Rounds{Seconds: 60, IOPS: []float64{1, 2, 3, 4, 5}, Settled: settled, Why: why},
			}
		}
	}
	stopped := func(reason result.StopReason) func(*result.Trial) {
		return func(t *result.Trial) { t.Stop = &result.Stop{Reason: reason, Why: "the rate drifts, by 12%"} }
	}
	for _, test := range []struct {
		name   string
		run    result.Run
		titles map[string]string
	}{
		{
			name:   "nothing is known",
			run:    result.Run{Trials: []result.Trial{trialOf(1, "raw", 100, nil)}},
			titles: map[string]string{"short": "Trials measured 2 s: no steady state was established"},
		},
		{
			name: "servers warm up",
			run: result.Run{Trials: []result.Trial{trialOf(1, "raw", 100, func(t *result.Trial) {
				t.Warming = "the rate still rose by 12%"
			}), trialOf(2, "raw", 110, nil)}},
			titles: map[string]string{
				"warming": "In 1 of 2 trials servers were still warming up",
				"short":   "Trials measured 2 s: no steady state was established",
			},
		},
		{
			name: "a file was written",
			run: result.Run{Trials: []result.Trial{trialOf(1, "raw", 100, func(t *result.Trial) {
				t.Preconditioning = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 3}
			})}},
			titles: map[string]string{
				"file-written": "Before it was measured, the file of raw was written whole 3 times; the device below was not",
				"short":        "Trials measured 2 s: no steady state was established",
			},
		},
		{
			name: "one stack settles and the other does not",
			run: result.Run{Trials: []result.Trial{
				trialOf(1, "raw", 100, rounds(true, "")), trialOf(2, "xfs", 90, rounds(false, "the rounds differ by 30%, 20% is allowed")),
				trialOf(3, "xfs", 90, nil),
			}},
			titles: map[string]string{
				"device-written":    "Before it was measured, the whole device under raw and xfs was written 2 times",
				"restless/xfs/RW/2": "xfs never became steady under RW, in 5 rounds of 60 s",
				"settled":           "Steady before it was measured: raw, over a window of five rounds of 60 s",
			},
		},
		{
			name: "trials end early, or not",
			run: result.Run{Trials: []result.Trial{
				trialOf(1, "raw", 100, stopped(result.StopPrecise)), trialOf(2, "xfs", 90, stopped(result.StopNever)), trialOf(3, "raw", 99, stopped(result.StopMaximum)),
			}},
			titles: map[string]string{"cut-off": "2 of 3 trials reached their longest time before their mean was known"},
		},
		{
			name: "a budget",
			run: result.Run{
				Experiment: result.Experiment{Target: 0.05},
				Points: []result.PointStop{
					{Stack: "raw", Mix: "RW", Reason: result.StopPrecise, RelativeHalfWidth: 0.01},
					{Stack: "xfs", Mix: "RW", Reason: result.StopBudget, RelativeHalfWidth: 0.75},
				},
			},
			titles: map[string]string{"budget": "The budget ended before 1 of 2 points had been decided: least is known of xfs under RW, to within 75%"},
		},
		{
			name:   "a budget that taught next to nothing",
			run:    result.Run{Points: []result.PointStop{{Stack: "xfs", Mix: "RW", Reason: result.StopBudget, RelativeHalfWidth: 20}}},
			titles: map[string]string{"budget": "The budget ended before 1 of 1 point had been decided: least is known of xfs under RW, whose interval is wider than its mean"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := steadinessOf(test.run)
			for id, want := range test.titles {
				if got[id].Title != want {
					t.Errorf("%s: %q, want %q", id, got[id].Title, want)
				}
			}
			if len(got) != len(test.titles) {
				t.Errorf("%d findings, want %d: %s", len(got), len(test.titles), fmt.Sprint(got))
			}
		})
	}
}

// Clones are named with the stacks whose servers began with them; a trial that made its operations is not cut off.
func TestClonesAndOperations(t *testing.T) {
	for _, cloned := range []int64{0, 1 << 20} {
		stop := func(reason result.StopReason) func(*result.Trial) {
			return func(t *result.Trial) {
				t.Preconditioning = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 1, Bytes: 1 << 21,
					ClonedBytes: cloned}
				t.Stop = &result.Stop{Reason: reason, Why: "why"}
			}
		}
		run := result.Run{Trials: []result.Trial{
			trialOf(0, "xfs", 900, stop(result.StopOperations)), trialOf(1, "raw", 900, nil),
		}}
		found := steadinessOf(run)
		if f, cut := found["cut-off"]; cut {
			t.Errorf("a trial that made its operations is cut off: %+v", f)
		}
		run.Stacks = []result.Stack{{Name: "raw", Line: "/dev/sdx"}, {Name: "xfs", Line: "/dev/sdx > xfs"}}
		run.Workloads = []result.Workload{{Name: "RW", Pattern: "randwrite"}}
		var titles []string
		for _, f := range Find(runview.New(&run)) {
			if f.Case == "cloned" {
				titles = append(titles, f.Title)
			}
		}
		want := "The servers of xfs began with clones of one data set: the drive has it once"
		if cloned == 0 && len(titles) > 0 || cloned > 0 && (len(titles) != 1 || titles[0] != want) {
			t.Errorf("of %d cloned bytes is said %q", cloned, titles)
		}
	}
}
