package blockdev

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// Disk is a whole disk that holds the bytes of a stack.
type Disk struct {
	result.Device

	// Alone reports whether the stack has the disk to itself.
	Alone bool

	// Above are the stack's own devices on top of the disk: loop devices, a partition, a logical volume. The stack's
	// I/O to the disk goes through them. It is empty where the stack is a directory.
	Above []result.Device

	// Between is the type of the host's file system that contains the stack's bytes, under a loop device or a
	// directory; "" where there is none.
	Between string
}

// Disks returns the disks under a stack. devices is the stack's chain; the stack has the devices named in alone for
// itself. A device without a number, such as a path of an NVMe device, is left out.
func Disks(roots hostfs.Roots, devices []result.Device, alone []string, between string) ([]Disk, error) {
	var disks []Disk
	for _, d := range devices {
		if d.Role != Bottom || d.MajMin == "" {
			continue
		}
		whole, err := WholeDisk(roots, d)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(disks, func(o Disk) bool { return o.MajMin == whole.MajMin }) {
			disks = append(disks, Disk{Device: whole, Alone: slices.Contains(alone, whole.Name), Between: between})
		}
	}
	for _, d := range devices {
		if !slices.Contains(alone, d.Name) || d.MajMin == "" {
			continue
		}
		var lower []result.Device
		if err := descend(roots, d.MajMin, 0, &lower); err != nil {
			return nil, err
		}
		for _, u := range lower {
			if u.Role != Bottom || u.MajMin == "" {
				continue
			}
			whole, err := WholeDisk(roots, u)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(disks, func(o Disk) bool { return o.MajMin == whole.MajMin })
			if i >= 0 && whole.Name != d.Name {
				disks[i].Above = append(disks[i].Above, d)
			}
		}
	}
	return disks, nil
}

// WholeDisk returns the disk of a partition, and any other device as it is.
func WholeDisk(roots hostfs.Roots, d result.Device) (result.Device, error) {
	dir, err := filepath.EvalSymlinks(roots.InSys("dev/block", d.MajMin))
	if err != nil {
		return d, fmt.Errorf("device %s: %w", d.Name, err)
	}
	if !exists(filepath.Join(dir, "partition")) {
		return d, nil
	}
	dir = filepath.Dir(dir)
	number, err := os.ReadFile(filepath.Join(dir, "dev"))
	if err != nil {
		return d, fmt.Errorf("the disk of partition %s: %w", d.Name, err)
	}
	return result.Device{Name: filepath.Base(dir), MajMin: strings.TrimSpace(string(number)), Role: Bottom}, nil
}
