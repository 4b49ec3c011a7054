package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// places brings a base up with so many places.
func places(t *testing.T, e *Env, text string, count int, config PlaceConfig) (*Base, []*Place) {
	t.Helper()
	base, err := e.Up(t.Context(), "s", parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := base.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var made []*Place
	for n := range count {
		config.Number, config.Of = n, count
		p, err := base.Place(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, p)
	}
	return base, made
}

// scaled-down host makes a group that goes after the base that is brought up then.
func miniature(t *testing.T, e *Env) *cgroup.Group {
	t.Helper()
	g, made, err := cgroup.New(t.Context(), e.Journal, e.GroupName(), cgroup.Options{Limits: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, entry := range slices.Backward(made) {
			if err := e.Journal.Undo(context.Background(), entry); err != nil {
				t.Error(err)
			}
		}
	})
	return g
}

// reading is a step that lays a file out and reads it directly, as often as it is said.
func reading(t *testing.T, e *Env, p *Place, name string, reads int) time.Duration {
	t.Helper()
	argv := []string{
		"fio", "--name=x", "--filename=" + filepath.Join(p.Target.Path, "file"), "--size=4m", "--bs=4k",
		"--rw=randread", "--direct=1", "--norandommap", "--number_ios=" + strconv.Itoa(reads),
		"--output=" + workload.ScratchDir + "/out", "--output-format=terse",
	}
	step := &workload.Step{Argv: argv, Outputs: []string{"out"}}
	began := time.Now()
	outputs, exit, err := p.Run(t.Context(), step, filepath.Join(e.Scratch, name), nil)
	if err != nil || exit.Code != 0 {
		t.Errorf("%s: %+v, %v", name, exit, err)
		return 0
	}
	// Field 9 of fio's terse output is the time that reading took, in milliseconds.
	fields := strings.Split(string(outputs["out"]), ";")
	if len(fields) < 9 {
		t.Errorf("%s: output %q", name, outputs["out"])
		return 0
	}
	ms, err := strconv.Atoi(fields[8])
	if err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < time.Duration(ms)*time.Millisecond {
		t.Errorf("%s: fio says %d ms, and it took %v", name, ms, took)
	}
	return time.Duration(ms) * time.Millisecond
}

// Two places on one file system, with limits of their own.
func TestPlacesHaveLimitsOfTheirOwn(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct{ line, path string }{
		{"loop(size=320MiB) > xfs", "/instance-"},
		{"loop(size=512MiB) > xfs > volume", "/data"},
		{"loop(size=640MiB) > xfs > overlay2", "/data"},
	} {
		t.Run(test.line, func(t *testing.T) {
			e := newEnv(t)
			base, both := places(t, e, test.line, 2, PlaceConfig{Limits: true})
			var took [2]time.Duration
			for i, p := range both {
				if !strings.Contains(p.Target.Path, test.path) || p.Target.SizeBytes < 32<<20 || p.Target.SizeBytes > 640<<20 {
					t.Errorf("place %d: %+v", i, p.Target)
				}
				reading(t, e, p, "layout-"+strconv.Itoa(i), 1)
				rate := result.Rate{OperationsPerSecond: int64(200 * (i + 1))}
				limits := result.Limits{CPUs: 0.5, MemoryBytes: 256 << 20, Read: rate}
				if got, err := p.Limit(limits); err != nil || got != limits {
					t.Fatalf("place %d: %+v, %v", i, got, err)
				}
				if got, err := p.ReadBack(); err != nil || got != limits {
					t.Errorf("place %d: later %+v, %v", i, got, err)
				}
				took[i] = reading(t, e, p, "drive-"+strconv.Itoa(i), 400)
			}
			// On a busy host it may take longer.
			if took[0] < 1500*time.Millisecond || took[1] < 700*time.Millisecond {
				t.Errorf("400 reads at 200 and 400 a second took %v", took)
			}
			group, err := both[0].StepGroup()
			if err != nil {
				t.Fatal(err)
			}
			u, err := group.Usage()
			if err != nil || u.CPU == 0 || u.Memory == nil || u.Memory.PeakBytes == 0 || u.Throttling == nil ||
				u.Devices[both[0].LimitDevices()[0]].Reads < 400 {
				t.Errorf("the first place has used %+v (%v)", u, err)
			}
			if err := base.Flush(); err != nil {
				t.Error(err)
			}
			// A place comes and goes; what the other wrote stays.
			if err := both[0].Down(t.Context()); err != nil {
				t.Error(err)
			}
			if both[0].dir != "" {
				if _, err := os.Stat(both[0].dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", both[0].dir, err)
				}
			}
			again, err := base.Place(t.Context(), PlaceConfig{Number: 0, Of: 2})
			if err != nil {
				t.Fatal(err)
			}
			reading(t, e, again, "again", 1)
			if _, err := both[1].Limit(result.Limits{}); err != nil {
				t.Error(err)
			}
			reading(t, e, both[1], "still", 1)
		})
	}
}

// A scaled-down host's limits hold for all that is in it, containers or not.
func TestPlacesInAMiniature(t *testing.T) {
	hosttest.Exclusive(t)
	for _, text := range []string{
		"loop(size=320MiB) > xfs", "loop(size=512MiB) > xfs > volume", "loop(size=640MiB) > xfs > overlay2",
	} {
		t.Run(text, func(t *testing.T) {
			e := newEnv(t)
			mini := miniature(t, e)
			base, both := places(t, e, text, 2, PlaceConfig{Group: mini, ShareDevices: true})
			for i, p := range both {
				reading(t, e, p, "layout-"+strconv.Itoa(i), 1)
				if got, err := p.Limit(result.Limits{MemoryBytes: 256 << 20}); err != nil || got.MemoryBytes != 256<<20 {
					t.Errorf("%+v, %v", got, err)
				}
			}
			limits := result.Limits{CPUs: 1.5, MemoryBytes: 512 << 20, Read: result.Rate{OperationsPerSecond: 200}}
			if got, err := mini.Limit(limits, base.LimitDevices()); err != nil || got != limits {
				t.Fatalf("%+v, %v", got, err)
			}
			ended := make(chan time.Duration)
			for i, p := range both {
				go func() { ended <- reading(t, e, p, "drive-"+strconv.Itoa(i), 300) }()
			}
			if took := max(<-ended, <-ended); took < 2200*time.Millisecond {
				t.Errorf("600 reads at 200 a second, shared by two, took %v", took)
			}
			u, err := mini.Usage()
			if err != nil || u.CPU == 0 || u.Memory.PeakBytes == 0 || u.Devices[base.LimitDevices()[0]].Reads < 500 {
				t.Errorf("the scaled-down host has used %+v (%v)", u, err)
			}
			// A limit of a place leaves those of the scaled-down host alone.
			if _, err := both[0].Limit(result.Limits{}); err != nil {
				t.Error(err)
			}
			if got, err := mini.Limits(base.LimitDevices()); err != nil || got != limits {
				t.Errorf("%+v, %v", got, err)
			}
			dead, ok := both[0].execute.(*containerExecutor)
			if !ok {
				return
			}
			// A container that dies takes nothing of the others with it.
			if err := unix.Kill(dead.container.PID(), unix.SIGKILL); err != nil {
				t.Error(err)
			}
			if took := reading(t, e, both[1], "alone", 300); took < time.Second {
				t.Errorf("300 reads at 200 a second took %v", took)
			}
		})
	}
}

// Where an engine dies, what ran in a scaled-down host for it is found there and ended.
func TestAnEngineDiesWithPlacesInAMiniature(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	mini := miniature(t, e)
	base, both := places(t, e, "loop(size=640MiB) > xfs > overlay2", 2, PlaceConfig{Group: mini, ShareDevices: true})
	engine, err := both[0].OwnGroup()
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpuacct"} {
		text, err := os.ReadFile(filepath.Join(top, engine.Path(), "engine/cgroup.procs"))
		if err != nil {
			continue // of the other version
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	var pids []int
	for _, p := range both {
		pids = append(pids, p.execute.(*containerExecutor).container.PID())
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, 0); err != nil {
			t.Errorf("container %d ended with its engine, and shows nothing: %v", pid, err)
		}
	}
	if err := base.Down(t.Context()); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if state, err := os.ReadFile(
			"/proc/" + strconv.Itoa(pid) + "/stat",
		); err == nil &&
			!strings.Contains(string(state), ") Z ") {
			t.Errorf("container %d is left: %s", pid, state)
		}
	}
}

func TestPlacesThatCannotBe(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	base, err := e.Up(t.Context(), "s", parse(t, "loop(size=64MiB)"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := base.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := base.Place(t.Context(), PlaceConfig{Of: 2}); !isProblem(err, problem.Unsupported, "", "") {
		t.Errorf("two places on a block device: %v", err)
	}
	if _, err := base.Place(t.Context(), PlaceConfig{Number: 1}); err == nil {
		t.Error("the second of one place was made")
	}
	if _, err := base.Place(t.Context(), PlaceConfig{}); err != nil {
		t.Error(err)
	}
	if _, err := base.Place(t.Context(), PlaceConfig{}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a place was made twice: %v", err)
	}
}

// Bases share the engine of volumes.
func TestVolumesOfTwoBasesAtOnce(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	for _, name := range []string{"a", "b"} {
		p, err := e.upAlone(t.Context(), name, parse(t, "loop(size=64MiB) > ext4 > volume"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.base.Down(context.Background()); err != nil {
				t.Error(err)
			}
		})
		reading(t, e, p, name, 1)
	}
}

func TestPlacesAreUndoneAfterACrash(t *testing.T) {
	hosttest.Exclusive(t)
	crashes(t, 2, "loop(size=640MiB) > xfs > overlay2", "*journal.Cgroup", "*container.containerChange")
	crashes(t, 2, "loop(size=640MiB) > xfs > overlayfs(volatile)", "*journal.Mount")
}
