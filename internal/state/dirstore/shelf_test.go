package dirstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// make puts something of one file on a shelf.
func put(t *testing.T, s Shelf, name, text string) bool {
	t.Helper()
	dir, done, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Names(); err != nil || slices.Contains(names, filepath.Base(dir)) {
		t.Fatalf("what is being made is on the shelf: %v, %v", names, err)
	}
	was, err := s.Put(dir, name)
	if err = errors.Join(err, done()); err != nil {
		t.Fatal(err)
	}
	return was
}

func TestWhatIsMadeIsThereWhenItIsWhole(t *testing.T) {
	s := Shelf{filepath.Join(t.TempDir(), "not", "there")}
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Fatalf("a shelf that is not there has %v, %v", names, err)
	}
	if !put(t, s, "one", "first") {
		t.Error("the first was not put there")
	}
	if put(t, s, "one", "second") {
		t.Error("another one took the place of the first")
	}
	text, err := os.ReadFile(filepath.Join(s.Path("one"), "file"))
	if err != nil || string(text) != "first" {
		t.Errorf("it says %q, %v", text, err)
	}
	if left, _ := filepath.Glob(s.Path(".*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestWhatIsHeldIsNotRemoved(t *testing.T) {
	s := Shelf{t.TempDir()}
	put(t, s, "one", "")
	first, err := s.Hold(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Hold(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	first()
	if err := s.Remove("one"); !errors.Is(err, ErrHeld) {
		t.Errorf("removing it is %v", err)
	}
	second()
	if err := s.Remove("one"); err != nil {
		t.Errorf("removing what nobody holds is %v", err)
	}
	if _, err := s.Hold(t.Context(), "one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("holding what is gone is %v", err)
	}
	if err := s.Remove("one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing what is gone is %v", err)
	}
	if left, _ := os.ReadDir(s.Dir); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// What a crash left is swept away, and what is being made is not.
func TestWhatIsUnfinishedIsSwept(t *testing.T) {
	s := Shelf{t.TempDir()}
	old, young := s.Path(unfinished+"old"), s.Path(unfinished+"young")
	for _, d := range []string{old, young} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ago := time.Now().Add(-2 * stale)
	if err := os.Chtimes(old, ago, ago); err != nil {
		t.Fatal(err)
	}
	slow, end, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(slow, ago, ago); err != nil {
		t.Fatal(err)
	}
	_, done, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := done(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(slow); err != nil {
		t.Errorf("what is being made for long is gone: %v", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(s.Path(unfinished + "*"))
	if len(left) != 1 || left[0] != young {
		t.Errorf("left are %v", left)
	}
}
