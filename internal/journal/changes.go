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

func (c *Dir) precheck() error { return absent(&c.Path) }

func (c *Dir) check(s scope) error { return s.owns(c.Path) }

// undo never crosses a mount: what is mounted there was not unmounted by an
// earlier undo, so it is not known to be ours.
func (c *Dir) undo(_ context.Context, _ string) error {
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

func (c *File) precheck() error { return absent(&c.Path) }

func (c *File) check(s scope) error { return s.owns(c.Path) }

func (c *File) undo(context.Context, string) error {
	return inParent(c.Path, func(path string) error {
		if err := unix.Unlink(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return &os.PathError{Op: "remove", Path: c.Path, Err: err}
		}
		return nil
	})
}

// absent refuses what exists: undoing would take away what the run did not
// make.
func absent(path *string) error {
	if err := resolve(path); err != nil {
		return err
	}
	if _, err := os.Lstat(*path); err == nil {
		return fmt.Errorf("%s: %w", *path, os.ErrExist)
	}
	return nil
}

// resolve makes a path the one that the kernel will know it by when it is
// undone.
func resolve(path *string) (err error) {
	*path, err = realPath(*path)
	return err
}

// Mkfs is a file system made on a device.
type Mkfs struct {
	Device string
	Type   string
	UUID   string // given to mkfs, so that undo knows its own
	Keep   bool   // nothing to undo: the bytes go away with the loop device's file
}

// What implements Change.
func (c *Mkfs) What() string { return fmt.Sprintf("make %s on %s", c.Type, c.Device) }

func (c *Mkfs) check(scope) error {
	if c.Keep {
		return checkDevice(c.Device) // nothing is undone
	}
	return errors.Join(checkDevice(c.Device), checkUUID(c.UUID))
}

// undo wipes the signature, so that the device is as unused as it was found;
// a file system with another UUID is somebody else's.
func (c *Mkfs) undo(ctx context.Context, mark string) error {
	if err := killMarked(ctx, mark); err != nil {
		return err
	}
	if c.Keep {
		return nil
	}
	if !carries(ctx, c.Device, c.UUID) {
		return nil // no signature, or not ours: nothing to undo
	}
	return wipe(ctx, []Member{{Device: c.Device, UUID: c.UUID}}, nil)
}

// Mount is a mount on a directory that the run made.
type Mount struct {
	Source  string
	Target  string
	Type    string
	Options string
}

// What implements Change.
func (c *Mount) What() string { return fmt.Sprintf("mount %s on %s", c.Source, c.Target) }

func (c *Mount) precheck() error { return resolve(&c.Target) }

// tracefs is where a recording mounts it on a host that has not done so.
const tracefs = "/sys/kernel/tracing"

func (c *Mount) check(s scope) error {
	if c.Target == tracefs && c.Type == "tracefs" {
		return nil
	}
	return s.owns(c.Target)
}

func (c *Mount) undo(ctx context.Context, mark string) error {
	if err := killMarked(ctx, mark); err != nil {
		return err
	}
	return unmountTree(ctx, c.Target)
}

// busyLimit is how long a mount, a device or a control group that
// something still uses is waited for.
var busyLimit = 30 * time.Second

// unmountTree unmounts path and all below it, deepest first, waiting while
// they are busy.
func unmountTree(ctx context.Context, path string) error {
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
		if sleepErr := pause(ctx, 50*time.Millisecond); sleepErr != nil {
			return fmt.Errorf("%w: %s", err, users(path))
		}
	}
}

// users tells who keeps a mount busy, and what to do about it.
func users(path string) string {
	var names []string
	for _, pid := range processes(func(dir string) bool { return uses(dir, path) }) {
		names = append(names, fmt.Sprintf("%s (pid %d)", commandName(pid), pid))
	}
	if len(names) == 0 {
		return fmt.Sprintf("something still uses it, and no process of this host says so (findmnt %s)", path)
	}
	return "it is used by " + strings.Join(names, ", ") + ": end that, or have it go elsewhere"
}

// uses tells whether a process, by its /proc directory, works in path or has a
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

// Cgroup is a control group, in every hierarchy, with those below it.
type Cgroup struct {
	Path string // relative to the root of a hierarchy: "plimsoll-RUN"
}

// What implements Change.
func (c *Cgroup) What() string { return "make cgroup " + c.Path }

// groupName is what the run's own part of a control group's path is called.
var groupName = regexp.MustCompile(`^plimsoll-[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (c *Cgroup) check(scope) error {
	if strings.HasPrefix(c.Path, "/") || cleanPath("/"+c.Path) != nil {
		return foreign("%q is no control group below the root of a hierarchy", c.Path)
	}
	return fitting("name of a run's control group", filepath.Base(c.Path), groupName)
}

func (c *Cgroup) undo(ctx context.Context, _ string) error {
	ctx, cancel := context.WithTimeout(ctx, busyLimit)
	defer cancel()
	for {
		err := c.remove()
		if err == nil {
			return nil
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

func (c *Cgroup) remove() error {
	var all []error
	for _, d := range slices.Backward(cgroupDirs(c.Path)) {
		if err := os.Remove(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// cgroupTops are the places of a control group: one in each hierarchy.
func cgroupTops(path string) []string {
	const root = "/sys/fs/cgroup"
	tops := []string{filepath.Join(root, path)}               // v2
	hierarchies, _ := filepath.Glob(root + "/*/cgroup.procs") // the pattern is well formed
	for _, h := range hierarchies {
		tops = append(tops, filepath.Join(filepath.Dir(h), path)) // v1 and hybrid
	}
	return tops
}

// cgroupDirs lists the directories of a control group and of those below it,
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

// pause waits, or says why it may not.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
