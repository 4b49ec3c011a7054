package stack

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/stack/line"
)

// btrfs checksums data and copies on write unless nodatacow turns both off.
var btrfs = filesystem{
	name: "btrfs", summary: "the btrfs file system", pkg: "btrfs-progs",
	mkfs: func(uuid, device string) []string {
		return []string{"mkfs.btrfs", "-q", "-f", "-K", "-U", uuid, device}
	},
	options: []line.OptionDef{
		{Key: "nodatacow", Value: line.Flag, Summary: "no copy-on-write and no checksums for data (chattr +C), so that O_DIRECT writes are direct"},
	},
	mounted: func(b *build, n line.Node) error {
		if _, ok := n.Option("nodatacow"); !ok {
			return nil
		}
		return setNoCOW(b)
	},
}.layer()

// noCOW is FS_NOCOW_FL of linux/fs.h.
const noCOW = 0x00800000

// setNoCOW gives the mounted directory the attribute that new files inherit.
// It lies inside the file system and goes away with it.
func setNoCOW(b *build) error {
	if err := overwriteInPlace(b.dir); err != nil {
		return err
	}
	b.fact("copy-on-write", "off")
	return nil
}

// overwriteInPlace gives a directory of btrfs the attribute that has new files
// in it overwritten in their place, and reads it back.
func overwriteInPlace(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	flags, err := unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return fmt.Errorf("read attributes of %s: %w", dir, err)
	}
	if err := unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, flags|noCOW); err != nil {
		return fmt.Errorf("turn copy-on-write off for %s: %w", dir, err)
	}
	flags, err = unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return fmt.Errorf("read attributes of %s: %w", dir, err)
	}
	if flags&noCOW == 0 {
		return fmt.Errorf("copy-on-write stays on for %s", dir)
	}
	return nil
}
