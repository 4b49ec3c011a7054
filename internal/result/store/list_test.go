package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// stored makes a run of n trials below root, of which done are done.
func stored(t *testing.T, root, id string, started time.Time, n, done int, status result.RunStatus) {
	t.Helper()
	run := plannedRun(n)
	run.ID, run.Started = id, started
	s, err := Create(filepath.Join(root, id), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range s.Run().Trials[:done] {
		trial.Status = result.TrialDone
		if err := s.SaveTrial(trial); err != nil {
			t.Fatal(err)
		}
	}
	if status != result.RunRunning {
		if err := s.Finish(status); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	root := t.TempDir()
	began := time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	stored(t, root, "old", began, 4, 4, result.RunComplete)
	stored(t, root, "new", began.Add(48*time.Hour), 4, 1, result.RunInterrupted)
	stored(t, root, "crashed", began.Add(24*time.Hour), 2, 0, result.RunRunning)
	stored(t, root, "busy", began.Add(12*time.Hour), 2, 1, result.RunInterrupted)
	busy, err := Open(filepath.Join(root, "busy"))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	failed := busy.Run().Trials[1]
	failed.Status, failed.Problem = result.TrialFailed, &problem.Problem{What: "fio", Why: "killed"}
	if err := busy.SaveTrial(failed); err != nil {
		t.Fatal(err)
	}

	// What is no run is not listed; what was one is, with its reason.
	for name, file := range map[string]string{"another": "notes.txt", "damaged": ResultsFile, "halved": RunFile} {
		if err := errors.Join(os.Mkdir(filepath.Join(root, name), 0o755),
			os.WriteFile(filepath.Join(root, name, file), []byte("not this, surely"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	summaries, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range summaries {
		names = append(names, filepath.Base(s.Dir))
		if (s.Problem != nil) != (s.ID == "") {
			t.Errorf("%s: id %q, %v", s.Dir, s.ID, s.Problem)
		}
	}
	if want := []string{"new", "crashed", "busy", "old", "damaged", "halved"}; !slices.Equal(names, want) {
		t.Fatalf("%v, not %v", names, want)
	}
	for i, want := range []Summary{
		{Status: result.RunInterrupted, Trials: 4, Done: 1},
		{Status: result.RunRunning, Trials: 2},
		{Status: result.RunRunning, Trials: 2, Done: 1, Failed: 1, Written: true},
		{Status: result.RunComplete, Trials: 4, Done: 4},
	} {
		got := summaries[i]
		if got.Status != want.Status || got.Trials != want.Trials || got.Done != want.Done ||
			got.Failed != want.Failed || got.Written != want.Written ||
			got.Stacks != 2 || got.Workloads != 1 || got.Experiment != "quick" {
			t.Errorf("%s: %+v", names[i], got)
		}
	}
	mustFail(t, summaries[4].Problem, "damaged", "not a database")
	mustFail(t, summaries[5].Problem, "halved", "results.db is missing")
	if none, err := List(filepath.Join(root, "nothing")); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	if ids, err := IDs(root); err != nil || !slices.Equal(ids, []string{"new", "crashed", "busy", "old", "damaged"}) {
		t.Errorf("%v, %v", ids, err)
	}
}

// Looking whether a run is under way must not keep its writer from it.
func TestListingWhileOthersWrite(t *testing.T) {
	root := t.TempDir()
	stored(t, root, "run", time.Now(), 1, 0, result.RunInterrupted)
	dir := filepath.Join(root, "run")
	if err := os.WriteFile(filepath.Join(dir, lockFile), nil, 0o644); err != nil { // a crash left it
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				isWritten(dir)
			}
		}
	}()
	for range 30 {
		s, err := Open(dir)
		if err != nil {
			t.Error(err)
			break
		}
		if !isWritten(dir) {
			t.Error("a run that is being written is not seen as such")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-stopped
}

// Somebody else's run directory may hold anything in the place of a lock.
func TestALockIsNoWayToOtherFiles(t *testing.T) {
	root := t.TempDir()
	stored(t, root, "run", time.Now(), 1, 0, result.RunInterrupted)
	precious := filepath.Join(root, "precious")
	path := filepath.Join(root, "run", lockFile)
	for name, put := range map[string]func() error{
		"a link":       func() error { return os.Symlink(precious, path) },
		"another name": func() error { return os.Link(precious, path) },
		"a pipe":       func() error { return unix.Mkfifo(path, 0o644) },
		"a directory":  func() error { return os.Mkdir(path, 0o755) },
	} {
		if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(filepath.Join(root, "run")); err == nil {
			_ = s.Close()
			t.Errorf("%s is taken for the lock", name)
		} else {
			mustFail(t, err, lockFile)
		}
		if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if isWritten(filepath.Join(root, "run")) {
			t.Errorf("%s looks like a writer", name)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
