package stack

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/state/datasets"
)

// Nothing of the files below a directory is left in the page cache, and their bytes stay.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	if err := checkCold(dir); err != nil {
		t.Skip(err)
	}
	nested := filepath.Join(dir, "data", "wal")
	paths := []string{filepath.Join(dir, "data", "1.sst"), filepath.Join(nested, "1.log")}
	err := errors.Join(os.MkdirAll(nested, 0o700), os.Symlink("/etc/passwd", filepath.Join(dir, "elsewhere")))
	for _, path := range paths {
		err = errors.Join(err, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if held, err := cachedBytes(f); err != nil || held == 0 {
			t.Fatalf("the page cache has %d bytes of %s: %v", held, path, err)
		}
		files = append(files, f)
	}
	if err := datasets.Forget(dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if held, err := cachedBytes(f); err != nil || held != 0 {
			t.Errorf("the page cache still has %d bytes of %s: %v", held, f.Name(), err)
		}
		if st, err := f.Stat(); err != nil || st.Size() != 1<<20 {
			t.Errorf("%s: %v, %v", f.Name(), st, err)
		}
	}
}
