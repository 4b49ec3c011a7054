package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// interrupted sends SIGINT to a command that waits or reads without an end, once it has begun to, and returns its
// exit code.
func interrupted(t *testing.T, cmd *exec.Cmd, begun func(pid int) bool) (code int) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	within(t, hang, "it begins to read", func() bool {
		select {
		case <-ended:
			t.Fatalf("%v ended by itself", cmd.Args)
		default:
		}
		return begun(cmd.Process.Pid)
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(hang):
		_ = cmd.Process.Kill()
		if err := <-ended; err != nil {
			t.Log(err)
		}
		t.Fatalf("%v ignores SIGINT", cmd.Args)
	}
	return cmd.ProcessState.ExitCode()
}

// hasOpen reports whether a process has opened a file.
func hasOpen(pid int, path string) bool {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // none of one that has ended
	return slices.ContainsFunc(all, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == path
	})
}

// TestTraceAnalyzeEndsWhateverItReads: a pipe nobody writes, one whose writer
// says nothing, and a file that is longer than anybody's patience.
func TestTraceAnalyzeEndsWhateverItReads(t *testing.T) {
	p := newProgram(t)
	fifo, held, sparse := filepath.Join(p.dir, "fifo"), filepath.Join(p.dir, "held"), filepath.Join(p.dir, "sparse")
	if err := errorsOf(syscall.Mkfifo(fifo, 0o600), syscall.Mkfifo(held, 0o600), os.WriteFile(sparse, nil, 0o600),
		os.Truncate(sparse, 8<<40)); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(held, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, args := range [][]string{{fifo}, {held}, {sparse}, {sparse, "--threads", "1"}, {sparse, "--per-io"},
		{fifo, sparse, "--strict"}} {
		cmd, stdout, stderr := p.command(append([]string{"trace", "analyze"}, args...)...)
		code := interrupted(t, cmd, func(pid int) bool { return hasOpen(pid, args[0]) })
		if code != exitInterrupted {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
		contains(t, stderr.String(), "interrupted")
		if stdout.Len() > 0 && args[len(args)-1] != "--per-io" {
			t.Errorf("%v prints %s", args, stdout)
		}
	}
}

// TestTraceAnalyzeReadsANamedPipe: what a shell makes of <(zcat sda.gz).
func TestTraceAnalyzeReadsANamedPipe(t *testing.T) {
	p := newProgram(t)
	writeCapture(t, filepath.Join(p.dir, "sda"), 40)
	text, err := os.ReadFile(filepath.Join(p.dir, "sda.blktrace.0"))
	fifo := filepath.Join(p.dir, "fifo")
	if err := errorsOf(err, syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := p.command("trace", "analyze", fifo, "--json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, hang, "it waits for a writer", func() bool { return hasOpen(cmd.Process.Pid, fifo) })
	if err := errorsOf(os.WriteFile(fifo, text, 0), cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	contains(t, stdout.String(), `"requests": 20,`)
}

func TestTraceAnalyzeRefusesDevices(t *testing.T) {
	p := newProgram(t)
	link := filepath.Join(p.dir, "sda.blktrace.0")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/zero", filepath.Join(p.dir, "sda")} {
		cmd, _, stderr := p.command("trace", "analyze", name)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%s: %v", name, err)
		}
		contains(t, stderr.String(), "a character device")
	}
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	cmd, _, stderr := p.command("trace", "analyze", "-")
	cmd.Stdin = zero
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUsage {
		t.Errorf("standard input: %v", err)
	}
	contains(t, stderr.String(), "standard input: it is a character device")
}

// TestTraceAnalyzeOfAStreamWhoseWriterStays: it was interrupted, says nothing
// more, and does not go.
func TestTraceAnalyzeOfAStreamWhoseWriterStays(t *testing.T) {
	p := newProgram(t)
	writeCapture(t, filepath.Join(p.dir, "sda"), 40)
	text, err := os.ReadFile(filepath.Join(p.dir, "sda.blktrace.0"))
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := p.command("trace", "analyze", "-", "--json")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	cmd.Stdin = in
	if _, err := out.Write(text); err != nil {
		t.Fatal(err)
	}
	code := interrupted(t, cmd, func(int) bool {
		left, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ)
		return err == nil && left == 0
	})
	if code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	contains(t, stdout.String(), `"requests": 20,`)
}

// A writer that goes on and on, whatever happens, is listened to for a while.
func TestAnEndlessWriterIsNotHeardToItsEnd(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	go func() {
		block := make([]byte, 4096)
		for {
			if _, err := to.Write(block); err != nil {
				return
			}
		}
	}()
	defer to.Close()
	ctx, cancel := context.WithCancel(t.Context())
	pipe := &patientPipe{ctx: ctx, file: from, grace: time.Minute, most: 200 * time.Millisecond,
		ends: func() error { return io.EOF }}
	into := make([]byte, 4096)
	if n, err := pipe.Read(into); n == 0 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	cancel()
	for read := 0; err == nil; {
		var n int
		n, err = pipe.Read(into)
		read += n
		if err != nil && (read == 0 || !errors.Is(err, io.EOF)) {
			t.Errorf("%d bytes after the end, and then %v", read, err)
		}
	}
}
