// Package blockdev finds the block devices that hold a path, down to the disks, and reads what they counted.
//
// It only reads: sysfs, the mounts of this process, and device mapper's tables.
package blockdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/result"
)

// sectorBytes is the unit of sectors in sysfs, whatever the device's own is
// (Documentation/block/stat.rst).
const sectorBytes = 512

// Roles of a device in a stack, as in result.Device.
const (
	Top    = "top"
	Under  = "under"
	Bottom = "bottom"
)

// Chain lists the block devices that hold path, a block device or a directory:
// first the one a file system sits on, then what is under it (the disk under a
// loop device, the members under a mapped or striped one), down to what holds
// the bytes. It is empty for a file system without a device (tmpfs). Devices
// side by side, such as the members of a stripe, have the same depth, and there
// may be several that hold the bytes.
func Chain(roots hostfs.Roots, path string) ([]result.Device, error) {
	majmin, err := deviceOf(roots, path)
	if err != nil || majmin == "" {
		return nil, err
	}
	return chainOf(roots, majmin)
}

// chainOf returns the chain that begins with a device.
func chainOf(roots hostfs.Roots, majmin string) ([]result.Device, error) {
	var chain []result.Device
	if err := descend(roots, majmin, 0, &chain); err != nil {
		return nil, err
	}
	if chain[0].Role == Under {
		chain[0].Role = Top
	}
	return chain, nil
}

// deviceOf returns the MAJ:MIN of the device that path is, or lies on.
func deviceOf(roots hostfs.Roots, path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", fmt.Errorf("stat %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return majMin(st.Rdev), nil
	}
	if id := majMin(st.Dev); exists(roots.InSys("dev/block", id)) {
		return id, nil
	}
	// btrfs gives its files a device number of their own; the mount names the
	// device. On tmpfs and overlay there is none.
	mount, err := MountOf(roots, path)
	if err != nil {
		return "", err
	}
	if err := unix.Stat(mount.Source, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return "", nil //nolint:nilerr // the source is a name, not a device
	}
	return majMin(st.Rdev), nil
}

// MountOf returns the mount that path lies on, with its options.
func MountOf(roots hostfs.Roots, path string) (*mountinfo.Info, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	mounts, err := ReadMounts(roots)
	if err != nil {
		return nil, err
	}
	mount := mounts.At(path)
	if mount == nil {
		return nil, fmt.Errorf("no mount holds %s", path)
	}
	return mount, nil
}

// Mounts are the mounts of this thread, as the kernel lists them. Reading them, and looking a path up, asks no file
// system, so that one that hangs is not waited for.
type Mounts []*mountinfo.Info

// ReadMounts returns all mounts of this thread: others may be in other namespaces.
func ReadMounts(roots hostfs.Roots) (Mounts, error) {
	f, err := os.Open(roots.InProc("thread-self/mountinfo"))
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(roots.InProc("self/mountinfo"))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mountinfo.GetMountsFromReader(f, nil)
}

// At returns the mount that an absolute path without symbolic links lies on; nil for none. Later mounts cover earlier
// ones, and whatever is mounted below what they cover.
func (mounts Mounts) At(path string) *mountinfo.Info {
	covering, ids := Mounts{}, map[int]bool{}
	prefix := strings.TrimSuffix(filepath.Clean(path), "/") + "/"
	for _, m := range mounts {
		if strings.HasPrefix(prefix, strings.TrimSuffix(m.Mountpoint, "/")+"/") {
			covering = append(covering, m)
			ids[m.ID] = true
		}
	}
	slices.SortStableFunc(covering, func(a, b *mountinfo.Info) int { return len(a.Mountpoint) - len(b.Mountpoint) })
	root := slices.IndexFunc(covering, func(m *mountinfo.Info) bool { return m.Parent == m.ID || !ids[m.Parent] })
	if root < 0 {
		return nil
	}
	mount := covering[root]
	for range covering { // a path comes to the shortest mount point first
		next := slices.IndexFunc(covering, func(m *mountinfo.Info) bool { return m.Parent == mount.ID && m.ID != mount.ID })
		if next < 0 {
			break
		}
		mount = covering[next]
	}
	return mount
}

func majMin(dev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)) }

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// descend appends the device and the devices under it. A disk that several members share gets the depth of the
// deepest one.
func descend(roots hostfs.Roots, majmin string, depth int, chain *[]result.Device) error {
	seen := slices.IndexFunc(*chain, func(d result.Device) bool { return d.MajMin == majmin })
	if seen >= 0 && (*chain)[seen].Depth >= depth {
		return nil
	}
	dir, err := filepath.EvalSymlinks(roots.InSys("dev/block", majmin))
	if err != nil {
		return fmt.Errorf("device %s: %w", majmin, err)
	}
	if paths := pathDevices(roots, dir); len(paths) > 0 {
		for _, p := range paths {
			p.Depth = depth
			*chain = append(*chain, p)
		}
		return nil
	}
	i := seen
	if i < 0 {
		i = len(*chain)
		d := result.Device{Name: filepath.Base(dir), MajMin: majmin, Role: Under, Buffered: buffered(dir)}
		*chain = append(*chain, d)
	}
	(*chain)[i].Depth = depth
	lower, memory, err := devicesBelow(roots, dir)
	if err != nil {
		return err
	}
	if len(lower) == 0 && !memory {
		(*chain)[i].Role = Bottom
	}
	for _, u := range lower {
		if err := descend(roots, u, depth+1, chain); err != nil {
			return err
		}
	}
	return nil
}

// pathDevices returns the path devices of a multipath NVMe head that has no counters: before Linux 6.3 only its
// hidden paths count. Where the head counts, it returns none.
func pathDevices(roots hostfs.Roots, dir string) []result.Device {
	b, err := os.ReadFile(filepath.Join(dir, "queue/iostats"))
	if err != nil || strings.TrimSpace(string(b)) != "0" {
		return nil
	}
	var paths []result.Device
	for _, n := range nvme.Namespaces(roots.Sys) {
		if n.Name != filepath.Base(dir) {
			continue
		}
		for _, p := range n.PathDevices {
			paths = append(paths, result.Device{Name: p, Role: Bottom})
		}
	}
	return paths
}

// buffered reports whether a device in sysfs is a loop device that does not use direct I/O on its file.
func buffered(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "loop/dio"))
	return err == nil && strings.TrimSpace(string(b)) == "0"
}

// StatFile returns where a device's counters are.
func StatFile(roots hostfs.Roots, d result.Device) string {
	if d.MajMin == "" {
		return roots.InSys("block", d.Name, "stat")
	}
	return roots.InSys("dev/block", d.MajMin, "stat")
}

// devicesBelow returns the devices under a device in sysfs: the disk of a loop device's file, the slaves of a mapped or
// striped device. memory is true when a loop device's file is on no device.
func devicesBelow(roots hostfs.Roots, dir string) (lower []string, memory bool, err error) {
	if b, err := os.ReadFile(filepath.Join(dir, "loop/backing_file")); err == nil {
		file := strings.TrimSpace(string(b))
		id, err := deviceOf(roots, strings.TrimSuffix(file, " (deleted)"))
		if errors.Is(err, unix.ENOENT) || id == "" {
			return nil, true, nil
		}
		return []string{id}, false, err
	}
	slaves, err := filepath.Glob(filepath.Join(dir, "slaves/*/dev"))
	if err != nil {
		return nil, false, err
	}
	for _, s := range slaves {
		b, err := os.ReadFile(s)
		if err != nil {
			return nil, false, err
		}
		id := strings.TrimSpace(string(b))
		if data := poolData(filepath.Dir(s)); data != "" {
			id = data
		}
		lower = append(lower, id)
	}
	return lower, false, nil
}

// Counters are the I/Os that each device of a chain has completed since boot.
type Counters []result.DeviceCounter

// ReadCounters reads the counters of the devices from sysfs.
func ReadCounters(roots hostfs.Roots, devices []result.Device) (Counters, error) {
	out := make(Counters, len(devices))
	for i, d := range devices {
		b, err := os.ReadFile(StatFile(roots, d))
		if err != nil {
			return nil, fmt.Errorf("I/O counters of %s: %w", d.Name, err)
		}
		c, err := parseStat(string(b))
		if err != nil {
			return nil, fmt.Errorf("I/O counters of %s: %w", d.Name, err)
		}
		c.Device = d
		if d.Pool != "" {
			c.ARC, err = readARC(roots, d.Pool)
			if err != nil {
				return nil, err
			}
		}
		out[i] = c
	}
	return out, nil
}

// parseStat reads a device's stat file: reads completed, merged, sectors, ms;
// then the same for writes; since Linux 5.5 flushes as the 16th field
// (Documentation/block/stat.rst).
func parseStat(text string) (result.DeviceCounter, error) {
	f := strings.Fields(text)
	if len(f) < 8 {
		return result.DeviceCounter{}, fmt.Errorf("%d fields, want at least 8: %q", len(f), text)
	}
	const flushes = 15
	var n [flushes + 1]uint64
	for i := range min(len(f), len(n)) {
		v, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return result.DeviceCounter{}, fmt.Errorf("field %d: %w", i+1, err)
		}
		n[i] = v
	}
	return result.DeviceCounter{
		Reads: n[0], ReadBytes: n[2] * sectorBytes, Writes: n[4], WriteBytes: n[6] * sectorBytes, Flushes: n[flushes],
	}, nil
}

// Since returns the counts between before and c.
func (c Counters) Since(before Counters) Counters {
	out := make(Counters, len(c))
	for i := range c {
		out[i] = result.DeviceCounter{
			Device:     c[i].Device,
			Reads:      c[i].Reads - before[i].Reads,
			Writes:     c[i].Writes - before[i].Writes,
			ReadBytes:  c[i].ReadBytes - before[i].ReadBytes,
			WriteBytes: c[i].WriteBytes - before[i].WriteBytes,
			Flushes:    c[i].Flushes - before[i].Flushes,
		}
		if now, then := c[i].ARC, before[i].ARC; now != nil && then != nil {
			out[i].ARC = &result.ARC{Hits: now.Hits - then.Hits, Misses: now.Misses - then.Misses,
				DirectReads: now.DirectReads - then.DirectReads, DirectWrites: now.DirectWrites - then.DirectWrites}
		}
	}
	return out
}
