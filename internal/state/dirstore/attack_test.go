package dirstore

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Who holds what is on a shelf does not keep an interrupted process; and others, who cannot open it, cannot hold it.
func TestAttackShelfIsHeld(t *testing.T) {
	state, err := os.MkdirTemp("", "plimsoll-attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	// As an earlier version left it.
	s := Shelf{filepath.Join(state, "images")}
	if err := errors.Join(os.Mkdir(s.Dir, 0o755), os.Chmod(state, 0o755)); err != nil {
		t.Fatal(err)
	}
	put(t, s, "one", "")
	if err := os.Chmod(s.Path("one"), 0o755); err != nil { // as images are
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		theirs := exec.Command("flock", "--exclusive", "--nonblock", s.Path("one"), "true")
		theirs.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		theirs.Dir = "/"
		if said, err := theirs.CombinedOutput(); err == nil {
			t.Errorf("another user locks it: %s", said)
		}
	}
	held, err := lockExclusive(s.Path("one"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Hold(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
}
