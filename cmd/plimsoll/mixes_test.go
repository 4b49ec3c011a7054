package main

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/field"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// limitedMix has tenants of different kinds on two devices, each held to another
// limit; what none of them could do otherwise is far beyond it.
const limitedMix = `
name: limited-mix
question: Do limits hold for each tenant?
repeat: 1
trials: 1
runtime: 4s
ramp: 1s
seed: 1
stacks:
  disk1: loop(size=320MiB, direct-io=on) > xfs
  disk2: loop(size=192MiB, direct-io=on) > ext4
workloads:
  busy: {fio: {rw: randread, size: 16MiB, direct: false, cache: warm, engine: psync, jobs: 2}}
  reads: {fio: {rw: randread, size: 16MiB, iodepth: 8}}
  writes: {fio: {rw: write, bs: 64KiB, size: 16MiB, iodepth: 8}}
  cached: {fio: {rw: randread, size: 64MiB, direct: false, cache: warm, engine: psync}}
mixes:
  all:
    cpu: {workload: busy, on: [disk1], limits: {cpus: 0.3}}
    iops: {workload: reads, count: 2, on: [disk1, disk2], limits: {read-iops: 400}}
    bandwidth: {workload: writes, on: [disk2], limits: {write-bandwidth: 4MiB}}
    memory: {workload: cached, on: [disk2], limits: {memory: 32MiB}}
`

// TestAMixIsHeldToTheLimitsOfItsTenants: limits are set, read back, and seen to
// bite, each for the tenant that has it and for no other.
func TestAMixIsHeldToTheLimitsOfItsTenants(t *testing.T) {
	hosttest.Measures(t)
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(limitedMix), "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	if len(run.Trials) != 1 || len(run.Mixes) != 1 || run.Trials[0].Stack != "" {
		t.Fatalf("%d trials of mixes %v", len(run.Trials), run.Mixes)
	}
	trial := run.Trials[0]
	t.Logf("window %+v", trial.Window)
	if trial.Window == nil {
		t.Error("there is no common window")
	}
	if len(trial.Instances) != 5 || len(trial.Checks) != 2 {
		t.Fatalf("%d instances, %d stacks checked", len(trial.Instances), len(trial.Checks))
	}
	of := map[string]result.Instance{}
	for _, in := range trial.Instances {
		if in.Measurement == nil || in.Limited == nil || in.Limited.ReadBack != in.Limited.Asked || in.Usage == nil {
			t.Fatalf("instance %d: %+v", in.Index, in)
		}
		t.Logf("%s on %s: %.0f/s, %.1f MB/s, %+v", in.Tenant, in.Stack, in.Measurement.IOPS(),
			in.Measurement.BytesPerSecond()/1e6, *in.Usage)
		of[in.Tenant+" "+in.Stack] = in
	}
	within := func(what string, got, most float64) {
		t.Helper()
		if got <= 0 || got > most { // a slow host lets each of them have less
			t.Errorf("%s: %.3g, want up to %.3g", what, got, most)
		}
	}
	cpu := of["cpu disk1"]
	share := cpu.Usage.CPUSeconds / cpu.Usage.Seconds
	within("CPUs of the one with 0.3", share, 0.36)
	if share > 0.25 && cpu.Usage.ThrottledSeconds == 0 { // a slow host lets it have less anyway
		t.Error("it was never throttled")
	}
	for _, stack := range []string{"disk1", "disk2"} {
		within("reads/s with 400 on "+stack, of["iops "+stack].Measurement.IOPS(), 460)
	}
	within("bytes/s with 4 MiB", of["bandwidth disk2"].Measurement.BytesPerSecond(), 4.6*(1<<20))
	within("bytes of memory with 32 MiB", float64(of["memory disk2"].Usage.PeakMemoryBytes), 33<<20)
	for _, in := range trial.Instances {
		for _, problem := range in.Limited.Problems {
			if !strings.Contains(problem, "past the page cache") { // which version 1 has to say
				t.Errorf("%s: %s", in.Tenant, problem)
			}
		}
	}
}

// TestLimitsOfOneMixAreNotThoseOfTheNext: mixes share the places of a stack that is up,
// and in two rounds each of them comes after the other.
func TestLimitsOfOneMixAreNotThoseOfTheNext(t *testing.T) {
	hosttest.Measures(t)
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(`
name: in-turn
question: Does a limit stay with the mix that has it?
repeat: 1
trials: 2
runtime: 1s
seed: 1
stacks:
  disk: loop(size=64MiB, direct-io=on) > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB, iodepth: 8}}
mixes:
  held: {R: {count: 1, limits: {read-iops: 5, memory: 256MiB, pinned: 1}}}
  free: {R: 1}
`), "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	after := map[string]bool{} // mixes that came after the other
	for i, trial := range run.Trials {
		rate, limited := trial.Measured().IOPS(), trial.Instances[0].Limited != nil
		if held := trial.Mix == "held"; limited != held || (rate < 15) != held { // fio sends one batch more
			t.Errorf("trial %d, %s: %.0f reads/s, limits %+v", trial.Seq, trial.Mix, rate, trial.Instances[0].Limited)
		}
		if l := trial.Instances[0].Limited; l != nil {
			set, _ := field.ProcessorSet(l.ReadBack.CPUSet)
			if len(set) != 1 {
				t.Errorf("trial %d, %s: of one processor of its own the kernel holds %+v", trial.Seq, trial.Mix, l)
			}
		}
		after[trial.Mix] = after[trial.Mix] || i > 0 && run.Trials[i-1].Mix != trial.Mix
	}
	if !after["held"] || !after["free"] {
		t.Error("the trials of both mixes came one mix after the other: another seed is needed")
	}
}

// TestAMiniatureInMemory: what a scaled-down host allows a device to do in a second is nothing that a stack in memory
// could have.
func TestAMiniatureInMemory(t *testing.T) {
	hosttest.Measures(t)
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(`
name: in-memory
question: What does memory do?
repeat: 1
trials: 1
runtime: 300ms
stacks:
  memory: tmpfs(size=64MiB)
workloads:
  R: {fio: {rw: randread, size: 8MiB, direct: false}}
mixes:
  R: {R: 1}
host: {memory: 512MiB, read-iops: 100}
`), "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	small := run.Trials[0].Miniature
	if rate := run.Trials[0].Measured().IOPS(); small == nil || small.ReadBack.MemoryBytes != 512<<20 ||
		small.Asked.Read != (result.Rate{}) || rate == 0 {
		t.Errorf("%.0f reads/s in a scaled-down host of %+v", rate, small)
	}
}

// TestAPolicyHoldsInstancesToTheirShares: limits on devices of instances and those that a
// scaled-down host shares take turns on one stack, also where control groups know one or the other.
func TestAPolicyHoldsInstancesToTheirShares(t *testing.T) {
	hosttest.Measures(t)
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(`
name: policies
question: What does a share of the device cost?
repeat: 1
trials: 1
runtime: 2s
seed: 1
factors:
  policy: {none: none, bw: bw}
  share: {eighth: 1/8, half: 1/2}
stacks:
  disk: loop(size=64MiB, direct-io=on) > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB, iodepth: 8}}
mixes:
  $policy-$share: {R: {count: 3, policy: $policy, share: $share}}
host: {cpus: 2, memory: 512MiB, read-iops: 800}
`), "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	if len(run.Trials) != 4 {
		t.Fatalf("%d trials", len(run.Trials))
	}
	v1 := !unified(t)
	for _, trial := range run.Trials {
		all, most := trial.Measured().IOPS(), map[string]float64{"bw-eighth": 300}[trial.Mix]
		if most == 0 {
			most = 800
		}
		exceeded := false // by what the instances have together
		for _, problem := range trial.Miniature.Problems {
			exceeded = exceeded || strings.Contains(problem, "allow more together")
		}
		if want := v1 && trial.Mix == "bw-half"; exceeded != want {
			t.Errorf("%s: the scaled-down host's limits: %q", trial.Mix, trial.Miniature.Problems)
		} else if want {
			most = 1200
		}
		if all == 0 || all > 1.15*most {
			t.Errorf("%s: %.0f reads/s together, want up to %.0f", trial.Mix, all, most)
		}
		for _, in := range trial.Instances {
			own := in.Limited != nil
			if own != strings.HasPrefix(trial.Mix, "bw") ||
				own && (in.Limited.ReadBack != in.Limited.Asked || len(in.Limited.Problems) > 0) {
				t.Errorf("%s: instance %d has %+v", trial.Mix, in.Index, in.Limited)
			}
		}
	}
}

// unified reports whether control groups of version 2 limit devices here.
func unified(t *testing.T) bool {
	t.Helper()
	own, err := cgroup.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return own.HoldsBufferedWrites()
}

// smallMix has what a mix makes beyond a workload alone: a scaled-down host, groups below
// it, and a place for each instance.
const smallMix = `
name: small-mix
question: Does a crash of many instances leave anything behind?
repeat: 1
trials: 1
runtime: 200ms
seed: 1
stacks:
  disk: loop(size=64MiB) > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
mixes:
  two: {R: {count: 2, limits: {cpus: 0.5}}}
host: {cpus: 1, memory: 512MiB, read-iops: 100000}
`

func TestACrashOfAMixAtAnyStepIsUndone(t *testing.T) {
	hosttest.Exclusive(t)
	// Behind work directory, presence, file, loop device, mkfs, directory and mount come the
	// scaled-down host, two groups and two directories, and processes on the host.
	crashAtEveryStep(t, smallMix, 8, []string{"cgroup", "dir", "process"})
}

// TestAnInstanceThatIsKilledIsAResult: it has its reason, the others keep what they
// measured, and the trial does not count as one of the whole mix.
func TestAnInstanceThatIsKilledIsAResult(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(`
name: killed
question: What does the kernel's OOM killer leave?
repeat: 1
trials: 1
runtime: 1s
seed: 1
stacks:
  disk: loop(size=320MiB) > xfs
workloads:
  modest: {fio: {rw: randread, size: 16MiB}}
  greedy: {fio: {rw: randread, bs: 32MiB, size: 64MiB}} # one read takes more than it may have
mixes:
  both: {modest: 1, greedy: {count: 1, limits: {memory: 24MiB}}}
`), "--quiet")
	if code == 0 {
		t.Errorf("all is well: %s%s", out, errs)
	}
	_, run := p.result()
	trial := run.Trials[0]
	if trial.Status != result.TrialFailed || trial.Problem == nil ||
		!strings.Contains(trial.Problem.What, "instance 1 (greedy on disk)") {
		t.Fatalf("%s, %+v", trial.Status, trial.Problem)
	}
	if len(trial.Instances) != 2 {
		t.Fatalf("%+v", trial.Instances)
	}
	modest, greedy := trial.Instances[0], trial.Instances[1]
	if modest.Measurement == nil || modest.Status != result.TrialDone || modest.Measurement.IOPS() == 0 {
		t.Errorf("the other has %+v", modest)
	}
	if greedy.Measurement != nil || greedy.Problem == nil || !strings.Contains(greedy.Problem.Why, "memory") {
		t.Errorf("who was killed has %+v, %+v", greedy.Measurement, greedy.Problem)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}
