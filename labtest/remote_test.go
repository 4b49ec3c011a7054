package labtest

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
)

// TestLocalVsRemoteInTheLab: one command makes a server and a target, measures
// a drive of each over both transports, and says what the network costs.
func TestLocalVsRemoteInTheLab(t *testing.T) {
	ran := labRun(t, "--size", "256MiB", "--memory", "1GiB", "--",
		"plimsoll", "run", "local-vs-remote", "--repeat", "1", "--runtime", "1s", "--jobs", "4", "--size", "16MiB")
	run := ran.run
	for _, want := range []string{"the target exports TGT1 over tcp", "the target exports TGT2 over rdma", "--on serial:LAB1 --destroy LAB1"} {
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
	if len(run.Trials) != len(stacks)*8 {
		t.Errorf("%d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone || trial.Honesty == nil || trial.Honesty.Source != result.SourceDevice {
			t.Errorf("%s on %s: %s, %+v, %+v", trial.Workload, trial.Stack, trial.Status, trial.Problem, trial.Honesty)
			continue
		}
		cpu := trial.TargetCPU
		if (cpu != nil) != (trial.Stack != "local") {
			t.Errorf("%s on %s: the target spent %+v", trial.Workload, trial.Stack, cpu)
		}
		if cpu != nil && (cpu.BusySeconds <= 0 || cpu.BusySeconds > 1.2*cpu.Seconds*float64(cpu.CPUs) || cpu.IOs < float64(trial.Measurement.IOs())) {
			t.Errorf("%s on %s: the target spent %+v on %d I/Os", trial.Workload, trial.Stack, *cpu, trial.Measurement.IOs())
		}
	}
	var ids []string
	for _, f := range finding.All(run) {
		ids = append(ids, f.ID)
		if strings.HasPrefix(f.ID, "fabric/") && !strings.Contains(f.Title, "under RR-low") {
			t.Errorf("%s does not tell what is added at low load: %s", f.ID, f.Title)
		}
	}
	for _, want := range []string{"fabric/tcp", "fabric/rdma", "target/tcp", "target/rdma"} {
		if !slices.Contains(ids, want) {
			t.Errorf("there is no finding %s in %q", want, ids)
		}
	}
}
