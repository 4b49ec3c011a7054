package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// interruptSoon sends SIGINT to a command that waits or reads without an end,
// and returns its exit code and how long it went on living.
func interruptSoon(t *testing.T, cmd *exec.Cmd) (code int, lived time.Duration) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		t.Fatalf("%v ended by itself", cmd.Args)
	case <-time.After(time.Second):
	}
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		if err := <-ended; err != nil {
			t.Log(err)
		}
		t.Fatalf("%v ignores SIGINT", cmd.Args)
	}
	return cmd.ProcessState.ExitCode(), time.Since(began)
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
		code, lived := interruptSoon(t, cmd)
		if code != exitInterrupted || lived > 2*time.Second { // a second, on a machine that others use, too
			t.Errorf("%v: exit %d after %s: %s", args, code, lived, stderr)
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
	time.Sleep(200 * time.Millisecond) // it waits for a writer
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
	code, lived := interruptSoon(t, cmd)
	if code != exitOK || lived > 3*lastWords {
		t.Errorf("exit %d after %s: %s", code, lived, stderr)
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
