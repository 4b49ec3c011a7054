package socket

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sockets are reached at paths that no address takes, and what a dead server left is
// replaced.
func TestLongPaths(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("long", 20), strings.Repeat("longer", 10), "s")
	for _, path := range []string{path, filepath.Join(dir, "short")} {
		listenTwice(t, path)
	}
}

func listenTwice(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dialPath(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another server answers") {
		t.Errorf("listening where somebody does: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays behind: %v", err)
	}
	dead(t, path)
	l, err = Listen(path)
	if err != nil {
		t.Fatalf("where a dead server's socket lies: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// dead leaves a socket at path that nobody answers on.
func dead(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "d"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Rename(l.Addr().String(), path); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
