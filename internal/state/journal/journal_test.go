package journal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

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

// stuck is a change that cannot be undone.
type stuck struct{}

func init() { Register("stuck", func() Change { return new(stuck) }) }

func (*stuck) What() string                       { return "be stuck" }
func (*stuck) Prepare() error                     { return nil }
func (*stuck) Check(Scope) error                  { return nil }
func (*stuck) Undo(context.Context, string) error { return errors.New("it does not move") }

// What cannot be undone is told, and keeps nothing else from being undone.
func TestCleanGoesOnAfterAFailure(t *testing.T) {
	state := t.TempDir()
	j, err := Create(state, "run")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, "plimsoll-run-dir")
	_, err = j.Do(t.Context(), &Dir{dir}, func(string) error { return os.Mkdir(dir, 0o700) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Do(t.Context(), &stuck{}, func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	j.file.Close() // a crash
	reports, err := Clean(t.Context(), state)
	if err == nil || len(reports) != 1 || len(reports[0].Failed) != 1 || len(reports[0].Undone) != 1 {
		t.Errorf("got %+v, %v", reports, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was made before it stays: %v", err)
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
		if err := (&Process{Argv: []string{"sleep", "1000"}}).Undo(t.Context(), "run/1"); err != nil {
			t.Fatal(err)
		}
		if err := stranger.Process.Signal(unix.Signal(0)); err != nil {
			t.Errorf("the stranger is gone: %v", err)
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
		err := (&Dir{dir}).Undo(t.Context(), "")
		if err == nil || !strings.Contains(err.Error(), mnt) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(precious); err != nil {
			t.Error(err)
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
