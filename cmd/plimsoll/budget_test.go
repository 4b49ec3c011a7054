package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/trial/plan/rounds"
)

// inBudget can go on for as long as it gets: two stacks that scatter.
const inBudget = `
name: in-budget
question: Is a budget kept?
repeat: 5
runtime: 500ms
control: false
seed: 3
stacks:
  a: tmpfs(size=32MiB)
  b: dir:.
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
  W: {fio: {rw: randwrite, size: 8MiB}}
`

// checkBudget checks a run that spent its budget.
func checkBudget(t *testing.T, run *result.Run, budget time.Duration) {
	t.Helper()
	if run.Status != result.RunComplete || run.Experiment.BudgetSeconds != budget.Seconds() {
		t.Errorf("%s, with a budget of %v s", run.Status, run.Experiment.BudgetSeconds)
	}
	last := run.Trials[len(run.Trials)-1]
	before := plan.Spent(run) - time.Duration(last.ElapsedSeconds*float64(time.Second))
	if before > budget {
		t.Errorf("trial %d was begun though %s of %s were spent", last.Seq, before, budget)
	}
	tried := map[string]int{}
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone {
			t.Errorf("trial %d is %s: %+v", trial.Seq, trial.Status, trial.Problem)
		}
		tried[trial.Stack+trial.Mix]++
		if trial.Repeat != tried[trial.Stack+trial.Mix] {
			t.Errorf("trial %d of %s %s is repeat %d", trial.Seq, trial.Stack, trial.Mix, trial.Repeat)
		}
	}
	if len(run.Points) != 4 {
		t.Errorf("points: %+v", run.Points)
	}
	for _, p := range run.Points {
		enough := []result.StopReason{result.StopPrecise, result.StopSettled}
		if p.Trials != tried[p.Stack+p.Mix] || p.Why == "" || slices.Contains(enough, p.Reason) &&
			p.BringUps < rounds.DefaultStudy.Fewest {
			t.Errorf("%d trials: %+v", tried[p.Stack+p.Mix], p)
		}
	}
}

func TestABudgetIsKept(t *testing.T) {
	hosttest.Measures(t)
	p := newProgram(t)
	const budget = 10 * time.Second
	code, _, errs := p.run("run", p.experiment(inBudget), "--budget", budget.String())
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	contains(t, errs, "in-budget: 10s for at least ")
	_, run := p.result()
	checkBudget(t, run, budget)
	if run.Experiment.RuntimeSeconds > 0.5 || run.Experiment.Repeat > rounds.DefaultStudy.Fewest {
		t.Errorf("%d setups first, of trials of %v s", run.Experiment.Repeat, run.Experiment.RuntimeSeconds)
	}
}

// However often a run ends before its time, what was measured stays, the
// budget is that of all its parts together, and the plan has no holes.
func TestABudgetThatIsInterruptedAndKilled(t *testing.T) {
	hosttest.Measures(t)
	p := newProgram(t)
	const budget = 12 * time.Second
	args := []string{"run", p.experiment(inBudget), "--quiet", "--budget", budget.String()}
	done := map[int]time.Time{}
	for i, stop := range []struct {
		signal  syscall.Signal
		at      string
		code    int
		outcome result.RunStatus
	}{
		{syscall.SIGINT, "003-*", exitInterrupted, result.RunInterrupted},
		{syscall.SIGKILL, "006-*", -1, result.RunRunning},
	} {
		cmd, _, stderr := p.command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		within(t, hang, "trial "+stop.at+" is under way",
			func() bool { return p.writes("plimsoll-runs/*", stop.at+"/job.fio") })
		_ = cmd.Process.Signal(stop.signal)
		if code := exitCode(t, cmd.Wait()); code != stop.code {
			t.Fatalf("stop %d: ends with %d: %s", i, code, stderr)
		}
		_, run := p.result()
		if run.Status != stop.outcome || run.Points != nil {
			t.Errorf("stop %d: %s, %v", i, run.Status, run.Points)
		}
		for _, trial := range run.Trials {
			at, was := done[trial.Seq]
			if was && !at.Equal(trial.Started) {
				t.Errorf("stop %d: trial %d was run again", i, trial.Seq)
			}
			if trial.Status == result.TrialDone {
				done[trial.Seq] = trial.Started
			}
		}
		args = []string{"run", "--resume", "last", "--quiet"}
	}
	if len(done) < 3 {
		t.Errorf("only %d trials were done", len(done))
	}
	if code, out, errs := p.run("run", "--resume", "last", "--dry-run"); code != 0 ||
		!strings.Contains(out, "then more where they are needed, 12s in all") {
		t.Errorf("a dry run of the rest ends with %d: %s%s", code, out, errs)
	}
	if code, _, errs := p.run(args...); code != 0 {
		t.Fatalf("resuming ends with %d: %s", code, errs)
	}
	dir, run := p.result()
	checkBudget(t, run, budget)
	for seq, at := range done {
		if !run.Trials[seq-1].Started.Equal(at) {
			t.Errorf("trial %d was run again", seq)
		}
	}
	// A complete one has nothing left to do, and can be looked at.
	if code, out, errs := p.run("run", "--resume", dir, "--dry-run"); code != 0 {
		t.Errorf("a dry run of nothing ends with %d: %s%s", code, out, errs)
	}
	if code, _, errs := p.run("show", "--full", dir); code != 0 {
		t.Errorf("show ends with %d: %s", code, errs)
	}
	p.cleanUp()
}

// A device is written as a whole, the file of each workload on directories;
// then rounds of the workload until they are steady, with their verdict.
func TestPreconditioning(t *testing.T) {
	hosttest.Exclusive(t)
	device := disk(t, 64)
	p := newProgram(t)
	name := p.experiment(`
name: preconditioned
question: Is it what it was asked to be?
repeat: 2
runtime: 250ms
control: false
stacks:
  raw: loop
  ext4: loop > ext4
  here: dir:.
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`)
	code, _, errs := p.run("run", name, "--on", device, "--destroy", device, "--precondition",
		"device,passes=2,rounds=6,round=250ms")
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	_, run := p.result()
	first := map[string]int{} // setups of each stack
	for _, trial := range run.Trials {
		c := trial.Preconditioning
		if trial.BringUp == first[trial.Stack] {
			if c != nil {
				t.Errorf("trial %d is not the first since its stack came up, and has %+v", trial.Seq, c)
			}
			continue
		}
		first[trial.Stack] = trial.BringUp
		if c == nil || c.Rounds == nil {
			t.Fatalf("trial %d on %s: %s, %+v, %+v", trial.Seq, trial.Stack, trial.Status, trial.Problem, c)
		}
		kind, bytes := result.PreconditionedDevice, int64(64<<20)
		if trial.Stack == "here" {
			kind, bytes = result.PreconditionedFile, 8<<20
		}
		if c.Kind != kind || c.Bytes != bytes || c.Passes != 2 {
			t.Errorf("%s: %+v", trial.Stack, c)
		}
		r := c.Rounds
		if len(r.IOPS) < 5 || len(r.IOPS) > 6 || r.Seconds != 0.25 || r.To-r.From != 5 || r.To != len(r.IOPS) ||
			r.Average <= 0 {
			t.Errorf("%s: %+v", trial.Stack, r)
		}
		if r.Settled != (r.Why == "") || !r.Settled && len(r.IOPS) < 6 {
			t.Errorf("%s: %+v", trial.Stack, r)
		}
	}
	if len(first) != 3 || first["raw"] != 2 {
		t.Errorf("setups: %v", first)
	}
	if run.Experiment.Precondition != "device,passes=2,rounds=6,round=250ms" {
		t.Errorf("asked for %q", run.Experiment.Precondition)
	}
}

// An experiment that is fitted to a host, and resumed, is the same again.
func TestAScaledRunIsResumedAsItWas(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	data := filepath.Join(p.dir, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	name := p.experiment(`
name: scaled
question: Does it stay as it was?
baseline: raw
repeat: 2
trials: 1
control: false
runtime: 300ms
factors: {jobs: [1, 2, 64]}
stacks:
  raw: loop
  volume: loop > FS
  memory: tmpfs(size=32MiB)
workloads:
  R-$jobs: {fio: {rw: randread, jobs: $jobs, size: 8MiB}}
`)
	fs := fileSystemOf(t, data)
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	p.file(name, strings.ReplaceAll(string(text), "FS", fs))
	cmd, _, stderr := p.command("run", name, "--jobs", "2", "--size", "16MiB", "--on", "dir:data", "--trace")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, hang, "the third trial is under way",
		func() bool { return p.writes("plimsoll-runs/*", "003-*/job.fio") })
	_ = cmd.Process.Signal(os.Interrupt)
	if code := exitCode(t, cmd.Wait()); code != exitInterrupted {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	contains(t, stderr.String(), "left out: workload R-64: it has 64 jobs, more than 2",
		"left out: stack raw: a directory has no raw device")
	p.file(name, "this is another file now")
	code, _, errs := p.run("run", "--resume", "last")
	if code != 0 {
		t.Fatalf("resuming ends with %d: %s", code, errs)
	}
	dir, run := p.result()
	if len(run.Trials) != 2*2*2 || run.Experiment.Trials != 1 || !run.Experiment.NoControl ||
		len(run.Experiment.LeftOut) != 2 || run.Experiment.Baseline != "" || run.Experiment.Jobs != 2 ||
		run.Experiment.SizeBytes != 16<<20 || !run.Experiment.Trace {
		t.Errorf("%d trials, %+v", len(run.Trials), run.Experiment)
	}
	if run.Stacks[0].Line != "dir:"+data || run.Stacks[1].Line != "tmpfs(size=64MiB)" {
		t.Errorf("stacks %+v", run.Stacks)
	}
	for _, trial := range run.Trials {
		job, err := os.ReadFile(filepath.Join(dir, trial.Artifacts, "job.fio"))
		if err != nil || trial.Status != result.TrialDone {
			t.Fatalf("trial %d is %s: %v", trial.Seq, trial.Status, err)
		}
		contains(t, string(job), "size=16777216\n")
	}
}

func fileSystemOf(t *testing.T, dir string) string {
	t.Helper()
	mount, err := blockdev.MountOf(hostfs.Default(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return mount.FSType
}
