package trial

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/workload/kinds"
)

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

func parsed(t *testing.T, text string) *experiment.Experiment {
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

// simulation runs a schedule's trials without a host: what they measure and
// take is drawn.
type simulation struct {
	runner   *runner
	measures func(t result.Trial) (iops float64, problem *problem.Problem)
	takes    func(t result.Trial) time.Duration
}

func newSimulation(t testing.TB, e *experiment.Experiment) *simulation {
	t.Helper()
	r := &runner{Options: Options{Experiment: e, Seed: 1, Progress: unwatched{}}, mixes: mixesOf(e)}
	run := result.Run{ID: "simulated", Status: result.RunRunning, Seed: 1, Mixes: e.ResultMixes(), Workloads: workloadsOf(e)}
	for _, s := range e.Stacks {
		run.Stacks = append(run.Stacks, result.Stack{Name: s.Name})
	}
	for _, p := range experiment.Trials(e, 1) {
		run.Trials = append(run.Trials, result.Trial{Seq: p.Seq, Block: p.Block, Repeat: p.Repeat, Stack: p.Stack, Mix: p.Mix, Status: result.TrialPlanned})
	}
	// In memory, where it can be: thousands of trials are committed here.
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := store.Create(filepath.Join(dir, "run"), run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r.store = s
	random := rand.New(rand.NewPCG(1, 2))
	return &simulation{
		runner:   r,
		measures: func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + 0.01*random.NormFloat64()), nil },
		takes:    func(result.Trial) time.Duration { return 2 * time.Second },
	}
}

// unwatched is the progress of a run that nobody watches.
type unwatched struct{}

func (unwatched) Note(string)                  {}
func (unwatched) Begin(result.Trial, int, int) {}
func (unwatched) End(result.Trial, int, int)   {}

// run runs at most so many trials, and tells whether the schedule came to its
// end. The time that trials take is drawn, and does not pass.
func (m *simulation) run(t interface{ Fatal(...any) }, most int) (ended bool) {
	s := m.runner.newSchedule()
	for range most {
		planned, ok, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return true
		}
		took := m.takes(planned)
		planned.Status, planned.Started, planned.ElapsedSeconds = result.TrialDone, time.Now(), took.Seconds()
		iops, problem := m.measures(planned)
		if problem != nil {
			planned.Status, planned.Problem = result.TrialFailed, problem
		} else {
			planned.Instances = result.One(&result.Measurement{Seconds: 1, Operations: result.ReadsWrites(result.Operation{Count: 1, Rate: iops}, result.Operation{})})
		}
		if err := m.runner.store.SaveTrial(planned); err != nil {
			t.Fatal(err)
		}
		s.before += took
	}
	return false
}

func (m *simulation) point(name string) result.PointStop {
	run := m.runner.store.Run()
	i := slices.IndexFunc(run.Points, func(p result.PointStop) bool { return p.Stack+p.Mix == name })
	if i < 0 {
		return result.PointStop{}
	}
	return run.Points[i]
}

func (m *simulation) tried(name string) (n int) {
	for _, t := range m.runner.store.Run().Trials {
		if t.Stack+t.Mix == name && t.Status != result.TrialPlanned {
			n++
		}
	}
	return n
}

// Time goes to the points whose mean is least known; those that are known, or
// compared with the verdict that they differ, get no more.
func TestTimeGoesWhereIntervalsAreWide(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget = 4 * time.Minute
	m := newSimulation(t, e)
	noise := map[string]float64{"aR": 0.005, "bR": 0.005, "aW": 0.3, "bW": 0.3}
	random := rand.New(rand.NewPCG(7, 7))
	m.measures = func(t result.Trial) (float64, *problem.Problem) {
		return 1000 * (1 + noise[t.Stack+t.Mix]*(random.Float64()-0.5)), nil
	}
	if !m.run(t, 1000) {
		t.Fatal("it goes on for ever")
	}
	for name, n := range noise {
		p, tried := m.point(name), m.tried(name)
		if p.Trials != tried {
			t.Errorf("%s: %d trials, it reports %d", name, tried, p.Trials)
		}
		switch {
		case n < 0.1 && (p.Reason != result.StopPrecise || tried > stopping.DefaultStudy.Fewest+2 || p.RelativeHalfWidth > 0.03):
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
	m := newSimulation(t, e)
	m.measures = func(t result.Trial) (float64, *problem.Problem) {
		if t.Stack == "a" && t.Mix == "W" {
			return 0, &problem.Problem{What: "W on a", Why: "the disk is full"}
		}
		if t.Stack == "b" && t.Mix == "W" && t.Repeat == 2 {
			return 0, &problem.Problem{What: "W on b", Why: "it was killed"}
		}
		return 1000, nil
	}
	if !m.run(t, 1000) {
		t.Fatal("it goes on for ever")
	}
	if p := m.point("aW"); p.Reason != result.StopFailed || !strings.Contains(p.Why, "the disk is full") || m.tried("aW") != mostFailures || p.Trials != 0 {
		t.Errorf("%d trials, %+v", m.tried("aW"), p)
	}
	if p := m.point("bW"); p.Reason != result.StopPrecise || p.Trials != 4 {
		t.Errorf("%+v", p)
	}
}

// A budget that is over before each point had its turn says so for every one,
// and calls none of them failed.
func TestABudgetThatIsTooShort(t *testing.T) {
	e := parsed(t, fourPoints)
	e.Budget, e.Repeat, e.Trials = 30*time.Second, 2, 1
	m := newSimulation(t, e)
	m.takes = func(result.Trial) time.Duration { return 12 * time.Second }
	if !m.run(t, 1000) {
		t.Fatal("it goes on for ever")
	}
	run := m.runner.store.Run()
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
	if !m.run(t, 1) {
		t.Error("resumed, it goes on")
	}
	if again := m.runner.store.Run(); fmt.Sprint(again.Points) != fmt.Sprint(run.Points) || len(again.Trials) != len(run.Trials) {
		t.Errorf("resumed: %v", again.Points)
	}
}

// Trials that end early do not make the schedule believe that the next one
// will, and one that would not fit is not begun.
func TestNoTrialIsBegunThatWouldNotFit(t *testing.T) {
	e := parsed(t, strings.Replace(fourPoints, "runtime: 1s", "runtime: 60s", 1))
	e.Budget, e.Repeat = 590*time.Second, 1
	m := newSimulation(t, e)
	random := rand.New(rand.NewPCG(3, 3))
	m.measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + random.Float64()), nil }
	m.takes = func(result.Trial) time.Duration { return 41 * time.Second }
	if !m.run(t, 1000) {
		t.Fatal("it goes on for ever")
	}
	if left := e.Budget - Spent(m.runner.store.Run()) + 41*time.Second; left < 60*time.Second || left > 180*time.Second {
		t.Errorf("%s were left when the last began, which could have taken a minute", left)
	}
}

// On a host that is slow to set stacks up, undoing them is slow too, and the
// budget is for both.
func TestTheBudgetOfASlowHostLeavesTimeToUndo(t *testing.T) {
	e := parsed(t, strings.ReplaceAll(fourPoints, "tmpfs(size=64MiB)", "loop(size=320MiB) > xfs > volume"))
	e.Budget, e.Repeat = 5*time.Minute, 1
	m := newSimulation(t, e)
	random := rand.New(rand.NewPCG(3, 3))
	m.measures = func(result.Trial) (float64, *problem.Problem) { return 1000 * (1 + random.Float64()), nil }
	const slower = 8
	first := map[string]bool{}
	longest := time.Duration(0)
	m.takes = func(t result.Trial) time.Duration {
		took := 12 * time.Second
		if !first[t.Stack] {
			took = 40 * time.Second
		}
		first[t.Stack], longest = true, max(longest, took)
		return took
	}
	if !m.run(t, 1000) {
		t.Fatal("it goes on for ever")
	}
	spent, undo := Spent(m.runner.store.Run()), slower*experiment.Undo(e)
	if spent+undo > e.Budget+2*time.Second || spent+undo < e.Budget-longest {
		t.Errorf("%s on trials and %s to undo them, of %s", spent, undo, e.Budget)
	}
}

// Whatever trials measure and take, and wherever the run is interrupted: it
// ends, within the budget but for what the last trial took more than any
// before, no planned trial is left, and each point says why.
func TestScheduleProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := parsed(t, fourPoints)
		e.Baseline = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "baseline")
		budget := time.Duration(rapid.IntRange(10, 200).Draw(rt, "budget")) * time.Second
		if err := experiment.Fit(e, budget); err != nil {
			rt.Skip(err)
		}
		m := newSimulation(t, e)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		slower := rapid.Float64Range(0.2, 6).Draw(rt, "slower")
		failing := rapid.SampledFrom([]string{"", "aR", "bW"}).Draw(rt, "failing")
		longest := time.Duration(0)
		estimate := e.Timing.Runtime + 500*time.Millisecond
		m.takes = func(result.Trial) time.Duration {
			took := time.Duration(slower * (0.8 + 0.4*random.Float64()) * float64(estimate))
			longest = max(longest, took)
			return took
		}
		m.measures = func(t result.Trial) (float64, *problem.Problem) {
			if t.Stack+t.Mix == failing {
				return 0, &problem.Problem{What: "it", Why: "fails"}
			}
			return 100 + 100*random.Float64(), nil
		}
		sessions := 1
		for ; !m.run(rt, rapid.IntRange(1, 60).Draw(rt, "until it is interrupted")); sessions++ {
			if sessions > 2000 {
				rt.Fatal("it goes on for ever")
			}
		}
		run := m.runner.store.Run()
		if spent := Spent(run); spent > budget+longest {
			rt.Fatalf("spent %s of %s, the longest trial took %s", spent, budget, longest)
		}
		if len(run.Points) != 4 {
			rt.Fatalf("points %+v", run.Points)
		}
		repeats := map[string]int{}
		for i, trial := range run.Trials {
			repeats[trial.Stack+trial.Mix]++
			if trial.Status == result.TrialPlanned || trial.Seq != i+1 || trial.Repeat != repeats[trial.Stack+trial.Mix] {
				rt.Fatalf("trial %+v is number %d, repeat %d of its point", trial, i+1, repeats[trial.Stack+trial.Mix])
			}
			if i > 0 && trial.Block < run.Trials[i-1].Block {
				rt.Fatal("blocks are out of order")
			}
		}
		for _, p := range run.Points {
			if p.Reason == "" || p.Why == "" || p.Stack+p.Mix == failing && p.Reason != result.StopFailed && repeats[failing] > 0 && p.Reason != result.StopBudget {
				rt.Fatalf("%+v", p)
			}
		}
	})
}
