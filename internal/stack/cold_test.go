package stack

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
)

// backingOf opens the file under a stack's loop device.
func backingOf(t *testing.T, s *Place) *os.File {
	t.Helper()
	name, err := os.ReadFile("/sys/block/" + filepath.Base(s.base.block) + "/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(strings.TrimSpace(string(name)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAColdLoopDeviceHasNothingInThePageCache(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct {
		line string
		cold bool
	}{
		{"loop(size=64MiB, direct-io=off, cold)", true},
		{"loop(size=64MiB, direct-io=off, cold) > ext4", true},
		{"loop(size=64MiB, direct-io=off)", false},
	} {
		t.Run(test.line, func(t *testing.T) {
			e := newEnv(t)
			s := up(t, e, test.line)
			file := backingOf(t, s)
			for range 3 { // warm, as every trial leaves it
				writeThere(t, e, s)
				if err := os.RemoveAll(filepath.Join(e.Scratch, "1")); err != nil {
					t.Fatal(err)
				}
				if n, err := cachedBytes(file); err != nil || n < 4<<20 {
					t.Fatalf("%d bytes are cached after 4 MiB were written: %v", n, err)
				}
				if err := errors.Join(s.base.Flush(), s.base.Ready()); err != nil {
					t.Fatal(err)
				}
				n, err := cachedBytes(file)
				if err != nil || (n == 0) != test.cold {
					t.Errorf("%d bytes are cached before a trial: %v", n, err)
				}
			}
		})
	}
}

// TestWhatStaysCachedIsAnError: pages that a program has mapped are kept.
func TestWhatStaysCachedIsAnError(t *testing.T) {
	defer func(was time.Duration) { coldLimit = was }(coldLimit)
	coldLimit = 100 * time.Millisecond
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, 1<<20, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(mapped); i += 4096 {
		if mapped[i] != 'x' {
			t.Fatal("the file lost what was written")
		}
	}
	err = dropCache(f.Name())
	if err == nil || !strings.Contains(err.Error(), "still holds 1 MiB of "+f.Name()) {
		t.Errorf("got %v", err)
	}
	if err := unix.Munmap(mapped); err != nil {
		t.Fatal(err)
	}
	if err := dropCache(f.Name()); err != nil {
		t.Errorf("once it is let go: %v", err)
	}
}

func TestAFileInMemoryIsNeverCold(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	s := up(t, e, "tmpfs(size=96MiB)")
	err := e.Check(t.Context(), parse(t, "loop(size=64MiB, cold, dir="+s.base.dir+")"), 1<<20)
	if !isProblem(err, problem.Unsupported, "in memory", "") {
		t.Errorf("got %v", err)
	}
}
