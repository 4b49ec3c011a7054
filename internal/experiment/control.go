package experiment

import (
	"fmt"
	"slices"
)

// AddControl adds a twin of the baseline, or of the first stack where there is no baseline, to e. Every run with a
// comparison has one: a stack brought up like any other, whose difference from the original is the noise floor of the
// run. It does nothing where e has one already, declines one, has only one stack, or only mixes that name their
// stacks, so that no stacks are compared.
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
