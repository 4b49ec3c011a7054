package story

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	layers "plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	workloads "plimsoll/internal/workload/kinds"
)

// BuiltIn makes a run of a built-in experiment in which everything is level.
func BuiltIn(t Stopper, name string) *result.Run {
	t.Helper()
	text, ok := examples.Find(name)
	if !ok {
		t.Fatalf("there is no experiment %s", name)
	}
	e, err := experiment.Parse(name, text, experiment.Options{Catalog: layers.Catalog(), Kinds: workloads.All()})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool { return measured.Remote(s.Line) }) {
		reach(t, e)
	}
	var story strings.Builder
	for _, s := range e.Stacks {
		fmt.Fprintf(&story, "stack %s: %s\n", s.Name, s.Line)
	}
	for _, w := range e.Workloads {
		fmt.Fprintf(&story, "workload %s %s\n", w.Name, w.Info().Pattern)
	}
	for _, s := range e.Stacks {
		for _, w := range e.Workloads {
			fmt.Fprintf(&story, "%s %s 1000 1001 1002 1003 1004 1005 trace=user:1000,kernel:3000,device:80000\n", w.Name, s.Name)
		}
	}
	run := Tell(t, story.String())
	for i, w := range e.Workloads {
		run.Workloads[i].Declared = w.Info().Declared
	}
	return run
}

// reach gives an experiment on other hosts' devices what users give it: a drive
// of this host, and targets.
func reach(t Stopper, e *experiment.Experiment) {
	t.Helper()
	var remotes []line.Node
	for _, transport := range []string{"tcp", "rdma"} {
		remotes = append(remotes, sourceOf(t, "nvmeof(transport="+transport+", addr=10.0.0.1, nqn=nqn.x)"))
	}
	drive := sourceOf(t, "serial:S1")
	if _, err := (experiment.Scale{Catalog: layers.Catalog(), On: []line.Node{drive}}).Apply(e); err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Reach(e, remotes); err != nil {
		t.Fatal(err)
	}
}

func sourceOf(t Stopper, text string) line.Node {
	t.Helper()
	l, err := line.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l.Nodes[0]
}
