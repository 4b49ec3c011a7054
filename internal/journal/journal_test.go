package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/hosttest"
)

// childVariable makes this test binary play a run that works below the state
// directory it names, instead of running tests.
const childVariable = "PLIMSOLL_JOURNAL_CHILD"

// cleanerVariable makes it clean a state directory.
const cleanerVariable = "PLIMSOLL_JOURNAL_CLEANER"

func TestMain(m *testing.M) {
	if state := os.Getenv(cleanerVariable); state != "" {
		if _, err := Clean(context.Background(), state); err != nil {
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

// child makes one change of each kind that needs no Docker engine: a
// directory, a file, a loop device on it, its I/O scheduler, a file system, a
// mount, a cgroup and a process that is still running at the end.
func child(state string) error {
	ctx := context.Background()
	j, err := Create(state, "child")
	if err != nil {
		return err
	}
	work := WorkDir(state, "child")
	file := filepath.Join(work, "disk.img")
	dir := filepath.Join(work, "mnt")
	var device string
	run := func(argv ...string) func(string) error {
		return func(string) error { return exec.Command(argv[0], argv[1:]...).Run() }
	}
	steps := []func() error{
		func() error {
			_, err := j.Do(ctx, &Dir{work}, func(string) error { return os.Mkdir(work, 0o700) })
			return err
		},
		func() error {
			_, err := j.Do(ctx, &File{file}, func(string) error {
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
			_, err = j.Do(ctx, &Loop{Number: number, Backing: file, Created: !slices.Contains(present, "/sys/block/"+filepath.Base(device))}, run("losetup", device, file))
			return err
		},
		func() error {
			c := &Setting{Path: schedulerOf(device), Value: "mq-deadline"}
			_, err := j.Do(ctx, c, func(string) error { return c.Make() })
			return err
		},
		func() error {
			_, err := j.Do(ctx, &Mkfs{Device: device, Type: "ext4", Keep: true}, run("mkfs.ext4", "-q", device))
			return err
		},
		func() error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			_, err := j.Do(ctx, &Mount{Source: device, Target: dir, Type: "ext4"}, run("mount", "-n", device, dir))
			return err
		},
		func() error {
			c := &Cgroup{Path: "plimsoll-journal-test"}
			_, err := j.Do(ctx, c, func(string) error {
				for _, top := range cgroupTops(c.Path) {
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
			_, err := j.Do(ctx, &Process{argv}, func(mark string) error {
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Env = append(os.Environ(), MarkVariable+"="+mark)
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
	crashPoint(0, "end")
	return j.UndoAll(ctx, nil)
}

// crash runs a child that kills itself at a step of its journal.
func crash(t *testing.T, state, at string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+state, CrashVariable+"="+at)
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
			reports, err := Clean(t.Context(), state)
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
			if reports, err := Clean(t.Context(), state); err != nil || len(reports) != 0 {
				t.Errorf("cleaning again: %v, %v", reports, err)
			}
		})
	}
}

func TestCleanLeavesLiveRunsAlone(t *testing.T) {
	state := t.TempDir()
	live, err := Create(state, "live")
	if err != nil {
		t.Fatal(err)
	}
	mine := WorkDir(state, "live")
	if _, err := live.Do(t.Context(), &Dir{mine}, func(string) error { return os.Mkdir(mine, 0o700) }); err != nil {
		t.Fatal(err)
	}
	dead := WorkDir(state, "dead")
	abandon(t, state, "dead", dead)

	reports, err := Clean(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	want := []Report{{Run: "dead", Undone: []string{"make directory " + dead}}, {Run: "live", Live: true}}
	if !slices.EqualFunc(reports, want, func(a, b Report) bool {
		return a.Run == b.Run && a.Live == b.Live && slices.Equal(a.Undone, b.Undone)
	}) {
		t.Errorf("got %+v, want %+v", reports, want)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("the live run lost its directory: %v", err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead run's directory is still there: %v", err)
	}
	if _, err := Create(state, "live"); !errors.Is(err, ErrLive) {
		t.Errorf("a live journal was opened a second time: %v", err)
	}
	if err := errors.Join(live.UndoAll(t.Context(), nil), live.Close()); err != nil {
		t.Fatal(err)
	}
}

// abandon leaves a journal with one directory behind, as a crash would.
func abandon(t *testing.T, state, run, dir string) {
	t.Helper()
	j, err := Create(state, run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Do(t.Context(), &Dir{dir}, func(string) error { return os.Mkdir(dir, 0o700) }); err != nil {
		t.Fatal(err)
	}
	j.file.Close() // drops the lock
}

func TestDo(t *testing.T) {
	state := t.TempDir()
	j, err := Create(state, "run")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, "plimsoll-run-dir")

	t.Run("writes the intent before it makes the change", func(t *testing.T) {
		_, err := j.Do(t.Context(), &Dir{dir}, func(string) error {
			text, err := os.ReadFile(j.path)
			if err != nil {
				return err
			}
			if !strings.Contains(string(text), `"state":"intent"`) || !strings.Contains(string(text), dir) {
				t.Errorf("not in the journal yet: %s", text)
			}
			return os.Mkdir(dir, 0o700)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("refuses what exists, and never removes it", func(t *testing.T) {
		_, err := j.Do(t.Context(), &Dir{dir}, func(string) error { t.Error("made"); return nil })
		if !errors.Is(err, os.ErrExist) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	})
	t.Run("undoes a change that fails half way", func(t *testing.T) {
		half := filepath.Join(state, "plimsoll-run-half")
		_, err := j.Do(t.Context(), &Dir{half}, func(string) error {
			if err := os.Mkdir(half, 0o700); err != nil {
				return err
			}
			return errors.New("no")
		})
		if err == nil || err.Error() != "no" {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("half a change is left: %v", err)
		}
		if n := len(j.Pending()); n != 1 {
			t.Errorf("%d changes pending, want 1", n)
		}
	})
	if err := errors.Join(j.UndoAll(t.Context(), nil), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty state directory stays behind: %v", err)
	}
}

func TestATornLastLineIsNoHarm(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, "plimsoll-run-dir")
	abandon(t, state, "run", dir)
	path := filepath.Join(journalDir(state), "run.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":2,"state":"intent","kind":"di`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for range 2 { // the second look meets the torn line in the middle
		j, err := Create(state, "run")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(j.Pending()); n != 1 {
			t.Fatalf("%d changes pending, want 1", n)
		}
		other := filepath.Join(state, "plimsoll-run-other")
		e, err := j.Do(t.Context(), &Dir{other}, func(string) error { return os.Mkdir(other, 0o700) })
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Undo(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		j.file.Close()
	}
	if _, err := Clean(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

func TestUndoTouchesOnlyItsOwn(t *testing.T) {
	t.Run("a process without the mark", func(t *testing.T) {
		stranger := exec.Command("sleep", "1000")
		stranger.Env = append(os.Environ(), MarkVariable+"=run/11") // not run/1
		if err := stranger.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
		if err := (&Process{Argv: []string{"sleep", "1000"}}).undo(t.Context(), "run/1"); err != nil {
			t.Fatal(err)
		}
		if err := stranger.Process.Signal(unix.Signal(0)); err != nil {
			t.Errorf("the stranger is gone: %v", err)
		}
	})
	t.Run("a loop device on another file", func(t *testing.T) {
		hosttest.Exclusive(t)
		file := filepath.Join(t.TempDir(), "theirs.img")
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		device := hosttest.Loop(t, file)
		var number int
		if _, err := fmt.Sscanf(device, "/dev/loop%d", &number); err != nil {
			t.Fatal(err)
		}
		ours := &Loop{Number: number, Backing: filepath.Join(t.TempDir(), "ours.img")}
		if err := ours.undo(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if !(&Loop{Number: number, Backing: file}).attached() {
			t.Error("their loop device was detached")
		}
	})
	t.Run("a directory with somebody's mount in it", func(t *testing.T) {
		hosttest.Exclusive(t)
		dir := filepath.Join(t.TempDir(), "dir")
		mnt := filepath.Join(dir, "mnt")
		if err := os.MkdirAll(mnt, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", mnt, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Unmount(mnt, 0) }()
		precious := filepath.Join(mnt, "precious")
		if err := os.WriteFile(precious, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		err := (&Dir{dir}).undo(t.Context(), "")
		if err == nil || !strings.Contains(err.Error(), mnt) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(precious); err != nil {
			t.Error(err)
		}
	})
	t.Run("a file system with another UUID", func(t *testing.T) {
		disk := filepath.Join(t.TempDir(), "disk.img")
		if err := os.WriteFile(disk, make([]byte, 8<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		const theirs = "11111111-2222-3333-4444-555555555555"
		if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-U", theirs, disk).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		signature := func() bool { return exec.Command("blkid", "-p", disk).Run() == nil }
		if err := (&Mkfs{Device: disk, Type: "ext4", UUID: "99999999-2222-3333-4444-555555555555"}).undo(t.Context(), ""); err != nil || !signature() {
			t.Fatalf("their file system was wiped (%v)", err)
		}
		if err := (&Mkfs{Device: disk, Type: "ext4", UUID: theirs}).undo(t.Context(), ""); err != nil || signature() {
			t.Fatalf("our file system stays (%v)", err)
		}
	})
}

func TestAnUnknownChangeIsNotGuessedAt(t *testing.T) {
	state := t.TempDir()
	if err := os.MkdirAll(journalDir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"seq":1,"state":"made","kind":"teleport","change":{}}` + "\n"
	if err := os.WriteFile(filepath.Join(journalDir(state), "new.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reports, err := Clean(t.Context(), state)
	if err == nil || len(reports) != 1 || len(reports[0].Failed) != 1 || !strings.Contains(err.Error(), "teleport") {
		t.Errorf("got %+v, %v", reports, err)
	}
}
