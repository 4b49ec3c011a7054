package journal

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/testkit/hosttest"
)

// Anybody can open /run and lock it: no run waits for that.
func TestAttackLockOfRun(t *testing.T) {
	hosttest.Exclusive(t)
	run, err := os.Open(filepath.Dir(RunDir))
	if err == nil {
		err = filelock.Try(run, filelock.Alone)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	done := false
	if err := LockRunDir(t.Context(), func() error { done = true; return nil }); err != nil || !done {
		t.Errorf("done: %v, %v", done, err)
	}
}
