package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

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

// TestAttackMountsOfOthers: a journal that a crash left unmounts what its run mounted, and nothing that others mounted
// at the same place since, after a reboot or before one.
func TestAttackMountsOfOthers(t *testing.T) {
	hosttest.Exclusive(t)
	home := tracefs
	tracefs = t.TempDir()
	t.Cleanup(func() { tracefs = home })
	mount := func(source string) {
		t.Helper()
		if err := unix.Mount(source, tracefs, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	mounted := func() (sources []string) {
		infos, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) { return i.Mountpoint != tracefs, false })
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range infos {
			sources = append(sources, i.Source)
		}
		slices.Sort(sources)
		return sources
	}
	for name, test := range map[string]struct {
		meanwhile func(*Mount)
		stays     string
	}{
		"nothing since": {func(*Mount) {}, ""},
		"another after a reboot": {func(c *Mount) {
			c.Boot = "11111111-2222-3333-4444-555555555555"
		}, "ours"},
		"another instead of it": {func(*Mount) {
			if err := unix.Unmount(tracefs, 0); err != nil {
				t.Fatal(err)
			}
			mount("another")
		}, "another"},
		"another over it":                  {func(*Mount) { mount("another") }, "another ours"},
		"a crash before it was noted":      {func(c *Mount) { c.ID = 0 }, "ours"},
		"an entry of an older version":     {func(c *Mount) { c.Boot, c.ID = "", 0 }, "ours"},
		"an entry with an ID of its own":   {func(c *Mount) { c.ID = 1 }, "ours"},
		"it was unmounted, and none since": {func(*Mount) { _ = unix.Unmount(tracefs, 0) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() {
				for unix.Unmount(tracefs, 0) == nil { // what stays is this test's
				}
			})
			j, err := Create(t.TempDir(), "run")
			if err != nil {
				t.Fatal(err)
			}
			c := &Mount{Source: "ours", Target: tracefs, Type: "tracefs"}
			entry, err := j.Do(t.Context(), c, func(string) error { mount("ours"); return c.Note() })
			if err != nil {
				t.Fatal(err)
			}
			var st unix.Statx_t
			err = unix.Statx(unix.AT_FDCWD, tracefs, 0, unix.STATX_MNT_ID_UNIQUE, &st)
			if err != nil || st.Mask&unix.STATX_MNT_ID_UNIQUE == 0 && name == "another instead of it" {
				t.Skipf("this kernel gives IDs of mounts again (%v)", err)
			}
			test.meanwhile(c)
			err = errors.Join(j.Undo(t.Context(), entry), j.Close())
			if left := strings.Join(mounted(), " "); err != nil || left != test.stays {
				t.Errorf("there stay %q, and not %q (%v)", left, test.stays, err)
			}
		})
	}
}

// TestAttackMemoryLimit: of paths in a journal, only limits of memory of cgroups are set back, however the path looks.
func TestAttackMemoryLimit(t *testing.T) {
	theirs := filepath.Join(t.TempDir(), "memory.high")
	if err := os.WriteFile(theirs, []byte("1000"), 0o600); err != nil {
		t.Fatal(err)
	}
	boot, err := BootID()
	if err != nil {
		t.Fatal(err)
	}
	up := "/sys/fs/cgroup/x/" + strings.Repeat("../", 4)
	for path, possible := range map[string]bool{
		"/sys/fs/cgroup/plimsoll-none/memory.high":                  true,
		"/sys/fs/cgroup/memory/plimsoll-none/memory.limit_in_bytes": true,
		up + theirs[1:]: false,
		"/sys/fs/cgroup/../fs/cgroup/x/memory.high":   false,
		"/sys/fs/cgroup/x//memory.high":               false,
		"/sys/fs/cgroup/./x/memory.high":              false,
		"/sys/fs/cgroup/x\n/memory.high":              false,
		"/sys/fs/cgroup/x/memory.high\n":              false,
		"/sys/fs/cgroup/x/memory.max":                 false,
		"/sys/fs/cgroup/x/memory.limit_in_bytes.bak":  false,
		"/sys/fs/cgroup/x/cgroup.procs":               false,
		"/sys/fs/cgroup/x/xmemory.high":               false,
		"/sys/fs/cgroups/x/memory.high":               false,
		"sys/fs/cgroup/x/memory.high":                 false,
		"/tmp/sys/fs/cgroup/x/memory.high":            false,
		"/proc/self/root/sys/fs/cgroup/x/memory.high": false,
		"":     false,
		theirs: false,
	} {
		c := &Setting{Path: path, Value: "1000", Was: "2000", Boot: boot}
		if err := c.Check(NewScope(t.TempDir(), "run")); possible != (err == nil) || err != nil && !errors.Is(err,
			ErrForeign) {
			t.Errorf("%q: %v", path, err)
		}
	}
	state := t.TempDir()
	written(t, state, &Setting{Path: up + theirs[1:], Value: "1000", Was: "2000", Boot: boot},
		&Setting{Path: theirs, Value: "1000", Was: "2000", Boot: boot})
	if _, err := Clean(t.Context(), state); !errors.Is(err, ErrForeign) {
		t.Errorf("clean: %v", err)
	}
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "1000" {
		t.Errorf("the file of somebody else has %q (%v)", text, err)
	}
}

// TestAttackMemoryLimitElsewhere: another file system below /sys/fs/cgroup is no cgroup, and a journal that another
// user has written restores no limit.
func TestAttackMemoryLimitElsewhere(t *testing.T) {
	for dir, cgroups := range map[string]bool{
		t.TempDir(): false, "/proc": false, "/sys/kernel": false, "/dev/shm": false, "/sys/fs/cgroup/plimsoll-none": true,
		"/proc/self/status": false, "/sys/fs/cgroup/" + strings.Repeat("x", 300): false,
	} {
		if onCgroups(dir) != cgroups {
			t.Errorf("%s is on cgroups: %v", dir, !cgroups)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	state := t.TempDir()
	path := written(t, state, &Setting{Path: "/sys/fs/cgroup/plimsoll-none/memory.high", Value: "1", Was: "2", Boot: "x"})
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := Clean(t.Context(), state); !errors.Is(err, errNotOwn) {
		t.Errorf("clean: %v", err)
	}
}
