package hostinfo

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/version"
)

// presence is the form in which a part of the kernel is available.
type presence string

const (
	builtIn  presence = "built in"
	loaded   presence = "loaded"
	loadable presence = "loadable"
	absent   presence = "absent"
	unclear  presence = "unknown"
)

// kernel holds the features of the running kernel, as its files show them.
type kernel struct {
	sys         string
	release     string
	filesystems map[string]bool
	builtins    map[string]bool   // modules compiled in, with underscores
	modules     map[string]bool   // modules that can be loaded, with underscores
	config      map[string]string // CONFIG_ names without the prefix; nil when not known
	lists       bool              // whether the module lists were there
}

func (h *Host) kernel() kernel {
	k := kernel{
		sys:         h.Roots.Sys,
		release:     readTrimmed(h.Roots.Proc, "sys/kernel/osrelease"),
		filesystems: map[string]bool{},
	}
	for line := range strings.Lines(readTrimmed(h.Roots.Proc, "filesystems")) {
		if fields := strings.Fields(line); len(fields) > 0 {
			k.filesystems[fields[len(fields)-1]] = true
		}
	}
	dir := filepath.Join(h.Lib, "modules", k.release)
	k.lists = exists(dir, "modules.dep")
	k.builtins = moduleNames(readTrimmed(dir, "modules.builtin"))
	k.modules = moduleNames(readTrimmed(dir, "modules.dep"))
	k.config = h.kernelConfig(k.release)
	return k
}

// moduleNames reads modules.builtin or the left sides of modules.dep:
// "kernel/drivers/md/dm-mod.ko.zst: ..." is dm_mod.
func moduleNames(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		path, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, _, _ := strings.Cut(filepath.Base(path), ".ko")
		set[strings.ReplaceAll(name, "-", "_")] = true
	}
	return set
}

// kernelConfig returns the kernel's build configuration, where it is available.
func (h *Host) kernelConfig(release string) map[string]string {
	text := []byte(readTrimmed(h.Boot, "config-"+release))
	if packed, err := os.ReadFile(filepath.Join(h.Roots.Proc, "config.gz")); err == nil {
		if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
			if plain, err := io.ReadAll(z); err == nil {
				text = plain
			}
		}
	}
	if len(text) == 0 {
		return nil
	}
	config := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			config[strings.TrimPrefix(name, "CONFIG_")] = value
		}
	}
	return config
}

// module finds a part of the kernel by its module's name and its option in
// the kernel's configuration.
func (k kernel) module(name, option string) presence {
	name = strings.ReplaceAll(name, "-", "_")
	switch {
	case exists(k.sys, "module", name, "initstate"):
		return loaded
	case exists(k.sys, "module", name) || k.builtins[name] || k.config[option] == "y":
		return builtIn
	case k.modules[name]:
		return loadable
	case k.lists || k.config != nil:
		return absent
	}
	return unclear
}

// filesystem finds support for a file system.
func (k kernel) filesystem(name, option string) presence {
	p := k.module(name, option)
	if k.filesystems[name] && p != loaded {
		return builtIn // or loaded, by a kernel that does not say
	}
	if p == unclear {
		return absent // it would be in /proc/filesystems, but for autoloading that no list promises
	}
	return p
}

// atLeast compares the kernel's version.
func (k kernel) atLeast(major, minor int) bool {
	return version.Parse(k.release).AtLeast(version.Version{Major: major, Minor: minor})
}

// feature is a part of the kernel that stacks need.
type feature struct {
	family string // group of features in the report
	name   string
	module string
	option string
}

// Families of features.
const (
	familyMapper = "device mapper"
	familyMD     = "md (software RAID)"
	familyNVMe   = "NVMe, NVMe over Fabrics"
)

// features are the block layers and transports in the report.
var features = []feature{
	{familyMapper, "device mapper", "dm-mod", "BLK_DEV_DM"},
	{familyMapper, "device mapper thin pools", "dm-thin-pool", "DM_THIN_PROVISIONING"},
	{familyMD, "md", "md-mod", "BLK_DEV_MD"},
	{familyMD, "md RAID0", "raid0", "MD_RAID0"},
	{"ublk", "ublk", "ublk_drv", "BLK_DEV_UBLK"},
	{familyNVMe, "nvme", "nvme", "BLK_DEV_NVME"},
	{familyNVMe, "nvme-fabrics", "nvme-fabrics", "NVME_FABRICS"},
	{familyNVMe, "nvme-tcp", "nvme-tcp", "NVME_TCP"},
	{familyNVMe, "nvme-rdma", "nvme-rdma", "NVME_RDMA"},
	{familyNVMe, "nvme-loop", "nvme-loop", "NVME_TARGET_LOOP"},
	{familyNVMe, "nvmet", "nvmet", "NVME_TARGET"},
	{familyNVMe, "nvmet-tcp", "nvmet-tcp", "NVME_TARGET_TCP"},
	{familyNVMe, "nvmet-rdma", "nvmet-rdma", "NVME_TARGET_RDMA"},
}

// layers reports on block layers and transports.
func (h *Host) layers(k kernel) Section {
	s := Section{Name: "block layers and NVMe over Fabrics"}
	for _, f := range features {
		i := k.item(f.name, k.module(f.module, f.option), f.module, f.option)
		i.part = &f
		s.Items = append(s.Items, i)
	}
	return s
}

// Kernel reports whether the running kernel has a feature, by the name of its module; only features of the report are
// known.
func (h *Host) Kernel(module string) Item {
	k := h.kernel()
	for _, f := range features {
		if f.module == module {
			return k.item(f.name, k.module(f.module, f.option), f.module, f.option)
		}
	}
	return Item{Name: module, OK: Unknown, Why: "not known"}
}

// Loadable reports whether a part of the kernel is available as a module that is not loaded.
func (i Item) Loadable() bool { return i.Value == string(loadable) }

// Modprobe returns the path of modprobe.
func (h *Host) Modprobe(module string) (string, error) {
	path, inPath := h.program("modprobe")
	if !inPath {
		return "", fmt.Errorf("modprobe is not in PATH, to load %s", module)
	}
	return path, nil
}

// item returns the report's item for one feature of the kernel.
func (k kernel) item(name string, p presence, module, option string) Item {
	i := Item{Name: name, OK: Yes, Value: string(p)}
	switch p {
	case loadable:
		i.Remedy = "modprobe " + module + " loads it"
	case absent:
		i.OK, i.Value = No, ""
		i.Why = "this kernel was built without it (CONFIG_" + option + ")"
		i.Remedy = "boot a kernel that has it, as the distributions' server kernels do"
		if k.config[option] == "m" || k.config == nil {
			i.Why = "the module " + module + " is not installed"
			i.Remedy = "install the modules of kernel " + k.release + " (Ubuntu: linux-modules-extra-" + k.release + ")"
		}
	case unclear:
		i.OK, i.Value = Unknown, ""
		i.Why = "neither the list of modules nor the kernel's configuration can be read"
		i.Remedy = "see whether modprobe " + module + " succeeds"
	}
	return i
}
