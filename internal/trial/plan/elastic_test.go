package plan_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/testkit/plantest"
	"plimsoll/internal/trial/plan"
)

const eightCounts = `
name: simulated
question: How many?
runtime: 4s
seed: 1
elasticity: 20%
factors: {n: [1, 2, 3, 4, 5, 6, 7, 8]}
stacks: {a: tmpfs(size=640MiB)}
workloads: {R: {fio: {rw: randread, size: 8MiB}}}
mixes: {R-$n: {readers: {workload: R, count: $n}}}
host: {cpus: 1, memory: 100MiB, read-iops: 1000}
`

// knee simulates a host that carries so many instances: each does as much until then, and all together do
// less behind it. What is varied moves what it does.
type knee struct {
	instances int
	noise     float64
	random    *rand.Rand
	run       *plantest.Run
}

func (k knee) measures(t result.Trial) (iops float64, none *problem.Problem) {
	m := k.run.Mix(t.Mix)
	iops = 100 * float64(min(countOf(m), k.instances))
	for n := k.instances; n < countOf(m); n++ {
		iops *= 0.8
	}
	if m.Varies != nil && m.Varies.Limit == "memory" {
		iops *= m.Varies.Factor
	}
	return iops * (1 + k.noise*k.random.NormFloat64()), nil
}

// countOf returns the number of instances of a mix.
func countOf(m result.Mix) int { return m.Tenants[0].Count }

// linesOf returns the load lines of each workload on each stack, as far as medians show, which are taken to be decided
// after four setups.
func linesOf(run *result.Run) (lines []plan.Line) {
	workloads := map[string]bool{}
	for _, m := range run.Mixes {
		workloads[m.Tenants[0].Workload] = true
	}
	for _, s := range run.Stacks {
		for _, workload := range slices.Sorted(maps.Keys(workloads)) {
			l := lineOf(run, s.Name, workload)
			if l.Instances > 0 {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

func lineOf(run *result.Run, stack, workload string) plan.Line {
	l := plan.Line{Stack: stack, Mixes: map[int]string{}}
	rates, best, fewest := map[int]float64{}, 0.0, math.MaxInt
	for _, m := range run.Mixes {
		values := runview.Take(runview.Of(run).Done(on(stack, m.Name)), rateOf).Values()
		if len(values) == 0 || m.Varies != nil || m.Tenants[0].Workload != workload {
			continue
		}
		l.Mixes[countOf(m)], rates[countOf(m)] = m.Name, stats.Median(values)
		best, fewest = max(best, stats.Median(values)), min(fewest, len(values))
	}
	for n, rate := range rates {
		if rate >= 0.9*best {
			l.Instances = max(l.Instances, n)
		}
	}
	if fewest >= stats.FewestPairs {
		l.Low, l.High = l.Instances, l.Instances
	}
	return l
}

func rateOf(t *result.Trial) (perSecond float64, ok bool) { return runview.Rate.Of(t, "") }

func simulatedKnee(at int, noise float64, e *experiment.Experiment) *plantest.Run {
	m := simulated(e)
	k := knee{instances: at, noise: noise, random: rand.New(rand.NewPCG(uint64(at), 5)), run: m}
	m.Measures, m.Lines = k.measures, linesOf
	return m
}

// Wherever the knee is: it is found, most trials are spent around it, what is varied there is compared in
// four blocks, and the budget holds.
func TestABudgetGoesToTheKnee(t *testing.T) {
	for knee := 1; knee <= 8; knee++ {
		t.Run(fmt.Sprint(knee), func(t *testing.T) {
			e := parsed(t, eightCounts)
			const budget = 8 * time.Minute
			if err := experiment.Fit(e, budget); err != nil {
				t.Fatal(err)
			}
			m := simulatedKnee(knee, 0.06, e)
			m.Takes = func(result.Trial) time.Duration { return e.Timing.Runtime + 1500*time.Millisecond }
			finish(t, m)
			run := &m.Stored
			if spent := plan.Spent(run); spent > budget || spent < budget*3/4 {
				t.Errorf("spent %s of %s", spent, budget)
			}
			around, far := 0, 0
			varied := map[string]map[int]bool{}
			mixName := fmt.Sprintf("R-%d", knee)
			for _, trial := range run.Trials {
				mix := m.Mix(trial.Mix)
				switch {
				case mix.Varies != nil:
					if mix.Varies.Of != mixName {
						t.Fatalf("%s varies %s", mix.Name, mix.Varies.Of)
					}
					if varied[mix.Name] == nil {
						varied[mix.Name] = map[int]bool{}
					}
					varied[mix.Name][trial.Block] = true
				case countOf(mix) >= knee-1 && countOf(mix) <= knee+1:
					around++
				default:
					far = max(far, m.Tried(on("a", mix.Name)))
				}
			}
			if len(varied) != 6 {
				t.Errorf("varied: %v", varied)
			}
			for name, blocks := range varied {
				if len(blocks) < stats.FewestPairs {
					t.Errorf("%s was in %d blocks", name, len(blocks))
				}
			}
			// A line that moved, as more became known, leaves more trials behind than an interval takes.
			if far > stats.FewestPairs+2 || m.Tried(on("a", mixName)) <= 2*far {
				t.Errorf("%d trials at the knee, %d at a number far from it, %d around", m.Tried(on("a", mixName)), far, around)
			}
			if len(run.Points) != 8+6 {
				t.Errorf("%d points: %+v", len(run.Points), run.Points)
			}
			for _, p := range run.Points {
				if p.Why == "" || p.Reason == "" {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// Without a budget, the mixes that vary the line come when all others have ended, in as many blocks, each
// with the mix itself; and a run that is interrupted at any moment goes on as if it had not been.
func TestElasticityIsPlannedOnceAtTheLine(t *testing.T) {
	var whole []result.Trial
	for _, stop := range []int{1000, 1, 7} {
		e := parsed(t, eightCounts)
		e.Repeat = 5
		m := simulatedKnee(3, 0, e)
		for sessions := 0; !session(t, m, stop); sessions++ {
			if sessions > 200 {
				t.Fatal("it goes on for ever")
			}
			// Another process reads the experiment again, and makes what was added again.
			again := parsed(t, eightCounts)
			again.Repeat = e.Repeat
			again.AddVaried(m.Stored.Mixes)
			if mixes := again.ResultMixes(); !reflect.DeepEqual(mixes, m.Stored.Mixes) {
				t.Fatalf("the run has mixes %+v, and the experiment %+v", m.Stored.Mixes, mixes)
			}
		}
		run := m.Stored
		if len(run.Mixes) != 8+6 {
			t.Fatalf("%d mixes", len(run.Mixes))
		}
		blocks := map[int][]string{}
		for _, trial := range run.Trials {
			if trial.Block > e.Repeat {
				blocks[trial.Block] = append(blocks[trial.Block], trial.Mix)
			}
		}
		if len(blocks) != e.Repeat {
			t.Errorf("%d blocks of what is varied", len(blocks))
		}
		for n, mixes := range blocks {
			slices.Sort(mixes)
			if want := "R-3 R-3.cpus-x0.8 R-3.cpus-x1.2 R-3.memory-x0.8 R-3.memory-x1.2 R-3.read-iops-x0.8 R-3.read-iops-x1.2"; strings.Join(mixes, " ") != want {
				t.Errorf("block %d: %v", n, mixes)
			}
		}
		if whole == nil {
			whole = run.Trials
		}
		if len(whole) != len(run.Trials) {
			t.Errorf("%d trials when it is interrupted after every %d, %d else", len(run.Trials), stop, len(whole))
		}
		for i := range min(len(whole), len(run.Trials)) {
			if a, b := whole[i], run.Trials[i]; a.Mix != b.Mix || a.Block != b.Block {
				t.Fatalf("trial %d is of %s, and of %s when it is interrupted after every %d", i+1, a.Mix, b.Mix, stop)
			}
		}
	}
}

// Memory is not tightened to less than servers can run in.
func TestMemoryIsTightenedWhereServersFit(t *testing.T) {
	text := strings.NewReplacer("tmpfs(size=640MiB)", "loop(size=12GiB) > xfs > volume", "memory: 100MiB", "memory: 2GiB",
		"[1, 2, 3, 4, 5, 6, 7, 8]", "[3, 4]", "{fio: {rw: randread, size: 8MiB}}",
		"{ycsb: {workload: C, records: 1000, database: {cassandra: {heap: 192MiB}}}}").Replace(eightCounts)
	for line, tightened := range map[int]bool{3: true, 4: false} {
		m := simulated(parsed(t, text))
		m.Lines = func(*result.Run) []plan.Line {
			return []plan.Line{{Stack: "a", Mixes: map[int]string{3: "R-3", 4: "R-4"}, Instances: line}}
		}
		finish(t, m)
		has := slices.ContainsFunc(m.Stored.Mixes, func(m result.Mix) bool {
			return m.Varies != nil && m.Varies.Limit == "memory" && m.Varies.Factor < 1
		})
		if has != tightened {
			t.Errorf("the memory of %d servers is tightened: %v", line, has)
		}
	}
}

// A mix at the load line whose last trials failed is not varied: it would be measured again in each of the blocks.
func TestAMixThatFailsIsNotVaried(t *testing.T) {
	for failures, mixes := range map[int]int{1: 8 + 6, 2: 8} {
		e := parsed(t, eightCounts)
		e.Repeat = 6
		m := simulatedKnee(3, 0, e)
		measures := m.Measures
		m.Measures = func(t result.Trial) (float64, *problem.Problem) {
			if t.Mix == "R-3" && t.Block > e.Repeat-failures && t.Block <= e.Repeat {
				return 0, &problem.Problem{What: "R-3", Why: "it was killed"}
			}
			return measures(t)
		}
		finish(t, m)
		if len(m.Stored.Mixes) != mixes {
			t.Errorf("%d failures: %d mixes", failures, len(m.Stored.Mixes))
		}
	}
}
