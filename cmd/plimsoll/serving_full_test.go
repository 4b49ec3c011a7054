package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// writers is one server that is written to: 50 MB of data, on a device that has room for it.
const writers = `
name: writers
question: What does a hardship leave of a server that is written to?
repeat: 1
trials: 2
runtime: 3s
ramp: 100ms
seed: 1
stacks:
  disk: loop(size=768MiB) > ext4
workloads:
  A: {ycsb: {workload: A, records: 50000, threads: 4, timeout: 1s}}
mixes:
  one: {A: {count: 1%s}}
`

// TestAFullDeviceEndsATrialOfServers: while data is loaded, and while it is measured. The
// reason is in the result, and nothing is left.
func TestAFullDeviceEndsATrialOfServers(t *testing.T) {
	hosttest.Exclusive(t)
	// While it is measured, a busy disk may take long until there is too little room.
	patient := strings.NewReplacer("runtime: 3s", "runtime: 60s", "trials: 2", "trials: 1")
	for _, test := range []struct {
		when       string
		is         func(dir string) bool
		experiment string
	}{
		{"load", func(dir string) bool { return len(processesBelow(dir, "load-pebble")) > 0 }, fmt.Sprintf(writers, "")},
		{"measurement", func(dir string) bool { return measuring(dir, 1) > 0 }, patient.Replace(fmt.Sprintf(writers, ""))},
	} {
		t.Run(test.when, func(t *testing.T) {
			before := hosttest.Look()
			p := newProgram(t)
			filled := make(chan error, 1)
			go func() { filled <- fillWhen(p.dir, test.is) }()
			code, out, errs := p.run("run", p.experiment(test.experiment), "--quiet")
			if err := <-filled; err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			if code != exitPartial {
				t.Errorf("ends with %d: %s%s", code, out, errs)
			}
			_, run := p.result()
			first := run.Trials[0]
			if first.Status != result.TrialFailed || first.Problem == nil ||
				!strings.Contains(first.Problem.Text(), "o space left on device") || first.Problem.Remedy == "" {
				t.Errorf("%s: %+v", first.Status, first.Problem)
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}

// TestAFullDeviceEndsTheCopyOfData: the data is loaded, and there is no room for an instance's own.
func TestAFullDeviceEndsTheCopyOfData(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	filled := make(chan error, 1)
	go func() { filled <- fillWhenLoaded(p.dir) }()
	code, out, errs := p.run("run", p.experiment(`
name: readers
question: What does a hardship leave of a server that is read?
repeat: 1
trials: 1
runtime: 1s
seed: 1
stacks:
  disk: loop(size=768MiB) > ext4
workloads:
  C: {ycsb: {workload: C, records: 200000, threads: 4}}
mixes:
  one: {C: 1}
`), "--quiet")
	if err := <-filled; err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	if code == 0 {
		t.Errorf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	first := run.Trials[0]
	if first.Status != result.TrialFailed || first.Problem == nil ||
		!strings.Contains(first.Problem.Text(), "o space left on device") || first.Problem.Remedy == "" {
		t.Errorf("%s: %+v", first.Status, first.Problem)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// fillWhenLoaded fills the file system of a run's data once all of it is loaded.
func fillWhenLoaded(dir string) error {
	at := ""
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if at == "" {
			at, _ = dataBelow(dir) // not there yet
			continue
		}
		marks, err := filepath.Glob(filepath.Join(at, "*", "plimsoll.json"))
		if err != nil {
			return err
		}
		if len(marks) > 0 {
			return fill(filepath.Join(at, "neighbour"))
		}
	}
	return errors.New("nothing was loaded in time")
}

// TestAServerWithoutMemoryIsAResult: one that the OOM killer ends for its own limit.
func TestAServerWithoutMemoryIsAResult(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	code, out, errs := p.run("run", p.experiment(fmt.Sprintf(writers, ", limits: {memory: 12MiB}")), "--quiet")
	if code != exitPartial {
		t.Errorf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		if trial.Status != result.TrialFailed || trial.Problem == nil ||
			!strings.Contains(trial.Problem.Text(), "OOM killer ended it") || trial.Problem.Remedy == "" {
			t.Errorf("%s: %+v", trial.Status, trial.Problem)
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// fillWhen fills the file system of a run's data once it is time to.
func fillWhen(dir string, is func(dir string) bool) error {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if !is(dir) {
			continue
		}
		at, err := dataBelow(dir)
		if err != nil {
			return err
		}
		return fill(filepath.Join(at, "neighbour"))
	}
	return fmt.Errorf("it was not time to fill the device within %s", hang)
}

// dataBelow is the directory of the data that a server of a run serves, or that is loaded.
func dataBelow(dir string) (string, error) {
	for _, process := range []string{"serve-pebble", "load-pebble"} {
		for _, pid := range processesBelow(dir, process) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				return "", err
			}
			words := strings.Split(string(line), "\x00")
			at := slices.Index(words, "--dir")
			if at >= 0 {
				return filepath.Dir(words[at+1]), nil
			}
		}
	}
	return "", errors.New("no server has data")
}

// fill makes a file of all that a file system has room for.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	size := int64(0)
	for step := int64(64 << 20); step >= 4096; {
		err := unix.Fallocate(int(f.Fd()), 0, size, step)
		switch {
		case err == nil:
			size += step
		case errors.Is(err, unix.ENOSPC):
			step /= 2
		default:
			return fmt.Errorf("fill %s: %w", name, err)
		}
	}
	return nil
}
