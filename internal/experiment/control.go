package experiment

import (
	"fmt"
	"slices"
)

// Controls returns how many controls a round of so many stacks has. Two copies show by one difference what equal stacks
// differ by, three copies by twice as many degrees of freedom, where the third one costs a seventh of a round or less.
func Controls(stacks int) int {
	const many = 6
	if stacks >= many {
		return 2
	}
	return 1
}

// AddControl adds twins of the baseline, or of the first stack where there is no baseline, to e. Every run with a
// comparison has one or more, see Controls: stacks brought up like any other, whose difference from the original is the
// noise floor of the run. AddControl does nothing if e has a control, declines one, has only one stack, or has only
// mixes that name their stacks, so that no stacks are compared.
func AddControl(e *Experiment) {
	if e.NoControl || len(e.Stacks) < 2 || slices.ContainsFunc(e.Stacks, func(s Stack) bool { return s.Control != "" }) {
		return
	}
	if len(e.Mixes) > 0 && !slices.ContainsFunc(e.Mixes, Mix.Crossed) {
		return
	}
	i := max(0, slices.IndexFunc(e.Stacks, func(s Stack) bool { return s.Name == e.Baseline }))
	original, stacks := e.Stacks[i], slices.Clone(e.Stacks)
	for range Controls(len(e.Stacks)) {
		twin := original
		twin.Control, twin.Name = original.Name, "control"
		for n := 2; slices.ContainsFunc(stacks, func(s Stack) bool { return s.Name == twin.Name }); n++ {
			twin.Name = fmt.Sprintf("control-%d", n)
		}
		stacks = append(stacks, twin)
	}
	e.Stacks = stacks
}
