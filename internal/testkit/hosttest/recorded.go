package hosttest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Recorded unpacks the files of a recorded host, of an archive in a file, below a new
// directory. A file called links lists symbolic links; what is in bin can be executed.
func Recorded(t testing.TB, archive string) (root string) {
	t.Helper()
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	return RecordedIn(t, text)
}

// RecordedIn is Recorded for the text of an archive, for tests that run without their files.
func RecordedIn(t testing.TB, text []byte) (root string) {
	t.Helper()
	recorded := txtar.Parse(text)
	root = t.TempDir()
	for _, f := range recorded.Files {
		if f.Name == "links" {
			for line := range strings.Lines(string(f.Data)) {
				link, to, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				link = filepath.Join(root, link)
				if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		name, mode := filepath.Join(root, f.Name), os.FileMode(0o644)
		if filepath.Base(filepath.Dir(name)) == "bin" {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Data, mode)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
