package hostinfo

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/units/plural"
)

// Device is a block device of the host: a whole disk or a partition.
type Device struct {
	Name       string   `json:"name"`   // kernel name: "nvme0n1"
	Path       string   `json:"path"`   // "/dev/nvme0n1"
	MajMin     string   `json:"majmin"` // "259:0"
	Model      string   `json:"model"`  // of a partition: that of its disk
	Serial     string   `json:"serial"` // "" for a partition: it is its disk's
	Firmware   string   `json:"firmware"`
	IDs        []string `json:"ids,omitempty"`   // names in /dev/disk/by-id
	UUID       string   `json:"uuid,omitempty"`  // of an NVMe namespace
	NGUID      string   `json:"nguid,omitempty"` // of an NVMe namespace, or its EUI-64
	Namespace  *NVMe    `json:"nvme,omitempty"`  // properties of an NVMe namespace; nil for other devices
	SizeBytes  uint64   `json:"size_bytes"`
	Scheduler  string   `json:"scheduler"`   // the active one
	WriteCache string   `json:"write_cache"` // "write back", "write through"
	Rotational bool     `json:"rotational"`
	// sizes of writes that the drive promises to make whole; nil for a partition, and where the kernel does not say
	AtomicWrites *result.AtomicUnits `json:"atomic_writes,omitempty"`
	Partition    bool                `json:"partition"`
	Problems     []Refusal           `json:"problems,omitempty"` // why it may not be used

	disk string // kernel name of the disk that a partition is on
}

// Usable reports whether there is no objection to using the device.
func (d Device) Usable() bool { return len(d.Problems) == 0 }

// Devices returns the disks and partitions of the host, ordered by name, each with the objections to using it. RAM
// disks, loop devices without a file, devices without a medium and hidden paths of multipath NVMe are left out. It
// fails when the users of devices cannot be determined.
func (h *Host) Devices() ([]Device, error) {
	devices, err := h.list()
	if err != nil {
		return nil, err
	}
	u, err := h.usage(devices)
	if err != nil {
		return nil, err
	}
	for i := range devices {
		devices[i].Problems = h.refusals(devices[i], u)
	}
	return devices, nil
}

// list describes the devices without judging them.
func (h *Host) list() ([]Device, error) {
	found, err := names(h.Roots.Sys, "class/block")
	if err != nil {
		return nil, fmt.Errorf("list block devices: %w", err)
	}
	ids, namespaces := h.deviceIDs(), h.namespaces()
	devices := []Device{}
	for _, name := range found {
		if d, ok := h.describe(name); ok {
			d.IDs = ids[name]
			h.describeNVMe(&d, namespaces)
			devices = append(devices, d)
		}
	}
	slices.SortFunc(devices, func(a, b Device) int { return naturally(a.Name, b.Name) })
	return devices, nil
}

// describe reads one device from sysfs, and reports whether it is to be listed.
func (h *Host) describe(name string) (Device, bool) {
	dir := filepath.Join(h.Roots.Sys, "class/block", name)
	sectors, err := strconv.ParseUint(readTrimmed(dir, "size"), 10, 64)
	if err != nil || sectors == 0 || readTrimmed(dir, "hidden") == "1" ||
		strings.HasPrefix(name, "ram") || strings.HasPrefix(name, "loop") && !exists(dir, "loop/backing_file") &&
		!exists(dir, "partition") {
		return Device{}, false
	}
	d := Device{
		Name:      name,
		Path:      filepath.Join(h.Dev, strings.ReplaceAll(name, "!", "/")),
		MajMin:    readTrimmed(dir, "dev"),
		SizeBytes: sectors * 512, // sysfs counts in 512 bytes whatever the device's sectors
	}
	disk := dir
	if exists(dir, "partition") {
		d.Partition = true
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			disk = filepath.Dir(real)
		}
		d.disk = filepath.Base(disk)
	}
	d.Model = model(disk)
	d.Firmware = first(readTrimmed(disk, "device/firmware_rev"), readTrimmed(disk, "device/rev"))
	if !d.Partition {
		d.Serial = serial(disk)
	}
	d.Scheduler = active(readTrimmed(disk, "queue/scheduler"))
	d.WriteCache = readTrimmed(disk, "queue/write_cache")
	d.Rotational = readTrimmed(disk, "queue/rotational") == "1"
	if u, known := blockdev.AtomicWrites(h.Roots, name); known && !d.Partition {
		d.AtomicWrites = &u
	}
	return d, true
}

// model returns a disk's own model name or, for one that the kernel makes, its kind and backing.
func model(disk string) string {
	if m := readTrimmed(disk, "device/model"); m != "" {
		return strings.Join(strings.Fields(m), " ")
	}
	switch {
	case exists(disk, "loop"):
		return "loop device over " + readTrimmed(disk, "loop/backing_file")
	case exists(disk, "dm"):
		return "device mapper volume " + readTrimmed(disk, "dm/name")
	case exists(disk, "md"):
		return "md " + readTrimmed(disk, "md/level")
	case strings.HasPrefix(filepath.Base(disk), "zram"):
		return "compressed memory (zram)"
	case strings.HasPrefix(filepath.Base(disk), "vd"):
		return "virtio disk"
	}
	return ""
}

// serial returns the disk's serial number: an attribute of NVMe and virtio, vital product data of SCSI.
func serial(disk string) string {
	if s := first(readTrimmed(disk, "device/serial"), readTrimmed(disk, "serial")); s != "" {
		return s
	}
	page, err := os.ReadFile(filepath.Join(disk, "device/vpd_pg80"))
	if err != nil || len(page) < 4 {
		return ""
	}
	body := page[4:]
	if n := int(binary.BigEndian.Uint16(page[2:4])); n < len(body) {
		body = body[:n]
	}
	return strings.Trim(string(body), " \x00\n")
}

// deviceIDs returns the names in /dev/disk/by-id of each device.
func (h *Host) deviceIDs() map[string][]string {
	ids := map[string][]string{}
	links, err := names(h.Dev, "disk/by-id")
	if err != nil {
		return ids // without links a device is found by path or serial
	}
	for _, id := range links {
		if name := h.nodeName(filepath.Join(h.Dev, "disk/by-id", id)); name != "" {
			ids[name] = append(ids[name], id)
		}
	}
	return ids
}

// nodeName returns the kernel name of a node below /dev, links followed, and "" for other paths.
func (h *Host) nodeName(path string) string {
	if rest, ok := strings.CutPrefix(path, "/dev/"); ok {
		path = filepath.Join(h.Dev, rest)
	}
	root := h.Dev
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	rest, ok := strings.CutPrefix(path, root+"/")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(rest, "/", "!")
}

// UnknownDeviceError is returned for a name that no device of the host has.
type UnknownDeviceError struct {
	Name    string
	Why     string   // the object found instead; "" for none
	Instead string   // the device to use instead, where the name is for something related
	Known   []Device // the host's devices
}

// Is reports whether target is problem.Invalid: a wrong name is the mistake of the user.
func (e *UnknownDeviceError) Is(target error) bool { return target == problem.Invalid }

func (e *UnknownDeviceError) Error() string {
	s := "there is no device " + e.Name
	if e.Why != "" {
		s += ": " + e.Why
	}
	if e.Instead != "" {
		return s + "; did you mean " + e.Instead + "?"
	}
	if len(e.Known) == 0 {
		return s + "; this host has no block devices to name"
	}
	if near := e.near(); len(near) > 0 {
		return s + "; did you mean " + plural.Or(near) + "?"
	}
	// No name is similar: list disks, and loop devices and partitions after them.
	known := slices.Clone(e.Known)
	rank := func(d Device) int {
		switch {
		case d.Serial != "":
			return 0
		case !d.Partition && !strings.HasPrefix(d.Name, "loop"):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(known, func(a, b Device) int { return rank(a) - rank(b) })
	var shown []string
	for _, d := range known[:min(maxSuggestions, len(known))] {
		text := d.Path
		if d.Serial != "" {
			text += " (serial " + d.Serial + ")"
		}
		shown = append(shown, text)
	}
	if more := len(known) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return s + "; this host has " + plural.And(shown)
}

// maxSuggestions is how many devices an error names.
const maxSuggestions = 3

// near returns names of devices similar to the unknown one. A prefix common to all paths does not count.
func (e *UnknownDeviceError) near() []string {
	var known []string
	full := map[string]string{}
	add := func(short, name string) {
		if _, twice := full[short]; !twice && short != "" {
			known, full[short] = append(known, short), name
		}
	}
	for _, d := range e.Known {
		add(d.Name, d.Path)
		add(d.Serial, d.Serial)
		for _, id := range d.IDs {
			add(id, id)
		}
		for prefix, id := range map[string]string{PrefixUUID: d.UUID, PrefixNGUID: d.NGUID} {
			if id != "" && strings.HasPrefix(e.Name, prefix+":") {
				add(prefix+":"+id, prefix+":"+id)
			}
		}
	}
	name := strings.TrimPrefix(e.Name, "/dev/")
	if same, ok := full[name]; ok {
		return []string{same}
	}
	near := suggest.Near(strings.TrimPrefix(name, "disk/by-id/"), known, maxSuggestions)
	for i, short := range near {
		near[i] = full[short]
	}
	return near
}

// DeviceNames returns the paths and serials of the whole disks of the host that
// are no loop devices, for a shell to complete; none when they cannot be read.
func (h *Host) DeviceNames() []string {
	devices, err := h.list()
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range devices {
		if d.Partition || strings.HasPrefix(d.Name, "loop") {
			continue
		}
		names = append(names, d.Path)
		if d.Serial != "" {
			names = append(names, d.Serial)
		}
	}
	return names
}

// Find returns the device with that path (links are followed), name in /dev/disk/by-id, serial, uuid:UUID or
// nguid:NGUID, and the objections to using it. For an unknown name it returns an *UnknownDeviceError; the error for
// an ambiguous name lists the devices.
func (h *Host) Find(name string) (Device, error) {
	devices, err := h.list()
	if err != nil {
		return Device{}, err
	}
	d, err := h.locate(devices, name)
	if err != nil {
		return Device{}, err
	}
	u, err := h.usage(devices)
	if err != nil {
		return Device{}, err
	}
	d.Problems = h.refusals(d, u)
	return d, nil
}

// Locate is Find without a look at what speaks against using the device, which
// takes the start of a program.
func (h *Host) Locate(name string) (Device, error) {
	devices, err := h.list()
	if err != nil {
		return Device{}, err
	}
	return h.locate(devices, name)
}

// locate finds the device of a name.
func (h *Host) locate(devices []Device, name string) (Device, error) {
	if strings.Contains(name, "/") {
		node := h.nodeName(name)
		number, kind := nodeNumber(h.rooted(name))
		for _, d := range devices {
			if d.Name == node || number != "" && d.MajMin == number {
				return d, nil
			}
		}
		unknown := &UnknownDeviceError{Name: name, Known: devices}
		switch {
		case number != "":
			unknown.Why = "it is not a disk or partition that can be used (a loop device without a file, no medium, or " +
				"size zero)"
		case kind == fs.ModeDir:
			unknown.Why, unknown.Instead = "it is a directory", "dir:"+name
		case kind != fs.ModeIrregular:
			unknown.Why = "it is " + inputfile.Kind(kind)
		}
		return Device{}, unknown
	}
	var found []Device
	kind, notFound := "serial", "none has that serial or that name in /dev/disk/by-id"
	if prefix, id, ok := strings.Cut(name, ":"); ok && (prefix == PrefixUUID || prefix == PrefixNGUID) {
		kind, notFound = prefix, "no NVMe namespace of this host has that "+strings.ToUpper(prefix)
		found = devicesWithID(devices, prefix, id)
	}
	for _, d := range devices {
		if slices.Contains(d.IDs, name) {
			return d, nil
		}
		if d.Serial != "" && d.Serial == name {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		why := notFound
		if slices.ContainsFunc(devices, func(d Device) bool { return d.Name == name }) {
			why = "a device is named by its path (/dev/" + name + "), by-id name or serial"
		}
		return Device{}, &UnknownDeviceError{Name: name, Why: why, Known: devices}
	case 1:
		return found[0], nil
	}
	var paths []string
	for _, d := range found {
		paths = append(paths, d.Path)
	}
	return Device{}, fmt.Errorf("%s %q is ambiguous: %s have it (a multipath device, or copies of one image); name "+
		"the device by its path",
		kind, name, strings.Join(paths, " and "))
}

// rooted maps a path below /dev to the root that it is read from.
func (h *Host) rooted(path string) string {
	if rest, ok := strings.CutPrefix(path, "/dev/"); ok {
		return filepath.Join(h.Dev, rest)
	}
	return path
}

// nodeNumber returns "major:minor" of a block device's node, wherever it is; and
// otherwise what kind of thing the path is, fs.ModeIrregular when it is nothing.
func nodeNumber(path string) (number string, kind fs.FileMode) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fs.ModeIrregular
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if kind = info.Mode().Type(); kind != fs.ModeDevice || !ok {
		return "", kind
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)), kind
}

// active returns the word in brackets of "none [mq-deadline] kyber".
func active(choices string) string {
	_, rest, ok := strings.Cut(choices, "[")
	if !ok {
		return choices
	}
	word, _, _ := strings.Cut(rest, "]")
	return word
}

// first returns the first string that is not empty.
func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// naturally orders names so that nvme2n1 comes before nvme10n1.
func naturally(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da != "" && db != "" {
			x, _ := strconv.ParseUint(da, 10, 64)
			y, _ := strconv.ParseUint(db, 10, 64)
			if x != y {
				return int(min(max(int64(x)-int64(y), -1), 1))
			}
			a, b = a[len(da):], b[len(db):]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns the leading digits of s.
func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
