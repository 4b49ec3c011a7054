package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// interruptGrace is how long an interrupted command may take to end.
const interruptGrace = 500 * time.Millisecond

// endsSoon makes a command that changes nothing on the host end soon after an interrupt, even if it waits for a file
// system that does not answer, or for a reader of its output. Do not use it for a command that has something to undo.
func endsSoon(newCommand func(*app) *cobra.Command) func(*app) *cobra.Command {
	return func(a *app) *cobra.Command {
		cmd := newCommand(a)
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return soon(cmd.Context(), func() error { return run(cmd, args) })
		}
		return cmd
	}
}

// soon does what changes nothing on the host, and does not wait for it once ctx
// has ended.
func soon(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(interruptGrace):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
}
