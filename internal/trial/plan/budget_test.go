package plan

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload/kinds"
)

// The cost of a point is what its setups took on average, without the wait for a quiet host; by its estimate where it
// has none, on a host as slow as the others show.
func TestTheCostOfAPointIsThatOfASetup(t *testing.T) {
	e, err := experiment.Parse("x.yaml", []byte(`
name: simulated
question: What does it cost?
runtime: 1s
stacks: {a: tmpfs(size=64MiB)}
workloads: {R: {fio: {rw: randread, size: 8MiB}}, W: {fio: {rw: randwrite, size: 8MiB}}}
`), experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err)
	}
	run := &result.Run{}
	for i := range 4 { // two in each of two setups
		run.Trials = append(run.Trials, result.Trial{
			Seq: i + 1, Block: 1 + i/2, Repeat: i + 1, Stack: "a", Mix: "R", Status: result.TrialDone,
			ElapsedSeconds: 60, Phases: []result.Phase{{Name: result.PhaseQuiet, Seconds: 10}},
			Instances: result.One(&result.Measurement{Seconds: 1}),
		})
	}
	p := New(e, run, nil, time.Now)
	costs, slower := p.costs(run.Trials)
	alone := experiment.Costs(e, []experiment.Planned{{Stack: "a", Mix: "W"}})[0].Seconds()
	if slower < 10 || !slices.Equal(costs, []float64{100, slower * alone}) {
		t.Errorf("%v on a host that is slower by %v", costs, slower)
	}
}
