package inputfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttackSecretOfAnother: whoever writes an experiment names any path; what root may read, is no secret of that
// experiment's user, or acts when it is opened, is refused before anything waits, and nothing of it is repeated.
func TestAttackSecretOfAnother(t *testing.T) {
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk/x\n-----END OPENSSH PRIVATE KEY-----"
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	good := write("own", " s3cret\n", 0o600)
	fifo, link, far := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "far")
	err := errors.Join(unix.Mkfifo(fifo, 0o600), os.Symlink("own", link), os.Symlink("/dev/watchdog", far))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLIMSOLL_TEST_DSN", "s3cret")
	t.Setenv("PLIMSOLL_TEST_EMPTY", "")
	t.Setenv("PLIMSOLL_TEST_KEY", key)
	tests := map[string]string{
		"env:PLIMSOLL_TEST_DSN": "", good: "", write("readonly", "s3cret", 0o400): "",
		write("shared", "s3cret", 0o640): "by others", write("public", "s3cret", 0o604): "by others",
		write("key", key, 0o600): "more than one line", write("bytes", "s3\x00cret", 0o600): "cannot be printed",
		write("escape", "s3\x1b[2Jcret", 0o600): "cannot be printed", write("empty", "\n", 0o600): "is empty",
		write("large", strings.Repeat("s3cret", maxSecret), 0o600): "more than 64KiB",
		"env:PLIMSOLL_TEST_EMPTY":                                  "is empty, or not set",
		"env:PLIMSOLL_TEST_KEY":                                    "more than one line",
		"file:" + filepath.Join(dir, "none"):                       "no such file", "file:" + dir: "a directory",
		"file:" + fifo: "a named pipe", "file:/dev/zero": "a character device",
		"file:" + link: "a link", "file:" + far: "a link", "s3cret": "neither env:NAME nor file:PATH",
	}
	if os.Geteuid() == 0 {
		others := write("others", "s3cret", 0o600)
		if err := os.Chown(strings.TrimPrefix(others, "file:"), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		tests[others] = "belongs to user 65534"
	}
	for source, want := range tests {
		text, err := Secret(source)
		switch {
		case want == "" && (err != nil || text != "s3cret"):
			t.Errorf("%s: %q, %v", source, text, err)
		case want != "" && (err == nil || text != "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v; want %q", source, text, err, want)
		case err != nil && source != "s3cret" &&
			(strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "b3B")):
			t.Errorf("%s: the error repeats it: %v", source, err)
		}
	}
}

// A file of the user behind sudo is the user's own.
func TestSecretOfTheUserBehindSudo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	path := filepath.Join(t.TempDir(), "dsn")
	if err := errors.Join(os.WriteFile(path, []byte("s3cret"), 0o600), os.Chown(path, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SUDO_UID", "65534")
	t.Setenv("SUDO_GID", "65534")
	if text, err := ReadSecret(path); err != nil || text != "s3cret" {
		t.Errorf("%q, %v", text, err)
	}
}
