package trial

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload/kinds"
)

// A run is gone on with where its text means what it meant, after its way through the
// store too, and refused by what changed where it does not.
func TestWhatReadsOtherwiseIsNotGoneOnWith(t *testing.T) {
	const text = `
name: same
question: Is it the same?
factors: {jobs: {one: 1, two: 2}}
stacks: {a: "loop(size=1GiB) > xfs", b: "loop(size=1GiB) > ext4"}
workloads:
  R-$jobs: {fio: {rw: randread, jobs: $jobs, size: 64MiB}}
  W: {fio: {rw: randwrite, size: 64MiB, runtime: 5s}}
mixes:
  both: [{workload: R-two, count: 2, limits: {cpus: 1}}, {workload: W}]
  one: [{workload: R-one, count: 2}]
`
	e, err := experiment.Parse("same.yaml", []byte(text), experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err)
	}
	otherTime := func(run *result.Run) {
		run.Workloads[2].Declared = strings.Replace(run.Workloads[2].Declared, "runtime: 5s", "runtime: 6s", 1)
	}
	for _, c := range []struct {
		says   string
		change func(*result.Run)
	}{
		{"", func(*result.Run) {}},
		{"reads workload W ", otherTime},
		{"reads workload W ", func(run *result.Run) { run.Workloads[2].Summary = "another depth" }},
		{"reads workload gone ", func(run *result.Run) {
			run.Workloads = append(run.Workloads, result.Workload{Name: "gone"})
		}},
		{"reads mix both ", func(run *result.Run) { run.Mixes[0].Tenants[0].Count++ }},
		{"the workloads and mixes ", func(run *result.Run) { run.Workloads = run.Workloads[1:] }},
	} {
		planned, err := json.Marshal(result.Run{Version: "1.0", Workloads: workloadsOf(e), Mixes: e.ResultMixes()})
		if err != nil {
			t.Fatal(err)
		}
		var run result.Run
		if err := json.Unmarshal(planned, &run); err != nil {
			t.Fatal(err)
		}
		c.change(&run)
		r := &runner{Options: Options{Dir: "runs/x", Version: "2.0", Experiment: e}}
		err = r.checkPlanUnchanged(&run)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.says, err)
		}
	}
}
