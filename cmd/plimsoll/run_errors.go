package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/trial"
	"plimsoll/internal/units/plural"
)

// runError adds the exit code to an error of a run. dir is the run's, empty when it was not made yet.
func runError(err error, dir string) error {
	var exit *exitError
	code := codeOf(err)
	switch interrupted := errors.Is(err, context.Canceled); {
	case err == nil:
		return nil
	case interrupted && withoutErrors(err, context.Canceled, syscall.EPIPE) != nil:
		return &exitError{
			exitFailure,
			fmt.Errorf("interrupted, and then: %w", withoutErrors(err, context.Canceled, syscall.EPIPE)),
		}
	case interrupted && dir == "":
		return &exitError{exitInterrupted, errors.New("interrupted; nothing had been changed yet")}
	case interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted; everything was undone, and the results so far "+
			"are kept (%s). To go on:\n  %s", printable.Plimsoll("show", dir), goOn(dir))}
	case code != exitRefused && errors.As(err, &exit):
		return exit
	case dir != "" && code != exitRefused && code != exitUsage:
		return &exitError{code, fmt.Errorf("%w\nThe results so far are kept (%s). To go on:\n  %s", err,
			printable.Plimsoll("show", dir), goOn(dir))}
	default:
		return &exitError{code, err}
	}
}

// goOn is the command that goes on with a run of this user.
func goOn(dir string) string {
	if os.Geteuid() == 0 {
		return printable.AsRoot("run", "--resume", dir)
	}
	return printable.Plimsoll("run", "--resume", dir)
}

// withoutErrors removes errors from a result of errors.Join.
func withoutErrors(err error, unwanted ...error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range joined.Unwrap() {
			rest = append(rest, withoutErrors(e, unwanted...))
		}
		return errors.Join(rest...)
	}
	if slices.ContainsFunc(unwanted, func(u error) bool { return errors.Is(err, u) }) {
		return nil
	}
	return err
}

// hopeless refuses an experiment if the host can make none of its stacks. leftOut has what settings left out before.
func hopeless(e *experiment.Experiment, previews []trial.Preview, leftOut []string) error {
	var reasons []string
	for _, p := range previews {
		if p.Skipped == "" {
			return nil
		}
		if !slices.Contains(reasons, p.Skipped) {
			reasons = append(reasons, p.Skipped)
		}
	}
	asks, ok := e.PlanHost(hostinfo.New().Capacity())
	if smallest := asks.Smallest(); ok && smallest != "" {
		reasons = append(reasons, smallest)
	}
	for _, why := range leftOut {
		reasons = append(reasons, "left out before: "+why)
	}
	message := fmt.Sprintf("this host cannot run %s; nothing was changed:\n  %s", e.Name, strings.Join(reasons, "\n  "))
	if os.Geteuid() != 0 {
		message += fmt.Sprintf("\nas root: %s; without root: %s",
			printable.AsRoot("run", cmp.Or(e.File, e.Name)), printable.Plimsoll("run", "directory"))
	}
	return &exitError{exitHost, errors.New(message)}
}

// runStatus returns an error for the outcome of a complete run, nil for success.
func runStatus(run *result.Run, dir string) error {
	n := map[result.TrialStatus]int{}
	for _, t := range run.Trials {
		n[t.Status]++
	}
	switch {
	case n[result.TrialFailed] > 0:
		return &exitError{exitPartial,
			fmt.Errorf("%d of %s failed; plimsoll show %s shows why", n[result.TrialFailed],
				plural.Count(len(run.Trials), "trial"), dir)}
	case n[result.TrialDone] == 0:
		return &exitError{exitHost, fmt.Errorf("this host cannot run the experiment; plimsoll show %s shows "+
			"why", dir)}
	}
	return nil
}
