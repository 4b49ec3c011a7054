// Package devmapper reads and removes devices of the kernel's device mapper: the
// volumes of LVM, thin pools and their devices. Names come from sysfs, tables and
// removal from the ioctls of /dev/mapper/control, without other programs.
//
// Hazards. Remove asks nobody whose a device is. It belongs into the Undo of a
// change that has recognised the device as its own (internal/state/journal).
package devmapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Device is a mapped device.
type Device struct {
	Kernel string // "dm-3"
	Name   string // "vg-lv"
	UUID   string // "LVM-..." for a volume of LVM; "" for one that was given none
}

// List returns the mapped devices that sysfs shows below its root.
func List(sys string) ([]Device, error) {
	dirs, err := filepath.Glob(filepath.Join(sys, "block/dm-*"))
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, dir := range dirs {
		d, ok := Find(sys, filepath.Base(dir))
		if ok {
			devices = append(devices, d)
		}
	}
	return devices, nil
}

// Find returns the mapped device of that kernel name, and whether there is one.
func Find(sys, kernel string) (Device, bool) {
	dir := filepath.Join(sys, "block", kernel, "dm")
	name, err := os.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return Device{}, false
	}
	id, _ := os.ReadFile(filepath.Join(dir, "uuid")) // many have none
	return Device{Kernel: kernel, Name: strings.TrimSpace(string(name)), UUID: strings.TrimSpace(string(id))}, true
}

// VolumeName returns what device mapper calls a logical volume of LVM: a hyphen
// within a name is doubled (libdevmapper, dm_build_dm_name).
func VolumeName(group, volume string) string {
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	return double(group) + "-" + double(volume)
}

// Target is one segment of a device's table.
type Target struct {
	Start, Length uint64 // in sectors of 512 bytes
	Type          string // "striped", "thin-pool"
	Params        string // as its driver writes them
}

// String returns the target as dmsetup prints it.
func (t Target) String() string {
	return fmt.Sprintf("%d %d %s %s", t.Start, t.Length, t.Type, t.Params)
}

// Table returns the targets of the device with that number, MAJ:MIN. Only root
// may ask.
func Table(number string) ([]Target, error) {
	major, minor, ok := strings.Cut(number, ":")
	maj, majErr := strconv.ParseUint(major, 10, 12)
	mnr, minErr := strconv.ParseUint(minor, 10, 20)
	if !ok || majErr != nil || minErr != nil {
		return nil, fmt.Errorf("table of a mapped device: %q is no number of a device (MAJ:MIN)", number)
	}
	return table(control, "", encodeNumber(uint32(maj), uint32(mnr)))
}

// TableOf returns the targets of the device of that name in device mapper.
func TableOf(name string) ([]Target, error) { return table(control, name, 0) }

func table(ask ask, name string, number uint64) ([]Target, error) {
	device := name
	if device == "" {
		device = strconv.FormatUint(number, 10)
	}
	for size := 16 << 10; size <= 4<<20; size *= 4 {
		m, err := newMessage(size, name, number)
		if err != nil {
			return nil, err
		}
		m.header().flags = flagStatusTable
		if err := ask(tableStatus, m); err != nil {
			return nil, fmt.Errorf("device mapper's table of %s: %w", device, err)
		}
		if m.header().flags&flagBufferFull == 0 {
			return m.targets()
		}
	}
	return nil, fmt.Errorf("device mapper's table of %s: it is longer than 4 MiB", device)
}

// linkLimit bounds the wait for udev to remove the link of a removed device.
const linkLimit = 3 * time.Second

// Remove removes a device by its name in device mapper. One that is gone is no
// error; one that is in use gives unix.EBUSY.
func Remove(name string) error { return remove(control, "/", name) }

func remove(ask ask, root, name string) error {
	m, err := newMessage(4<<10, name, 0)
	if err != nil {
		return err
	}
	err = ask(devRemove, m)
	if errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove mapped device %s: %w", name, err)
	}
	return removeNode(root, name)
}

// removeNode removes a device's node and link below /dev. udev does so itself, a moment later; without udev, the
// program that made the device made its node.
func removeNode(root, name string) error {
	node := filepath.Join(root, "dev/mapper", name)
	if _, err := os.Stat(filepath.Join(root, "run/udev/control")); err == nil {
		for start := time.Now(); time.Since(start) < linkLimit; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Lstat(node); err != nil {
				break
			}
		}
		return nil // a link that stays is udev's
	}
	if err := os.Remove(node); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
