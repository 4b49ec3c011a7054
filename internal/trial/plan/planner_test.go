package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/testkit/plantest"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/trial/plan/rounds"
	"plimsoll/internal/workload/kinds"
)

type parser interface {
	Helper()
	Fatal(args ...any)
}

const fourPoints = `
name: simulated
question: Where does the time go?
runtime: 1s
repeat: 4
seed: 1
stacks:
  a: tmpfs(size=64MiB)
  b: tmpfs(size=64MiB)
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
  W: {fio: {rw: randwrite, size: 8MiB}}
`

func parsed(t parser, text string) *experiment.Experiment {
	t.Helper()
	e, err := experiment.Parse("x.yaml", []byte(text), options())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func options() experiment.Options {
	return experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()}
}

// simulated returns a run whose trials measure about the same, and take two seconds each.
func simulated(e *experiment.Experiment) *plantest.Run {
	r := plantest.New(e, 1)
	random := rand.New(rand.NewPCG(1, 2))
	r.Measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + 0.01*random.NormFloat64()), nil }
	r.Takes = func(result.Trial) time.Duration { return 2 * time.Second }
	return r
}

type fataler interface{ Fatal(args ...any) }

// session runs at most that many trials, and reports whether the run came to its end.
func session(t fataler, r *plantest.Run, trials int) (ended bool) {
	ended, err := r.Session(trials)
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

// finish runs a run to its end.
func finish(t fataler, r *plantest.Run) {
	if !session(t, r, 2000) {
		t.Fatal("it goes on for ever")
	}
}

func on(stack, mix string) result.Point { return result.Point{Stack: stack, Mix: mix} }

func pointOf(t result.Trial) result.Point { return on(t.Stack, t.Mix) }

// Time goes to the points whose mean is least known; those that are known, or
// compared with the verdict that they differ, get no more.
func TestTimeGoesWhereIntervalsAreWide(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget = 4 * time.Minute
	m := simulated(e)
	noise := map[result.Point]float64{on("a", "R"): 0.005, on("b", "R"): 0.005, on("a", "W"): 0.3, on("b", "W"): 0.3}
	random := rand.New(rand.NewPCG(7, 7))
	m.Measures = func(t result.Trial) (float64, *problem.Problem) {
		return 1000 * (1 + noise[pointOf(t)]*(random.Float64()-0.5)), nil
	}
	finish(t, m)
	for name, n := range noise {
		p, tried := m.Point(name), m.Tried(name)
		if p.Trials != tried {
			t.Errorf("%s: %d trials, it reports %d", name, tried, p.Trials)
		}
		switch {
		case n < 0.1 && (p.Reason != result.StopPrecise || tried > rounds.DefaultStudy.Fewest+2 || p.RelativeHalfWidth > 0.03):
			t.Errorf("%s: %d trials, %+v", name, tried, p)
		case n > 0.1 && (tried < 12 || p.Reason == result.StopFailed):
			t.Errorf("%s: %d trials, %+v", name, tried, p)
		}
		if p.Why == "" || p.RelativeHalfWidth <= 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A point that failed twice in a row gets no more trials; the rest does, also
// what failed but once.
func TestAPointThatFailsEnds(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget, e.Repeat = 2*time.Minute, 1
	m := simulated(e)
	m.Measures = func(t result.Trial) (float64, *problem.Problem) {
		if t.Stack == "a" && t.Mix == "W" {
			return 0, &problem.Problem{What: "W on a", Why: "the disk is full"}
		}
		if t.Stack == "b" && t.Mix == "W" && t.Repeat == 2 {
			return 0, &problem.Problem{What: "W on b", Why: "it was killed"}
		}
		return 1000, nil
	}
	finish(t, m)
	p, tried := m.Point(on("a", "W")), m.Tried(on("a", "W"))
	if p.Reason != result.StopFailed || !strings.Contains(p.Why, "the disk is full") || tried != 2 || p.Trials != 0 {
		t.Errorf("%d trials, %+v", tried, p)
	}
	if p := m.Point(on("b", "W")); p.Reason != result.StopPrecise || p.Trials != 4 {
		t.Errorf("%+v", p)
	}
}

// A control that cannot be measured gets no more trials, as its twin would not.
func TestAControlThatFailsEnds(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget, e.Repeat = 4*time.Minute, 1
	experiment.AddControl(e)
	m := simulated(e)
	random := rand.New(rand.NewPCG(3, 3))
	control := e.Stacks[len(e.Stacks)-1].Name
	m.Measures = func(t result.Trial) (float64, *problem.Problem) {
		if t.Stack == control {
			return 0, problem.New(problem.Unsupported, "control", "this host has none", "")
		}
		return 1000 * (1 + random.Float64()), nil
	}
	finish(t, m)
	for _, trial := range m.Stored.Trials {
		if trial.Stack == control && trial.Block > 1 {
			t.Errorf("trial %d in block %d is of the control", trial.Seq, trial.Block)
		}
	}
	if twin := e.Stacks[len(e.Stacks)-1].Control; m.Tried(on(twin, "R")) < 4 {
		t.Errorf("its twin was tried %d times", m.Tried(on(twin, "R")))
	}
}

// A budget that is over before each point had its turn says so for every one,
// and calls none of them failed.
func TestABudgetThatIsTooShort(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget, e.Repeat, e.Trials = 30*time.Second, 2, 1
	m := simulated(e)
	m.Takes = func(result.Trial) time.Duration { return 12 * time.Second }
	finish(t, m)
	run := m.Stored
	states := map[result.TrialStatus]int{}
	for _, trial := range run.Trials {
		states[trial.Status]++
		if trial.Status == result.TrialSkipped && (trial.Problem == nil || !strings.Contains(trial.Problem.Why, "30s") || trial.Problem.Remedy == "") {
			t.Errorf("skipped: %+v", trial.Problem)
		}
	}
	if states[result.TrialDone] < 1 || states[result.TrialSkipped] < 1 || states[result.TrialDone]+states[result.TrialSkipped] != 4 || len(run.Trials) != 4 {
		t.Errorf("trials: %v", states)
	}
	for _, p := range run.Points {
		if p.Reason != result.StopBudget {
			t.Errorf("%+v", p)
		}
	}
	if len(run.Points) != 4 {
		t.Errorf("%d points", len(run.Points))
	}
	// Who resumes it learns nothing else.
	if !session(t, m, 1) {
		t.Error("resumed, it goes on")
	}
	if again := m.Stored; fmt.Sprint(again.Points) != fmt.Sprint(run.Points) || len(again.Trials) != len(run.Trials) {
		t.Errorf("resumed: %v", again.Points)
	}
}

// Trials that end early do not make the schedule believe that the next one
// will, and one that would not fit is not begun.
func TestNoTrialIsBegunThatWouldNotFit(t *testing.T) {
	e := parsed(t, strings.Replace(fourPoints, "runtime: 1s", "runtime: 60s", 1))
	e.Budget, e.Repeat = 590*time.Second, 1
	m := simulated(e)
	random := rand.New(rand.NewPCG(3, 3))
	m.Measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + random.Float64()), nil }
	m.Takes = func(result.Trial) time.Duration { return 41 * time.Second }
	finish(t, m)
	if left := e.Budget - plan.Spent(&m.Stored) + 41*time.Second; left < 60*time.Second || left > 180*time.Second {
		t.Errorf("%s were left when the last began, which could have taken a minute", left)
	}
}

// On a host that is slow to set stacks up, undoing them is slow too, and the
// budget is for both.
func TestTheBudgetOfASlowHostLeavesTimeToUndo(t *testing.T) {
	e := parsed(t, strings.ReplaceAll(fourPoints, "tmpfs(size=64MiB)", "loop(size=320MiB) > xfs > volume"))
	e.Budget, e.Repeat = 5*time.Minute, 1
	m := simulated(e)
	random := rand.New(rand.NewPCG(3, 3))
	m.Measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + random.Float64()), nil }
	const slower = 8
	first := map[string]bool{}
	longest := time.Duration(0)
	m.Takes = func(t result.Trial) time.Duration {
		took := 12 * time.Second
		if !first[t.Stack] {
			took = 40 * time.Second
		}
		first[t.Stack], longest = true, max(longest, took)
		return took
	}
	finish(t, m)
	spent, undo := plan.Spent(&m.Stored), slower*experiment.Undo(e)
	if spent+undo > e.Budget+2*time.Second || spent+undo < e.Budget-longest {
		t.Errorf("%s on trials and %s to undo them, of %s", spent, undo, e.Budget)
	}
}

// Policies of limits are compared with none, and get no more setups once they are known to differ.
func TestPoliciesAreComparedWithNone(t *testing.T) {
	e := parsed(t, policies)
	e.Budget, e.Repeat = 4*time.Minute, 1
	m := simulated(e)
	rates := map[string]float64{"C-none": 1000, "C-cpu": 500, "C-mem": 300}
	random := rand.New(rand.NewPCG(5, 5))
	m.Measures = func(t result.Trial) (float64, *problem.Problem) {
		return rates[t.Mix] * (1 + 0.1*random.NormFloat64()), nil
	}
	finish(t, m)
	for mix := range rates {
		if p := m.Point(on("a", mix)); p.Reason != result.StopSettled {
			t.Errorf("%+v", p)
		}
	}
}

// A control is in all blocks of its twin.
func TestAControlIsInAllBlocks(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget, e.Repeat, e.Trials, e.Baseline = 10*time.Minute, 1, 1, "a"
	experiment.AddControl(e)
	m := simulated(e)
	random := rand.New(rand.NewPCG(3, 3))
	m.Measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + random.Float64()), nil }
	finish(t, m)
	control := e.Stacks[len(e.Stacks)-1]
	if twin := m.Tried(on(control.Control, "R")); twin <= 8 || m.Tried(on(control.Name, "R")) != twin {
		t.Errorf("%d trials of the control, %d of its twin", m.Tried(on(control.Name, "R")), twin)
	}
}

// Where there is a baseline and the best is known, others are compared with the baseline alone.
func TestABaselineIsWhatOthersAreComparedWith(t *testing.T) {
	e := parsed(t, strings.Replace(fourPoints, "  b: tmpfs(size=64MiB)\n", "  b: tmpfs(size=64MiB)\n  c: tmpfs(size=64MiB)\n", 1))
	e.Budget, e.Repeat, e.Trials, e.Baseline = 20*time.Minute, 1, 1, "a"
	m := simulated(e)
	rates := map[string]float64{"a": 1000, "b": 4000, "c": 2000}
	random := rand.New(rand.NewPCG(3, 3))
	m.Measures = func(t result.Trial) (float64, *problem.Problem) {
		return rates[t.Stack] * (1 + 0.1*random.NormFloat64()), nil
	}
	finish(t, m)
	for _, p := range m.Stored.Points {
		if p.Reason != result.StopSettled {
			t.Errorf("%+v", p)
		}
	}
}

// A setup has as many trials of each workload as the experiment asks for, in every block.
func TestASetupHasTheTrialsThatAreAskedFor(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget, e.Repeat, e.Trials = 5*time.Minute, 1, 3
	m := simulated(e)
	random := rand.New(rand.NewPCG(3, 3))
	m.Measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + random.Float64()), nil }
	finish(t, m)
	trials, blocks := map[string]int{}, m.Stored.Trials[len(m.Stored.Trials)-1].Block
	for _, trial := range m.Stored.Trials {
		trials[fmt.Sprint(trial.Block, pointOf(trial))]++
	}
	for name, n := range trials {
		if n != 3 && !strings.HasPrefix(name, fmt.Sprint(blocks)+" ") {
			t.Errorf("%d trials of block and point %s", n, name)
		}
	}
	if blocks < 5 {
		t.Errorf("%d blocks", blocks)
	}
}

// Blocks that were planned ahead, and that a slow host has no time for, give way to those that decide something: four
// setups of one workload, where there is no time for four of both.
func TestWhatWasPlannedAheadGivesWayOnASlowHost(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Trials = 1
	e.Budget = 13*4*time.Second + experiment.Undo(e)
	m := simulated(e)
	m.Takes = func(result.Trial) time.Duration { return 4 * time.Second }
	finish(t, m)
	var setups []int
	for _, p := range m.Stored.Points {
		setups = append(setups, p.BringUps)
	}
	slices.Sort(setups)
	if setups[2] < 4 { // without that, each point has three
		t.Errorf("setups: %v", setups)
	}
}
