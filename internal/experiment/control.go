package experiment

import (
	"fmt"
	"slices"
)

// AddControl gives e the twin of its baseline, or of its first stack where it
// has no baseline, that every run with a comparison carries: a stack that
// nobody named, brought up like any other. What differs between the two is the
// noise floor of the run. It changes nothing where e has one, wants none, has
// one stack only, or mixes that all name their stacks, so that no stack is held
// against another.
func AddControl(e *Experiment) {
	if e.NoControl || len(e.Stacks) < 2 || slices.ContainsFunc(e.Stacks, func(s Stack) bool { return s.Control != "" }) {
		return
	}
	if len(e.Mixes) > 0 && !slices.ContainsFunc(e.Mixes, Mix.Crossed) {
		return
	}
	at := max(0, slices.IndexFunc(e.Stacks, func(s Stack) bool { return s.Name == e.Baseline }))
	twin := e.Stacks[at]
	twin.Control = twin.Name
	twin.Name = "control"
	for n := 2; slices.ContainsFunc(e.Stacks, func(s Stack) bool { return s.Name == twin.Name }); n++ {
		twin.Name = fmt.Sprintf("control-%d", n)
	}
	e.Stacks = append(slices.Clone(e.Stacks), twin)
}
