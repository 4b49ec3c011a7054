package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttackFilesBesideACompose: of the files that a stranger's Compose file names, those below its own directory are
// read alone, and none by a link or in a hidden directory, where keys are.
func TestAttackFilesBesideACompose(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("A=1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"db.env", ".env", ".env.production", "conf/db.env", ".ssh/id", ".netrc", "conf/.git/x",
		"plain/a", "plain/b/c", "links/a"} {
		write(filepath.Join(dir, path))
	}
	write(filepath.Join(outside, "secret"))
	for link, target := range map[string]string{"link": filepath.Join(outside, "secret"), "directory": outside,
		"inside": "db.env"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../db.env", filepath.Join(dir, "links", "b")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, taken := range map[string]bool{
		"db.env": true, "./db.env": true, ".env": true, ".env.production": true, "conf/db.env": true, "conf/../db.env": true,
		filepath.Join(outside, "secret"): false, filepath.Join(dir, "db.env"): false, "../secret": false,
		"conf/../../" + filepath.Base(outside) + "/secret": false, "link": false, "inside": false, "directory/secret": false,
		".ssh/id": false, ".netrc": false, "conf/.git/x": false, "fifo": false, "conf": false, ".": false, "": false,
	} {
		if _, err := (beside{root}).Read(name); taken != (err == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for path, want := range map[string]string{"conf": "", "plain": "[a b/c]", "directory": "", "..": "", ".ssh": "",
		"links": "", ".": "", "db.env": ""} {
		names, err := (beside{root}).List(path)
		if got := fmt.Sprint(names); want != "" && got != want || (want == "") != (err != nil) {
			t.Errorf("list of %q: %s, %v", path, got, err)
		}
	}
}
