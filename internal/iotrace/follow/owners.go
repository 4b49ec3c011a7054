package follow

import (
	"strings"

	"plimsoll/internal/iotrace"
)

// maxOwners bounds the processes that are told apart.
const maxOwners = 256

// The first owners.
const (
	nobody = 0 // not known
	pooled = 1 // all beyond maxOwners
)

type ownerKey struct {
	cgroup uint64
	pid    uint32
}

// owners numbers processes, each in its cgroup.
type owners struct {
	list   []ownerKey
	index  map[ownerKey]uint16
	names  map[uint32]string
	recent [256]struct {
		ownerKey
		index uint16
	}
	// whether further owners were pooled
	pooled bool
}

func newOwners() owners {
	return owners{list: make([]ownerKey, 2), index: map[ownerKey]uint16{}, names: map[uint32]string{}}
}

// maxNames bounds the names that are kept.
const maxNames = 1 << 16

func (o *owners) name(pid uint32, name string) {
	if len(o.names) < maxNames {
		o.names[pid] = name
	}
}

// indexOf returns the index of the owner of an event.
func (o *owners) indexOf(e *event) uint16 {
	w := ownerKey{e.Cgroup, e.PID}
	r := &o.recent[(e.PID^uint32(e.Cgroup))&255]
	if r.ownerKey == w && r.index != nobody {
		return r.index
	}
	index, ok := o.index[w]
	if !ok {
		index = pooled
		if len(o.list) < maxOwners {
			index = uint16(len(o.list))
			o.list = append(o.list, w)
			o.index[w] = index
		} else {
			o.pooled = true
		}
	}
	r.ownerKey, r.index = w, index
	return index
}

// kernelThreads begin the names of those that pass on what others asked for.
var kernelThreads = []string{"kworker/", "ksoftirqd/", "swapper/", "kswapd", "jbd2/", "xfsaild/", "md", "dm", "loop",
	"btrfs-"}

// isKernel reports whether an owner is a kernel thread, by its name.
func (o *owners) isKernel(index uint16) bool {
	if index == nobody || index == pooled {
		return false
	}
	w := o.list[index]
	if w.pid == 0 {
		return true
	}
	name := o.names[w.pid]
	for _, prefix := range kernelThreads {
		if rest, ok := strings.CutPrefix(name, prefix); ok &&
			(len(prefix) > 4 || rest != "" && rest[0] >= '0' && rest[0] <= '9') {
			return true
		}
	}
	return false
}

// owner describes an owner.
func (o *owners) owner(index uint16) iotrace.Owner {
	switch index {
	case nobody:
		return iotrace.Owner{}
	case pooled:
		return iotrace.Owner{Command: "(other processes)"}
	}
	w := o.list[index]
	return iotrace.Owner{Cgroup: w.cgroup, PID: w.pid, Command: o.names[w.pid], Kernel: w.cgroup == 0 && o.isKernel(index)}
}
