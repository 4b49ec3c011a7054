package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"plimsoll/internal/problem"
)

// Every kind of problem has one exit code, wherever it comes from.
func TestExitCodeOfAProblem(t *testing.T) {
	of := func(k problem.Kind) error {
		return fmt.Errorf("stack a: %w", &problem.Problem{Kind: k, What: "what", Why: "why"})
	}
	for _, c := range []struct {
		name string
		err  error
		code int
	}{
		{"no problem", errors.New("disk full"), exitFailure},
		{"failed", of(problem.Failed), exitFailure},
		{"invalid", of(problem.Invalid), exitUsage},
		{"a list of what is wrong with a file", problem.List{{Kind: problem.Invalid, What: "a"}}, exitUsage},
		{"unsupported", of(problem.Unsupported), exitHost},
		{"protected", of(problem.Protected), exitRefused},
		{"interrupted", fmt.Errorf("read: %w", context.Canceled), exitInterrupted},
		{"with a code of its own", fmt.Errorf("run: %w", &exitError{exitPartial, of(problem.Unsupported)}), exitPartial},
		{"two, of which one protects a device", errors.Join(of(problem.Unsupported), of(problem.Protected)), exitRefused},
	} {
		if got := codeOf(c.err); got != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.code)
		}
	}
	for _, dir := range []string{"", "runs/x"} {
		for kind, code := range map[problem.Kind]int{
			problem.Failed: exitFailure, problem.Invalid: exitUsage,
			problem.Unsupported: exitHost, problem.Protected: exitRefused,
		} {
			var exit *exitError
			if err := runError(of(kind), dir); !errors.As(err, &exit) || exit.code != code {
				t.Errorf("a run in %q that ended with %q: %v", dir, kind, err)
			}
		}
	}
}
