package hostinfo

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// Environment returns the properties of this host that may affect a result. Unknown ones are empty, with a note where
// that matters.
func (h *Host) Environment(ctx context.Context) result.Environment {
	devices, err := h.Devices()
	return h.environment(devices, err, h.findPrograms(ctx, false), h.runningDriver(ctx))
}

// environment is Environment with the slow lookups already done.
func (h *Host) environment(devices []Device, err error, found programVersions, driver string) result.Environment {
	e := result.Environment{
		Hostname:       readTrimmed(h.Roots.Proc, "sys/kernel/hostname"),
		Kernel:         readTrimmed(h.Roots.Proc, "sys/kernel/osrelease"),
		OS:             h.osRelease()["PRETTY_NAME"],
		CPUModel:       h.cpuInfo("model name", "Hardware", "cpu model", "CPU part"),
		CPUs:           h.cpus(),
		Governor:       h.governor(),
		MemoryBytes:    h.memory(),
		Virtualization: h.virtualization(),
		CgroupVersion:  h.cgroupVersion(),
		FioVersion:     found.fio.version,
		StorageDriver:  driver,
	}
	if len(found.engines) > 0 {
		e.DockerVersion = found.engines[0].version
	}
	if err != nil {
		e.Notes = append(e.Notes, "block devices are not known: "+err.Error())
	}
	for _, d := range devices {
		if d.Partition || strings.HasPrefix(d.Name, "loop") {
			continue // it is on a disk that is listed
		}
		e.Devices = append(e.Devices, result.DeviceInfo{
			Name: d.Name, Path: d.Path, MajMin: d.MajMin, Model: d.Model, Serial: d.Serial, Firmware: d.Firmware,
			SizeBytes: d.SizeBytes, Rotational: d.Rotational, Scheduler: d.Scheduler, WriteCache: d.WriteCache,
		})
	}
	return e
}

// LabProduct is the product name in the firmware of a machine of plimsoll lab.
const LabProduct = "Plimsoll lab"

// Lab reports whether this host is a virtual machine of plimsoll lab, in which drives are emulated.
func (h *Host) Lab() bool { return readTrimmed(h.Roots.Sys, "class/dmi/id/product_name") == LabProduct }

// osRelease returns the variables of os-release.
func (h *Host) osRelease() map[string]string {
	vars := map[string]string{}
	for line := range strings.Lines(readTrimmed(h.Etc, "os-release")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			vars[key] = strings.Trim(value, `"'`)
		}
	}
	return vars
}

// cpuInfo returns the first of these fields that the first CPU has.
func (h *Host) cpuInfo(keys ...string) string {
	values := map[string]string{}
	for line := range strings.Lines(readTrimmed(h.Roots.Proc, "cpuinfo")) {
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if _, known := values[key]; ok && !known {
			values[key] = strings.TrimSpace(value)
		}
	}
	for _, key := range keys {
		if values[key] != "" {
			return values[key]
		}
	}
	return ""
}

// Capacity returns the machine's processors and memory, in the form of limits.
func (h *Host) Capacity() result.Limits {
	return result.Limits{CPUs: float64(h.cpus()), MemoryBytes: int64(h.memory())}
}

// Online lists the processors that are online, as "0-3,6".
func (h *Host) Online() string {
	return strings.TrimSpace(readTrimmed(h.Roots.Sys, "devices/system/cpu/online"))
}

// OnlineNodes lists the nodes of memory that are online, as "0-1"; "" where the kernel has no such list.
func (h *Host) OnlineNodes() string {
	return strings.TrimSpace(readTrimmed(h.Roots.Sys, "devices/system/node/online"))
}

// cpus counts the online logical CPUs, listed as "0-3,6".
func (h *Host) cpus() int {
	n := 0
	for part := range strings.SplitSeq(readTrimmed(h.Roots.Sys, "devices/system/cpu/online"), ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		n += b - a + 1
	}
	return n
}

// governor returns the cpufreq governor, or all governors if CPUs differ.
func (h *Host) governor() string {
	files, _ := filepath.Glob(filepath.Join(h.Roots.Sys, "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	var governors []string
	for _, f := range files {
		governors = append(governors, readTrimmed(f))
	}
	slices.Sort(governors)
	return strings.Join(slices.Compact(governors), ", ")
}

func (h *Host) memory() uint64 {
	for line := range strings.Lines(readTrimmed(h.Roots.Proc, "meminfo")) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib * 1024
		}
	}
	return 0
}

// hypervisors maps words in the firmware's product name to hypervisors.
var hypervisors = []struct{ word, name string }{
	{"qemu", "qemu"}, {"kvm", "kvm"}, {"amazon ec2", "amazon"}, {"google", "google"}, {"microsoft", "microsoft"},
	{"vmware", "vmware"}, {"virtualbox", "virtualbox"}, {"xen", "xen"}, {"openstack", "openstack"},
}

// virtualization names the hypervisor under this kernel.
func (h *Host) virtualization() string {
	flags := h.cpuInfo("flags")
	guest := slices.Contains(strings.Fields(flags), "hypervisor")
	if flags != "" && !guest {
		return "none"
	}
	if kind := readTrimmed(h.Roots.Sys, "hypervisor/type"); kind != "" {
		return kind
	}
	firmware := strings.ToLower(readTrimmed(h.Roots.Sys, "class/dmi/id/sys_vendor") + " " +
		readTrimmed(h.Roots.Sys, "class/dmi/id/product_name"))
	for _, known := range hypervisors {
		if strings.Contains(firmware, known.word) {
			return known.name
		}
	}
	if strings.Contains(
		readTrimmed(h.Roots.Sys, "devices/system/clocksource/clocksource0/available_clocksource"),
		"kvm-clock",
	) {
		return "kvm"
	}
	if guest {
		return "unknown hypervisor"
	}
	return ""
}
