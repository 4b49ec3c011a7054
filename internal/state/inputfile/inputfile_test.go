package inputfile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	listener, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := errors.Join(unix.Mkfifo(at("fifo"), 0o600), os.Symlink("/dev/zero", at("zero")),
		os.Symlink("fifo", at("pipe")),
		os.Symlink("loop", at("loop"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/dev/zero": "a character device", "/dev/null": "a character device", at("zero"): "a character device",
		at("fifo"): "a named pipe (FIFO)", at("pipe"): "a named pipe (FIFO)", at("socket"): "a socket", dir: "a directory",
		at("loop"): "too many levels", at("missing"): "there is no file " + at("missing"),
	} {
		_, err := Read(name, MaxText) // a test that hangs here waits for a writer
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("Read(%s): %v, wants %q", name, err, want)
		}
	}
	if _, err := Read(at("missing"), MaxText); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestReadStopsAtTheLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := name + "-link"
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	text, err := Read(link, 10)
	if err != nil || string(text) != "0123456789" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(name, 9); err == nil || !strings.Contains(err.Error(), "more than 9B") {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := os.Truncate(name, 1<<40); err != nil { // a sparse file of a tebibyte
		t.Fatal(err)
	}
	if _, err := Read(name, MaxText); err == nil || !strings.Contains(err.Error(), "more than 4MiB") {
		t.Errorf("a sparse file: %v", err)
	}
}

// Files of the kernel say that they are empty.
func TestReadTakesFilesWithoutASize(t *testing.T) {
	text, err := Read("/proc/self/status", MaxText)
	if err != nil || len(text) == 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
