package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// rename changes the id of the run in dir, as another program could.
func rename(t testing.TB, dir, id string) {
	t.Helper()
	db, err := openDB(dir, readWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE run SET record = json_set(record, '$.id', ?)", id); err != nil {
		t.Fatal(err)
	}
}

// A run's id becomes part of the paths of its journal and its work directory.
func TestAnIDThatLeadsElsewhereIsRefused(t *testing.T) {
	for _, id := range []string{"x/../../esc", "../esc", "..", "", "/etc/x", "a\x1b[2J", "-x", strings.Repeat("x", 201)} {
		run := plannedRun(1)
		run.ID = id
		if s, err := Create(filepath.Join(t.TempDir(), "run"), run); err == nil {
			_ = s.Close()
			t.Errorf("%q: a run of that name was made", id)
		}
		dir := filepath.Join(t.TempDir(), "run")
		if err := create(t, dir, plannedRun(1)).Close(); err != nil {
			t.Fatal(err)
		}
		rename(t, dir, id)
		want := fmt.Sprintf("%q cannot be the id of a run", id)
		if s, err := Open(dir); err == nil {
			_ = s.Close()
			t.Errorf("%q: the run is opened", id)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: read: %v", id, err)
		}
	}
}

// useRun does with a run directory what a run that goes on does: it stores a
// header, a trial with artifacts, and the end.
func useRun(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	run := s.Run()
	for _, t := range run.Trials {
		if t.Status != result.TrialPlanned {
			continue
		}
		if err := s.KeepFiles(ArtifactsOf(t), map[string][]byte{"output": []byte("x")}); err != nil {
			return err
		}
		t.Status, t.Problem = result.TrialFailed, &problem.Problem{What: "it", Why: "failed"}
		if err := s.SaveTrial(t); err != nil {
			return err
		}
	}
	return s.Finish(result.RunComplete)
}

// TestWhatIsWrittenIntoARunDirectoryStaysThere has somebody else make the
// directory of a run that root goes on with.
func TestWhatIsWrittenIntoARunDirectoryStaysThere(t *testing.T) {
	for _, test := range []struct {
		name, says string // says is "" where the attack does no harm
		attack     func(dir, elsewhere string) error
	}{
		{"run.json is a link", "", func(dir, elsewhere string) error {
			_ = os.Remove(filepath.Join(dir, RunFile))
			return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, RunFile))
		}},
		{"results.db is a link", "results.db is a link", func(dir, elsewhere string) error {
			moved := filepath.Join(elsewhere, "moved.db")
			if err := os.Rename(filepath.Join(dir, ResultsFile), moved); err != nil {
				return err
			}
			return os.Symlink(moved, filepath.Join(dir, ResultsFile))
		}},
		{"results.db has another name", "results.db was not made by plimsoll", func(dir, elsewhere string) error {
			return os.Link(filepath.Join(dir, ResultsFile), filepath.Join(elsewhere, "other.db"))
		}},
		{"results.db is a FIFO", "results.db is a named pipe", func(dir, _ string) error {
			_ = os.Remove(filepath.Join(dir, ResultsFile))
			return unix.Mkfifo(filepath.Join(dir, ResultsFile), 0o600)
		}},
		{"the database's journal is a link", "results.db-journal is a link", func(dir, elsewhere string) error {
			return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, ResultsFile+"-journal"))
		}},
		{"the directory of artifacts is a link", "artifacts is a link", func(dir, elsewhere string) error {
			return os.Symlink(elsewhere, filepath.Join(dir, ArtifactsDir))
		}},
		{"a trial's artifacts are a link", "", func(dir, elsewhere string) error {
			run, err := Read(dir)
			if err != nil {
				return err
			}
			if err := os.Mkdir(filepath.Join(dir, ArtifactsDir), 0o755); err != nil {
				return err
			}
			return os.Symlink(elsewhere, filepath.Join(dir, ArtifactsDir, ArtifactsOf(run.Trials[0])))
		}},
		{"the lock is a link", "is a link", func(dir, elsewhere string) error {
			return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, lockFile))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, elsewhere := filepath.Join(t.TempDir(), "run"), t.TempDir()
			if err := os.WriteFile(filepath.Join(elsewhere, "precious"), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := create(t, dir, plannedRun(2)).Close(); err != nil {
				t.Fatal(err)
			}
			if err := test.attack(dir, elsewhere); err != nil {
				t.Fatal(err)
			}
			before := hosttest.Below(t, elsewhere)
			err := useRun(dir)
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if after := hosttest.Below(t, elsewhere); after != before {
				t.Errorf("it wrote elsewhere:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// FuzzRunDirectory goes on with a run in a directory that somebody else made,
// with links, FIFOs and directories in the place of its files, and an id and a
// stack's name of theirs. Nothing outside may change.
func FuzzRunDirectory(f *testing.F) {
	f.Add("x/../../esc", "xfs", []byte{0, 0, 0, 0, 0, 0})
	f.Add("run-1", "../../esc", []byte{1, 2, 3, 4, 5, 6})
	f.Add("run-1", "..", []byte{6, 5, 4, 3, 2, 1})
	for i := range byte(36) {
		f.Add("run", "raw", []byte{i % 6, i / 6, 0, i % 6, i / 6, i % 6})
	}
	whole := filepath.Join(f.TempDir(), "whole")
	s, err := Create(whole, plannedRun(2))
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	database, err := os.ReadFile(filepath.Join(whole, ResultsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, stack string, kinds []byte) {
		parent := t.TempDir()
		dir, elsewhere := filepath.Join(parent, "in", "run"), filepath.Join(parent, "elsewhere")
		for _, d := range []string{dir, elsewhere} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string][]byte{"precious": []byte("mine"), "other.db": database} {
			if err := os.WriteFile(filepath.Join(elsewhere, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, ResultsFile), database, 0o600); err != nil {
			t.Fatal(err)
		}
		func() {
			db, err := openDB(dir, readWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			_, err = db.Exec("UPDATE run SET record = json_set(record, '$.id', ?)", id)
			if err == nil {
				_, err = db.Exec("UPDATE trial SET stack = ?, record = json_set(record, '$.stack', ?) WHERE seq = 1", stack, stack)
			}
			if err != nil {
				t.Skip() // a text that SQLite does not take
			}
		}()
		places := []string{ResultsFile, ResultsFile + "-journal", RunFile, lockFile, ArtifactsDir,
			ArtifactsDir + "/001-raw-read-1"}
		for i, name := range places {
			if i < len(kinds) {
				put(t, filepath.Join(dir, name), elsewhere, kinds[i]%7)
			}
		}
		before := hosttest.Below(t, elsewhere)
		_ = useRun(dir)
		if after := hosttest.Below(t, elsewhere); after != before {
			t.Errorf("it wrote elsewhere:\n%s\nbefore:\n%s", after, before)
		}
		for _, d := range []string{parent, filepath.Join(parent, "in")} {
			entries, err := os.ReadDir(d)
			if err != nil || len(entries) != map[bool]int{true: 2, false: 1}[d == parent] {
				t.Errorf("%s: %v, %v", d, entries, err)
			}
		}
	})
}

// put puts something in the place of a file; nothing for the kind 0.
func put(t *testing.T, path, elsewhere string, kind byte) {
	t.Helper()
	if kind == 0 {
		return
	}
	_ = os.Mkdir(filepath.Dir(path), 0o755)
	if info, err := os.Lstat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return // what stands there already is no directory
	}
	_ = os.RemoveAll(path)
	var err error
	switch kind {
	case 1:
		err = os.Symlink(filepath.Join(elsewhere, "precious"), path)
	case 2:
		err = os.Symlink(elsewhere, path)
	case 3:
		err = os.Symlink("../../elsewhere/other.db", path)
	case 4:
		err = unix.Mkfifo(path, 0o600)
	case 5:
		err = os.Mkdir(path, 0o755)
	case 6:
		err = os.Link(filepath.Join(elsewhere, "other.db"), path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A histogram that somebody damaged is an error that names it, and one of a size that none can have is not even read.
func TestADamagedHistogramIsRefused(t *testing.T) {
	for says, bins := range map[string]string{
		"cut off or damaged":     "x'80'",
		"longer than any can be": "zeroblob(2000000)",
	} {
		for _, table := range []string{
			"histogram (seq, instance, operation, stage, bins)", "trace_histogram (seq, operation, part, bins)",
		} {
			dir := filepath.Join(t.TempDir(), "run")
			run := plannedRun(1)
			run.Trials[0] = done(run.Trials[0], 3)
			if err := create(t, dir, run).Close(); err != nil {
				t.Fatal(err)
			}
			db, err := openDB(dir, readWrite)
			if err != nil {
				t.Fatal(err)
			}
			values := "1, 0, 'write', 'total', "
			if strings.HasPrefix(table, "trace") {
				values = "1, 'read', 'device', "
			}
			_, err = db.Exec("INSERT INTO " + table + " VALUES (" + values + bins + ")")
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			_, err = Read(dir)
			mustFail(t, err, "reading the run", "trial 1", says)
		}
	}
}
