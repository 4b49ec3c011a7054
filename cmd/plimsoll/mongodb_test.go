package main

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

// mongodbOn has two servers in the place of MongoDB's, one that is read and one that is written to.
const mongodbOn = `
name: mongodb
question: What does MongoDB do beside another one?
repeat: 1
trials: 2
runtime: 4s
ramp: 100ms
seed: 1
stacks:
  disk: loop(size=4GiB) > xfs > volume
workloads:
  C: {ycsb: {workload: C, records: 2000, threads: 4, database: {mongodb: {image: %[1]s}}}}
  A:
    ycsb:
      {workload: A, records: 2000, threads: 4,
       database: {mongodb: {image: %[1]s, journal: true, set: {quiet: false}}}}
mixes:
  both: {C: {limits: {memory: 512MiB}}, A: 1}
host: {cpus: 2, memory: 2GiB}
`

// TestMongodbIsMeasured: from an image of another server that speaks MongoDB's protocol, and is started as it
// is. What was measured says so.
func TestMongodbIsMeasured(t *testing.T) {
	hosttest.Soak(t)
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	of := imagetest.Mongodb(t, p.keptImages(), "../../tools/ferretdb")
	run := p.killedOnce(p.experiment(fmt.Sprintf(mongodbOn, of.Name)), "mongod", 2)
	for _, w := range run.Workloads {
		if w.Image == nil || !strings.HasPrefix(w.Image.Version, "FerretDB, in place of MongoDB ") {
			t.Errorf("%s runs from %+v", w.Name, w.Image)
		}
		if w.Name == "A" && w.Settings["quiet"] != "false" {
			t.Errorf("what was set is kept as %v", w.Settings)
		}
	}
	if code, out, errs := p.run(
		"show",
		"--full",
		run.ID,
	); code != 0 ||
		!strings.Contains(out, "says how fast the other one is") {
		t.Errorf("showing it ends with %d: %s%s", code, out, errs)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}
