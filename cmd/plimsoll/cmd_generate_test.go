package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// planText is a plan of a client that there is not.
const planText = `{"client": "none", "at": {"socket": "db.sock"}, "dataset": {"records": 5, "fields": 1, "field_bytes": 1, "seed": 1},
	"mix": {"read": 1}, "distribution": "uniform", "threads": 1, "timeout": 1000000, "runtime": 1000000, "output": "out",
	"patience": 1000000}`

// A plan comes from a scratch directory that others may have written to.
func TestGenerateRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := unix.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", "out"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exitUsage, "generate takes the plan of a load"},
		{[]string{"missing"}, exitUsage, "there is no file missing"},
		{[]string{"fifo"}, exitUsage, "a named pipe (FIFO)"},
		{[]string{"/dev/zero"}, exitUsage, "a character device"},
		{[]string{write("text", "hello")}, exitUsage, "this is no plan of a load"},
		{[]string{write("other", strings.ReplaceAll(planText, "db.sock", "../db.sock"))}, exitUsage,
			"a path in the working directory"},
		{[]string{write("plan", planText)}, exitFailure, "out: it is a character device"},
		{[]string{"--wait", "plan"}, exitFailure, `no client is called "none"`},
		{[]string{write("elsewhere", strings.ReplaceAll(planText, `"out"`, `"here"`))}, exitFailure,
			`no client is called "none"`},
	} {
		_, stderr := plimsoll(t, c.code, append([]string{"generate"}, c.args...)...)
		if !strings.Contains(stderr, c.want) {
			t.Errorf("%q: %q, want %q", c.args, stderr, c.want)
		}
	}
}

// The load begins when the gate's file has been read, which may be a FIFO.
func TestPassGate(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(file, []byte("go\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := passGate(t.Context(), file); err != nil {
		t.Errorf("a file: %v", err)
	}
	if err := passGate(t.Context(), filepath.Join(dir, "missing")); err == nil {
		t.Error("a gate that is not there is open")
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	passed := make(chan error, 1)
	go func() { passed <- passGate(t.Context(), fifo) }()
	select {
	case err := <-passed:
		t.Fatalf("a FIFO that nobody writes to is open: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-passed; err != nil {
		t.Errorf("a FIFO: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := passGate(ended, fifo); err == nil {
		t.Error("a gate that nobody opens is passed once it is to end")
	}
}
