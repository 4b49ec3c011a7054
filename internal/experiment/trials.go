package experiment

import (
	"cmp"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Planned is a trial of the plan.
type Planned struct {
	Seq    int      `json:"seq"`    // from 1, the order of execution
	Block  int      `json:"block"`  // from 1, the random block it belongs to
	Repeat int      `json:"repeat"` // from 1: the trial's number among those of its point
	Stack  string   `json:"stack"`  // "" where the mix names its own
	Mix    string   `json:"mix"`
	On     []string `json:"on,omitempty"` // stacks that the mix names, all of which have to be up
}

// pilotRounds is the default number of trials of each mix in the first setup of a stack: they show the variance
// within one setup.
const pilotRounds = 2

// Rounds returns how many trials of each mix a stack gets in its setup
// of a block, counted from 1.
func (e *Experiment) Rounds(block int) int {
	switch {
	case e.Trials > 0:
		return e.Trials
	case block == 1 && (e.Repeat > 1 || e.Budget > 0):
		return pilotRounds
	}
	return 1
}

// Trials returns the planned trials of e: Repeat blocks, each with every stack once, one after the other, brought up
// anew on the region of the disk that belongs to the block; while it is up, each mix that it is Compatible with gets
// Rounds trials. Mixes that name their own stacks are treated as one more stack: all of theirs are up at once.
// Stacks, and the mixes of a round, come in a random order, and every second block has the reverse of the one before,
// so that a drift of the host, as it warms up or its neighbours wake, affects all stacks alike and does not look like
// a difference between them.
//
// In a budget, an experiment about the number of instances begins with a coarse set of numbers, see Coarse; the
// others follow where they are needed.
//
// The same seed makes the same order with every version of Plimsoll and Go: see Arrange.
func Trials(e *Experiment, seed uint64) []Planned {
	points := Points(e)
	if e.Budget > 0 && e.IsScaling() {
		var coarse []Mix
		for _, f := range e.Families() {
			coarse = append(coarse, f.Coarse()...)
		}
		points = pointsOf(e.Stacks, coarse)
	}
	var trials []Planned
	for b := 1; b <= e.Repeat; b++ {
		trials = append(trials, Arrange(points, e.Rounds(b), seed, b)...)
	}
	Number(trials, nil)
	return trials
}

// Points returns what e measures, stack by stack in the order of the file, and
// after them the mixes that name their own stacks.
func Points(e *Experiment) []Planned { return pointsOf(e.Stacks, e.Mixes) }

func pointsOf(stacks []Stack, mixes []Mix) []Planned {
	var points []Planned
	for i := range stacks {
		s := &stacks[i]
		for j := range mixes {
			m := &mixes[j]
			if compatible(s, m) {
				points = append(points, Planned{Stack: s.Name, Mix: m.Name})
			}
		}
	}
	for _, m := range mixes {
		if !m.Crossed() {
			points = append(points, Planned{Mix: m.Name, On: m.On()})
		}
	}
	return points
}

// Arrange puts points, stack-major, into the order of a block, counted from 1, and repeats each so many rounds: stack
// by stack, round by round.
//
// The order of odd blocks is random, and each even one has the reverse of the one before: what the place in a block
// costs, or a drift of the host, then cancels between the two (counterbalancing: Cochran and Cox, Experimental
// Designs, 1957, chapter 4). Stacks, and the mixes of each round of a stack, are sorted by a random number each: the
// first of a PCG generator (math/rand/v2) that is seeded with the seed and the FNV-1a hash of the odd block's number
// and the name. Stacks that two blocks share are thus in reverse order, whatever else is in these blocks.
func Arrange(points []Planned, rounds int, seed uint64, block int) []Planned {
	odd := block - 1 + block%2
	var stacks []string
	pointsOf := map[string][]Planned{}
	for _, p := range points {
		base := p.base()
		if pointsOf[base] == nil {
			stacks = append(stacks, base)
		}
		p.Block = block
		pointsOf[base] = append(pointsOf[base], p)
	}
	key := func(name string) uint64 {
		hash := fnv.New64a()
		_, _ = io.WriteString(hash, strconv.Itoa(odd)+"\x00"+name) // never fails
		return rand.NewPCG(seed, hash.Sum64()).Uint64()
	}
	sortByKey(stacks, block != odd, key)
	out := make([]Planned, 0, len(points)*rounds)
	for _, s := range stacks {
		for round := range rounds {
			suffix := "\x00" + strconv.Itoa(round)
			sortByKey(pointsOf[s], block != odd, func(p Planned) uint64 { return key(s + "\x00" + p.Mix + suffix) })
			out = append(out, pointsOf[s]...)
		}
	}
	return out
}

// sortByKey sorts items by a number of each, which it asks for once; reversed puts the greatest first.
func sortByKey[T any](items []T, reversed bool, key func(T) uint64) {
	type keyed struct {
		key  uint64
		item T
	}
	all := make([]keyed, len(items))
	for i, item := range items {
		all[i] = keyed{key(item), item}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		if reversed {
			a, b = b, a
		}
		return cmp.Compare(a.key, b.key)
	})
	for i, k := range all {
		items[i] = k.item
	}
}

// Number counts trials that follow others: in all, and by stack and mix.
func Number(trials, before []Planned) {
	type point struct{ stack, mix string }
	repeats := map[point]int{}
	for _, t := range before {
		repeats[point{t.Stack, t.Mix}]++
	}
	for i := range trials {
		p := point{trials[i].Stack, trials[i].Mix}
		repeats[p]++
		trials[i].Seq, trials[i].Repeat = len(before)+i+1, repeats[p]
	}
}
