package sudouser

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
)

// hers makes a directory of the user behind sudo that other users can reach.
func hers(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "hers")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chown(dir, uid, gid))
	return dir
}

// The user behind sudo puts links in the way of each name that is written, also in the place of the directory: root's
// files stay as they are, and nothing is made beside them.
func TestAttackLinksOfTheCaller(t *testing.T) {
	underSudo(t)
	precious := filepath.Join(tempDir(t), "precious")
	must(t, os.Mkdir(precious, 0o755))
	write(t, filepath.Join(precious, "file"), "secret")
	must(t, os.Chmod(filepath.Join(precious, "file"), 0o600))
	fill := func(w io.Writer) error { _, err := io.WriteString(w, "text of hers"); return err }
	for name, make := range map[string]func(path string) error{
		"Create": func(path string) error { _, err := Create(path); return err },
		"New":    func(path string) error { _, err := New(path, 0o644); return err },
		"Mkdir":  func(path string) error { return Mkdir(path, 0o755) },
		"MkdirAll": func(path string) error {
			_, err := MkdirAll(filepath.Join(path, "below"), 0o755)
			return err
		},
		"Replace":        func(path string) error { return Replace(path, fill) },
		"ReplacePrivate": func(path string) error { return ReplacePrivate(path, fill) },
	} {
		dir := hers(t)
		must(t, os.Symlink(precious, filepath.Join(dir, "directory")))
		must(t, os.Symlink(filepath.Join(precious, "file"), filepath.Join(dir, "link")))
		must(t, os.Symlink(filepath.Join(precious, "new"), filepath.Join(dir, "dangling")))
		must(t, os.Symlink("/proc/self/root"+precious, filepath.Join(dir, "magic")))
		for _, path := range []string{"directory/new", "directory/file", "magic/new"} {
			if err := make(filepath.Join(dir, path)); err == nil {
				t.Errorf("%s: %s was made where only root may", name, path)
			}
		}
		for _, path := range []string{"link", "dangling"} {
			_ = make(filepath.Join(dir, path)) // Replace takes the link's place, the others refuse
		}
		if text, err := os.ReadFile(filepath.Join(precious, "file")); err != nil || string(text) != "secret" {
			t.Errorf("%s: root's file is %q, %v", name, text, err)
		}
		if entries, _ := os.ReadDir(precious); len(entries) != 1 {
			t.Errorf("%s: root's directory has %v", name, entries)
		}
	}
}

// She exchanges the directory for a link to root's while files are made in it.
func TestAttackADirectoryIsExchanged(t *testing.T) {
	underSudo(t)
	parent := hers(t)
	precious := filepath.Join(tempDir(t), "precious")
	must(t, os.Mkdir(precious, 0o755))
	dir, link := filepath.Join(parent, "run"), filepath.Join(parent, "link")
	must(t, errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, uid, gid), os.Symlink(precious, link)))
	var both sync.WaitGroup
	end := make(chan struct{})
	both.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	})
	for range 60 {
		_ = Replace(filepath.Join(dir, "page"), func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err })
		if f, err := Create(filepath.Join(dir, "file")); err == nil {
			must(t, f.Close())
		}
		_ = Mkdir(filepath.Join(dir, "made"), 0o755)
	}
	close(end)
	both.Wait()
	if entries, err := os.ReadDir(precious); err != nil || len(entries) > 0 {
		t.Errorf("root's directory has %v, %v", entries, err)
	}
}

// Without sudo, root works in a user's directory as that user, and not at all where several may write.
func TestAttackRootInDirectoriesOfOthers(t *testing.T) {
	underSudo(t)
	t.Setenv("SUDO_UID", "")
	dir := hers(t)
	must(t, os.Symlink("/etc", filepath.Join(dir, "etc")))
	f, err := New(filepath.Join(dir, "new"), 0o644)
	must(t, err)
	must(t, f.Close())
	owned(t, filepath.Join(dir, "new"), uid)
	worker, err := Worker(dir)
	must(t, err)
	err = worker.Do(func() error { return os.WriteFile(filepath.Join(dir, "etc/plimsoll-attack"), nil, 0o600) })
	if !errors.Is(err, fs.ErrPermission) {
		_ = os.Remove("/etc/plimsoll-attack")
		t.Errorf("behind a link of hers: %v", err)
	}
	err = worker.Do(func() error { _, err := os.ReadFile("/etc/shadow"); return err })
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("reading what only root may: %v", err)
	}
	must(t, os.Chmod(dir, 0o777))
	if _, err := New(filepath.Join(dir, "other"), 0o644); !errors.Is(err, problem.Unsupported) {
		t.Errorf("where all may write: %v", err)
	}
	// What Do has changed on its thread, it has changed on no other.
	for range 20 {
		if f, err := os.CreateTemp("/root", "plimsoll-*"); err != nil {
			t.Errorf("root's rights are gone: %v", err)
		} else {
			must(t, errors.Join(f.Close(), os.Remove(f.Name())))
		}
	}
}
