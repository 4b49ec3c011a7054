package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/plantest"
	"plimsoll/internal/trial/plan/rounds"
)

const policies = `
name: simulated
question: What do limits cost?
runtime: 2s
trials: 1
factors: {policy: {none: none, cpu: cpu, mem: mem}}
stacks: {a: tmpfs(size=640MiB)}
workloads: {C: {fio: {rw: randread, size: 8MiB}}}
mixes: {C-$policy: {servers: {workload: C, count: 2, policy: $policy, share: 1/4}}}
host: {cpus: 2, memory: 2GiB, read-iops: 200}
`

// shapes are experiments that a planner treats in different ways: as pairs of points, with a control, with mixes that
// name their own stacks, as ladders with and without elasticity, and as policies of limits.
var shapes = []string{
	fourPoints,
	`
name: simulated
question: What is beside it?
runtime: 2s
repeat: 2
stacks: {a: tmpfs(size=64MiB), b: "loop(size=320MiB) > xfs > volume"}
workloads: {R: {fio: {rw: randread, size: 8MiB}}}
mixes: {alone: {R: 1}, both: {left: {workload: R, count: 1, on: a}, right: {workload: R, count: 1, on: b}}}
`,
	eightCounts,
	`
name: simulated
question: How many, of two kinds?
runtime: 2s
factors: {n: [1, 2, 4]}
stacks: {a: tmpfs(size=640MiB), b: "loop(size=640MiB) > xfs"}
workloads: {R: {fio: {rw: randread, size: 8MiB}}, W: {fio: {rw: randwrite, size: 8MiB}}}
mixes: {R-$n: {readers: {workload: R, count: $n}}, W-$n: {writers: {workload: W, count: $n}}}
`,
	policies,
}

// read returns the experiment of a shape, to be changed at will.
var read = func() func(t parser, shape string) *experiment.Experiment {
	known := map[string]*experiment.Experiment{}
	return func(t parser, shape string) *experiment.Experiment {
		if known[shape] == nil {
			known[shape] = parsed(t, shape)
		}
		e := *known[shape]
		e.Stacks, e.Mixes = slices.Clone(e.Stacks), slices.Clone(e.Mixes)
		return &e
	}
}()

// drawn is a run of any shape, whose trials measure and take anything, and may fail.
type drawn struct {
	*plantest.Run
	budget  time.Duration // 0 for none
	longest time.Duration // that a trial took
	slower  float64       // what trials take of their estimates at most, where that is more than 1
}

func draw(t *rapid.T) *drawn {
	e := read(t, rapid.SampledFrom(shapes).Draw(t, "shape"))
	if rapid.Bool().Draw(t, "with a control") {
		experiment.AddControl(e)
	}
	if len(e.Stacks) > 1 {
		e.Baseline = rapid.SampledFrom([]string{"", e.Stacks[0].Name, e.Stacks[1].Name}).Draw(t, "baseline")
	}
	d := &drawn{}
	d.budget = time.Duration(rapid.IntRange(0, 400).Draw(t, "budget")) * time.Second
	if d.budget > 0 {
		if err := experiment.Fit(e, d.budget); err != nil {
			t.Skip(err)
		}
	}
	seed := rapid.Uint64().Draw(t, "seed")
	d.Run = plantest.New(e, seed)
	slower := rapid.Float64Range(0.2, 6).Draw(t, "slower")
	d.slower = max(1, 1.2*slower)
	noise := rapid.Float64Range(0, 0.5).Draw(t, "noise")
	failing := rapid.SampledFrom(experiment.Points(e)).Draw(t, "failing")
	failures := rapid.SampledFrom([]int{0, 2, 1}).Draw(t, "one in so many of its trials fails")
	unsupported := rapid.Bool().Draw(t, "it is not supported")
	// What a trial does depends on its number and point alone, so that interruptions change nothing.
	random := func(trial result.Trial) *rand.Rand {
		return rand.New(rand.NewPCG(seed, uint64(trial.Seq)<<32+uint64(len(trial.Mix))))
	}
	d.Takes = func(trial result.Trial) time.Duration {
		estimate := e.Timing.Runtime + 500*time.Millisecond
		takes := time.Duration(slower * (0.8 + 0.4*random(trial).Float64()) * float64(estimate))
		takes = takes.Round(time.Second / 64) // which seconds hold without loss
		d.longest = max(d.longest, takes)
		return takes
	}
	d.Measures = func(trial result.Trial) (float64, *problem.Problem) {
		if failures > 0 && pointOf(trial) == on(failing.Stack, failing.Mix) && trial.Repeat%failures == 0 {
			kind := problem.Failed
			if unsupported {
				kind = problem.Unsupported
			}
			return 0, problem.New(kind, "it", "fails", "mend it")
		}
		return 1000 * math.Exp(noise*random(trial).NormFloat64()), nil
	}
	d.Lines = linesOf
	return d
}

// The properties below hold whatever trials measure and take, wherever the run is interrupted.

// A trial begins only if, by its estimate, and by what those before took of theirs, it ends early enough to undo every
// change within the budget.
func TestABudgetIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		finish(t, d.Run)
		if d.budget == 0 {
			return
		}
		e := *d.Experiment
		e.AddVaried(d.Stored.Mixes)
		costs, undo := experiment.Costs(&e, plannedOf(&e, d.Stored.Trials)), experiment.Undo(&e)
		took, estimated := 3.0, 3.0
		for i, trial := range d.Stored.Trials {
			if trial.ElapsedSeconds == 0 {
				continue // its turn did not come
			}
			slower := max(1, took/estimated)
			takes := time.Duration(slower * float64(costs[i]+undo))
			elapsed := trial.Started.Sub(d.Stored.Started)
			if over := elapsed + takes - d.budget; over > time.Microsecond {
				t.Fatalf("trial %d begins after %s of %s, and takes %s with what is undone", trial.Seq, elapsed, d.budget, takes)
			}
			if trial.Measured() != nil {
				took, estimated = took+trial.ElapsedSeconds, estimated+costs[i].Seconds()
			}
		}
		// An estimate that was too low makes the run no longer than its last trial.
		if elapsed := d.Clock.Sub(d.Stored.Started); elapsed > d.budget+d.longest {
			t.Fatalf("it took %s of %s, the longest trial %s", elapsed, d.budget, d.longest)
		}
	})
}

// plannedOf returns trials as they were planned.
func plannedOf(e *experiment.Experiment, trials []result.Trial) (planned []experiment.Planned) {
	for _, t := range trials {
		next := experiment.Planned{Seq: t.Seq, Block: t.Block, Repeat: t.Repeat, Stack: t.Stack, Mix: t.Mix}
		if m, _ := e.Mix(t.Mix); t.Stack == "" {
			next.On = m.On()
		}
		planned = append(planned, next)
	}
	return planned
}

// A run that is interrupted after any trial, any number of times, has the trials and conclusions of one that is not.
func TestWhatIsResumedEqualsWhatWasNotInterrupted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := draw(t)
		parts := *whole.Run
		parts.Stored.Trials = slices.Clone(parts.Stored.Trials)
		finish(t, whole.Run)
		until := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 6).Draw(t, "interrupted after so many trials each")
		for i := 0; !session(t, &parts, until[i%len(until)]); i++ {
			if i > 2000 {
				t.Fatal("it goes on for ever")
			}
		}
		if a, b := len(whole.Stored.Trials), len(parts.Stored.Trials); a != b {
			t.Fatalf("%d trials, and %d when it is interrupted", a, b)
		}
		for i, a := range whole.Stored.Trials {
			b := parts.Stored.Trials[i]
			if a.Block != b.Block || pointOf(a) != pointOf(b) || a.Status != b.Status || !a.Started.Equal(b.Started) {
				t.Fatalf("trial %d: %+v, and %+v when it is interrupted", i+1, a, b)
			}
		}
		if a, b := fmt.Sprint(whole.Stored.Points), fmt.Sprint(parts.Stored.Points); a != b {
			t.Fatalf("%s\n%s when it is interrupted", a, b)
		}
		if !session(t, &parts, 1) {
			t.Fatal("a run at its end goes on")
		}
	})
}

// No trial of a point is planned once one of them was skipped, or two in a row failed: in a run with a budget, which
// decides block by block.
func TestAWithdrawnPointIsNeverPlanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		planned := len(d.Stored.Trials)
		d.Begins = func(result.Trial) {
			// Of what was withdrawn and planned again, too, all has the next numbers.
			done := slices.IndexFunc(d.Stored.Trials, func(t result.Trial) bool { return t.Status == result.TrialPlanned })
			for _, trial := range d.Stored.Trials[max(done, min(planned, len(d.Stored.Trials))):] {
				if d.budget > 0 && withdrawn(d.Stored.Trials[:done], pointOf(trial)) {
					t.Fatalf("trial %d of %v is planned, which gives no numbers", trial.Seq, pointOf(trial))
				}
			}
			planned = len(d.Stored.Trials)
		}
		finish(t, d.Run)
	})
}

// withdrawn reports whether a trial of a point was skipped, or two in a row failed.
func withdrawn(trials []result.Trial, point result.Point) bool {
	failed := 0
	for _, t := range trials {
		switch {
		case pointOf(t) != point:
		case t.Status == result.TrialDone:
			failed = 0
		default:
			failed++
			if failed == 2 || t.Status == result.TrialSkipped {
				return true
			}
		}
	}
	return false
}

// What a run says of a point is true of its trials, and a point that counts as known has been in as many rounds as
// anything is concluded from.
func TestNoStudyEndsWithFewerRoundsThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		finish(t, d.Run)
		for i, trial := range d.Stored.Trials {
			if trial.Status == result.TrialPlanned || trial.Seq != i+1 {
				t.Fatalf("trial %d is number %d, and %s", i+1, trial.Seq, trial.Status)
			}
		}
		if d.budget == 0 {
			for _, p := range experiment.Trials(d.Experiment, d.Stored.Seed) {
				trial := d.Stored.Trials[p.Seq-1]
				if pointOf(trial) != on(p.Stack, p.Mix) || trial.Block != p.Block {
					t.Fatalf("trial %d is %v in round %d, not %+v", p.Seq, pointOf(trial), trial.Block, p)
				}
			}
			return
		}
		left := d.budget - d.Clock.Sub(d.Stored.Started)
		enough := left > d.block() && d.Experiment.Elasticity == 0
		seen := map[result.Point]bool{}
		for _, p := range d.Stored.Points {
			point := on(p.Stack, p.Mix)
			if seen[point] || p.Why == "" {
				t.Fatalf("%+v", p)
			}
			seen[point] = true
			measured, blocks := d.measured(point)
			if p.Trials != measured {
				t.Fatalf("%+v: %d trials of it have a measurement", p, measured)
			}
			if p.BringUps != len(blocks) {
				t.Fatalf("%+v: it was measured in %d rounds", p, len(blocks))
			}
			known := p.Reason == result.StopPrecise || p.Reason == result.StopSettled && p.BringUps > 0 ||
				p.Reason == result.StopRepeats
			if p.Reason == result.StopBudget && enough {
				t.Fatalf("%+v: %s of the budget are left", p, left)
			}
			if known && p.BringUps < rounds.DefaultStudy.Fewest {
				t.Fatalf("%+v", p)
			}
		}
		for _, trial := range d.Stored.Trials {
			stack := slices.IndexFunc(d.Experiment.Stacks, func(s experiment.Stack) bool { return s.Name == trial.Stack })
			control := stack >= 0 && d.Experiment.Stacks[stack].Control != ""
			if !control && !seen[pointOf(trial)] {
				t.Fatalf("nothing is said of %v", pointOf(trial))
			}
		}
	})
}

// block returns how long a block of all points takes at most, with all that is undone behind it.
func (d *drawn) block() (takes time.Duration) {
	const mostRounds = 4
	e := *d.Experiment
	for _, cost := range experiment.Costs(&e, experiment.Arrange(experiment.Points(&e), mostRounds, 0, 1)) {
		takes += cost
	}
	return time.Duration(d.slower * float64(takes+experiment.Undo(&e)))
}

// measured returns how many trials of a point have a measurement, and in which rounds.
func (d *drawn) measured(point result.Point) (trials int, blocks map[int]bool) {
	blocks = map[int]bool{}
	for _, trial := range d.Stored.Trials {
		if pointOf(trial) == point && trial.Measured() != nil {
			trials++
			blocks[trial.Block] = true
		}
	}
	return trials, blocks
}
