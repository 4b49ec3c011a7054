package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/repeats"
)

// nightly draws a run of two stacks in eight rounds, which is so many times as fast as it should be.
func nightly(r *rand.Rand, id int, times float64) *result.Run {
	run := &result.Run{ID: fmt.Sprintf("nightly-%d", id), Status: result.RunComplete, Seed: uint64(id),
		Started:    time.Date(2026, 5, 1, id, 0, 0, 0, time.UTC),
		Experiment: result.Experiment{Name: "nightly", RuntimeSeconds: 1},
		Stacks:     []result.Stack{{Name: "raw", Line: "loop(size=1GiB)"}, {Name: "xfs", Line: "loop(size=1GiB) > xfs"}},
		Workloads:  []result.Workload{{Name: "randread", Kind: "fio", Pattern: "randread", Declared: "rw: randread"}}}
	for round := 1; round <= 8; round++ {
		for i, s := range run.Stacks {
			rate := 1000 * times * math.Exp(0.02*r.NormFloat64())
			m := &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read, Count: uint64(rate), Rate: rate}}}
			run.Trials = append(run.Trials, result.Trial{Seq: 2*round + i, Block: round, BringUp: round, Stack: s.Name, Mix: "randread",
				Status: result.TrialDone, Instances: result.One(m), Checks: []result.Honesty{{Source: result.SourceDevice}}})
		}
	}
	return run
}

// sides draws so many runs before and after a change that makes all so many times as fast, where runs differ by 5% by
// themselves.
func sides(t *testing.T, r *rand.Rand, before, after int, times float64) Comparison {
	t.Helper()
	var runs []*result.Run
	for i := range before + after {
		by := math.Exp(0.05 * r.NormFloat64())
		if i >= before {
			by *= times
		}
		runs = append(runs, nightly(r, i+1, by))
	}
	return compared(t, runs[:before], runs[before:])
}

func compared(t *testing.T, before, after []*result.Run) Comparison {
	t.Helper()
	a, err := repeats.Pool(before)
	if err != nil {
		t.Fatal(err)
	}
	b, err := repeats.Pool(after)
	if err != nil {
		t.Fatal(err)
	}
	return Runs(a, b, Options{Threshold: DefaultThreshold, Alpha: DefaultAlpha})
}

// Equal runs that differ by 5% by themselves are no regression, where there are several on a side; one on each side
// cannot know that. What is much slower is found, and "no regression" is said in vain in at most 5%.
func TestRunsThatDifferByThemselves(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const draws, single = 200, 40 // one run on each side takes a bootstrap
	count := func(before, after int, times float64, v Verdict) (n int) {
		for i := range draws {
			if before+after == 2 && i == single {
				return n
			}
			if sides(t, r, before, after, times).Verdict == v {
				n++
			}
		}
		return n
	}
	if n := count(1, 1, 1, Regression); n < single/10 {
		t.Errorf("one run on each side: %d of %d are a regression, and the test shows nothing", n, single)
	}
	for _, runs := range [][2]int{{3, 3}, {5, 5}, {5, 1}} {
		if n := count(runs[0], runs[1], 1, Regression); n > 5*draws/100 {
			t.Errorf("%v runs that are equal: %d of %d are a regression", runs, n, draws)
		}
		if n := count(runs[0], runs[1], 0.92, Holds); n > 5*draws/100 {
			t.Errorf("%v runs, 8%% slower: no regression in %d of %d", runs, n, draws)
		}
	}
	if n := count(5, 5, 0.5, Regression); n < 95*draws/100 {
		t.Errorf("half as fast: a regression in %d of %d", n, draws)
	}
}

// One of two runs is 5% slower in everything: that is a run, and no regression.
func TestOneSlowRunIsNoRegression(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	c := compared(t, []*result.Run{nightly(r, 1, 1), nightly(r, 2, 1)}, []*result.Run{nightly(r, 3, 0.9), nightly(r, 4, 1)})
	if c.Verdict != TooNoisy || !strings.Contains(c.Title, "more runs of each") {
		t.Errorf("%s: %s", c.Verdict, c.Title)
	}
	if row := c.Rows[0]; row.A.Runs != 2 || row.B.Runs != 2 || row.sizes() != "16+16 in 2+2" {
		t.Errorf("got %+v", row)
	}
	few := compared(t, []*result.Run{nightly(r, 1, 1), nightly(r, 2, 1)}, []*result.Run{nightly(r, 3, 0.5)})
	if few.Verdict != TooFew || !strings.Contains(few.Title, "2 runs and 1 do not show how much runs differ by themselves; it takes 4") {
		t.Errorf("%s: %s", few.Verdict, few.Title)
	}
}
