package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result/store"
)

// TestACommandThatNobodyReadsEndsWhenItIsInterrupted: it waits in the middle of
// its output, and neither SIGINT nor SIGTERM has to wait with it.
func TestACommandThatNobodyReadsEndsWhenItIsInterrupted(t *testing.T) {
	runsHere(t)
	p := newProgram(t)
	p.dir, _ = os.Getwd()
	writeCapture(t, "sda", 4000)
	run := filepath.Join(store.RunsDir, "two-20260513")
	for _, args := range [][]string{{"show", run, "--json"}, {"compare", run, run, "--json", "--all"},
		{"trace", "analyze", "sda", "--per-io"}, {"schema"}} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := unix.FcntlInt(writer.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
				t.Fatal(err)
			}
			cmd, _, stderr := p.command(args...)
			cmd.Stdout = writer
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writer.Close()
			within(t, hang, "its output fills the pipe", func() bool {
				size, err := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCINQ)
				return err == nil && size == 4096
			})
			late := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
			if err := cmd.Process.Signal(signal); err != nil {
				t.Errorf("%v did not wait: %v", args, err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); !late.Stop() || code != exitInterrupted {
				t.Errorf("%v ends with %d after %s: %s", args, code, signal, stderr)
			}
			reader.Close()
		}
	}
}
