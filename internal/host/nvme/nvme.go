// Package nvme reads NVMe controllers and namespaces from sysfs, and makes and ends connections to NVMe over Fabrics
// targets: by writing to /dev/nvme-fabrics and to a controller's delete_controller, as nvme-cli does, so that nothing
// needs to be installed.
//
// Hazards. Numbers in names (nvme3, nvme3n1) are assigned as devices are found, and may name another device after the
// next boot or connection. Look a namespace up by its UUID or NGUID, and a controller by the NQNs and the address of
// its connection.
package nvme

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Controller is one controller: a PCI device, or a connection to a target.
type Controller struct {
	Name      string // "nvme3"
	Transport string // "pcie", "tcp", "rdma", "loop"
	NQN       string // of its subsystem
	HostNQN   string // that it was connected with; "" for pcie
	Address   string // "traddr=10.0.0.1,trsvcid=4420,src_addr=…", or a PCI address
	State     string // "live", "connecting", "deleting", …
	Model     string
	Serial    string
	Firmware  string
	Queues    int // with the admin queue; 0 when the kernel does not say
	QueueSize int // entries of an I/O queue; 0 when the kernel does not say

	dir string
}

// Part returns one part of a connection's address: "traddr", "trsvcid".
func (c Controller) Part(key string) string {
	for part := range strings.SplitSeq(c.Address, ",") {
		if k, v, ok := strings.Cut(part, "="); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Namespace is a namespace as a block device.
type Namespace struct {
	Name  string // "nvme3n1"
	NSID  string
	UUID  string   // "" for none
	NGUID string   // 32 hexadecimal digits in groups, as the kernel writes it; "" for none
	EUI   string   // 16 hexadecimal digits; "" for none
	NQN   string   // of its subsystem
	Paths []string // controllers that lead to it: "nvme3"
	// PathDevices are the hidden block devices below a head node, in the order
	// of Paths: "nvme3c3n1". There are none where multipath is off.
	PathDevices []string
}

// Controllers lists the controllers, by name. sys is where sysfs is mounted.
func Controllers(sys string) []Controller {
	dirs, _ := filepath.Glob(filepath.Join(sys, "class/nvme/nvme*")) // the pattern is well formed
	var controllers []Controller
	for _, dir := range dirs {
		c := Controller{
			Name: filepath.Base(dir), dir: dir,
			Transport: read(dir, "transport"), NQN: read(dir, "subsysnqn"), HostNQN: read(dir, "hostnqn"),
			Address: read(dir, "address"), State: read(dir, "state"),
			Model: strings.Join(strings.Fields(read(dir, "model")), " "), Serial: read(dir, "serial"),
			Firmware: read(dir, "firmware_rev"),
		}
		c.Queues, _ = strconv.Atoi(read(dir, "queue_count"))
		if n, err := strconv.Atoi(read(dir, "sqsize")); err == nil {
			c.QueueSize = n + 1 // it counts from 0 (NVM Express Base Specification, Connect command)
		}
		controllers = append(controllers, c)
	}
	return controllers
}

// Namespaces lists the namespaces that may be opened: with multipath the head
// nodes, and not the hidden path devices below them.
func Namespaces(sys string) []Namespace {
	dirs, _ := filepath.Glob(filepath.Join(sys, "class/block/nvme*")) // the pattern is well formed
	var namespaces []Namespace
	hidden := map[string][][2]string{} // by head: path device, controller
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
			continue
		}
		if head, controller, ok := pathOf(name); ok {
			hidden[head] = append(hidden[head], [2]string{name, owner(dir, controller)})
			continue
		}
		n := Namespace{
			Name: name, NSID: read(dir, "nsid"), UUID: validID(read(dir, "uuid")), NGUID: validID(read(dir, "nguid")),
			EUI: validID(strings.ReplaceAll(read(dir, "eui"), " ", "")),
			NQN: read(dir, "device/subsysnqn"),
		}
		namespaces = append(namespaces, n)
	}
	for i := range namespaces {
		n := &namespaces[i]
		for _, p := range hidden[n.Name] {
			n.PathDevices = append(n.PathDevices, p[0])
			n.Paths = append(n.Paths, p[1])
		}
		if len(n.Paths) == 0 {
			n.Paths = []string{owner(filepath.Join(sys, "class/block", n.Name), "")}
		}
	}
	return namespaces
}

// Controllers returns the controllers of the namespace.
func (n Namespace) Controllers(sys string) []Controller {
	return slices.DeleteFunc(Controllers(sys), func(c Controller) bool { return !slices.Contains(n.Paths, c.Name) })
}

// pathOf splits the name of a path device: nvme3c5n1 is the path of the head
// node nvme3n1 through controller 5 of its subsystem.
func pathOf(name string) (head, controller string, ok bool) {
	rest, ok := strings.CutPrefix(name, "nvme")
	if !ok {
		return "", "", false
	}
	subsystem, rest, ok := strings.Cut(rest, "c")
	if !ok {
		return "", "", false
	}
	number, ns, ok := strings.Cut(rest, "n")
	return "nvme" + subsystem + "n" + ns, "nvme" + number, ok
}

// owner returns the controller of a block device: the target of the link to its parent in sysfs, or else the one in
// its name.
func owner(dir, missing string) string {
	if real, err := filepath.EvalSymlinks(filepath.Join(dir, "device")); err == nil {
		return filepath.Base(real)
	}
	return missing
}

// validID returns an identifier, and "" for one of zeros, which means none.
func validID(id string) string {
	if strings.Trim(id, "0-") == "" {
		return ""
	}
	return id
}

// SameID reports whether two identifiers are equal, regardless of grouping and case.
func SameID(a, b string) bool { return a != "" && b != "" && plain(a) == plain(b) }

func plain(id string) string {
	return strings.ToLower(strings.NewReplacer("-", "", " ", "", "0x", "").Replace(id))
}

func read(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
