package hostinfo

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/nvme"
)

// Prefixes of names that say what they are: "uuid:…".
const (
	PrefixUUID  = "uuid"
	PrefixNGUID = "nguid"
)

// NVMe holds properties of an NVMe namespace besides its identifiers.
type NVMe struct {
	NQN        string   `json:"nqn"`         // of its subsystem
	NSID       string   `json:"nsid"`        // its number there
	BlockBytes int      `json:"block_bytes"` // of its LBA format: size of a block
	MetaBytes  int      `json:"meta_bytes"`  // of its LBA format: metadata with each block
	Remote     bool     `json:"remote"`      // another host's, reached over fabrics
	Multipath  bool     `json:"multipath"`   // it is a head node, with path devices below
	Paths      []string `json:"paths"`       // "nvme3 (tcp, traddr=10.0.0.1,trsvcid=4420, live, 4 I/O queues of 128)"
}

func (h *Host) namespaces() []nvme.Namespace { return nvme.Namespaces(h.Roots.Sys) }

// describeNVMe adds what only NVMe namespaces have.
func (h *Host) describeNVMe(d *Device, namespaces []nvme.Namespace) {
	for _, n := range namespaces {
		if n.Name != d.Name || n.NSID == "" && n.NQN == "" {
			continue
		}
		d.UUID, d.NGUID = n.UUID, first(n.NGUID, n.EUI)
		dir := filepath.Join(h.Roots.Sys, "class/block", n.Name)
		d.Namespace = &NVMe{NQN: n.NQN, NSID: n.NSID, Multipath: len(n.PathDevices) > 0}
		d.Namespace.BlockBytes, _ = strconv.Atoi(readTrimmed(dir, "queue/logical_block_size"))
		d.Namespace.MetaBytes, _ = strconv.Atoi(readTrimmed(dir, "metadata_bytes"))
		for _, c := range n.Controllers(h.Roots.Sys) {
			d.Namespace.Paths = append(d.Namespace.Paths, pathText(c))
			d.Namespace.Remote = d.Namespace.Remote || c.Transport != "pcie" && c.Transport != ""
			d.Firmware = first(d.Firmware, c.Firmware)
			if d.Scheduler == "" { // a head node passes I/O on: its paths have one
				for i, p := range n.Paths {
					if p == c.Name && i < len(n.PathDevices) {
						d.Scheduler = active(readTrimmed(h.Roots.Sys, "class/block", n.PathDevices[i], "queue/scheduler"))
					}
				}
			}
		}
	}
}

func pathText(c nvme.Controller) string {
	parts := []string{c.Transport, c.Address, c.State}
	if c.Queues > 1 {
		text := fmt.Sprintf("%d I/O queues", c.Queues-1)
		if c.QueueSize > 0 {
			text += fmt.Sprintf(" of %d", c.QueueSize)
		}
		parts = append(parts, text)
	}
	text := ""
	for _, p := range parts {
		if p != "" {
			text += ", " + p
		}
	}
	return fmt.Sprintf("%s (%s)", c.Name, strings.TrimPrefix(text, ", "))
}

// devicesWithID returns the devices with that UUID or NGUID.
func devicesWithID(devices []Device, prefix, id string) []Device {
	var found []Device
	for _, d := range devices {
		if prefix == PrefixUUID && nvme.SameID(d.UUID, id) || prefix == PrefixNGUID && nvme.SameID(d.NGUID, id) {
			found = append(found, d)
		}
	}
	return found
}
