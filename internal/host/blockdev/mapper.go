package blockdev

import (
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/devmapper"
)

// A thin pool carries no I/O: its thin devices send theirs on to the device
// that holds its data, and the pool's own counters stay at zero (the kernel's
// drivers/md/dm-thin.c, thin_bio_map). So a chain goes from a thin device to
// that data device, and leaves out the pool and what holds its metadata.

// poolData returns the MAJ:MIN of a thin pool's data device, "" for other devices. dir is the device's in sysfs.
func poolData(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "dm/name")); err != nil {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(dir, "dev"))
	if err != nil {
		return ""
	}
	targets, err := devmapper.Table(strings.TrimSpace(string(b)))
	if err != nil || len(targets) == 0 {
		return "" // only root may ask: then the pool counts as any other device
	}
	// "METADATA DATA ...", each MAJ:MIN
	f := strings.Fields(targets[0].Params)
	if targets[0].Type != "thin-pool" || len(f) < 2 {
		return ""
	}
	return f[1]
}
