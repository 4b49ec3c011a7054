package image

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const keptAt = "/opt/db/classes.jsa"

// A program of an image leaves what it likes: only a plain file gets into the root, as a whole, and nowhere else.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(from, root, outside string) error
		keeps bool
	}{
		"a file": {func(from, _, _ string) error {
			return os.WriteFile(filepath.Join(from, "classes.jsa"), []byte("classes"), 0o600)
		}, true},
		"nothing": {func(_, _, _ string) error { return nil }, false},
		"a link to a file of the host": {func(from, _, outside string) error {
			return os.Symlink(filepath.Join(outside, "secret"), filepath.Join(from, "classes.jsa"))
		}, false},
		"a directory": {func(from, _, _ string) error {
			return os.Mkdir(filepath.Join(from, "classes.jsa"), 0o700)
		}, false},
		"a FIFO": {func(from, _, _ string) error {
			return unix.Mkfifo(filepath.Join(from, "classes.jsa"), 0o600)
		}, false},
		"a file larger than any": {func(from, _, _ string) error {
			path := filepath.Join(from, "classes.jsa")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, maxKept+1)
		}, false},
		"a file, for a root whose directory is a link out of it": {func(from, root, outside string) error {
			if err := os.Remove(filepath.Join(root, "opt/db")); err != nil {
				return err
			}
			if err := os.Symlink(outside, filepath.Join(root, "opt/db")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(from, "classes.jsa"), []byte("classes"), 0o600)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root, from, outside := t.TempDir(), t.TempDir(), t.TempDir()
			err := os.MkdirAll(filepath.Join(root, "opt/db"), 0o755) //nolint:gosec // as in an image
			if err == nil {
				err = os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600)
			}
			if err == nil {
				err = c.leave(from, root, outside)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = Keep(root, keptAt, from)
			if c.keeps != (err == nil) || HasKept(root, keptAt) != c.keeps {
				t.Errorf("it says %v, and the root has it: %v", err, HasKept(root, keptAt))
			}
			left, err := os.ReadDir(outside)
			if err != nil || len(left) != 1 {
				t.Errorf("outside are %v (%v)", left, err)
			}
			left, err = os.ReadDir(filepath.Join(root, "opt/db"))
			if c.keeps && (err != nil || len(left) != 1) {
				t.Errorf("beside it are %v (%v)", left, err)
			}
		})
	}
}

func TestWithoutKept(t *testing.T) {
	argv := []string{"java", "-XX:SharedArchiveFile=" + keptAt, "-Xmx1g"}
	got := WithoutKept(argv, keptAt)
	if !slices.Equal(got, []string{"java", "-Xmx1g"}) || len(argv) != 3 {
		t.Errorf("left are %q of %q", got, argv)
	}
	if got := WithoutKept(argv, ""); !slices.Equal(got, argv) {
		t.Errorf("without a name, left are %q", got)
	}
}
