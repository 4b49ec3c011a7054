package hostinfo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Mount is a file system of this host that can hold data.
type Mount struct {
	Dir       string
	FSType    string
	FreeBytes uint64 // 0 when it cannot be told
}

// dataFileSystems are file systems on which databases are commonly stored.
var dataFileSystems = []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "nfs", "nfs4", "ceph"}

// Mounts returns the mounted file systems that can hold data, each once, ordered by directory. Read-only ones, those
// in a file, and the kernel's own are left out.
func (h *Host) Mounts() ([]Mount, error) {
	mounts, err := readMounts(filepath.Join(h.Roots.Proc, "self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("read what is mounted: %w", err)
	}
	var out []Mount
	seen := map[string]bool{}
	for _, m := range mounts {
		device := fmt.Sprintf("%d:%d", m.Major, m.Minor)
		if !slices.Contains(dataFileSystems, m.FSType) || seen[device] ||
			slices.Contains(strings.Split(m.Options, ","), "ro") || strings.HasPrefix(m.Mountpoint, "/boot") ||
			strings.HasPrefix(m.Source, "/dev/loop") ||
			m.Root != "/" && m.FSType != "btrfs" { // a file or a directory of one that is elsewhere too
			continue
		}
		seen[device] = true
		free, _ := h.calls.freeBytes(m.Mountpoint)
		out = append(out, Mount{m.Mountpoint, m.FSType, free})
	}
	slices.SortFunc(out, func(a, b Mount) int { return strings.Compare(a.Dir, b.Dir) })
	return out, nil
}
