package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"plimsoll/internal/state/journal"
)

// member is a device that an array or a volume group is made of.
type member struct {
	Device string // path when it was made a member
	UUID   string // the UUID that the run writes on it, as blkid prints it
	Serial string // of the device, filled in by Do; "" for one that has none
}

// memberUUID matches UUIDs in the form of mdadm and of LVM.
var memberUUID = regexp.MustCompile(`^[A-Za-z0-9]{4,8}(-[A-Za-z0-9]{4,12}){4,6}$`)

func checkMembers(s journal.Scope, members []member) error {
	var err error
	for _, m := range members {
		err = errors.Join(err, s.Device(m.Device), s.Matches("UUID", m.UUID, memberUUID))
	}
	return err
}

// learn fills in the serials of members.
func learn(members []member) {
	for i := range members {
		members[i].Serial = serialOf(kernelName(members[i].Device))
	}
}

func kernelName(device string) string {
	if real, err := filepath.EvalSymlinks(device); err == nil {
		device = real
	}
	return strings.ReplaceAll(strings.TrimPrefix(device, "/dev/"), "/", "!")
}

func serialOf(name string) string {
	b, _ := os.ReadFile(filepath.Join("/sys/class/block", name, "device/serial")) // many have none
	return strings.TrimSpace(string(b))
}

// find returns the path of the member, "" if there is none. Devices are renumbered at boot, so find looks for the
// serial if the path changed. The UUID is checked, but not searched for, since a copy of the device would match.
func (m member) find(ctx context.Context) string {
	if carries(ctx, m.Device, m.UUID) {
		return m.Device
	}
	entries, _ := os.ReadDir("/sys/class/block") // unreadable: nothing is found
	for _, e := range entries {
		path := "/dev/" + strings.ReplaceAll(e.Name(), "!", "/")
		if m.Serial != "" && serialOf(e.Name()) == m.Serial && carries(ctx, path, m.UUID) {
			return path
		}
	}
	return ""
}

// carries reports whether the signature on a device has the UUID.
func carries(ctx context.Context, device, uuid string) bool {
	out, err := exec.CommandContext(ctx, "blkid", "-p", "-s", "UUID", "-o", "value", device).Output()
	return err == nil && strings.EqualFold(strings.TrimSpace(string(out)), uuid)
}

// wipe removes the signatures of members, which leaves the devices as unused as they were found. A device with
// another UUID is not touched. free, if not nil, is called at each attempt to stop anything that was assembled from a
// member again.
func wipe(ctx context.Context, members []member, free func(device string) error) error {
	for _, m := range members {
		device := m.find(ctx)
		if device == "" {
			continue
		}
		err := journal.Retry(ctx, func(ctx context.Context) error {
			if free != nil {
				if err := free(device); err != nil {
					return err
				}
			}
			out, err := exec.CommandContext(ctx, "wipefs", "--all", "--quiet", device).CombinedOutput()
			if err != nil {
				return fmt.Errorf("wipefs %s: %w: %s", device, err, strings.TrimSpace(string(out)))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// holders returns the kernel names of the devices on top of a device.
func holders(device string) []string {
	entries, _ := os.ReadDir(
		filepath.Join("/sys/class/block", kernelName(device), "holders"),
	) // gone: nothing is built on it
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// ownName matches names that a run makes, also below /dev.
var ownName = regexp.MustCompile(`^plimsoll-[A-Za-z0-9_.+-]+$`)

func devicesOf(members []member) string {
	var devices []string
	for _, m := range members {
		devices = append(devices, m.Device)
	}
	return strings.Join(devices, ", ")
}
