package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// ladderOf reads a ladder: a rung for each word, INSTANCES:BRINGUPS, with ~ behind it where its mean is not
// precise, and ! where it failed.
func ladderOf(text string, line Line) ladder {
	l := ladder{line: line, fewest: 4, most: 10, target: 0.03}
	words := strings.Fields(text)
	for i, word := range words {
		r := rung{relative: 0.01, coarse: i%2 == 0 || i == len(words)-1}
		if strings.HasSuffix(word, "~") {
			r.relative = 0.2
		}
		if strings.HasSuffix(word, "!") {
			r.ended = "it fails"
		}
		instances, bringUps, _ := strings.Cut(strings.TrimRight(word, "~!"), ":")
		r.instances, _ = strconv.Atoi(instances)
		r.bringUps, _ = strconv.Atoi(bringUps)
		l.rungs = append(l.rungs, r)
	}
	return l
}

func TestWhatALadderMeasuresNext(t *testing.T) {
	at := func(instances, low, high int) Line { return Line{Instances: instances, Low: low, High: high} }
	for _, c := range []struct {
		name, ladder string
		line         Line
		next         []int // instances
	}{
		{"at first a coarse set", "1:0~ 2:0~ 3:0~ 4:0~ 5:0~ 6:0~ 7:0~ 8:0~", Line{}, []int{1, 3, 5, 7, 8}},
		{"then those next to the line, too", "1:1~ 2:0~ 3:1~ 4:0~ 5:1~ 6:0~ 7:1~ 8:1~", at(5, 0, 0), []int{1, 3, 4, 5, 6, 7, 8}},
		{"the line is at the end", "1:1~ 2:0~ 3:1~ 4:0~ 5:1~ 6:0~ 7:1~ 8:1~", at(8, 0, 0), []int{1, 3, 5, 7, 8}},
		{"what came later catches up, beside the line", "1:4 2:0~ 3:4 4:3 5:4 6:3 7:4 8:4", at(5, 0, 0), []int{4, 5, 6}},
		{"an open line", "1:4 2:0~ 3:4~ 4:4 5:4 6:4 7:4 8:4", at(5, 4, 5), []int{4, 5, 6}},
		{"a wide interval", "1:4 2:0~ 3:4~ 4:4 5:4 6:4 7:4 8:4", at(5, 3, 5), []int{3, 4, 5, 6}},
		{"a decided line, and a mean that is not known", "1:4~ 2:0~ 3:4~ 4:4~ 5:4 6:4 7:4 8:4", at(5, 5, 5), []int{4}},
		{"the valley's end", "1:4~ 2:0~ 3:4~ 4:4 5:4 6:4 7:4~ 8:4~", Line{Instances: 5, Low: 5, High: 5, Valley: 8}, []int{8}},
		{"all is known", "1:4~ 2:0~ 3:4~ 4:4 5:4 6:4 7:4~ 8:4", at(5, 5, 5), nil},
		{"what fails gets no more", "1:4 2:0~ 3:4 4:4 5:4 6:2! 7:4 8:4", at(5, 4, 5), []int{4, 5}},
		{"no more than the most", "1:4 2:0~ 3:4 4:10 5:10 6:10 7:4 8:4", at(5, 4, 5), nil},
		{"no line at all", "1:4 2:0~ 3:4 4:0~ 5:4 6:0~ 7:4 8:4", Line{}, nil},
		{"the number that shows most", "1:4 2:0~ 4:4 8:0~ 16:4", Line{Instances: 16, Low: 16, High: 16, Next: 2}, []int{2, 8, 16}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ladderOf(c.ladder, c.line)
			var next []int
			for _, i := range l.next() {
				next = append(next, l.rungs[i].instances)
			}
			if !slices.Equal(next, c.next) {
				t.Errorf("%v, not %v", next, c.next)
			}
			for i := range l.rungs {
				reason, why := l.reason(i)
				if reason == "" || why == "" {
					t.Errorf("no reason for %+v", l.rungs[i])
				}
			}
		})
	}
}

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
	at     int
	noise  float64
	random *rand.Rand
	r      *runner
}

func (k knee) measures(t result.Trial) (iops float64, none *problem.Problem) {
	m := k.r.mixes[t.Mix]
	iops = 100 * float64(min(m.Count(), k.at))
	for n := k.at; n < m.Count(); n++ {
		iops *= 0.8
	}
	if m.Varies != nil && m.Varies.Limit == "memory" {
		iops *= m.Varies.Factor
	}
	return iops * (1 + k.noise*k.random.NormFloat64()), nil
}

// lines are the load lines as far as medians tell, which are taken to be decided after four setups where
// noise is small.
func (k knee) lines(run *result.Run) []Line {
	l := Line{Stack: "a", Mixes: map[int]string{}}
	rates, fewest := make([]float64, 9), 9
	for _, m := range run.Mixes {
		done := runview.Of(run).Done(result.Point{Stack: "a", Mix: m.Name})
		values := runview.Take(done, rate).Values()
		if len(values) == 0 || m.Varies != nil {
			continue
		}
		n := m.Tenants[0].Count
		l.Mixes[n], rates[n] = m.Name, stats.Median(values)
		fewest = min(fewest, len(values))
	}
	for n, r := range rates {
		if r >= 0.9*slices.Max(rates) && r > 0 {
			l.Instances = n
		}
	}
	if fewest >= stats.FewestPairs {
		l.Low, l.High = l.Instances, l.Instances
	}
	return []Line{l}
}

func simulatedKnee(t *testing.T, at int, noise float64, e *experiment.Experiment) *simulation {
	m := newSimulation(t, e)
	k := knee{at: at, noise: noise, random: rand.New(rand.NewPCG(uint64(at), 5)), r: m.runner}
	m.measures = k.measures
	m.runner.Lines = k.lines
	return m
}

// Wherever the knee is: it is found, most trials are spent around it, what is varied there is compared in
// four blocks, and the budget holds.
func TestABudgetGoesToTheKnee(t *testing.T) {
	for at := 1; at <= 8; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			e := parsed(t, eightCounts)
			const budget = 8 * time.Minute
			if err := experiment.Fit(e, budget); err != nil {
				t.Fatal(err)
			}
			m := simulatedKnee(t, at, 0.06, e)
			m.takes = func(result.Trial) time.Duration { return e.Timing.Runtime + 1500*time.Millisecond }
			if !m.run(t, 1000) {
				t.Fatal("it goes on for ever")
			}
			run := m.runner.store.Run()
			if spent := Spent(run); spent > budget || spent < budget*3/4 {
				t.Errorf("spent %s of %s", spent, budget)
			}
			around, far := 0, 0
			varied := map[string]map[int]bool{}
			of := fmt.Sprintf("R-%d", at)
			for _, trial := range run.Trials {
				mix := m.runner.mixes[trial.Mix]
				switch {
				case mix.Varies != nil:
					if mix.Varies.Of != of {
						t.Fatalf("%s varies %s", mix.Name, mix.Varies.Of)
					}
					if varied[mix.Name] == nil {
						varied[mix.Name] = map[int]bool{}
					}
					varied[mix.Name][trial.Block] = true
				case mix.Count() >= at-1 && mix.Count() <= at+1:
					around++
				default:
					far = max(far, m.tried("a"+mix.Name))
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
			if far > stats.FewestPairs+2 || m.tried("a"+of) <= 2*far {
				t.Errorf("%d trials at the knee, %d at a number far from it, %d around", m.tried("a"+of), far, around)
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
		m := simulatedKnee(t, 3, 0, e)
		for sessions := 0; !m.run(t, stop); sessions++ {
			if sessions > 200 {
				t.Fatal("it goes on for ever")
			}
			// Another process reads the experiment again, and makes what was added again.
			again := parsed(t, eightCounts)
			again.Repeat = e.Repeat
			again.AddVaried(m.runner.store.Run().Mixes)
			m.runner.Experiment, m.runner.mixes = again, mixesOf(again)
			if err := m.runner.checkPlanUnchanged(m.runner.store.Run()); err != nil {
				t.Fatal(err)
			}
		}
		run := m.runner.store.Run()
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
	e := parsed(t, text)
	s := &schedule{runner: newSimulation(t, e).runner}
	for name, tightened := range map[string]bool{"R-3": true, "R-4": false} {
		of, _ := e.Mix(name)
		has := slices.ContainsFunc(s.variations(s.store.Run(), of), func(m experiment.Mix) bool {
			return m.Varies.Limit == "memory" && m.Varies.Factor < 1
		})
		if has != tightened {
			t.Errorf("the memory of %s is tightened: %v", name, has)
		}
	}
}
