package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// childVariable makes this test binary play a run that works below the state
// directory it names, instead of running tests.
const childVariable = "PLIMSOLL_JOURNAL_CHILD"

// cleanerVariable makes it clean a state directory.
const cleanerVariable = "PLIMSOLL_JOURNAL_CLEANER"

func TestMain(m *testing.M) {
	if state := os.Getenv(cleanerVariable); state != "" {
		if _, err := journal.Clean(context.Background(), state); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if state := os.Getenv(childVariable); state != "" {
		if err := child(state); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childSteps is how many changes a child makes.
const childSteps = 8

// fields are a change's in a journal.
type fields map[string]any

// newChange returns a change as a journal has it, which knows no types.
func newChange(kind string, f fields) journal.Change {
	for _, k := range journal.Kinds() {
		if k.Name != kind {
			continue
		}
		text, err := json.Marshal(f)
		if err != nil {
			panic(err)
		}
		c := k.New()
		if err := json.Unmarshal(text, c); err != nil {
			panic(fmt.Sprintf("%s %s: %v", kind, text, err))
		}
		return c
	}
	panic("no kind of change is called " + kind)
}

// groups are the places of a control group: one in each hierarchy.
func groups(path string) []string {
	tops := []string{filepath.Join("/sys/fs/cgroup", path)}
	hierarchies, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	for _, h := range hierarchies {
		tops = append(tops, filepath.Join(filepath.Dir(h), path))
	}
	return tops
}

// child makes one change of each kind that needs no Docker engine: a
// directory, a file, a loop device on it, its I/O scheduler, a file system, a
// mount, a cgroup and a process that is still running at the end.
func child(state string) error {
	ctx := context.Background()
	j, err := journal.Create(state, "child")
	if err != nil {
		return err
	}
	work := journal.WorkDir(state, "child")
	file := filepath.Join(work, "disk.img")
	dir := filepath.Join(work, "mnt")
	var device string
	run := func(argv ...string) func(string) error {
		return func(string) error { return exec.Command(argv[0], argv[1:]...).Run() }
	}
	steps := []func() error{
		func() error {
			_, err := j.Do(ctx, &journal.Dir{Path: work}, func(string) error { return os.Mkdir(work, 0o700) })
			return err
		},
		func() error {
			_, err := j.Do(ctx, &journal.File{Path: file}, func(string) error {
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					return err
				}
				return os.Truncate(file, 32<<20)
			})
			return err
		},
		func() error {
			present, err := filepath.Glob("/sys/block/loop*")
			if err != nil {
				return err
			}
			out, err := exec.Command("losetup", "-f").Output() // adds one when all are in use
			if err != nil {
				return err
			}
			device = strings.TrimSpace(string(out))
			var number int
			if _, err := fmt.Sscanf(device, "/dev/loop%d", &number); err != nil {
				return err
			}
			_, err = j.Do(ctx, newChange("loop", fields{
				"Number": number, "Backing": file, "Created": !slices.Contains(present, "/sys/block/"+filepath.Base(device)),
			}), run("losetup", device, file))
			return err
		},
		func() error {
			c := &journal.Setting{Path: filepath.Join("/sys/block", filepath.Base(device), "queue/scheduler"),
				Value: "mq-deadline"}
			_, err := j.Do(ctx, c, func(string) error { return c.Make() })
			return err
		},
		func() error {
			_, err := j.Do(ctx, newChange("mkfs", fields{"Device": device, "Type": "ext4", "Keep": true}),
				run("mkfs.ext4", "-q", device))
			return err
		},
		func() error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			_, err := j.Do(ctx, &journal.Mount{Source: device, Target: dir, Type: "ext4"}, run("mount", "-n", device, dir))
			return err
		},
		func() error {
			c := &journal.Cgroup{Path: "plimsoll-journal-test"}
			_, err := j.Do(ctx, c, func(string) error {
				for _, top := range groups(c.Path) {
					if err := os.MkdirAll(filepath.Join(top, "sub"), 0o755); err != nil {
						return err
					}
				}
				return nil
			})
			return err
		},
		func() error {
			argv := []string{"sh", "-c", "sleep 1000 & exec sleep 1001"}
			_, err := j.Do(ctx, &journal.Process{Argv: argv}, func(mark string) error {
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Env = append(os.Environ(), journal.MarkVariable+"="+mark)
				cmd.Dir = dir // keeps the mount busy
				return cmd.Start()
			})
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if os.Getenv(journal.CrashVariable) == "0:end" {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {} // until the signal arrives
	}
	return j.UndoAll(ctx, nil)
}

// crash runs a child that kills itself at a step of its journal.
func crash(t *testing.T, state, at string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+state, journal.CrashVariable+"="+at)
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child was to kill itself at %s, but: %v", at, err)
	}
}

func TestCleanRepairsACrashAtEveryStep(t *testing.T) {
	hosttest.Exclusive(t)
	points := []string{"0:end"}
	for seq := 1; seq <= childSteps; seq++ {
		points = append(points, fmt.Sprintf("%d:intent", seq), fmt.Sprintf("%d:made", seq))
	}
	for _, at := range points {
		t.Run(at, func(t *testing.T) {
			before := hosttest.Look()
			parent := t.TempDir()
			state := filepath.Join(parent, "state")
			crash(t, state, at)
			reports, err := journal.Clean(t.Context(), state)
			if err != nil {
				t.Fatal(err)
			}
			if len(reports) != 1 || reports[0].Run != "child" || reports[0].Live {
				t.Fatalf("reports: %+v", reports)
			}
			if left, _ := os.ReadDir(parent); len(left) > 0 {
				t.Errorf("files are left: %v", left)
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
			if reports, err := journal.Clean(t.Context(), state); err != nil || len(reports) != 0 {
				t.Errorf("cleaning again: %v, %v", reports, err)
			}
		})
	}
}

// TestCleanIsKilledAtEveryStep leaves a run with every kind of change behind,
// and kills one clean after the other: when it has undone a change and not
// noted it, then when it has noted it.
func TestCleanIsKilledAtEveryStep(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	parent := t.TempDir()
	state := filepath.Join(parent, "state")
	crash(t, state, "0:end")
	if diff := before.Settle(0); diff == "" {
		t.Fatal("the run left nothing to undo")
	}
	for seq := childSteps; seq >= 1; seq-- {
		for _, at := range []string{"undo", "undone"} {
			crashClean(t, state, fmt.Sprintf("%d:%s", seq, at))
		}
	}
	// All is undone and noted, and what is left is the journal itself.
	reports, err := journal.Clean(t.Context(), state)
	if err != nil || len(reports) != 1 || len(reports[0].Undone) > 0 {
		t.Errorf("the last clean: %+v, %v", reports, err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// crashClean runs a clean that kills itself at a step of the journal.
func crashClean(t *testing.T, state, at string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), cleanerVariable+"="+state, journal.CrashVariable+"="+at)
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("clean was to kill itself at %s, but: %v", at, err)
	}
}

func TestABusyMountIsToldWithItsUsersAndUndoneOnceTheyAreGone(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	parent := t.TempDir()
	state := filepath.Join(parent, "state")
	crash(t, state, "0:end")
	dir := filepath.Join(journal.WorkDir(state, "child"), "mnt")
	user := exec.Command("sleep", "1000") // not of the run: it has no mark
	user.Dir = dir
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = user.Process.Kill(); _ = user.Wait() }()

	impatient, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	reports, err := journal.Clean(impatient, state)
	if err == nil || len(reports) != 1 {
		t.Fatalf("got %+v, %v", reports, err)
	}
	failed := strings.Join(reports[0].Failed, "\n")
	for _, want := range []string{"unmount " + dir, fmt.Sprintf("it is used by sleep (pid %d)", user.Process.Pid),
		"end that, or have it leave the place"} {
		if !strings.Contains(failed, want) {
			t.Errorf("%q is not in:\n%s", want, failed)
		}
	}
	if err := user.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("the user of the mount was ended: %v", err)
	}
	if mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir)); err != nil || len(mounts) != 1 {
		t.Errorf("mounts: %v, %v", mounts, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600); err != nil {
		t.Errorf("what is still mounted does not work: %v", err)
	}

	if err := errors.Join(user.Process.Kill(), ignoreExit(user.Wait())); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Clean(t.Context(), state); err != nil {
		t.Errorf("once it is gone: %v", err)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
