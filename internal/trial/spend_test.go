package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack"
	"plimsoll/internal/testkit/plantest"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/trial/plan/rounds"
	"plimsoll/internal/workload/kinds"
)

// spendCase is a run with a budget whose true rates are known.
type spendCase struct {
	name   string
	text   string
	budget time.Duration
	rate   map[string]float64       // of all instances of a mix together
	takes  map[string]time.Duration // a trial of a mix
	noise  float64                  // standard deviation of a setup's logarithm
	knee   int                      // of every family; 0 where the run asks for none
}

// shapeOf returns an experiment of so many families of mixes of 1 to 4 servers, whose workloads have these names.
func shapeOf(families string) string {
	text := "name: simulated\nquestion: How many?\nruntime: 4s\nramp: 3s\ntrials: 1\nrepeat: 4\nseed: 1\n" +
		"factors: {n: [1, 2, 3, 4]}\nstacks: {a: tmpfs(size=640MiB)}\nworkloads:\n"
	for _, name := range strings.Fields(families) {
		text += fmt.Sprintf("  %s: {fio: {rw: randread, size: 8MiB}}\n", name)
	}
	text += "mixes:\n"
	for _, name := range strings.Fields(families) {
		text += fmt.Sprintf("  %s-$n: {servers: {workload: %s, count: $n}}\n", name, name)
	}
	return text + "host: {cpus: 1, memory: 100MiB, read-iops: 1000}\n"
}

// policiesShape are the mixes of cassandra-policies.
const policiesShape = `
name: simulated
question: What do limits cost?
runtime: 4s
ramp: 3s
trials: 1
repeat: 4
seed: 1
factors: {policy: {none: none, cpu: cpu, mem: mem, bw: bw, cpu-mem: cpu+mem, all: all}, alone: {none: none, mem: mem}}
stacks: {a: tmpfs(size=640MiB)}
workloads: {C: {fio: {rw: randread, size: 8MiB}}}
mixes:
  C-$policy-2: {servers: {workload: C, count: 2, policy: $policy, share: 1/4}}
  C-$alone-1: {servers: {workload: C, count: 1, policy: $alone, share: 1/4}}
host: {cpus: 2, memory: 2GiB, read-iops: 200}
`

func kneesOf(noise float64, budget time.Duration, knee int, seconds map[string]float64) spendCase {
	c := spendCase{noise: noise, budget: budget, knee: knee, rate: map[string]float64{}, takes: map[string]time.Duration{}}
	var names []string
	for name, s := range seconds {
		names = append(names, name)
		for n := 1; n <= 4; n++ {
			mix := fmt.Sprintf("%s-%d", name, n)
			c.rate[mix] = 1000 * float64(min(n, knee)) * math.Pow(0.7, float64(max(0, n-knee)))
			c.takes[mix] = time.Duration(s * (0.7 + 0.15*float64(n)) * float64(time.Second))
		}
	}
	slices.Sort(names)
	c.text = shapeOf(strings.Join(names, " "))
	return c
}

func policiesOf(noise float64, budget time.Duration, rate map[string]float64) spendCase {
	c := spendCase{noise: noise, budget: budget, text: policiesShape, rate: rate, takes: map[string]time.Duration{}}
	for mix := range rate {
		c.takes[mix] = 25 * time.Second
	}
	return c
}

func spendCases() []spendCase {
	limits := map[string]float64{"C-none-2": 1000, "C-cpu-2": 990, "C-mem-2": 500, "C-bw-2": 930, "C-cpu-mem-2": 500,
		"C-all-2": 300, "C-none-1": 520, "C-mem-1": 480}
	alike := map[string]float64{}
	for mix := range limits {
		alike[mix] = 1000
	}
	both := map[string]float64{"A": 33, "D": 18}
	three := map[string]float64{"R": 25, "T": 12, "W": 25}
	named := func(name string, c spendCase) spendCase { c.name = name; return c }
	const quarter = 15 * time.Minute
	// Four do 92% of what three do: hardly more than what still counts as the most, so that the line is at four.
	nearTie := func(name string, budget time.Duration) spendCase {
		c := kneesOf(0.07, budget, 3, both)
		c.name, c.knee = name, 4
		for _, family := range []string{"A", "D"} {
			c.rate[family+"-4"] = 0.92 * c.rate[family+"-3"]
		}
		return c
	}
	return []spendCase{
		named("cassandra-scaling", kneesOf(0.05, quarter, 3, both)),
		named("cassandra-scaling-10m", kneesOf(0.05, 10*time.Minute, 3, both)),
		named("cassandra-scaling-noisy", kneesOf(0.2, quarter, 3, both)),
		named("cassandra-scaling-60m", kneesOf(0.05, time.Hour, 3, both)),
		named("homogeneous", kneesOf(0.05, quarter, 3, three)),
		named("homogeneous-noisy", kneesOf(0.2, quarter, 3, three)),
		named("homogeneous-flat", kneesOf(0.05, 30*time.Minute, 2, three)),
		named("one-family", kneesOf(0.05, quarter, 3, map[string]float64{"A": 20})),
		nearTie("close", quarter),
		nearTie("close-40m", 40*time.Minute),
		named("policies", policiesOf(0.05, quarter, limits)),
		named("policies-10m", policiesOf(0.05, 10*time.Minute, limits)),
		named("policies-noisy", policiesOf(0.15, quarter, limits)),
		named("policies-60m", policiesOf(0.05, time.Hour, limits)),
		named("policies-AA", policiesOf(0.05, time.Hour, alike)),
	}
}

// verdicts is what a run decided, how much of it wrongly, and when, as a share of the budget.
type verdicts struct{ decided, wrong, possible, when float64 }

// simulated runs a case once.
func (c spendCase) simulated(b testing.TB, seed uint64) (got verdicts) {
	e := parsed(b, c.text)
	if err := experiment.Fit(e, c.budget); err != nil {
		b.Fatal(err)
	}
	m := plantest.New(e, 1)
	random := rand.New(rand.NewPCG(seed, 9))
	block, shock := 0, 0.0
	m.Measures = func(t result.Trial) (float64, *problem.Problem) {
		if t.Block != block {
			block, shock = t.Block, 0.05*random.NormFloat64()
		}
		return c.rate[t.Mix] * math.Exp(shock+c.noise*random.NormFloat64()), nil
	}
	m.Takes = func(t result.Trial) time.Duration { return c.takes[t.Mix] }
	m.Lines = loadLines
	for {
		ended, err := m.Session(1)
		if err != nil {
			b.Fatal(err)
		}
		run := &m.Stored
		if planned(run) && !ended {
			continue // nothing is decided within a block
		}
		now := c.judge(run)
		if now.decided > got.decided {
			got.when += (now.decided - got.decided) * plan.Spent(run).Seconds() / c.budget.Seconds()
		}
		got.decided, got.wrong, got.possible = now.decided, now.wrong, now.possible
		if ended {
			got.when += got.possible - got.decided // never
			return got
		}
	}
}

// planned reports whether a block is not over.
func planned(run *result.Run) bool {
	n := len(run.Trials)
	return n > 0 && run.Trials[n-1].Status == result.TrialPlanned
}

// judge counts load lines whose interval holds one number alone, or else comparisons with no policy, in the order in
// which they were measured, that have their verdict.
func (c spendCase) judge(run *result.Run) (got verdicts) {
	if c.knee > 0 {
		got.possible = float64(len(c.rate)) / 4
		for _, l := range loadLines(run) {
			if l.Decided() {
				got.decided++
				if l.Instances != c.knee {
					got.wrong++
				}
			}
		}
		return got
	}
	study := rounds.DefaultStudy
	for mix, rate := range c.rate {
		unlimited := fmt.Sprint("C-none-", mix[len(mix)-1:])
		if mix == unlimited {
			continue
		}
		got.possible++
		ratio := rate / c.rate[unlimited]
		switch study.Compare(measuredOf(run, mix), measuredOf(run, unlimited)) {
		case rounds.Differ:
			got.decided++
			if ratio == 1 {
				got.wrong++
			}
		case rounds.Alike:
			got.decided++
			if math.Abs(math.Log(ratio)) > math.Log1p(rounds.DefaultStudy.Target) {
				got.wrong++
			}
		}
	}
	return got
}

func parsed(t testing.TB, text string) *experiment.Experiment {
	t.Helper()
	e, err := experiment.Parse("x.yaml", []byte(text), experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// measuredOf returns what the setups of a mix measured.
func measuredOf(run *result.Run, mix string) (p rounds.StudyPoint) {
	done := runview.Of(run).Done(result.Point{Stack: "a", Mix: mix})
	for _, setup := range runview.Take(done, func(t *result.Trial) (float64, bool) { return runview.Rate.Of(t, "") }) {
		p.Values, p.Blocks = append(p.Values, setup.Value()), append(p.Blocks, setup.Round)
	}
	return p
}

// BenchmarkSpend reports how much runs decide within their budget, how much of that is wrong, and after which share
// of the budget a verdict stands, on average; one that never does counts as the whole.
func BenchmarkSpend(b *testing.B) {
	for _, c := range spendCases() {
		b.Run(c.name, func(b *testing.B) {
			var sum verdicts
			for i := range b.N {
				got := c.simulated(b, uint64(i))
				sum.decided, sum.wrong, sum.possible = sum.decided+got.decided, sum.wrong+got.wrong, sum.possible+got.possible
				sum.when += got.when
			}
			n := float64(b.N)
			b.ReportMetric(sum.decided/n, "decided/run")
			b.ReportMetric(sum.possible/n, "asked/run")
			b.ReportMetric(sum.wrong/n, "wrong/run")
			b.ReportMetric(sum.when/sum.possible, "of-budget/verdict")
			b.ReportMetric(0, "ns/op")
		})
	}
}
