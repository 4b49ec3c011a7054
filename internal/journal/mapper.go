package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// VolumeGroup is an LVM volume group with its physical volumes. Its name
// carries the run's, and its physical volumes UUIDs that the run chose.
type VolumeGroup struct {
	Name    string
	Members []Member
}

// What implements Change.
func (c *VolumeGroup) What() string {
	return fmt.Sprintf("make volume group %s of %s", c.Name, devicesOf(c.Members))
}

func (c *VolumeGroup) precheck() error {
	learn(c.Members)
	return nil
}

func (c *VolumeGroup) check(scope) error {
	return errors.Join(fitting("name of a run's volume group", c.Name, ownName), checkMembers(c.Members))
}

// undo takes away what the kernel has of the group, and then the signatures:
// without them there is no group. It asks LVM nothing, which would look at
// every device of the host.
func (c *VolumeGroup) undo(ctx context.Context, mark string) error {
	if err := killMarked(ctx, mark); err != nil {
		return err
	}
	unmap := func(string) error { return removeMapped(ctx, ofGroup(MappedName(c.Name, ""))) }
	if err := unmap(""); err != nil {
		return err
	}
	if err := wipe(ctx, c.Members, unmap); err != nil {
		return err
	}
	return removeLinks(filepath.Join("/dev", c.Name))
}

// LogicalVolume is a logical volume of a group that the run made.
type LogicalVolume struct {
	Group string
	Name  string
}

// What implements Change.
func (c *LogicalVolume) What() string {
	return fmt.Sprintf("make logical volume %s in %s", c.Name, c.Group)
}

func (c *LogicalVolume) check(scope) error {
	return errors.Join(fitting("name of a run's volume group", c.Group, ownName), oneOf("logical volume of a run", c.Name, "stripe", "pool"))
}

// undo takes the volume out of the kernel, with its hidden parts and with the
// thin devices that an engine made of it. What LVM has written of it goes away
// with the group.
func (c *LogicalVolume) undo(ctx context.Context, mark string) error {
	if err := killMarked(ctx, mark); err != nil {
		return err
	}
	return removeMapped(ctx, ofGroup(MappedName(c.Group, c.Name)))
}

// MappedName is what device mapper calls a logical volume: a hyphen within a
// name is doubled (libdevmapper, dm_build_dm_name).
func MappedName(group, volume string) string {
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	return double(group) + "-" + double(volume)
}

// ofGroup recognises volumes of LVM by the start of their names.
func ofGroup(prefix string) func(device string) bool {
	return func(device string) bool {
		return strings.HasPrefix(mapped(device, "name"), prefix) && strings.HasPrefix(mapped(device, "uuid"), "LVM-")
	}
}

// mapped reads what device mapper tells of a device: name, uuid.
func mapped(device, what string) string {
	b, _ := os.ReadFile(filepath.Join("/sys/block", device, "dm", what)) // gone, or of another kind
	return strings.TrimSpace(string(b))
}

// removeMapped removes the mapped devices that match, and those that stand on
// them, topmost first.
func removeMapped(ctx context.Context, match func(device string) bool) error {
	all, err := filepath.Glob("/sys/block/dm-*")
	if err != nil {
		return err
	}
	for _, dir := range all {
		if device := filepath.Base(dir); match(device) {
			if err := removeTree(ctx, device); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeTree removes a mapped device and the mapped devices on it.
func removeTree(ctx context.Context, device string) error {
	for _, above := range holders("/dev/" + device) {
		if mapped(above, "name") == "" {
			return fmt.Errorf("remove %s: %s stands on it, which is not of this run: take that apart and clean again", device, above)
		}
		if err := removeTree(ctx, above); err != nil {
			return err
		}
	}
	return insist(ctx, func() error {
		name := mapped(device, "name")
		if name == "" {
			return nil // gone
		}
		out, err := exec.CommandContext(ctx, "dmsetup", "remove", name).CombinedOutput()
		if err != nil && mapped(device, "name") == name {
			return fmt.Errorf("dmsetup remove %s: %w: %s", name, err, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// removeLinks removes a directory of links below /dev, which LVM makes itself
// where there is no udev. What is no link is not LVM's, and stays.
func removeLinks(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			return nil
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// ThinPool is a thin pool that a Docker engine makes over loop devices on
// sparse files in its data-root (loop-lvm), with its thin devices. All of it
// is recognised by these files.
type ThinPool struct {
	DataRoot string
}

// What implements Change.
func (c *ThinPool) What() string { return "have Docker make a thin pool of files in " + c.DataRoot }

func (c *ThinPool) precheck() error { return resolve(&c.DataRoot) }

func (c *ThinPool) check(s scope) error { return s.owns(c.DataRoot) }

// undo follows that of the engine, which may have been killed before it could
// take its pool down.
func (c *ThinPool) undo(ctx context.Context, _ string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		backing := strings.TrimSuffix(strings.TrimSpace(string(b)), " (deleted)")
		if err != nil || !strings.HasPrefix(backing, c.DataRoot+"/") {
			continue
		}
		device := filepath.Base(filepath.Dir(filepath.Dir(file)))
		for _, above := range holders("/dev/" + device) {
			if err := removeTree(ctx, above); err != nil {
				return err
			}
		}
		number, err := strconv.Atoi(strings.TrimPrefix(device, "loop"))
		if err != nil {
			return err
		}
		// The engine asks the kernel to detach it when its last user is gone.
		if err := (&Loop{Number: number, Backing: backing}).undo(ctx, ""); err != nil && !errors.Is(err, unix.ENXIO) {
			return err
		}
	}
	return nil
}
