package labtest

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// TestLocalVsRemoteInTheLab: one command makes a server and a target, measures
// a drive of each over both transports, and says what the network costs, and
// where an I/O's time goes.
func TestLocalVsRemoteInTheLab(t *testing.T) {
	hosttest.Soak(t)
	text := example(t, "local-vs-remote")
	ran := labRunEnding(t, 2, 0, text, "--size", "256MiB", "--memory", "1GiB", "--in", "experiment.yaml", "--",
		"plimsoll", "run", "experiment.yaml", "--no-control", "--trace", "--repeat", "1", "--runtime", "1s", "--jobs",
		"4", "--size", "16MiB")
	run := ran.run
	for _, want := range []string{"the target exports TGT1 over tcp", "the target exports TGT2 over rdma",
		"--on serial:LAB1 --destroy LAB1"} {
		if !strings.Contains(ran.errs, want) {
			t.Errorf("it does not say %q:\n%s", want, ran.errs)
		}
	}
	stacks := []string{"local", "tcp", "rdma"}
	for _, s := range run.Stacks {
		at := slices.Index(stacks, s.Name)
		if at < 0 {
			t.Errorf("there is a stack %s", s.Name)
			continue
		}
		remote := slices.Contains(s.Marks, result.MarkRemote)
		if !slices.Contains(s.Marks, result.MarkLab) || remote != (s.Name != "local") {
			t.Errorf("%s is marked %q", s.Name, s.Marks)
		}
	}
	if len(run.Trials) != len(stacks)*strings.Count(text, "{fio: ") {
		t.Errorf("%d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone || trial.Honesty() == nil || trial.Honesty().Source != result.SourceDevice {
			t.Errorf("%s on %s: %s, %+v, %+v", trial.Mix, trial.Stack, trial.Status, trial.Problem, trial.Honesty())
			continue
		}
		checkParts(t, trial)
		cpu := trial.TargetCPU
		if (cpu != nil) != (trial.Stack != "local") {
			t.Errorf("%s on %s: the target spent %+v", trial.Mix, trial.Stack, cpu)
		}
		if cpu != nil &&
			(cpu.BusySeconds <= 0 || cpu.BusySeconds > 1.2*cpu.Seconds*float64(cpu.CPUs) ||
				cpu.IOs < float64(trial.Measured().IOs())) {
			t.Errorf("%s on %s: the target spent %+v on %d I/Os", trial.Mix, trial.Stack, *cpu, trial.Measured().IOs())
		}
	}
	var ids []string
	for _, f := range finding.All(run) {
		ids = append(ids, f.ID)
		if strings.HasPrefix(f.ID, "fabric/") && !strings.Contains(f.Title, "under randread-low") {
			t.Errorf("%s does not show what is added at low load: %s", f.ID, f.Title)
		}
	}
	for _, want := range []string{"fabric/tcp", "fabric/rdma", "target/tcp", "target/rdma"} {
		if !slices.Contains(ids, want) {
			t.Errorf("there is no finding %s in %q", want, ids)
		}
	}
}

// checkParts wants the driver's part and the device's told by themselves, of
// which the fabric's is apart where there is one. How much the parts leave over is
// for tests that measure: here the host takes processors away between two looks at the clock.
func checkParts(t *testing.T, trial result.Trial) {
	t.Helper()
	name := trial.Mix + " on " + trial.Stack
	if trial.Trace == nil {
		t.Errorf("%s was not traced: %s", name, trial.Untraced)
		return
	}
	account := trial.Trace.Read
	if account == nil {
		account = trial.Trace.Write
	}
	if account == nil {
		t.Errorf("%s has no parts: %q", name, trial.Trace.Missing)
		return
	}
	want := map[result.PartName]string{result.PartDriver: "D2N", result.PartDevice: "N2C"}
	if trial.Stack != "local" {
		want[result.PartFabric], want[result.PartDevice] = "N2C less the target", "the target"
	}
	for part, from := range want {
		at := slices.IndexFunc(account.Parts, func(p result.TracePart) bool { return p.Name == part })
		if at < 0 || !strings.Contains(account.Parts[at].From, from) || account.Parts[at].MeanNS <= 0 {
			t.Errorf("%s: %s is not by %q in %+v: %q", name, part, from, account.Parts, trial.Trace.Missing)
		}
	}
	t.Logf("%s: of %.0f ns, %+.0f%% are left over by %+v", name, account.TotalNS,
		100*account.ResidueNS/account.TotalNS, account.Parts)
}

// TestServersOnARemoteDriveInTheLab: the experiment on Cassandra, with the embedded server in its place, as
// a Java virtual machine takes minutes to start where processors are emulated: what published results say of
// a drive of another host is told of a drive and its twin.
func TestServersOnARemoteDriveInTheLab(t *testing.T) {
	hosttest.Soak(t)
	text := strings.NewReplacer("cassandra: {heap: 192MiB, memtable_heap_space: 32MiB}", "pebble: {cache: 1MiB}",
		"threads: 8", "threads: 2").Replace(example(t, "cassandra-remote"))
	text, _, _ = strings.Cut(text, "\nscales:")
	ran := labRunEnding(t, 2, 0, text+"\n", "--size", "1GiB", "--memory", "1GiB", "--in", "experiment.yaml", "--",
		"plimsoll", "run", "experiment.yaml", "--no-control", "--repeat", "1", "--trials", "1", "--runtime", "1s",
		"--ramp", "200ms", "--records", "2000", "--instances", "1")
	measured := map[string]bool{}
	for _, trial := range ran.run.Trials {
		if trial.Status != result.TrialDone || trial.Measured().IOs() == 0 {
			t.Errorf("%s on %s: %s, %+v", trial.Mix, trial.Stack, trial.Status, trial.Problem)
		}
		measured[trial.Stack+" "+trial.Mix] = true
	}
	if len(measured) != 4 || !measured["local A-1"] || !measured["tcp D-1"] {
		t.Errorf("measured were %v", measured)
	}
	told := map[string]bool{}
	for _, f := range finding.All(ran.run) {
		if f.Claim != nil && f.Claim.Measured != "" {
			told[f.Claim.ID] = true
		}
	}
	if !told["cas-nvmf-throughput"] || !told["cas-nvmf-latency"] {
		t.Errorf("of published results it measures %v", told)
	}
}
