package hostinfo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Cause is one of the ways in which a device is protected.
type Cause string

// The causes, in the order in which they are given.
const (
	CauseMounted     Cause = "mounted"
	CauseSwap        Cause = "swap"
	CauseHolder      Cause = "holder"
	CausePartitioned Cause = "partitioned"
	CauseSignature   Cause = "signature"
	CauseReadOnly    Cause = "read-only"
	CauseUnreadable  Cause = "unreadable" // its content cannot be determined
)

// Refusal is a reason why a device may not be used.
type Refusal struct {
	Cause  Cause  `json:"cause"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}

// usage maps kernel names of devices to their users, read once for all devices.
type usage struct {
	mounts     []*mountinfo.Info
	elsewhere  []foreignMount // in mount namespaces of other processes
	swap       map[string]bool
	btrfs      map[string]string   // UUID of the mounted btrfs that has the device
	users      map[string][]string // what else is built on the device
	partitions map[string][]string
	devices    map[string]bool
}

// foreignMount is a mount that this process does not see.
type foreignMount struct {
	*mountinfo.Info
	process string // "123 (postgres)": one that does
}

func (h *Host) usage(devices []Device) (usage, error) {
	u := usage{
		swap: map[string]bool{}, btrfs: map[string]string{},
		users: map[string][]string{}, partitions: map[string][]string{}, devices: map[string]bool{},
	}
	var err error
	if u.mounts, err = readMounts(filepath.Join(h.Roots.Proc, "self/mountinfo")); err != nil {
		return u, fmt.Errorf("read what is mounted: %w", err)
	}
	u.elsewhere = h.foreignMounts()
	if err := h.swaps(u.swap); err != nil {
		return u, fmt.Errorf("read what is used as swap: %w", err)
	}
	uuids, err := names(h.Roots.Sys, "fs/btrfs")
	if err != nil {
		return u, fmt.Errorf("read which devices btrfs uses: %w", err)
	}
	for _, uuid := range uuids {
		members, err := names(h.Roots.Sys, "fs/btrfs", uuid, "devices")
		if err != nil && !errors.Is(err, unix.ENOTDIR) {
			return u, fmt.Errorf("read which devices btrfs uses: %w", err)
		}
		for _, m := range members {
			u.btrfs[m] = uuid
		}
	}
	for _, d := range devices {
		u.devices[d.Name] = true
		if d.Partition {
			u.partitions[d.disk] = append(u.partitions[d.disk], d.Name)
		}
		dir := filepath.Join(h.Roots.Sys, "class/block", d.Name)
		holders, err := names(dir, "holders")
		if err != nil {
			return u, fmt.Errorf("read what is built on %s: %w", d.Name, err)
		}
		for _, holder := range holders {
			u.users[d.Name] = append(u.users[d.Name], h.holderText(holder))
		}
		if under := h.nodeName(readTrimmed(dir, "loop/backing_file")); under != "" {
			u.users[under] = append(u.users[under], "loop device "+d.Name)
		}
	}
	h.exports(u.users)
	return u, nil
}

func readMounts(path string) ([]*mountinfo.Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mountinfo.GetMountsFromReader(f, nil)
}

// foreignMounts returns the mounts of all other mount namespaces with a process. Unreadable namespaces are left out:
// processes end meanwhile, and only root can read those of other users.
func (h *Host) foreignMounts() []foreignMount {
	var out []foreignMount
	ownNamespace, err := os.Readlink(filepath.Join(h.Roots.Proc, "self/ns/mnt"))
	if err != nil {
		return nil
	}
	seen := map[string]bool{ownNamespace: true}
	pids, err := names(h.Roots.Proc)
	if err != nil {
		return nil
	}
	for _, pid := range pids {
		if digits(pid) != pid {
			continue
		}
		ns, err := os.Readlink(filepath.Join(h.Roots.Proc, pid, "ns/mnt"))
		if err != nil || seen[ns] {
			continue
		}
		mounts, err := readMounts(filepath.Join(h.Roots.Proc, pid, "mountinfo"))
		if err != nil {
			continue
		}
		seen[ns] = true
		process := fmt.Sprintf("%s (%s)", pid, readTrimmed(h.Roots.Proc, pid, "comm"))
		for _, m := range mounts {
			out = append(out, foreignMount{Info: m, process: process})
		}
	}
	return out
}

func (h *Host) swaps(swaps map[string]bool) error {
	b, err := os.ReadFile(filepath.Join(h.Roots.Proc, "swaps"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without swap
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			if name := h.nodeName(fields[0]); name != "" {
				swaps[name] = true
			}
		}
	}
	return nil
}

// holderText names a device that holds another one, with the name that its
// owner knows it by.
func (h *Host) holderText(name string) string {
	dir := filepath.Join(h.Roots.Sys, "class/block", name)
	if volume := readTrimmed(dir, "dm/name"); volume != "" {
		return fmt.Sprintf("%s (%s)", name, volume)
	}
	if level := readTrimmed(dir, "md/level"); level != "" {
		return fmt.Sprintf("%s (%s)", name, level)
	}
	return name
}

// exports adds the NVMe-oF subsystems that export devices to other hosts.
func (h *Host) exports(users map[string][]string) {
	const pattern = "kernel/config/nvmet/subsystems/*/namespaces/*"
	namespaces, _ := filepath.Glob(filepath.Join(h.Roots.Sys, pattern)) // the pattern is well formed
	for _, ns := range namespaces {
		if name := h.nodeName(readTrimmed(ns, "device_path")); name != "" && readTrimmed(ns, "enable") == "1" {
			subsystem := filepath.Base(filepath.Dir(filepath.Dir(ns)))
			users[name] = append(users[name], "NVMe-oF subsystem "+subsystem)
		}
	}
}

// refusals returns the objections to one device: its users, those of its partitions, and its content.
func (h *Host) refusals(d Device, u usage) []Refusal {
	var out []Refusal
	for _, name := range append([]string{d.Name}, u.partitions[d.Name]...) {
		out = append(out, h.inUse(d, name, u)...)
	}
	if users := u.users[d.disk]; d.Partition && len(users) > 0 {
		out = append(out, Refusal{
			Cause:  CauseHolder,
			Why:    fmt.Sprintf("%s, the disk it is a partition of, is used by %s", d.disk, list(users)),
			Remedy: "use what is built on the disk, or take it apart first",
		})
	}
	if backing := readTrimmed(h.Roots.Sys, "class/block", d.Name, "loop/backing_file"); u.devices[h.nodeName(backing)] {
		out = append(out, Refusal{
			Cause:  CauseHolder,
			Why:    "it is a loop device over " + backing + ", which it does not keep others from using",
			Remedy: "name " + backing + " itself",
		})
	}
	out = append(out, h.content(d, u)...)
	if readTrimmed(h.Roots.Sys, "class/block", d.Name, "ro") == "1" {
		out = append(out, Refusal{
			Cause:  CauseReadOnly,
			Why:    "the kernel marks it read-only",
			Remedy: "blockdev --setrw " + d.Path + ", unless the medium itself is write-protected",
		})
	}
	order := []Cause{CauseMounted, CauseSwap, CauseHolder, CausePartitioned, CauseSignature, CauseReadOnly,
		CauseUnreadable}
	slices.SortStableFunc(out, func(a, b Refusal) int {
		return slices.Index(order, a.Cause) - slices.Index(order, b.Cause)
	})
	return out
}

// inUse returns the current users of a device, or of one of its partitions.
func (h *Host) inUse(d Device, name string, u usage) []Refusal {
	subject, path := "it", d.Path
	if name != d.Name {
		subject, path = "its partition "+name, filepath.Join(h.Dev, strings.ReplaceAll(name, "!", "/"))
	}
	number := readTrimmed(h.Roots.Sys, "class/block", name, "dev")
	on := func(m *mountinfo.Info) bool {
		// btrfs gives its mounts a device number that no device has.
		return number == fmt.Sprintf("%d:%d", m.Major, m.Minor) || h.nodeName(m.Source) == name
	}
	var out []Refusal
	var points []string
	for _, m := range u.mounts {
		if on(m) && !slices.Contains(points, m.Mountpoint) {
			points = append(points, m.Mountpoint)
		}
	}
	foreign := slices.IndexFunc(u.elsewhere, func(m foreignMount) bool { return on(m.Info) })
	switch {
	case slices.Contains(points, "/"):
		out = append(out, Refusal{
			CauseMounted, subject + " is mounted on " + list(points), "the running system is on it: name another device",
		})
	case len(points) > 0:
		out = append(out,
			Refusal{CauseMounted, subject + " is mounted on " + list(points),
				"umount " + points[0] + ", if no program needs it"})
	case foreign >= 0:
		m := u.elsewhere[foreign]
		out = append(out, Refusal{
			CauseMounted,
			fmt.Sprintf("%s is mounted on %s in the mount namespace of process %s", subject, m.Mountpoint, m.process),
			"stop that process or container, if no program needs it",
		})
	case u.btrfs[name] != "":
		out = append(out,
			Refusal{CauseMounted, subject + " belongs to the mounted btrfs " + u.btrfs[name],
				"unmount that file system, if no program needs it"})
	}
	if u.swap[name] {
		out = append(out, Refusal{
			CauseSwap, subject + " is used as swap", "swapoff " + path + ", if memory suffices without it",
		})
	}
	if users := u.users[name]; len(users) > 0 {
		out = append(out, Refusal{
			CauseHolder, subject + " is used by " + list(users),
			"take that apart first (mdadm --stop, vgchange -an, cryptsetup close, losetup -d, nvmetcli clear), if " +
				"no program needs it",
		})
	}
	return out
}

// content returns objections due to a device's content: a partition table, a file system or any other signature that
// blkid or wipefs recognizes. Both are asked: blkid ignores a GPT of which only the copy at the end is left, and the
// partitions can still be restored from that copy.
func (h *Host) content(d Device, u usage) []Refusal {
	partitioned := func(why string) Refusal {
		return Refusal{CausePartitioned, why, "name one of its partitions or another device; if all of it may go: " +
			"--destroy " + d.Path + "=partitioned"}
	}
	var out []Refusal
	if parts := u.partitions[d.Name]; len(parts) > 0 {
		out = append(out, partitioned("it has partitions: "+list(parts)))
	}
	unknown := func(err error) Refusal {
		return Refusal{CauseUnreadable, "what it holds is not known: " + err.Error(),
			"find out with wipefs " + d.Path + " (package util-linux)"}
	}
	found, err := h.probe(d.Path)
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &unreadable):
		return append(out,
			Refusal{CauseUnreadable, "it cannot be opened, so what it holds is not known: " + unreadable.Err.Error(),
				openRemedy(unreadable)})
	case err != nil:
		return append(out, unknown(err))
	}
	traces, err := h.signatures(d.Path)
	if err != nil {
		out = append(out, unknown(err))
	}
	if table := found["PTTYPE"]; table != "" && !isPartitioned(out) {
		out = append(out, partitioned("it holds a partition table ("+table+")"))
	}
	var signatures []string
	for _, kind := range traces {
		switch {
		case !slices.Contains(partitionTables, kind):
			signatures = append(signatures, kind)
		case !isPartitioned(out):
			out = append(out,
				partitioned("it holds what is left of a partition table ("+kind+
					", by wipefs), from which the partitions may be restored"))
		}
	}
	if kind := found["TYPE"]; kind != "" {
		why := "it holds a signature of " + kind
		if label := found["LABEL"]; label != "" {
			why += ", label " + label
		}
		if uuid := found["UUID"]; uuid != "" {
			why += ", UUID " + uuid
		}
		out = append(out,
			Refusal{CauseSignature, why, "if it may go: wipefs --all " + d.Path + ", or --destroy " + d.Path + "=signature"})
	} else if len(signatures) > 0 {
		out = append(out, Refusal{
			CauseSignature, "it holds a signature of " + list(signatures) + ", by wipefs",
			"if it may go: wipefs --all " + d.Path + ", or --destroy " + d.Path + "=signature",
		})
	}
	return out
}

func isPartitioned(refusals []Refusal) bool {
	return slices.ContainsFunc(refusals, func(r Refusal) bool { return r.Cause == CausePartitioned })
}

// partitionTables are the types that wipefs prints for partition tables.
var partitionTables = []string{"gpt", "PMBR", "dos", "atari", "mac", "bsd", "sgi", "sun", "minix", "solaris-x86",
	"unixware", "ultrix", "aix"}

func openRemedy(err *fs.PathError) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "make its node (udevadm trigger), or name another device"
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		return "run plimsoll as root"
	case errors.Is(err, fs.ErrPermission):
		return "this root is restricted by a container, a security module or the hypervisor: allow it there"
	}
	return "see the kernel's log (dmesg) for the device"
}

// probe runs blkid on a device. The map is empty where it recognizes nothing; a *fs.PathError is a device that cannot
// be opened.
func (h *Host) probe(path string) (map[string]string, error) {
	// blkid's exit status does not tell an unreadable device from an empty one.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f.Close()
	blkid, _ := h.program("blkid")
	if blkid == "" {
		return nil, errors.New("blkid is not installed")
	}
	out, err := runProgram(context.Background(), blkid, "-p", "-o", "export", path)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		switch exit.ExitCode() {
		case 2:
			if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
				return nil, errors.New(said)
			}
			return nil, nil
		case 8:
			return map[string]string{"TYPE": "several file systems at once"}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("blkid: %w", err)
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			found[key] = value
		}
	}
	return found, nil
}

// signatures runs wipefs on a device, without a change: one word for each kind of signature.
func (h *Host) signatures(path string) ([]string, error) {
	wipefs, _ := h.program("wipefs")
	if wipefs == "" {
		return nil, errors.New("wipefs is not installed")
	}
	out, err := runProgram(context.Background(), wipefs, "--no-act", "--parsable", path)
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return nil, errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("wipefs: %w", err)
	}
	var kinds []string
	for l := range strings.Lines(out) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		// "OFFSET,UUID,LABEL,TYPE"
		if kind := l[strings.LastIndexByte(l, ',')+1:]; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// list joins the first names of a list, and counts the rest.
func list(names []string) string {
	const listLimit = 4
	if len(names) > listLimit {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listLimit], ", "), len(names)-listLimit)
	}
	return strings.Join(names, ", ")
}
