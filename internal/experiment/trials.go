package experiment

import (
	"math/bits"
	"math/rand/v2"
)

// Planned is a trial before it is run.
type Planned struct {
	Seq      int    `json:"seq"`    // from 1, the order of execution
	Block    int    `json:"block"`  // from 1, the random block it belongs to
	Repeat   int    `json:"repeat"` // from 1: the how-manieth trial of its stack and workload; a block has one of each, so it equals Block
	Stack    string `json:"stack"`
	Workload string `json:"workload"`
}

// Meet tells whether a stack and a workload make a trial. All do, unless a
// factor would have two levels at once.
func Meet(s Stack, w Workload) bool {
	for factor, level := range s.Levels {
		if other, ok := w.Levels[factor]; ok && other != level {
			return false
		}
	}
	return true
}

// Trials lays out the trials of e: Repeat blocks, each with every stack and
// workload once (see Meet), in a random order of its own. A drift of the host, as it
// warms up or its neighbours wake, then meets all stacks alike and does not
// look like a difference between them.
//
// The same seed gives the same order with every version of Plimsoll and Go.
// Block b, from 1, is shuffled by Fisher and Yates's method from the end of
// stack-major order, with the numbers of a PCG generator (math/rand/v2) that
// is seeded with the seed and b. A 64-bit number x picks one of n as the upper
// half of the 128-bit product x*n; its bias is below n/2^64.
func Trials(e *Experiment, seed uint64) []Planned {
	var block []Planned
	for _, s := range e.Stacks {
		for _, w := range e.Workloads {
			if Meet(s, w) {
				block = append(block, Planned{Stack: s.Name, Workload: w.Name})
			}
		}
	}
	trials := make([]Planned, 0, len(block)*e.Repeat)
	for b := 1; b <= e.Repeat; b++ {
		start := len(trials)
		trials = append(trials, block...)
		Shuffle(trials[start:], seed, b)
		for i := start; i < len(trials); i++ {
			trials[i].Seq, trials[i].Block, trials[i].Repeat = i+1, b, b
		}
	}
	return trials
}

// Shuffle puts the trials of a block, counted from 1, into the random order
// that Trials describes.
func Shuffle(trials []Planned, seed uint64, block int) {
	shuffle(trials, rand.NewPCG(seed, uint64(block)))
}

func shuffle(trials []Planned, random *rand.PCG) {
	for i := len(trials) - 1; i > 0; i-- {
		j, _ := bits.Mul64(random.Uint64(), uint64(i+1))
		trials[i], trials[j] = trials[j], trials[i]
	}
}
