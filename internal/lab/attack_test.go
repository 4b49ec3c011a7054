package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who plants links in a lab's directory has root remove and make nothing elsewhere.
func TestAttackLinksInALab(t *testing.T) {
	for name, target := range map[string]string{"its machines": "vms", "a machine": "vms/run-1", "the turn": turnFile} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		precious := filepath.Join(elsewhere, "run-1/precious")
		link := filepath.Join(dir, target)
		to := elsewhere
		if target == turnFile {
			to = filepath.Join(elsewhere, "made")
		}
		err := errors.Join(os.MkdirAll(precious, 0o700), os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(to, link))
		if target == turnFile { // something to sweep
			err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "vms/run-2"), 0o700))
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = Sweep(t.Context(), dir)
		if _, err := os.Stat(precious); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, made := range []string{"made", "lock", "run-1/lock"} {
			if _, err := os.Lstat(filepath.Join(elsewhere, made)); err == nil {
				t.Errorf("%s: it made %s", name, made)
			}
		}
	}
}

// A lab's directory of another user is not worked in: nothing of hers is removed or connected to, nor is what
// is typed sent there.
func TestAttackLabOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make directories of others")
	}
	dir := t.TempDir()
	precious := filepath.Join(dir, "vms", upName, Server, "precious")
	if err := errors.Join(os.MkdirAll(precious, 0o755), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"find":   func() error { _, err := FindImage(dir, DefaultRecipe()); return err },
		"remove": func() error { return RemoveImage(dir, DefaultRecipe()) },
		"sweep":  func() error { return Sweep(t.Context(), dir) },
		"up":     func() error { _, err := Up(t.Context(), dir, Server); return err },
		"down":   func() error { return Down(t.Context(), dir) },
		"make":   func() error { return makeDir(dir, "vms", 0o700) },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}
