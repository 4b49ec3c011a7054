package hostinfo

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/units"
)

// FileSystem is a file system that stacks can have, as the doctor looks for it.
type FileSystem struct {
	Name         string // as mount -t takes it
	Package      string // Debian's, which has the program
	KernelOption string // "XFS_FS"
	DirectIO     bool   // loop devices over its files do direct I/O
	Program      string // that makes one; "" for mkfs.Name
	External     bool   // no part of Linux: no host is expected to have it
}

// fileSystems reports the file systems that stacks can use: both the kernel and mkfs must support them.
func (h *Host) fileSystems(k kernel, all []FileSystem) Section {
	s := Section{Name: "file systems"}
	for _, f := range all {
		s.Items = append(s.Items, h.fileSystem(f, k))
	}
	s.Items = append(s.Items, k.item("tmpfs", k.filesystem("tmpfs", "TMPFS"), "tmpfs", "TMPFS"))
	return s
}

// FileSystem returns the doctor's item for a file system.
func (h *Host) FileSystem(f FileSystem) Item { return h.fileSystem(f, h.kernel()) }

func (h *Host) fileSystem(f FileSystem, k kernel) Item {
	i := k.item(f.Name, k.filesystem(f.Name, f.KernelOption), f.Name, f.KernelOption)
	program := f.Program
	if program == "" {
		program = "mkfs." + f.Name
	}
	path, inPath := h.program(program)
	switch {
	case i.OK != Yes && f.External:
		h.outsideLinux(&i, f.Package)
	case i.OK != Yes:
	case path == "":
		i.OK, i.Value, i.Why, i.Remedy = No, "", "there is no "+program+" in PATH", h.installing(f.Package)
	case !inPath:
		h.outsidePath(&i, path)
	default:
		i.Value += ", " + path
	}
	return i
}

// outsideLinux says why a kernel lacks what is not part of Linux.
func (h *Host) outsideLinux(i *Item, pkg string) {
	i.Why = strings.ToUpper(i.Name) + " is not part of Linux and not installed here"
	i.Remedy = h.installing(pkg) + " with the module of this kernel"
}

// keepDoubleWrites is advice where no write is promised to be atomic.
const keepDoubleWrites = "keep innodb_doublewrite and full_page_writes on"

// atomicWrites reports, for each mounted file system that can hold data, the sizes of writes that it promises to make
// whole or not at all.
func (h *Host) atomicWrites() Section {
	s := Section{Name: "atomic writes"}
	mounts, err := h.Mounts()
	if err != nil {
		s.Items = append(s.Items, Item{Name: "file systems", OK: Unknown, Why: err.Error(), Remedy: "mount proc"})
	}
	for _, m := range mounts {
		i := Item{Name: m.Dir, OK: Yes}
		promised, err := h.calls.atomicWrites(m.Dir)
		switch {
		case err != nil:
			i.OK, i.Why, i.Remedy = Unknown, err.Error(), "run plimsoll as root; else "+keepDoubleWrites
		case promised.Max == 0:
			i.OK, i.Value, i.Remedy = No, m.FSType, keepDoubleWrites
			i.Why = "statx promises no atomic write: the kernel, the file system or its drive has none"
		default:
			i.Value = fmt.Sprintf("%s, %s to %s, of direct writes with RWF_ATOMIC alone", m.FSType,
				units.Bytes(uint64(promised.Min)), units.Bytes(uint64(promised.Max)))
		}
		s.Items = append(s.Items, i)
	}
	return s
}

// quickBytes is the space that the files of `run quick` take below State: a
// loop device's file of 1 GiB at a time, images, and as much to spare.
const quickBytes = 2 << 30

// loops reports on loop devices, and on direct I/O to files below State.
func (h *Host) loops(k kernel, devices []Device, fileSystems []FileSystem) Section {
	loop := k.item("loop devices", k.module("loop", "BLK_DEV_LOOP"), "loop", "BLK_DEV_LOOP")
	dirs, _ := filepath.Glob(filepath.Join(h.Roots.Sys, "class/block/loop*"))
	free := 0
	for _, dir := range dirs {
		if !exists(dir, "loop/backing_file") && !exists(dir, "partition") {
			free++
		}
	}
	if loop.OK == Yes || exists(h.Dev, "loop-control") {
		loop.OK, loop.Why = Yes, ""
		loop.Value = fmt.Sprintf("%d free", free)
		switch {
		case exists(h.Dev, "loop-control"):
			loop.Value += ", and the kernel makes more"
		case free == 0:
			loop.OK = No
			loop.Why = "all loop devices are in use and there is no " + filepath.Join(h.Dev, "loop-control") + " to make more"
			loop.Remedy = "modprobe loop, or run on the host instead of in a container"
		}
	}
	return Section{Name: "loop devices", Items: []Item{loop, h.loopDirect(k, devices, fileSystems), h.space()}}
}

// loopDirect judges whether a loop device over a file below State would do
// direct I/O: the file system has to, in units that the loop device has.
func (h *Host) loopDirect(k kernel, devices []Device, fileSystems []FileSystem) Item {
	i := Item{Name: "direct I/O", OK: Yes}
	m, err := h.mountOf(h.State)
	if err != nil {
		i.OK, i.Why, i.Remedy = Unknown, err.Error(), "name another --state-dir"
		return i
	}
	i.Value = fmt.Sprintf("files in %s, on %s", h.State, m.FSType)
	block := h.logicalBlock(m, devices)
	switch {
	case !k.atLeast(4, 10):
		i.OK, i.Why, i.Remedy = No, "loop devices do direct I/O from kernel 4.10 on", "a later kernel"
	case m.FSType == "tmpfs" || m.FSType == "ramfs":
		i.OK, i.Why, i.Remedy = Limited, "the files would be in memory", "name a --state-dir on a disk"
	case !slices.ContainsFunc(fileSystems, func(f FileSystem) bool { return f.DirectIO && f.Name == m.FSType }) &&
		m.FSType != "ext2" && m.FSType != "ext3":
		i.OK, i.Why, i.Remedy = Limited, m.FSType+" may serve direct I/O from memory, or refuse it",
			"name a --state-dir on ext4 or xfs"
	case block > 512:
		i.OK, i.Why = Limited, fmt.Sprintf("the disk has blocks of %d bytes, so loop devices need sectors of that "+
			"size", block)
		i.Remedy = "name a --state-dir on a disk with blocks of 512 bytes"
	}
	return i
}

// logicalBlock returns the block size of the device under a mount, 0 when it is unknown.
func (h *Host) logicalBlock(m *mountinfo.Info, devices []Device) int {
	number := fmt.Sprintf("%d:%d", m.Major, m.Minor)
	source := h.nodeName(m.Source)
	for _, d := range devices {
		if d.MajMin == number || d.Name == source {
			n, _ := strconv.Atoi(readTrimmed(h.Roots.Sys, "class/block", first(d.disk, d.Name), "queue/logical_block_size"))
			return n
		}
	}
	return 0
}

// mountOf returns the mount of a directory, which need not exist yet.
func (h *Host) mountOf(dir string) (*mountinfo.Info, error) {
	mounts, err := readMounts(filepath.Join(h.Roots.Proc, "self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("read what is mounted: %w", err)
	}
	var best *mountinfo.Info
	for _, m := range mounts {
		inside := m.Mountpoint == "/" || dir == m.Mountpoint || strings.HasPrefix(dir, m.Mountpoint+"/")
		if inside && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
			best = m
		}
	}
	if best == nil {
		return nil, fmt.Errorf("it is not known which file system %s is on", dir)
	}
	return best, nil
}

// space reports whether quick's files fit below State.
func (h *Host) space() Item {
	i := Item{Name: "space", OK: Yes}
	free, err := h.calls.freeBytes(h.State)
	if err != nil {
		i.OK, i.Why, i.Remedy = Unknown, h.State+": "+err.Error(), "run plimsoll as root, or name another --state-dir"
		return i
	}
	i.Value = units.Bytes(free) + " free for files in " + h.State
	if free < quickBytes {
		i.OK = No
		i.Why = "quick needs " + units.Bytes(quickBytes)
		i.Remedy = "make room, or name a --state-dir on another file system"
	}
	return i
}

// limitControllers are the controllers that limits of instances need; version 1 calls io blkio.
var limitControllers = []string{"cpu", "cpuset", "memory", "io", "pids"}

// cgroupMounts returns the mounts of both versions.
func (h *Host) cgroupMounts() (v1, v2 []*mountinfo.Info) {
	mounts, err := readMounts(filepath.Join(h.Roots.Proc, "self/mountinfo"))
	if err != nil {
		return nil, nil
	}
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup":
			v1 = append(v1, m)
		case "cgroup2":
			v2 = append(v2, m)
		}
	}
	return v1, v2
}

func (h *Host) cgroupVersion() string {
	v1, v2 := h.cgroupMounts()
	switch {
	case len(v1) > 0 && len(v2) > 0:
		return "hybrid"
	case len(v1) > 0:
		return "v1"
	case len(v2) > 0:
		return "v2"
	}
	return ""
}

// cgroups reports the mounted version and its controllers.
func (h *Host) cgroups() Section {
	v1, v2 := h.cgroupMounts()
	var have []string
	text := map[string]string{
		"v1": "v1", "v2": "v2", "": "",
		"hybrid": "hybrid: controllers are split between v1 and v2",
	}[h.cgroupVersion()]
	versionItem := Item{Name: "version", OK: Yes, Value: text}
	if text == "" {
		versionItem.OK, versionItem.Why, versionItem.Remedy = No, "no cgroup file system is mounted",
			"mount -t cgroup2 none /sys/fs/cgroup"
	}
	for _, m := range v1 {
		for option := range strings.SplitSeq(m.VFSOptions, ",") {
			have = append(have, strings.Replace(option, "blkio", "io", 1))
		}
	}
	var unified []string
	for _, m := range v2 {
		if rest, ok := strings.CutPrefix(m.Mountpoint, "/sys/"); ok {
			unified = strings.Fields(readTrimmed(h.Roots.Sys, rest, "cgroup.controllers"))
			have = append(have, unified...)
		}
	}
	controllers := Item{Name: "controllers", OK: Yes}
	var found, missing []string
	for _, c := range limitControllers {
		switch {
		case slices.Contains(unified, c):
			found = append(found, c+" (v2)")
		case slices.Contains(have, c):
			found = append(found, c+" (v1)")
		default:
			missing = append(missing, c)
		}
	}
	controllers.Value = strings.Join(found, ", ")
	if len(missing) > 0 {
		controllers.OK = Limited
		controllers.Why = "limits on " + strings.Join(missing, ", ") + " cannot be set"
		controllers.Remedy = "enable them in the kernel (cgroup_enable= at boot), or delegate them to this container"
	}
	return Section{Name: "cgroups", Items: []Item{versionItem, controllers}}
}

// observation reports the metrics that can be sampled during a trial.
func (h *Host) observation(k kernel) Section {
	return Section{Name: "observation", Items: []Item{h.tracefs(), h.bpf(), h.pressure(k)}}
}

func (h *Host) tracefs() Item {
	i := Item{Name: "tracefs", OK: Yes}
	dir := filepath.Join(h.Roots.Sys, "kernel/tracing")
	if !exists(dir, "trace") {
		dir = filepath.Join(h.Roots.Sys, "kernel/debug/tracing")
	}
	tracers := strings.Fields(readTrimmed(dir, "available_tracers"))
	i.Value = dir
	switch {
	case !exists(h.Roots.Sys, "kernel/tracing"):
		i.OK, i.Value, i.Why, i.Remedy = No, "", "the kernel has no tracing", "boot a kernel with CONFIG_FTRACE"
	case len(tracers) == 0 && !h.isRoot():
		i.OK, i.Value, i.Why, i.Remedy = Unknown, "", "only root may look", "run plimsoll as root"
	case len(tracers) == 0:
		i.OK, i.Value, i.Why, i.Remedy = Limited, "", "the kernel has it, but it is not mounted",
			"nothing: plimsoll trace record mounts it for a recording; for other programs, mount -t tracefs "+
				"tracefs /sys/kernel/tracing"
	case !slices.Contains(tracers, "blk"):
		i.OK, i.Why, i.Remedy = Limited, "the blk tracer is missing", "boot a kernel with CONFIG_BLK_DEV_IO_TRACE"
	default:
		i.Value += ", with the blk tracer"
	}
	return i
}

func (h *Host) isRoot() bool { return h.rights().item("root").OK == Yes }

func (h *Host) bpf() Item {
	i := Item{Name: "BPF", OK: Yes}
	err := h.calls.bpf()
	switch {
	case errors.Is(err, fs.ErrPermission):
		i.OK, i.Why, i.Remedy = No, "this process may not use it: "+err.Error(),
			"run as root, or with CAP_BPF and CAP_PERFMON"
	case err != nil:
		i.OK, i.Why, i.Remedy = No, "bpf: "+err.Error(), "boot a kernel with CONFIG_BPF_SYSCALL"
	case !exists(h.Roots.Sys, "kernel/btf/vmlinux"):
		i.OK, i.Why, i.Remedy = Limited, "the kernel does not describe its types (BTF): block requests are recorded "+
			"by tracefs, which costs more", "boot a kernel with CONFIG_DEBUG_INFO_BTF"
	default:
		i.Value = "with the kernel's types (BTF), for plimsoll trace record"
	}
	return i
}

func (h *Host) pressure(k kernel) Item {
	i := Item{Name: "PSI", OK: Yes, Value: "pressure of cpu, io and memory"}
	if exists(h.Roots.Proc, "pressure/io") {
		return i
	}
	i.OK, i.Value, i.Why, i.Remedy = No, "", "the kernel does not account pressure", "boot a kernel with CONFIG_PSI"
	if k.config["PSI"] == "y" {
		i.Why, i.Remedy = "it is switched off at boot", "add psi=1 to the kernel's command line"
	}
	return i
}
