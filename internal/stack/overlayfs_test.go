package stack

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
)

func TestAVolatileOverlayLeavesWhatFsyncAskedFor(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct {
		view  string
		dirty bool // data stays in memory after fsync
	}{
		{"overlayfs", false},
		{"overlayfs(volatile)", true},
	} {
		t.Run(test.view, func(t *testing.T) {
			e := newEnv(t)
			_, made := places(t, e, "loop(size=512MiB) > ext4 > "+test.view, 2, PlaceConfig{})
			for _, p := range made {
				if len(p.Devices) == 0 || p.Devices[0].Name[:4] != "loop" {
					t.Fatalf("devices %v", p.Devices)
				}
				// Writing back on the kernel's own account may come between, but not each time.
				left := dirtyAfterSync(t, p)
				for limit := time.Now().Add(2 * time.Minute); test.dirty && left == 0 && time.Now().Before(limit); {
					left = dirtyAfterSync(t, p)
				}
				if test.dirty != (left > 0) {
					t.Errorf("place %d has %d dirty pages after fsync", p.config.Number, left)
				}
				if err := p.base.Flush(); err != nil {
					t.Fatal(err)
				}
				if left := dirtyPages(t, p); left > 0 {
					t.Errorf("place %d has %d dirty pages after Flush, which would write into the next trial", p.config.Number, left)
				}
				writeThere(t, e, p)
			}
		})
	}
}

// dirtyAfterSync writes a file through the overlay, with fsync, and returns its pages that are not on the device.
func dirtyAfterSync(t *testing.T, p *Place) uint64 {
	t.Helper()
	f, err := os.Create(filepath.Join(p.dir, "synced"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return dirtyPages(t, p)
}

// dirtyPages counts the pages of the file of dirtyAfterSync, in the writable layer, that are not on the device.
func dirtyPages(t *testing.T, p *Place) uint64 {
	t.Helper()
	f, err := os.Open(filepath.Join(p.dir, "../../upper/data/synced"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var whole unix.CachestatRange
	var got unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &whole, &got, 0); err != nil {
		t.Skip("this kernel does not count dirty pages of a file (cachestat, Linux 6.5):", err)
	}
	return got.Dirty + got.Writeback
}

func TestOverlaysThatTheKernelRefuses(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	// The writable layer of one overlay cannot stand on another.
	lower := up(t, e, "loop(size=512MiB) > ext4 > overlayfs")
	other := newEnv(t)
	l := parse(t, "dir:"+lower.dir+" > overlayfs(volatile)")
	if err := other.Check(t.Context(), l, 1<<20); !isProblem(err, problem.Unsupported, "no writable layer on overlay", "ext4") {
		t.Errorf("check: %v", err)
	}
	s, err := other.upAlone(t.Context(), "s", l)
	if err == nil {
		t.Fatal("it came up", s.base.Down(t.Context()))
	}
	if !isProblem(err, problem.Unsupported, "does not mount it", "Linux 5.10") {
		t.Errorf("mounting: %v", err)
	}
	err = overlayfs.up(t.Context(), &build{env: other, base: &Base{dir: "/srv/a,b"}}, l.Nodes[1])
	if !isProblem(err, problem.Unsupported, "comma or a colon", "--state-dir") {
		t.Errorf("a path with a comma: %v", err)
	}
}
