package main

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
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
			collectLater()
			return soon(cmd.Context(), func() error { return run(cmd, args) })
		}
		return cmd
	}
}

// collectLater has garbage collected from a heap of 32 MB on, and from there on as usual. A command that ends within
// 150 ms spent a fifth of its processor time on collections from 4 MB on.
var collectLater = sync.OnceFunc(func() {
	const percent = 800 // of 4 MB
	usual := debug.SetGCPercent(percent)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
})

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
