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

type who struct {
	cgroup uint64
	pid    uint32
}

// owners numbers processes, each in its cgroup.
type owners struct {
	list   []who
	index  map[who]uint16
	names  map[uint32]string
	recent [256]struct {
		who
		at uint16
	}
	beyond bool
}

func newOwners() owners {
	return owners{list: make([]who, 2), index: map[who]uint16{}, names: map[uint32]string{}}
}

// maxNames bounds the names that are kept.
const maxNames = 1 << 16

func (o *owners) name(pid uint32, name string) {
	if len(o.names) < maxNames {
		o.names[pid] = name
	}
}

// of is the owner of an event.
func (o *owners) of(e *event) uint16 {
	w := who{e.Cgroup, e.PID}
	r := &o.recent[(e.PID^uint32(e.Cgroup))&255]
	if r.who == w && r.at != nobody {
		return r.at
	}
	at, ok := o.index[w]
	if !ok {
		at = pooled
		if len(o.list) < maxOwners {
			at = uint16(len(o.list))
			o.list = append(o.list, w)
			o.index[w] = at
		} else {
			o.beyond = true
		}
	}
	r.who, r.at = w, at
	return at
}

// kernelThreads begin the names of those that pass on what others asked for.
var kernelThreads = []string{"kworker/", "ksoftirqd/", "swapper/", "kswapd", "jbd2/", "xfsaild/", "md", "dm", "loop",
	"btrfs-"}

// kernel tells whether an owner is a kernel thread, going by its name.
func (o *owners) kernel(at uint16) bool {
	if at == nobody || at == pooled {
		return false
	}
	w := o.list[at]
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
func (o *owners) owner(at uint16) iotrace.Owner {
	switch at {
	case nobody:
		return iotrace.Owner{}
	case pooled:
		return iotrace.Owner{Command: "(other processes)"}
	}
	w := o.list[at]
	return iotrace.Owner{Cgroup: w.cgroup, PID: w.pid, Command: o.names[w.pid], Kernel: w.cgroup == 0 && o.kernel(at)}
}
