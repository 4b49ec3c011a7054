package main

import (
	"fmt"
	"io"

	"plimsoll/internal/stats/stopping"
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
	same := func(name string) starCase {
		c := starCase{name: name}
		for range starLevels {
			c.noises = append(c.noises, name)
		}
		return c
	}
	return []starCase{
		same("1%"), same("3%"), same("10%"), same("heavy tails"), same("outliers"), same("drift"),
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
	budget := len(points) * stopping.DefaultStudy.Most / 3
	s := simulate(points, pairs, seed, name)
	for next := s.study.Next(); len(next) > 0; next = s.study.Next() {
		s.run(next)
	}
	short := simulate(points, pairs, seed, name)
	for short.trials < budget {
		short.study.Rest = float64(budget - short.trials)
		next := short.study.Next()
		if len(next) == 0 {
			break
		}
		short.run(next[:min(len(next), budget-short.trials)])
	}
	r.budget = short.known()
	r.trials = float64(s.trials)
	for i, pair := range pairs {
		switch s.compare(pair) {
		case stopping.Differ:
			r.right += truth(starLevels[i+1] != 1)
			r.wrong += truth(starLevels[i+1] == 1)
		case stopping.Alike:
			r.right += truth(starLevels[i+1] <= 1+stopping.DefaultStudy.Target)
			r.wrong += truth(starLevels[i+1] > 1+stopping.DefaultStudy.Target)
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
		k.verdicts += truth(s.compare(pair) != stopping.NoVerdict)
	}
	for _, state := range s.study.Judge() {
		k.precise += truth(state.Relative <= stopping.DefaultStudy.Target)
		if state.Reason != stopping.Settled {
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
		all := float64(len(starLevels) * stopping.DefaultStudy.Most)
		fmt.Fprintf(w, "| %s | %.0f | %.1fx | %.1f | %.2f | %.1f | %.1f | %s | %.1f | %.1f | %s |\n", c.name, c.trials,
			all/c.trials, c.right+c.wrong, c.wrong,
			c.budget.verdicts, c.budget.precise, percent(c.budget.widest), c.turns.verdicts, c.turns.precise,
			percent(c.turns.widest))
	}
}
