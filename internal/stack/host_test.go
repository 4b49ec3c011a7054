package stack

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

// TestAProgramThatCannotDieIsNotWaitedForForever: one that writes to a frozen
// file system waits in the kernel, where no signal reaches it.
func TestAProgramThatCannotDieIsNotWaitedForForever(t *testing.T) {
	hosttest.Exclusive(t)
	defer func(was time.Duration) { dieLimit = was }(dieLimit)
	dieLimit = 300 * time.Millisecond
	device := disk(t, 16)
	run(t, "mkfs.ext4", "-q", device)
	dir := t.TempDir()
	run(t, "mount", "-n", device, dir)
	t.Cleanup(func() {
		for start := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the program ends once it can
			err := unix.Unmount(dir, 0)
			if err == nil {
				return
			}
			if time.Since(start) > 3*time.Minute {
				t.Fatal(err)
			}
		}
	})
	run(t, "fsfreeze", "-f", dir)
	t.Cleanup(func() { run(t, "fsfreeze", "-u", dir) })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := command(ctx, "mark", "dd", "if=/dev/zero", "of="+filepath.Join(dir, "file"), "bs=4k", "count=1")
	if !errors.Is(err, errStuck) || !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "dd if=") {
		t.Errorf("got %v", err)
	}
}

func TestFlushingIsNotWaitedForForever(t *testing.T) {
	defer func(was time.Duration) { flushLimit = was }(flushLimit)
	flushLimit = 50 * time.Millisecond
	release := make(chan struct{})
	defer close(release)
	s := &Base{ready: []func() error{func() error { <-release; return nil }}}
	if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "no end after 50ms") {
		t.Errorf("got %v", err)
	}
	if err := s.Flush(); err != nil {
		t.Errorf("nothing to flush: %v", err)
	}
}
