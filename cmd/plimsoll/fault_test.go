package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/hosttest"
)

// A fault ends one trial with its reason, not the run, and leaves nothing.

func TestTheEngineDiesInTheMiddleOfATrial(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	cmd, _, stderr := p.command("run", p.experiment(`
name: engine-dies
question: Does a dead engine end the run?
repeat: 2
trials: 1
control: false
runtime: 2s
seed: 1
stacks:
  v: loop(size=48MiB) > ext4 > volume
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, hang, "the first trial is under way",
		func() bool { return p.writes("plimsoll-runs/*", "001-*/job.fio") })
	killEngine(t, p.state)
	if code := exitCode(t, cmd.Wait()); code != exitPartial {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	_, run := p.result()
	first, second := run.Trials[0], run.Trials[1]
	if first.Status != result.TrialFailed || first.Problem == nil || first.Problem.Why == "" {
		t.Errorf("first trial: %s, %+v", first.Status, first.Problem)
	}
	if second.Status != result.TrialDone {
		t.Errorf("second trial: %s, %+v", second.Status, second.Problem)
	}
}

// killEngine kills the dockerd whose data-root lies below a state directory.
func killEngine(t *testing.T, state string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		argv, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if pid, err := strconv.Atoi(e.Name()); err == nil && bytes.Contains(argv, []byte("dockerd")) &&
			bytes.Contains(argv, []byte(state+"/")) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no engine is up")
}

func TestTheDiskFillsUpInTheMiddleOfATrial(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	mnt := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(mnt, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-n", "-t", "tmpfs", "-o", "size=24m", "tmpfs",
		mnt).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-n", mnt).CombinedOutput(); err != nil {
			t.Error(err, string(out))
		}
	})
	// Slow enough for the neighbour to be faster.
	p.file("grow.fio", "[grow]\nrw=write\nbs=64k\nsize=16m\nrate=1m\nfallocate=none\n")
	name := p.experiment(`
name: disk-full
question: Does a full disk end the run?
repeat: 1
trials: 1
control: false
runtime: 5s
seed: 1
stacks:
  full: dir:` + mnt + `
  fine: tmpfs(size=32MiB)
workloads:
  G: {fio: {file: grow.fio}}
`)
	cmd, _, stderr := p.command("run", name)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, hang, "the trial on the small disk writes", func() bool {
		m, _ := filepath.Glob(filepath.Join(mnt, ".plimsoll-*", "grow*"))
		return len(m) > 0
	})
	neighbour := filepath.Join(mnt, "neighbour")
	_ = os.WriteFile(neighbour, make([]byte, 32<<20), 0o644) // as much as there is
	if code := exitCode(t, cmd.Wait()); code != exitPartial {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		switch trial.Stack {
		case "full":
			if trial.Status != result.TrialFailed || trial.Problem == nil ||
				!strings.Contains(trial.Problem.Why, "No space left on device") || trial.Problem.Remedy == "" {
				t.Errorf("on the full disk: %s, %+v", trial.Status, trial.Problem)
			}
		case "fine":
			if trial.Status != result.TrialDone {
				t.Errorf("elsewhere: %s, %+v", trial.Status, trial.Problem)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(mnt, ".plimsoll-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestTheOutputDiskIsFull: one trial ends with that reason, and the run pauses;
// with space freed it goes on, and once it is finished there is nothing to do.
func TestTheOutputDiskIsFull(t *testing.T) {
	hosttest.Alone(t)
	p := newProgram(t)
	mnt := filepath.Join(p.dir, "small")
	shell(t, "mkdir "+mnt+" && mount -n -t tmpfs -o size=320k tmpfs "+mnt)
	t.Cleanup(func() { shell(t, "umount -n "+mnt) })
	name := p.experiment(`
name: output-full
question: What becomes of a run whose results have no room?
repeat: 7
trials: 1
runtime: 300ms
seed: 1
stacks:
  here: dir:` + p.dir + `
workloads:
  R: {fio: {rw: randread, size: 4MiB, jobs: 2, iodepth: 8}}
`)
	dir := filepath.Join(mnt, "run")
	code, _, errs := p.run("run", name, "-o", dir)
	if code != exitFailure {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	contains(t, errs, "the run is paused", "is full", "Free some space", "plimsoll run --resume "+dir)
	if strings.Count(errs, "is full") > 2 { // at the trial, and at the end
		t.Errorf("it says so again and again:\n%s", errs)
	}
	run, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := map[result.TrialStatus]int{}
	for _, trial := range run.Trials {
		n[trial.Status]++
		if trial.Status == result.TrialFailed {
			contains(t, trial.Problem.Why, "the file system of the run directory", "is full")
		}
	}
	if n[result.TrialDone] < 1 || n[result.TrialFailed] != 1 || n[result.TrialPlanned] < 1 ||
		run.Status != result.RunInterrupted {
		t.Fatalf("%v, the run is %s", n, run.Status)
	}

	shell(t, "mount -n -o remount,size=32m "+mnt)
	if code, _, errs := p.run("run", "--resume", dir, "--quiet"); code != exitPartial { // for the one that has ended
		t.Errorf("resumed, it ends with %d: %s", code, errs)
	}
	run, err = store.Read(dir)
	if err != nil || run.Status != result.RunComplete || len(run.Trials) != 7 {
		t.Fatalf("%v, the run is %s with %d trials", err, run.Status, len(run.Trials))
	}

	before := everyTime(t, dir)
	for _, args := range [][]string{{"run", "--resume", dir}, {"run", "--resume", dir, "--json"},
		{"run", "--resume", dir, "--dry-run"}} {
		code, out, errs := p.run(args...)
		if code != exitOK {
			t.Errorf("%v of a finished run ends with %d: %s", args, code, errs)
		}
		if !slices.Contains(args, "--json") {
			contains(t, out, "is finished", "nothing was changed", "plimsoll show "+dir, "--budget +")
		}
	}
	if after := everyTime(t, dir); after != before {
		t.Errorf("it was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// everyTime lists all that is in a directory, with sizes and times.
func everyTime(t *testing.T, dir string) string {
	t.Helper()
	return shell(t, "find "+dir+" -printf '%p %s %T@ %C@ %i %m\n' | sort")
}

// TestTheOOMKillerEndsFio has the kernel kill a real fio: a script of the same
// name, first in PATH, puts itself into a small memory cgroup before it
// becomes fio.
func TestTheOOMKillerEndsFio(t *testing.T) {
	hosttest.Exclusive(t)
	group := memoryCgroup(t, 3<<20)
	real, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	p := newProgram(t)
	p.file("fio", "#!/bin/sh\necho $$ > "+group+"/cgroup.procs\nexec "+real+" \"$@\"\n")
	if err := os.Chmod(filepath.Join(p.dir, "fio"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"PATH=" + p.dir + ":" + os.Getenv("PATH")}
	code, _, errs := p.run("run", p.experiment(`
name: oom
question: Does the OOM killer end the run?
repeat: 1
trials: 1
control: false
runtime: 200ms
stacks:
  a: loop(size=32MiB)
workloads:
  R: {fio: {rw: randread, size: 8MiB, jobs: 4}}
`))
	if code != exitPartial {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	_, run := p.result()
	trial := run.Trials[0]
	if trial.Problem == nil || !strings.Contains(trial.Problem.Why, "OOM") || trial.Problem.Remedy == "" {
		t.Errorf("%s: %+v", trial.Status, trial.Problem)
	}
}

// memoryCgroup makes a cgroup that may hold limit bytes of memory.
func memoryCgroup(t *testing.T, limit int) string {
	t.Helper()
	parent, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parent, file = "/sys/fs/cgroup", "memory.max"
	}
	group := filepath.Join(parent, "plimsoll-test-oom")
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(limit)), 0o644); err != nil {
		t.Fatal(err)
	}
	return group
}

// TestEveryTrialOfAColdLoopDeviceStartsCold: the file is in the page cache once
// it is laid out, and after each trial; yet each trial reads from the disk.
func TestEveryTrialOfAColdLoopDeviceStartsCold(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	if code, _, errs := p.run("run", p.experiment(`
name: cold
question: Does each trial start cold?
repeat: 2
trials: 2
control: false
runtime: 300ms
seed: 1
stacks:
  cold: loop(size=64MiB, direct-io=off, cold)
workloads:
  R: {fio: {rw: randread, size: 48MiB, iodepth: 8}}
`), "--quiet"); code != exitOK {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		if trial.Honesty() == nil {
			t.Fatalf("trial %d: %+v", trial.Seq, trial.Problem)
		}
		// A disk that others keep busy may serve few reads in that time; a warm
		// trial would have many, and none from the disk.
		asked := trial.Measured().Operation(result.Read).Bytes
		for _, d := range trial.Honesty().Served {
			if d.Device.Role == "bottom" && d.ReadBytes < min(1<<20, asked/2) {
				t.Errorf("trial %d read %d bytes, and %d of them from %s", trial.Seq, asked, d.ReadBytes, d.Device.Name)
			}
		}
	}
}

func TestFioIsMissing(t *testing.T) {
	p := newProgram(t)
	dir := t.TempDir()
	p.env = []string{"PATH=" + t.TempDir()}
	code, out, errs := p.run("run", p.experiment(`
name: no-fio
question: What does a host without fio say?
repeat: 1
runtime: 200ms
stacks:
  a: dir:`+dir+`
workloads:
  R: {fio: {rw: randread, size: 1MiB}}
`))
	if code != exitPartial {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	contains(t, out, "fio", "apt-get install fio")
}
