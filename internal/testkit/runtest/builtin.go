package runtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
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
	if slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool { return runview.Remote(s.Line) }) {
		reach(t, e)
	}
	mixes := e.ResultMixes()
	var story strings.Builder
	for _, s := range e.Stacks {
		fmt.Fprintf(&story, "stack %s: %s\n", s.Name, s.Line)
	}
	for _, w := range e.Workloads {
		fmt.Fprintf(&story, "workload %s %s\n", w.Name, cmp.Or(w.Info().Pattern, w.Info().Kind))
	}
	for _, s := range e.Stacks {
		for _, w := range e.Workloads {
			if len(mixes) > 0 {
				break // workloads do not run alone then
			}
			fmt.Fprintf(&story, "%s %s 1000 1001 1002 1003 1004 1005 trace=user:1000,kernel:3000,device:80000\n", w.Name, s.Name)
		}
	}
	run := Tell(t, story.String())
	for i, w := range e.Workloads {
		run.Workloads[i].Kind, run.Workloads[i].Declared = w.Info().Kind, w.Info().Declared
	}
	for _, m := range mixes {
		tellMix(run, m)
	}
	return run
}

// tellMix adds a mix to a run, on each of its stacks or on those that it names, and
// trials in which each of its instances does as much as any.
func tellMix(run *result.Run, m result.Mix) {
	run.Mixes = append(run.Mixes, m)
	stacks := []string{""}
	if m.Tenants[0].On == nil {
		stacks = nil
		for _, s := range run.Stacks {
			stacks = append(stacks, s.Name)
		}
	}
	level := crowd{reads: 0.5, writes: 0.5, cacheMiB: 128, mean: 1e6, p99: 3e6, weakest: 1}
	for _, stack := range stacks {
		for block := 1; block <= 6; block++ {
			trial := result.Trial{
				Seq: len(run.Trials) + 1, Block: block, BringUp: block, Repeat: block,
				Stack: stack, Mix: m.Name, Status: result.TrialDone,
			}
			for _, tenant := range m.Tenants {
				measured := level.trial(tenant, stack, float64(tenant.Count*(1000+block)))
				trial.Instances, trial.Checks = append(trial.Instances, measured.Instances...), measured.Checks
			}
			run.Trials = append(run.Trials, trial)
		}
	}
}

// reach gives an experiment on other hosts' devices what users give it: a drive
// of this host, and targets.
func reach(t Stopper, e *experiment.Experiment) {
	t.Helper()
	var remotes []line.Node
	for _, transport := range []string{"tcp", "rdma"} {
		if !slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool {
			over, _ := s.Line.Nodes[0].Option("transport")
			return over == transport
		}) {
			continue
		}
		remotes = append(remotes, sourceOf(t, "nvmeof(transport="+transport+", addr=10.0.0.1, nqn=nqn.x)"))
	}
	isLocal := func(s experiment.Stack) bool { return s.Line.Nodes[0].Name != "nvmeof" }
	if slices.ContainsFunc(e.Stacks, isLocal) {
		drive := sourceOf(t, "serial:S1")
		if _, err := (experiment.Scale{Catalog: layers.Catalog(), On: []line.Node{drive}}).Apply(e); err != nil {
			t.Fatal(err)
		}
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
