package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// A job file that was edited since the run began is refused by its name. The run goes on
// once it is what it was, or where it is gone with the experiment's file, with what it was.
func TestAnEditedJobFileIsNotMixedIn(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	const job = "[job]\nrw=randread\nbs=4k\nsize=8m\n"
	p.file("mine.fio", job)
	name := p.experiment(`
name: mine
question: Is it the same job to the end?
repeat: 2
trials: 1
control: false
runtime: 200ms
stacks: {here: "dir:."}
workloads: {mine: {fio: {file: mine.fio}}}
`)
	if code, _, errs := p.run("run", name, "--quiet", "--no-wait-for-quiet"); code != 0 {
		t.Fatalf("the run ends with %d: %s", code, errs)
	}
	p.file("mine.fio", job+"rwmixread=50\n")
	code, _, errs := p.run("run", "--resume", "last", "--budget", "+10h", "--quiet")
	if code != exitUsage {
		t.Errorf("with an edited file it ends with %d", code)
	}
	contains(t, errs, "mine.fio changed since run plimsoll-runs/", "put back what it was", "run.json")
	// oneMore resumes the run with hours to spend, and ends it once another trial has ended.
	oneMore := func(files string) {
		t.Helper()
		ended := len(p.measured())
		cmd, _, errs := p.command("run", "--resume", "last", "--budget", "+10h", "--quiet")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		within(t, hang, "another trial ends "+files, func() bool { return len(p.measured()) > ended || len(exited) > 0 })
		_ = cmd.Process.Signal(syscall.SIGINT)
		if code := exitCode(t, <-exited); code != exitInterrupted {
			t.Errorf("%s it ends with %d: %s", files, code, errs)
		}
	}
	p.file("mine.fio", job)
	oneMore("with the file as it was")
	for _, name := range []string{"mine.fio", name} { // the run has the texts of both
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	oneMore("without the files")
	dir, run := p.result()
	if len(run.Trials) < 4 || len(run.Experiment.Files) != 1 || run.Experiment.Files[0].Name != "mine.fio" {
		t.Errorf("%d trials, of %+v", len(run.Trials), run.Experiment.Files)
	}
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone {
			continue
		}
		ran, err := os.ReadFile(filepath.Join(dir, trial.Artifacts, "job.fio"))
		if err != nil || strings.Contains(string(ran), "rwmixread") {
			t.Errorf("trial %d ran another job than the first: %v\n%s", trial.Seq, err, ran)
		}
	}
}
