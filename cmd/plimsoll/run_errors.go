package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"plimsoll/internal/experiment"
	"plimsoll/internal/hostinfo"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/trial"
)

// runError gives an error of a run its exit code. dir is the run's, empty when
// it was not made yet.
func runError(err error, dir string) error {
	var exit *exitError
	code := codeOf(err)
	switch interrupted := errors.Is(err, context.Canceled); {
	case err == nil:
		return nil
	case interrupted && without(err, context.Canceled, syscall.EPIPE) != nil:
		return &exitError{exitFailure, fmt.Errorf("interrupted, and then: %w", without(err, context.Canceled, syscall.EPIPE))}
	case interrupted && dir == "":
		return &exitError{exitInterrupted, errors.New("interrupted; nothing had been changed yet")}
	case interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted; everything was undone, and the results so far "+
			"are kept (plimsoll show %s). To go on:\n  plimsoll run --resume %s", dir, dir)}
	case code != exitRefused && errors.As(err, &exit):
		return exit
	case dir != "" && code != exitRefused && code != exitUsage:
		return &exitError{code, fmt.Errorf("%w\nThe results so far are kept (plimsoll show %s). To go on:\n  "+
			"plimsoll run --resume %s", err, dir, dir)}
	default:
		return &exitError{code, err}
	}
}

// without takes errors out of what errors.Join made.
func without(err error, unwanted ...error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range joined.Unwrap() {
			rest = append(rest, without(e, unwanted...))
		}
		return errors.Join(rest...)
	}
	if slices.ContainsFunc(unwanted, func(u error) bool { return errors.Is(err, u) }) {
		return nil
	}
	return err
}

// hopeless refuses an experiment of which the host can make no stack.
func hopeless(e *experiment.Experiment, previews []trial.Preview) error {
	var reasons []string
	for _, p := range previews {
		if p.Skipped == "" {
			return nil
		}
		if !slices.Contains(reasons, p.Skipped) {
			reasons = append(reasons, p.Skipped)
		}
	}
	asks, ok := e.PlanHost(hostinfo.New().Has())
	if smallest := asks.Smallest(); ok && smallest != "" {
		reasons = append(reasons, smallest)
	}
	return &exitError{exitHost,
		fmt.Errorf("this host can do no trial of %s; nothing was changed:\n  %s", e.Name, strings.Join(reasons, "\n  "))}
}

// runStatus tells how a complete run went.
func runStatus(run *result.Run, dir string) error {
	n := map[result.TrialStatus]int{}
	for _, t := range run.Trials {
		n[t.Status]++
	}
	switch {
	case n[result.TrialFailed] > 0:
		return &exitError{exitPartial,
			fmt.Errorf("%d of %s failed; plimsoll show %s tells why", n[result.TrialFailed],
				plural.Count(len(run.Trials), "trial"), dir)}
	case n[result.TrialDone] == 0:
		return &exitError{exitHost, fmt.Errorf("this host can do no trial of the experiment; plimsoll show %s tells "+
			"why", dir)}
	}
	return nil
}
