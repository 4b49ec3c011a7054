package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/stack"
)

// Recipe describes the content of an image. Two images of the same recipe are interchangeable; Hash names them.
type Recipe struct {
	Suite    string   `json:"suite"`    // of Debian
	Mirrors  []string `json:"mirrors"`  // none: the distribution's own
	Packages []string `json:"packages"` // installed with their dependencies
	Exclude  []string `json:"exclude"`  // paths that packages bring and the lab does not need, as patterns of dpkg
	Early    []string `json:"early"`    // kernel modules of the initial RAM disk
	Bytes    int64    `json:"bytes"`    // of the root file system; most of it is a hole
	Format   int      `json:"format"`   // raised when images are put together in another way
}

// DefaultRecipe is Debian 12: its engine, 20.10, is the last that has the
// devicemapper storage driver, and its QEMU the first that joins guests over a
// unix socket.
func DefaultRecipe() Recipe {
	return Recipe{
		Suite: "bookworm",
		Packages: append([]string{
			"linux-image-amd64",
			"udev", "kmod", "procps", "util-linux", "iproute2", "iputils-ping", "busybox-static", "ca-certificates", "less",
			"fio", "blktrace", "nvme-cli", "rdma-core", "ibverbs-providers",
			"docker.io", "iptables", "fuse-overlayfs", "openssh-server",
			"lvm2", "thin-provisioning-tools", "mdadm",
		}, fileSystemPackages()...),
		Exclude: append([]string{
			"/etc/kernel/postinst.d/initramfs-tools", // the lab has its own initial RAM disk
			"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*",
		}, modulesLeftOut...),
		Early:  []string{"virtio_pci", "virtio_blk", "virtio_console", "crc32c_generic", "ext4"},
		Bytes:  16 << 30,
		Format: 1,
	}
}

// fileSystemPackages are those of the file systems that stacks can have.
func fileSystemPackages() (packages []string) {
	for _, f := range stack.FileSystems() {
		if f.External {
			continue // its module needs the headers of the kernel and a compiler
		}
		packages = append(packages, f.Package)
	}
	return packages
}

// modulesLeftOut are drivers of hardware that no lab has: half of the kernel's
// package.
var modulesLeftOut = func() []string {
	var out []string
	for _, dir := range []string{
		"sound", "drivers/gpu", "drivers/media", "drivers/iio", "drivers/hid", "drivers/hwmon", "drivers/staging",
		"drivers/usb",
		"drivers/net/ethernet", "drivers/net/wireless", "drivers/net/usb", "drivers/infiniband/hw", "drivers/bluetooth",
		"drivers/isdn",
	} {
		out = append(out, "/lib/modules/*/kernel/"+dir+"/*")
	}
	return out
}()

// Hash names the content of an image: recipes that differ in anything give
// different ones.
func (r Recipe) Hash() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers have a JSON form
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// mmdebstrap returns the arguments that make a tar file of the root file system.
func (r Recipe) mmdebstrap(target string) []string {
	args := []string{"--variant=minbase", "--format=tar", "--verbose", "--include=" + strings.Join(r.Packages, ",")}
	for _, p := range r.Exclude {
		args = append(args, "--dpkgopt=path-exclude="+p)
	}
	return slices.Concat(args, []string{r.Suite, target}, r.Mirrors)
}

// loadOrder returns the files of modules and their dependencies, each after those that it depends on. modulesDep is
// the content of the kernel's modules.dep.
func loadOrder(modulesDep string, modules []string) ([]string, error) {
	needs := map[string][]string{} // by file
	files := map[string]string{}   // by module
	for line := range strings.Lines(modulesDep) {
		file, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		needs[file] = strings.Fields(rest)
		files[moduleName(file)] = file
	}
	var order []string
	for _, m := range modules {
		file, ok := files[m]
		if !ok {
			return nil, fmt.Errorf("the kernel of the image has no module %s", m)
		}
		// modules.dep lists what is needed first last.
		for _, f := range slices.Backward(append([]string{file}, needs[file]...)) {
			if !slices.Contains(order, f) {
				order = append(order, f)
			}
		}
	}
	return order, nil
}

// moduleName returns modprobe's name of a module's file.
func moduleName(file string) string {
	name := file[strings.LastIndex(file, "/")+1:]
	name, _, _ = strings.Cut(name, ".ko")
	return strings.ReplaceAll(name, "-", "_")
}
