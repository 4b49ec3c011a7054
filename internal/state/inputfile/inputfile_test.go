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
	pathOf := func(name string) string { return filepath.Join(dir, name) }
	listener, err := net.Listen("unix", pathOf("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := errors.Join(unix.Mkfifo(pathOf("fifo"), 0o600), os.Symlink("/dev/zero", pathOf("zero")),
		os.Symlink("fifo", pathOf("pipe")),
		os.Symlink("loop", pathOf("loop"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/dev/zero": "a character device", "/dev/null": "a character device", pathOf("zero"): "a character device",
		pathOf("fifo"): "a named pipe (FIFO)", pathOf("pipe"): "a named pipe (FIFO)", pathOf("socket"): "a socket",
		dir:            "a directory",
		pathOf("loop"): "too many levels", pathOf("missing"): "there is no file " + pathOf("missing"),
	} {
		_, err := Read(name, MaxText) // a test that hangs here waits for a writer
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("Read(%s): %v, wants %q", name, err, want)
		}
	}
	if _, err := Read(pathOf("missing"), MaxText); !errors.Is(err, os.ErrNotExist) {
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

// TestNearest: of names, stems are compared: an extension that two share says nothing.
func TestNearest(t *testing.T) {
	names := []string{"compose.yaml", "model.json", "density.yaml", "mine.fio", ".hidden", "model", "now.yaml"}
	for name, want := range map[string]string{
		"nothere.yaml": "", "nothere.json": "", "x.yaml": "", "densty.yaml": "density.yaml", "density.yml": "density.yaml",
		"mine.yaml": "mine.fio", "Model.json": "model.json", "modle": "model", "models": "model",
		".hiden": "", "a.b": "", "none.json": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("%s is taken for %q, not %q", name, got, want)
		}
	}
}
