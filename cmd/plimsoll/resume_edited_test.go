package main

import (
	"testing"

	"plimsoll/internal/hosttest"
)

// A job file that was edited since the run began is refused by its name, and the
// run goes on once it is what it was.
func TestAnEditedJobFileIsNotMixedIn(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	const job = "[job]\nrw=randread\nbs=4k\nsize=8m\n"
	p.file("mine.fio", job)
	name := p.experiment(`
name: mine
question: Is it the same job to the end?
repeat: 2
runtime: 200ms
stacks: {here: "dir:."}
workloads: {mine: {fio: {file: mine.fio}}}
`)
	if code, _, errs := p.run("run", name, "--quiet"); code != 0 {
		t.Fatalf("the run ends with %d: %s", code, errs)
	}
	p.file("mine.fio", job+"rwmixread=50\n")
	code, _, errs := p.run("run", "--resume", "last", "--budget", "+3s", "--quiet")
	if code != exitUsage {
		t.Errorf("with an edited file it ends with %d", code)
	}
	contains(t, errs, "mine.fio changed since run plimsoll-runs/", "put back what it was", "run.json")
	p.file("mine.fio", job)
	if code, _, errs := p.run("run", "--resume", "last", "--budget", "+3s", "--quiet"); code != 0 {
		t.Errorf("with the file as it was it ends with %d: %s", code, errs)
	}
	if _, run := p.result(); len(run.Trials) <= 2 || len(run.Experiment.Files) != 1 || run.Experiment.Files[0].Name != "mine.fio" {
		t.Errorf("%d trials, of %+v", len(run.Trials), run.Experiment.Files)
	}
}
