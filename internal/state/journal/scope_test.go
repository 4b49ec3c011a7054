package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// written makes a journal of run "run" that holds this change, as a crash would
// leave it.
func written(t testing.TB, state string, changes ...Change) (path string) {
	t.Helper()
	if err := os.MkdirAll(journalDir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i, c := range changes {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		kind, err := kindOf(c)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(record{Seq: i + 1, State: "made", Kind: kind, Change: b})
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	path = filepath.Join(journalDir(state), "run.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// precious makes a directory with a file in it, which are nobody's to remove.
func precious(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func isThere(t testing.TB, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Errorf("clean removed what no run made: %v", err)
	}
}

// TestAJournalThatOthersMayHaveWrittenIsNotObeyed has other users put journals
// where root cleans.
func TestAJournalThatOthersMayHaveWrittenIsNotObeyed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	const other = 12345
	for _, test := range []struct {
		name, says string
		attack     func(t *testing.T, path string) error
	}{
		{"its file is another user's", "belongs to user 12345",
			func(_ *testing.T, path string) error { return os.Chown(path, other, other) }},
		{"its directory is another user's", "belongs to user 12345",
			func(_ *testing.T, path string) error { return os.Chown(filepath.Dir(path), other, other) }},
		{"others may write the file", "others may write it",
			func(_ *testing.T, path string) error { return os.Chmod(path, 0o666) }},
		{"a group may write the file", "others may write it",
			func(_ *testing.T, path string) error { return os.Chmod(path, 0o660) }},
		{"others may write the directory", "others may write it",
			func(_ *testing.T, path string) error { return os.Chmod(filepath.Dir(path), 0o777) }},
		{"the file is a link", "it is a link", func(t *testing.T, path string) error {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			return errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path))
		}},
		{"the directory is a link", "or a link to one", func(t *testing.T, path string) error {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			return errors.Join(os.Rename(filepath.Dir(path), elsewhere), os.Symlink(elsewhere, filepath.Dir(path)))
		}},
		{"the file has another name elsewhere", "another name", func(t *testing.T, path string) error {
			return os.Link(path, filepath.Join(filepath.Dir(filepath.Dir(path)), "elsewhere"))
		}},
		{"the file is a FIFO", "it is no journal", func(_ *testing.T, path string) error {
			return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := t.TempDir()
			made := WorkDir(state, "run")
			if err := os.Mkdir(made, 0o700); err != nil {
				t.Fatal(err)
			}
			path := written(t, state, &Dir{made})
			if err := test.attack(t, path); err != nil {
				t.Fatal(err)
			}
			reports, err := Clean(t.Context(), state)
			if !errors.Is(err, errNotOwn) || !strings.Contains(err.Error(), test.says) || len(reports) != 1 ||
				len(reports[0].Failed) != 1 {
				t.Errorf("clean: %+v, %v", reports, err)
			}
			if _, err := os.Stat(made); err != nil {
				t.Errorf("it was obeyed: %v", err)
			}
			if _, err := Create(state, "run"); err == nil {
				t.Error("a run goes on with it")
			}
			if test.name != "the file is a link" {
				return
			}
			if _, err := Look(state, func(string) bool { return true }); err == nil {
				t.Error("it is looked at")
			}
		})
	}
}

// TestALinkInThePlaceOfADirectoryIsNotFollowed has a user, in whose directory a
// run measures, swap the run's directory there for a link.
func TestALinkInThePlaceOfADirectoryIsNotFollowed(t *testing.T) {
	theirs := precious(t)
	users := t.TempDir()
	scratch := filepath.Join(users, ".plimsoll-run-stack")
	if err := os.Symlink(filepath.Dir(theirs), scratch); err != nil {
		t.Fatal(err)
	}
	nested := filepath.Join(scratch, filepath.Base(theirs))
	for _, c := range []Change{&Dir{nested}, &File{filepath.Join(nested, "precious")}, &Dir{scratch}} {
		state := t.TempDir()
		written(t, state, c)
		_, err := Clean(t.Context(), state)
		if _, isLink := c.(*Dir); isLink && c.(*Dir).Path == scratch {
			if err != nil { // the link itself is in the run's place, and goes
				t.Error(err)
			}
		} else if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", c.What(), err)
		}
		isThere(t, theirs)
	}
}

func TestNamesOfRunsThatLeadElsewhereAreRefused(t *testing.T) {
	for _, run := range []string{"x/../../esc", "..", ".", "", "a/b", "-x", "a\nb", strings.Repeat("x", 300), "a b"} {
		parent := t.TempDir()
		state := filepath.Join(parent, "state")
		if j, err := Create(state, run); err == nil {
			_ = j.Close()
			t.Errorf("%q: a journal was made", run)
		}
		if _, err := Open(state, run); err == nil {
			t.Errorf("%q: a journal was opened", run)
		}
		if left, _ := filepath.Glob(parent + "/*"); len(left) > 0 {
			t.Errorf("%q: %v", run, left)
		}
	}
}
