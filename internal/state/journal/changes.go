package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Dir is a directory made by the run, removed with all that is in it.
type Dir struct{ Path string }

// What implements Change.
func (c *Dir) What() string { return "make directory " + c.Path }

// Prepare implements Change.
func (c *Dir) Prepare() error { return refuseExisting(&c.Path) }

// Check implements Change.
func (c *Dir) Check(s Scope) error { return s.Owns(c.Path) }

// Undo never crosses a mount: what is mounted there was not unmounted by an
// earlier undo, so it is not known to be ours.
func (c *Dir) Undo(_ context.Context, _ string) error {
	mounts, err := mountsBelow(c.Path)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is still mounted below it: unmount it and clean again", mounts[0])
	}
	return inParent(c.Path, os.RemoveAll)
}

// File is a file made by the run.
type File struct{ Path string }

// What implements Change.
func (c *File) What() string { return "make file " + c.Path }

// Prepare implements Change.
func (c *File) Prepare() error { return refuseExisting(&c.Path) }

// Check implements Change.
func (c *File) Check(s Scope) error { return s.Owns(c.Path) }

// Undo implements Change.
func (c *File) Undo(context.Context, string) error {
	return inParent(c.Path, func(path string) error {
		if err := unix.Unlink(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return &os.PathError{Op: "remove", Path: c.Path, Err: err}
		}
		return nil
	})
}

// refuseExisting returns an error if the path exists: undoing would remove what the run did not make.
func refuseExisting(path *string) error {
	if err := RealPath(path); err != nil {
		return err
	}
	if _, err := os.Lstat(*path); err == nil {
		return fmt.Errorf("%s: %w", *path, os.ErrExist)
	}
	return nil
}

// RealPath makes a path the one that the kernel will know it by when it is
// undone: absolute and without symbolic links, but for its last word.
func RealPath(path *string) error {
	found, err := realPath(*path)
	if err != nil {
		return err
	}
	*path = found
	return nil
}

// Mount is a mount on a directory that the run made, or of tracefs at its own place.
type Mount struct {
	Source  string
	Target  string
	Type    string
	Options string
	Boot    string `json:",omitempty"` // the kernel's boot id, filled in by Do: no mount outlives the kernel
	ID      uint64 `json:",omitempty"` // of the mount, filled in by Note
}

// What implements Change.
func (c *Mount) What() string { return fmt.Sprintf("mount %s on %s", c.Source, c.Target) }

// Prepare implements Change.
func (c *Mount) Prepare() error {
	var err error
	if c.Boot, err = BootID(); err != nil {
		return err
	}
	return RealPath(&c.Target)
}

// Note reads the kernel's ID of the mount that was just made, where its place is not the run's alone.
func (c *Mount) Note() (err error) {
	c.ID, err = mountID(c.Target)
	return err
}

// mountID returns the ID of the topmost mount at a path, and 0 where none is. Since Linux 6.8 IDs are never reused.
func mountID(path string) (uint64, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT,
		unix.STATX_MNT_ID|unix.STATX_MNT_ID_UNIQUE, &st)
	if err != nil {
		return 0, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	if st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return 0, nil
	}
	return st.Mnt_id, nil
}

// tracefs is where a recording mounts tracefs if it is not mounted; tests have a place of their own.
var tracefs = "/sys/kernel/tracing"

// Check implements Change.
func (c *Mount) Check(s Scope) error {
	if c.Target == tracefs && c.Type == "tracefs" {
		return nil
	}
	return s.Owns(c.Target)
}

// Undo does nothing after a reboot. At the place of tracefs, where others mount it too, it unmounts only the mount that
// Note noted: one that a crash kept from being noted stays, as does one that another covers.
func (c *Mount) Undo(ctx context.Context, mark string) error {
	if err := EndMarked(ctx, mark); err != nil {
		return err
	}
	boot, err := BootID()
	if err != nil || c.Boot != "" && boot != c.Boot {
		return err
	}
	if c.Target != tracefs {
		return UnmountTree(ctx, c.Target)
	}
	return Retry(ctx, func(context.Context) error {
		id, err := mountID(c.Target)
		if errors.Is(err, os.ErrNotExist) || err == nil && (c.ID == 0 || id != c.ID || c.Boot == "") {
			return nil
		}
		if err != nil {
			return err
		}
		return unix.Unmount(c.Target, unix.UMOUNT_NOFOLLOW)
	})
}

// UnmountTree unmounts path and all below it, deepest first, waiting while
// they are busy. It is for a Change's Undo.
func UnmountTree(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, busyLimit)
	defer cancel()
	for {
		mounts, err := mountsBelow(path)
		if err != nil || len(mounts) == 0 {
			return err
		}
		for _, m := range mounts {
			// A mount may be stacked or gone by now; the next look tells.
			if e := unix.Unmount(m, unix.UMOUNT_NOFOLLOW); e != nil && !errors.Is(e, unix.EINVAL) {
				err = fmt.Errorf("unmount %s: %w", m, e)
			}
		}
		if err == nil {
			continue
		}
		if sleepErr := Pause(ctx, 50*time.Millisecond); sleepErr != nil {
			return fmt.Errorf("%w: %s", err, busyReason(path))
		}
	}
}

// busyReason names the processes that keep a mount busy, with a remedy.
func busyReason(path string) string {
	var names []string
	for _, pid := range processes(func(dir string) bool { return uses(dir, path) }) {
		names = append(names, fmt.Sprintf("%s (pid %d)", CommandName(pid), pid))
	}
	if len(names) == 0 {
		return fmt.Sprintf("something still uses it, and no process of this host says so (findmnt %s)", path)
	}
	return "it is used by " + strings.Join(names, ", ") + ": end that, or have it leave the place"
}

// uses reports whether a process, by its /proc directory, works in path or has a
// file open there.
func uses(dir, path string) bool {
	links, _ := filepath.Glob(dir + "/fd/*") // the pattern is well formed
	for _, link := range append(links, dir+"/cwd", dir+"/root", dir+"/exe") {
		target, err := os.Readlink(link)
		if err == nil && (target == path || strings.HasPrefix(target, path+"/")) {
			return true
		}
	}
	return false
}

// mountsBelow lists the mounts at path and below, deepest first.
func mountsBelow(path string) ([]string, error) {
	infos, err := mountinfo.GetMounts(mountinfo.PrefixFilter(filepath.Clean(path)))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, i := range infos {
		out = append(out, i.Mountpoint)
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out, nil
}

// Cgroup is a cgroup, in every hierarchy, with those below it.
type Cgroup struct {
	Path string // relative to the root of a hierarchy: "plimsoll-RUN"
}

// What implements Change.
func (c *Cgroup) What() string { return "make cgroup " + c.Path }

// groupName matches the run's part of a cgroup's path.
var groupName = regexp.MustCompile(`^plimsoll-[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Prepare implements Change. The group may be there already: others of this
// run's name share it.
func (c *Cgroup) Prepare() error { return nil }

// Check implements Change.
func (c *Cgroup) Check(s Scope) error {
	if strings.HasPrefix(c.Path, "/") || s.CleanPath("/"+c.Path) != nil {
		return s.Foreign("%q is no cgroup below the root of a hierarchy", c.Path)
	}
	return s.Matches("name of a run's cgroup", filepath.Base(c.Path), groupName)
}

// Undo implements Change.
func (c *Cgroup) Undo(ctx context.Context, _ string) error {
	return Retry(ctx, func(context.Context) error { return c.remove() })
}

func (c *Cgroup) remove() error {
	var errs []error
	for _, d := range slices.Backward(cgroupDirs(c.Path)) {
		if err := os.Remove(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// cgroupTops are the places of a cgroup: one in each hierarchy.
func cgroupTops(path string) []string {
	const root = "/sys/fs/cgroup"
	tops := []string{filepath.Join(root, path)}               // v2
	hierarchies, _ := filepath.Glob(root + "/*/cgroup.procs") // the pattern is well formed
	for _, h := range hierarchies {
		tops = append(tops, filepath.Join(filepath.Dir(h), path)) // v1 and hybrid
	}
	return tops
}

// cgroupDirs lists the directories of a cgroup and of those below it,
// in every hierarchy, parents first.
func cgroupDirs(path string) []string {
	var dirs []string
	for _, top := range cgroupTops(path) {
		_ = filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return nil
		})
	}
	return dirs
}
