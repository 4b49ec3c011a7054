package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hosttest"
	"plimsoll/internal/image"
	"plimsoll/internal/result"
)

// cassandraOn has two servers of Cassandra on a stack, which answer on one port.
func cassandraOn(stack string, runtime time.Duration) string {
	return fmt.Sprintf(`
name: cassandra
question: What does Cassandra do beside another one?
repeat: 1
trials: 2
runtime: %s
seed: 1
stacks:
  disk: %s
workloads:
  A:
    ycsb:
      {workload: A, records: 5000, threads: 4,
       database: {cassandra: {heap: 128MiB, memtable_heap_space: 16MiB, commitlog_sync: group}}}
mixes:
  two: {A: {count: 2, limits: {memory: 640MiB}}}
host: {cpus: 2, memory: 2GiB}
`, runtime, stack)
}

// TestCassandraIsMeasured: servers on one port, in networks of their own, are measured beside each
// other from data that was loaded once; one that is killed ends its trial with the reason.
func TestCassandraIsMeasured(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	file := p.experiment(cassandraOn("loop(size=4GiB) > xfs > volume", 3*time.Second))
	p.keepImages()
	if _, err := image.In(filepath.Join(p.state, "images")).Find("cassandra"); err != nil {
		if code, _, errs := p.run("image", "build", "cassandra", "--quiet"); code != 0 {
			if strings.Contains(errs, "see that this host reaches") {
				t.Skip(errs)
			}
			t.Fatalf("building an image ends with %d: %s", code, errs)
		}
	}
	killed := make(chan string, 1)
	go func() { killed <- killServer(p.dir, "java") }()
	code, out, errs := p.run("run", file, "--quiet")
	if why := <-killed; why != "" {
		t.Fatal(why)
	}
	if code != exitPartial {
		t.Errorf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	if of := run.Workloads[0].Image; of == nil || !strings.HasPrefix(of.Name, "cassandra:5.0.") ||
		!strings.HasPrefix(of.Version, "5.0.") {
		t.Errorf("it runs from %+v", of)
	}
	first, second := run.Trials[0], run.Trials[1]
	if first.Status != result.TrialFailed || first.Problem == nil ||
		!strings.Contains(first.Problem.Text(), "a signal ended it") {
		t.Errorf("of the trial whose server was killed it says %+v", first.Problem)
	}
	if second.Status != result.TrialDone || len(second.Instances) != 2 {
		t.Fatalf("the other one: %+v", second)
	}
	for _, in := range second.Instances {
		if in.Measurement == nil || in.Measurement.IOs() < 100 || in.Usage == nil || in.Usage.CPUSeconds == 0 {
			t.Errorf("%s did %+v and used %+v", in.Tenant, in.Measurement, in.Usage)
			continue
		}
		for _, o := range in.Measurement.Operations {
			if o.Errors > 0 {
				t.Errorf("%s: %d errors of %s", in.Tenant, o.Errors, o.Name)
			}
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}
