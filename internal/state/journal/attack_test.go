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
