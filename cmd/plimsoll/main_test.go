package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// asProgram makes this test binary be plimsoll, so that tests can kill it.
const asProgram = "PLIMSOLL_TEST_AS_PROGRAM"

// asConfigfs names a directory that behaves like configfs, to the program.
const asConfigfs = "PLIMSOLL_TEST_CONFIGFS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asConfigfs); dir != "" {
		hosttest.Configfs{Root: dir}.Answer()
	}
	// In containers, nobody tells the steps of workloads that they are the program.
	steps := []string{"read-files", "generate", "serve-pebble", "load-pebble", loadClient}
	step := len(os.Args) > 1 && slices.Contains(steps, os.Args[1])
	if os.Getenv(asProgram) != "" || step {
		os.Exit(interruptible(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// program is plimsoll with a state directory and a working directory of its
// own.
type program struct {
	t     *testing.T
	dir   string // working directory; runs are made below it
	state string
	env   []string
}

func newProgram(t *testing.T) *program {
	t.Helper()
	dir := t.TempDir()
	return &program{t: t, dir: dir, state: filepath.Join(dir, "state")}
}

// experiment writes an experiment file and gives its name.
func (p *program) experiment(text string) string {
	p.t.Helper()
	const name = "experiment.yaml"
	p.file(name, text)
	return name
}

func (p *program) file(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// command is plimsoll, not started yet.
func (p *program) command(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command(os.Args[0], append(args, "--state-dir", p.state)...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), p.env...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// run runs plimsoll to its end and gives its exit code: -1 when a signal
// ended it.
func (p *program) run(args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	cmd, out, errs := p.command(args...)
	return exitCode(p.t, cmd.Run()), out.String(), errs.String()
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// result reads the only run below the working directory.
func (p *program) result() (string, *result.Run) {
	p.t.Helper()
	dir, err := store.Find(filepath.Join(p.dir, store.RunsDir), store.Last)
	if err != nil {
		p.t.Fatal(err)
	}
	run, err := store.Read(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return dir, run
}

// cleanUp undoes what a killed run left, and nothing may be left to undo.
func (p *program) cleanUp() {
	p.t.Helper()
	code, out, errs := p.run("clean")
	if code != 0 {
		p.t.Fatalf("clean ends with %d: %s%s", code, out, errs)
	}
	if _, err := os.Stat(p.state); !errors.Is(err, os.ErrNotExist) {
		left, _ := filepath.Glob(filepath.Join(p.state, "*"))
		p.t.Errorf("the state directory stays behind, with %v (%v): %s%s", left, err, out, errs)
	}
}

// within waits until something comes true. The limit ends a hang: it is long enough for a
// host that is busy with other things.
func within(t *testing.T, limit time.Duration, what string, test func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !test(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// exists tells whether a pattern below the working directory matches.
func (p *program) exists(pattern string) bool {
	matches, err := filepath.Glob(filepath.Join(p.dir, pattern))
	return err == nil && len(matches) > 0
}

// writes reports whether a pattern matches what the trials of a run write, while it is under way. The run directory is
// that of a pattern below the working directory.
func (p *program) writes(run, pattern string) bool {
	dirs, _ := filepath.Glob(filepath.Join(p.dir, run))
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, store.RunFile))
		var header struct {
			ID string `json:"id"`
		}
		if err != nil || json.Unmarshal(text, &header) != nil || header.ID == "" {
			continue
		}
		matches, _ := filepath.Glob(filepath.Join(journal.WorkDir(p.state, header.ID), "trials", pattern))
		if len(matches) > 0 {
			return true
		}
	}
	return false
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
