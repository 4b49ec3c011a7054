package study

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/testkit/plantest"
	"plimsoll/internal/trial/plan/rounds"
	"plimsoll/internal/workload/kinds"
)

// starCase is a comparison as runs have them: a baseline, and seven points
// that are compared with it.
type starCase struct {
	name   string
	noises []string // of the eight points, the baseline's first
	trials float64
	right  float64 // verdicts of seven
	wrong  float64
	// With a budget of a third of the trials that 30 of each point are:
	budget, turns knowledge // when those come first that are decided soonest, and when all open points take turns
}

// starLevels are the true rates, the baseline's first.
var starLevels = []float64{1, 1, 1, 1, 1.02, 1.05, 1.1, 1.5}

func starCases() []starCase {
	alike := func(name string) starCase {
		c := starCase{name: name}
		for range starLevels {
			c.noises = append(c.noises, name)
		}
		return c
	}
	return []starCase{
		alike("1%"), alike("3%"), alike("10%"), alike("heavy tails"), alike("outliers"), alike("drift"),
		{name: "half 1%, half 10%", noises: []string{"1%", "10%", "1%", "10%", "1%", "10%", "1%", "10%"}},
		{name: "3%, and one 10%", noises: []string{"3%", "3%", "10%", "3%", "3%", "3%", "3%", "3%"}},
	}
}

func benchStars(replays int, seed uint64) []starCase {
	byName := map[string]noise{}
	for _, n := range noises() {
		byName[n.name] = n
	}
	cases := starCases()
	for i := range cases {
		c := &cases[i]
		var points []point
		var pairs [][2]int
		for i, level := range starLevels {
			points = append(points, point{byName[c.noises[i]], level})
			if i > 0 {
				pairs = append(pairs, [2]int{0, i})
			}
		}
		share := 1 / float64(replays)
		parallel(replays, seed, func(seed uint64) starCase { return replayStar(c.name, points, pairs, seed) },
			func(r starCase) {
				c.trials += r.trials * share
				c.right += r.right * share
				c.wrong += r.wrong * share
				c.budget.add(r.budget, share)
				c.turns.add(r.turns, share)
			})
	}
	return cases
}

func replayStar(name string, points []point, pairs [][2]int, seed uint64) (r starCase) {
	budget := len(points) * rounds.DefaultStudy.Most / 3
	s := simulate(points, pairs, seed, name)
	for next := s.study.Next(); len(next) > 0; next = s.study.Next() {
		s.run(next)
	}
	short := simulate(points, pairs, seed, name)
	short.spend(budget)
	r.budget = short.known()
	r.trials = float64(s.trials)
	for i, pair := range pairs {
		switch s.compare(pair) {
		case rounds.Differ:
			r.right += truth(starLevels[i+1] != 1)
			r.wrong += truth(starLevels[i+1] == 1)
		case rounds.Alike:
			r.right += truth(starLevels[i+1] <= 1+rounds.DefaultStudy.Target)
			r.wrong += truth(starLevels[i+1] > 1+rounds.DefaultStudy.Target)
		}
	}

	turns := simulate(points, pairs, seed, name)
	for turns.trials < budget {
		var open []int
		for i, state := range turns.study.Judge() {
			if state.Open {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			break
		}
		turns.run(open[:min(len(open), budget-turns.trials)])
	}
	r.turns = turns.known()
	return r
}

// starText is an experiment whose stacks are the points of a star.
func starText(points int) string {
	text := "name: star\nquestion: Which differ?\nruntime: 1s\nrepeat: 4\ntrials: 1\nbaseline: p0\nstacks:\n"
	for i := range points {
		text += fmt.Sprintf("  p%d: tmpfs(size=64MiB)\n", i)
	}
	return text + "workloads: {R: {fio: {rw: randread, size: 8MiB}}}\n"
}

var starExperiment = sync.OnceValue(func() *experiment.Experiment {
	e, err := experiment.Parse("star.yaml", []byte(starText(len(starLevels))),
		experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		panic(err)
	}
	return e
})

// spend has the planner of runs spend a budget that so many trials take.
func (s *simulation) spend(trials int) {
	e := *starExperiment()
	takes := experiment.Costs(&e, experiment.Trials(&e, 0))[0]
	e.Budget = time.Duration(trials)*takes + experiment.Undo(&e) + takes/2
	run := plantest.New(&e, 1)
	run.Takes = func(result.Trial) time.Duration { return takes }
	run.Measures = func(t result.Trial) (float64, *problem.Problem) {
		for s.block.number < t.Block-1 {
			s.block = block{s.block.number + 1, s.shared.NormFloat64()}
		}
		i := slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool { return d.Name == t.Stack })
		s.measure(i)
		p := s.study.Points[i]
		return p.Values[len(p.Values)-1], nil
	}
	ended, err := run.Session(trials + 1)
	if err != nil || !ended {
		panic(fmt.Sprint("a budget of trials does not end with them: ", err))
	}
}

// knowledge is what a study knows when its budget is spent.
type knowledge struct {
	verdicts float64
	precise  float64 // means
	widest   float64 // half-width of the mean's interval, as a share of it, of a point that is not settled
}

func (k *knowledge) add(other knowledge, share float64) {
	k.verdicts += other.verdicts * share
	k.precise += other.precise * share
	k.widest += other.widest * share
}

func (s *simulation) known() (k knowledge) {
	for _, pair := range s.study.Pairs {
		k.verdicts += truth(s.compare(pair) != rounds.NoVerdict)
	}
	for _, state := range s.study.Judge() {
		k.precise += truth(state.Relative <= rounds.DefaultStudy.Target)
		if state.Reason != rounds.Settled {
			k.widest = max(k.widest, state.Relative)
		}
	}
	return k
}

func writeStars(w io.Writer, cases []starCase) {
	fmt.Fprintln(w, "| noise | setups of 240 | fewer | verdicts of 7 | wrong | after 80: verdicts | precise of 8 "+
		"| widest | in turns: verdicts | precise | widest |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, c := range cases {
		all := float64(len(starLevels) * rounds.DefaultStudy.Most)
		fmt.Fprintf(w, "| %s | %.0f | %.1fx | %.1f | %.2f | %.1f | %.1f | %s | %.1f | %.1f | %s |\n", c.name, c.trials,
			all/c.trials, c.right+c.wrong, c.wrong,
			c.budget.verdicts, c.budget.precise, percent(c.budget.widest), c.turns.verdicts, c.turns.precise,
			percent(c.turns.widest))
	}
}
