package labtest

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/fact"
)

// loadLineExperiment has servers whose files fit into the scaled-down host's memory as one, and do not as four.
const loadLineExperiment = `
name: line
question: How many servers does a host with cgroups of version 2 carry?
control: false
repeat: 1
trials: 1
runtime: 2s
ramp: 500ms
seed: 1
factors: {n: [1, 4]}
stacks: {disk: serial:LAB1 > xfs}
workloads:
  C:
    ycsb:
      {workload: C, records: 40000, threads: 2, think: 10ms, distribution: uniform, database: {pebble: {cache: 1MiB}}}
mixes:
  C-$n: {servers: {workload: C, count: $n}}
host: {cpus: 1, memory: 192MiB, read-iops: 100}
`

// loadLine measures servers in a scaled-down host of version 2, and is told what binds.
func loadLine(t *testing.T, g *guest) {
	g.put(t, "line.yaml", loadLineExperiment)
	var shown struct {
		Findings []struct {
			Rule  string
			Facts json.RawMessage
		}
	}
	g.do(t, "plimsoll run line.yaml --quiet --destroy LAB1 -o line")
	out := g.do(t, "plimsoll show --json line; rm -r line")
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		t.Fatal(err)
	}
	for _, f := range shown.Findings {
		if f.Rule != "scaling" {
			continue
		}
		var facts struct {
			Curve struct{ Points []fact.ScalingPoint }
		}
		if err := json.Unmarshal(f.Facts, &facts); err != nil {
			t.Fatal(err)
		}
		points := facts.Curve.Points
		if len(points) != 2 {
			t.Fatalf("the curve is %+v", points)
		}
		one, four := points[0], points[1]
		if one.DeviceReads > 0.01 || one.Binds == fact.Memory { // a slow processor may bind it
			t.Errorf("one server, whose files fit into memory, reads %g times for an operation; what binds is %q",
				one.DeviceReads, one.Binds)
		}
		if four.DeviceReads < 0.02 || four.Binds != fact.Memory {
			t.Errorf("four servers, whose files do not fit, read %g times for an operation; what binds is %q",
				four.DeviceReads, four.Binds)
		}
		return
	}
	t.Errorf("nothing is found of the number of servers: %s", out)
}
