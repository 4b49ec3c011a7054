package socket

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
)

// A hostile server that leaves a link in the place of its socket does not lead its client, which may be root, to
// a server of the host.
func TestAttackSocketLink(t *testing.T) {
	dir := t.TempDir()
	host, hostile := filepath.Join(dir, "host"), filepath.Join(dir, "hostile")
	l, err := net.Listen("unix", host)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "the host's")
			_ = conn.Close()
		}
	}()
	if got := heard(t, database.Address{Socket: host}); got != "the host's" {
		t.Fatalf("its own socket says %q", got)
	}
	for name, plant := range map[string]func() error{
		"a link": func() error { return os.Symlink(host, hostile) },
		"a file": func() error { return os.WriteFile(hostile, nil, 0o600) },
		"a FIFO": func() error { return unix.Mkfifo(hostile, 0o600) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		conn, err := Dial(t.Context(), database.Address{Socket: hostile})
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s is followed", name)
		}
		if err := os.Remove(hostile); err != nil {
			t.Fatal(err)
		}
	}
}
