package stack

import (
	"context"
	"fmt"
	"strings"

	"plimsoll/internal/host/devmapper"
	"plimsoll/internal/state/journal"
)

// What is taken out of device mapper is for the Undo of changes alone.

// ofGroup recognises volumes of LVM by the start of their names.
func ofGroup(prefix string) func(devmapper.Device) bool {
	return func(d devmapper.Device) bool {
		return strings.HasPrefix(d.Name, prefix) && strings.HasPrefix(d.UUID, "LVM-")
	}
}

// removeMapped removes the mapped devices that match, and those that stand on
// them, topmost first.
func removeMapped(ctx context.Context, match func(devmapper.Device) bool) error {
	devices, err := devmapper.List(sysfs)
	if err != nil {
		return err
	}
	for _, d := range devices {
		if !match(d) {
			continue
		}
		if err := removeTree(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// removeAbove removes the mapped devices on a device, by its kernel name.
func removeAbove(ctx context.Context, device string) error {
	for _, kernel := range holders("/dev/" + device) {
		holder, ok := devmapper.Find(sysfs, kernel)
		if !ok {
			return fmt.Errorf("remove %s: %s uses it, which this run did not make: take that apart and clean again", device, kernel)
		}
		if err := removeTree(ctx, holder); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a mapped device and the mapped devices on it.
func removeTree(ctx context.Context, d devmapper.Device) error {
	if err := removeAbove(ctx, d.Kernel); err != nil {
		return err
	}
	return journal.Retry(ctx, func(context.Context) error {
		now, ok := devmapper.Find(sysfs, d.Kernel)
		if !ok || now.Name != d.Name {
			return nil // gone
		}
		return devmapper.Remove(d.Name)
	})
}
