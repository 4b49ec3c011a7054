package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/hosttest"
)

// cassandraOn has two servers of Cassandra on a stack, which answer on one port.
func cassandraOn(stack string, runtime time.Duration) string {
	return fmt.Sprintf(`
name: cassandra
question: What does Cassandra do beside another one?
repeat: 1
trials: 2
runtime: %s
ramp: 100ms
seed: 1
stacks:
  disk: %s
workloads:
  A:
    ycsb:
      {workload: A, records: 5000, threads: 4,
       database: {cassandra: {heap: 128MiB, memtable_heap_space: 16MiB, commitlog_sync: group,
        set: {concurrent_compactors: 2}}}}
mixes:
  two: {A: {count: 2, limits: {memory: 640MiB}}}
host: {cpus: 2, memory: 2GiB}
`, runtime, stack)
}

// TestCassandraIsMeasured: servers on one port, in networks of their own, are measured beside each
// other from data that was loaded once; one that is killed ends its trial with the reason.
func TestCassandraIsMeasured(t *testing.T) {
	hosttest.Soak(t)
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	file := p.experiment(cassandraOn("loop(size=4GiB) > xfs > volume", 3*time.Second))
	p.keepImage("cassandra")
	run := p.killedOnce(file, "java", 2)
	if of := run.Workloads[0].Image; of == nil || !strings.HasPrefix(of.Name, "cassandra:5.0.") ||
		!strings.HasPrefix(of.Version, "5.0.") {
		t.Errorf("it runs from %+v", of)
	}
	if said := run.Workloads[0].Settings; said["concurrent_compactors"] != "2" {
		t.Errorf("what was set is kept as %v", said)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// TestServersThatWarmUpStay: with the optimizing compiler, servers that are only read go on in the next
// trial, as warm as they are by then; and each trial says how much of it was warm-up.
func TestServersThatWarmUpStay(t *testing.T) {
	hosttest.Soak(t)
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	p.keepImage("cassandra")
	text := strings.NewReplacer(
		"workload: A", "workload: C", "commitlog_sync: group", "jit: full", "count: 2", "count: 1",
	).Replace(cassandraOn("loop(size=2GiB) > xfs > volume", 4*time.Second))
	code, out, errs := p.run("run", p.experiment(text), "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		if trial.Rates == nil || len(trial.Rates.IOPS) == 0 || trial.Stop != nil {
			t.Errorf("trial %d shows %+v of its rates", trial.Seq, trial.Rates)
		}
	}
	for seq, starts := range map[int]bool{1: true, 2: false} {
		if p.exists(fmt.Sprintf("plimsoll-runs/*/artifacts/%03d-*/cassandra.yaml", seq)) != starts {
			t.Errorf("a server is started for trial %d, or is not", seq)
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}
