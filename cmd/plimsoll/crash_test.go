package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// everyChange brings each kind of change with it: directories, a loop
// device, its I/O scheduler, a file system, mounts, an engine, its cgroup, a container, and
// processes in it. Those on the host are a mix's.
const everyChange = `
name: every-change
question: Does a crash leave anything behind?
repeat: 1
trials: 1
control: false
runtime: 100ms
seed: 1
stacks:
  volume: loop(size=48MiB) > scheduler:kyber > ext4 > volume
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`

// TestACrashAtAnyStepIsUndone kills plimsoll before and after each journalled
// change of a run, in turn, and has plimsoll clean bring the host back.
func TestACrashAtAnyStepIsUndone(t *testing.T) {
	hosttest.Exclusive(t)
	crashAtEveryStep(t, everyChange, 1, []string{"dir", "presence", "loop", "setting", "mkfs", "mount",
		"cgroup", "engine", "container", "process"})
}

// crashAtEveryStep runs an experiment, with the arguments given, until it ends without a
// crash at a step, and wants to have crashed it at these kinds of changes. Those before the
// first step are of another test.
func crashAtEveryStep(t *testing.T, text string, first int, kinds []string, args ...string) {
	t.Helper()
	crashEach(t, first, kinds, func(p *program) []string {
		return append([]string{"run", p.experiment(text), "--quiet"}, args...)
	})
}

// crashEach does the same for any command line. It crashes when each change was made, and
// of each kind of change also when one is about to be made: otherwise that is as it was when
// the change before was made.
func crashEach(t *testing.T, first int, kinds []string, args func(*program) []string) {
	t.Helper()
	seen := map[string]bool{}
	for seq := first; ; seq++ {
		kind := crashAt(t, seq, "made", args)
		if kind != "" && !seen[kind] {
			crashAt(t, seq, "intent", args)
		}
		if kind == "" || t.Failed() {
			break
		}
		seen[kind] = true
	}
	for _, kind := range kinds {
		if !seen[kind] && !t.Failed() {
			t.Errorf("of the steps that were crashed at none was a %s: %v", kind, seen)
		}
	}
}

// crashAt crashes a command at a step of its journal, and has plimsoll clean bring the host
// back. It returns the kind of the change, "" where there is no such step.
func crashAt(t *testing.T, seq int, state string, args func(*program) []string) (kind string) {
	t.Helper()
	at := fmt.Sprintf("%d:%s", seq, state)
	t.Run(at, func(t *testing.T) {
		before := hosttest.Look()
		p := newProgram(t)
		p.env = []string{journal.CrashVariable + "=" + at}
		code, out, errs := p.run(args(p)...)
		if code == 0 {
			return
		}
		if code != -1 {
			t.Fatalf("ends with %d: %s%s", code, out, errs)
		}
		for _, r := range p.records() {
			if r.Seq == seq && r.Kind != "" {
				kind = r.Kind
			}
		}
		p.env = nil
		p.cleanUp()
		if diff := before.Settle(0); diff != "" {
			t.Errorf("the host is not as it was:\n%s", diff)
		}
	})
	return kind
}

// long runs until it is stopped.
const long = `
name: long
question: What happens when a run is stopped?
repeat: 1
trials: 1
control: false
runtime: 1h
seed: 1
stacks:
  a: loop(size=32MiB)
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`

// attached lists the loop devices that have a file, each with its file's path.
func attached() []string {
	var out []string
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if file, err := os.ReadFile(f); err == nil {
			out = append(out, f+" "+string(file))
		}
	}
	return out
}

func TestACrashInTheMiddleOfATrialWhileAnotherRunGoesOn(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	name := p.experiment(long)
	// The host's own loop devices, and those of who shares its kernel, stay.
	others := attached()
	start := func(out string) (kill func(os.Signal) int) {
		cmd, _, _ := p.command("run", name, "--quiet", "--output", out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		within(t, hang, "the trial of "+out+" is under way",
			func() bool { return p.writes(out, "*/job.fio") })
		return func(s os.Signal) int {
			_ = cmd.Process.Signal(s)
			return exitCode(t, cmd.Wait())
		}
	}
	killA := start("a")
	killB := start("b")
	if code := killA(syscall.SIGKILL); code != -1 {
		t.Fatalf("a ends with %d", code)
	}
	code, out, errs := p.run("clean")
	if code != 0 {
		t.Fatalf("clean ends with %d: %s%s", code, out, errs)
	}
	contains(t, out, "under way, left alone", "undone  attach /dev/loop")
	loops := slices.DeleteFunc(attached(), func(l string) bool { return slices.Contains(others, l) })
	if len(loops) != 1 {
		t.Errorf("loop devices of the run that goes on: %q, beside %q", loops, others)
	}
	if code := killB(os.Interrupt); code != exitInterrupted {
		t.Errorf("b ends with %d", code)
	}
	p.cleanUp()
}

func TestInterruptedAndResumed(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	cmd, stdout, stderr := p.command("run", p.experiment(`
name: resumed
question: Is a finished trial ever run twice?
repeat: 3
trials: 1
control: false
runtime: 700ms
seed: 7
stacks:
  a: loop(size=32MiB)
  b: tmpfs(size=32MiB)
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, hang, "the third trial is under way",
		func() bool { return p.writes("plimsoll-runs/*", "003-*/job.fio") })
	_ = cmd.Process.Signal(os.Interrupt)
	if code := exitCode(t, cmd.Wait()); code != exitInterrupted {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
	dir, first := p.result()
	contains(t, stderr.String(), "plimsoll run --resume plimsoll-runs"+string(filepath.Separator)+filepath.Base(dir))
	if stdout.Len() > 0 {
		t.Errorf("findings of a run that was interrupted:\n%s", stdout)
	}
	done := map[int]time.Time{}
	for _, trial := range first.Trials {
		if trial.Status == result.TrialDone {
			done[trial.Seq] = trial.Started
		}
	}
	if len(done) < 2 || len(done) == len(first.Trials) || first.Status != result.RunInterrupted {
		t.Fatalf("%d of %d trials done, %s", len(done), len(first.Trials), first.Status)
	}

	if code, out, errs := p.run("run", "--resume", "last", "--dry-run"); code != 0 ||
		!strings.Contains(out, fmt.Sprintf("\n%d trials", len(first.Trials)-len(done))) {
		t.Errorf("a dry run of the rest ends with %d: %s%s", code, out, errs)
	}
	if code, _, errs := p.run("run", "--resume", dir); code != 0 {
		t.Fatalf("resuming ends with %d: %s", code, errs)
	}
	_, second := p.result()
	if second.Status != result.RunComplete || second.ID != first.ID || second.Seed != first.Seed {
		t.Errorf("resumed: %s, %s, seed %d", second.Status, second.ID, second.Seed)
	}
	for i, trial := range second.Trials {
		if trial.Status != result.TrialDone {
			t.Errorf("trial %d is %s", trial.Seq, trial.Status)
		}
		if at, ok := done[trial.Seq]; ok && !at.Equal(trial.Started) {
			t.Errorf("trial %d was run again", trial.Seq)
		}
		if was := first.Trials[i]; was.Stack != trial.Stack || was.Mix != trial.Mix {
			t.Errorf("trial %d changed from %s to %s", trial.Seq, was.Stack, trial.Stack)
		}
	}
	if code, _, errs := p.run("run", "--resume", dir); code != 0 {
		t.Errorf("resuming a complete run ends with %d: %s", code, errs)
	}
}
