package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/finding"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/units/plural"

	"plimsoll/internal/printable"
)

// moreBudget returns the time that a resumed run is given on top; 0 when the text is not of that form.
func moreBudget(text string) (time.Duration, error) {
	added, isAdded := strings.CutPrefix(text, "+")
	if !isAdded {
		return 0, nil
	}
	more, err := field.Duration(1, math.MaxInt64).Parse(added)
	if err != nil {
		return 0, fmt.Errorf("--budget takes +TIME with --resume, such as +6m, not %q", text)
	}
	return more, nil
}

// resumeRun restores the experiment of the run to resume, with more time where more is set. It uses only what the run
// stores: files that the experiment was read from may be gone. It refuses an experiment whose file was edited: the
// user may expect the remaining trials to follow the new text.
func (a *app) resumeRun(t trial.Options, dir string, more time.Duration) (trial.Options, error) {
	run, err := store.Read(dir)
	if err != nil {
		return t, &exitError{exitUsage, err}
	}
	if err := editedFiles(run, dir); err != nil {
		return t, &exitError{exitUsage, err}
	}
	open := func(name string) ([]byte, error) {
		for _, f := range run.Experiment.Files {
			again := result.NewInputFile(name, []byte(f.Text))
			again.Text = f.Text
			if f == again {
				return []byte(f.Text), nil
			}
		}
		return nil, fmt.Errorf("it changed since run %s began, and the run kept no copy", dir)
	}
	e, err := parseWith(run.Experiment.File, []byte(run.Experiment.Source),
		experiment.Options{Open: open})
	if err != nil {
		return t, &exitError{exitUsage, err}
	}
	if err := restore(e, run); err != nil {
		return t, &exitError{exitFailure, err}
	}
	if more > 0 {
		// What was left of the old budget was not enough for another block.
		e.Budget = plan.Spent(run) + more
	}
	t.Experiment, t.Seed, t.Dir, t.Resume = e, run.Seed, dir, true
	return t, nil
}

// editedFiles returns the files of a run that exist and have changed since it began.
func editedFiles(run *result.Run, dir string) error {
	var changed []string
	for _, f := range run.Experiment.Files {
		text, err := openBeside(run.Experiment.File, f.Name)
		if errors.Is(err, os.ErrNotExist) {
			continue // the run has it
		}
		now := result.NewInputFile(f.Name, text)
		if err != nil || now.SHA256 != f.SHA256 {
			changed = append(changed, f.Name)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return problem.New(problem.Invalid, fmt.Sprintf("%s changed since run %s began", plural.And(changed), dir), "",
		fmt.Sprintf("put back what %s (%s has the text, under files), or start a new run",
			plural.Choose(len(changed), "it was", "they were"), filepath.Join(dir, store.RunFile)))
}

// isFinished reports whether there is nothing left to do of a run, and says so.
// Nothing of the run directory is changed then.
func (a *app) isFinished(dir string) (bool, error) {
	run, err := store.Read(dir)
	if err != nil {
		return false, &exitError{exitUsage, err}
	}
	isPlanned := func(t result.Trial) bool { return t.Status == result.TrialPlanned }
	if run.Status != result.RunComplete || slices.ContainsFunc(run.Trials, isPlanned) {
		return false, nil
	}
	if a.jsonOutput {
		return true, a.printRun(run, finding.All(run), dir)
	}
	fmt.Fprintf(a.stdout, `The run %s is finished: all of its %s have ended, and nothing was changed.
What it found:
  %s
To measure more, in additional time:
  %s
`,
		run.ID, plural.Count(len(run.Trials), "trial"), printable.Plimsoll("show", dir),
		run.Again("run", "--resume", dir, "--budget", "+6m"))
	return true, nil
}

// restore sets an experiment's settings to those that a run was started with.
func restore(e *experiment.Experiment, run *result.Run) error {
	if err := e.Restore(run.Experiment); err != nil {
		return err
	}
	e.Scaled.Catalog = stack.Catalog()
	if _, err := e.Scaled.Apply(e); err != nil {
		return err
	}
	var stacks []experiment.Stack
	for _, s := range run.Stacks { // with devices and directories as they were then
		// Of several devices, each made a stack of those of the file.
		name := strings.TrimSuffix(s.Name, "-"+s.Levels[experiment.FactorDevice])
		at := slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool { return d.Name == s.Name })
		if at < 0 {
			at = slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool { return d.Name == name })
		}
		if at < 0 && s.Control != "" { // it is in no file
			at = slices.IndexFunc(e.Stacks, func(d experiment.Stack) bool {
				return d.Name == s.Control || d.Name == strings.TrimSuffix(s.Control, "-"+s.Levels[experiment.FactorDevice])
			})
		}
		if at < 0 {
			return fmt.Errorf("run %s has a stack %s that its experiment does not", run.ID, s.Name)
		}
		l, err := line.Parse(s.Line)
		if err != nil {
			return err
		}
		declared := e.Stacks[at]
		declared.Name, declared.Line, declared.Levels, declared.Control = s.Name, l, s.Levels, s.Control
		stacks = append(stacks, declared)
	}
	e.Stacks, e.Baseline = stacks, run.Experiment.Baseline // Apply knows the file's
	e.AddVaried(run.Mixes)
	return nil
}
