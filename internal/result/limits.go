package result

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/units"
)

// Limits is what an instance, or a miniature host, may use at most. A zero
// field sets no limit.
type Limits struct {
	CPUs        float64 `json:"cpus,omitempty"`         // processors' worth of time: cpu.max of cgroups, CFS quota
	CPUSet      string  `json:"cpuset,omitempty"`       // processors that it may run on, as cgroups list them: "0-3,8"
	MemoryBytes int64   `json:"memory_bytes,omitempty"` // page cache included, as memory.max counts; no swap on top
	Read        Rate    `json:"read,omitzero"`          // of each device that it stands on
	Write       Rate    `json:"write,omitzero"`         // of each device that it stands on
}

// Rate is a limit on what a device does in a second. A zero field sets none.
type Rate struct {
	BytesPerSecond      int64 `json:"bytes_per_second,omitempty"`
	OperationsPerSecond int64 `json:"operations_per_second,omitempty"`
}

// None reports whether nothing is limited.
func (l Limits) None() bool { return l == Limits{} }

// HostAsked is what a command line said of the miniature, beside what the experiment's file says.
type HostAsked struct {
	None   bool     `json:"none,omitempty"` // the file's limits did not hold
	Limits Limits   `json:"limits,omitzero"`
	Lifted []string `json:"lifted,omitempty"` // limits that did not hold, by their keys in files
}

// Nothing reports whether nothing was said.
func (h HostAsked) Nothing() bool { return !h.None && h.Limits.None() && len(h.Lifted) == 0 }

// With returns the limits with those of others in place of its own, where these have any.
func (l Limits) With(others Limits) Limits {
	return Limits{
		CPUs: cmp.Or(others.CPUs, l.CPUs), CPUSet: cmp.Or(others.CPUSet, l.CPUSet),
		MemoryBytes: cmp.Or(others.MemoryBytes, l.MemoryBytes),
		Read:        l.Read.with(others.Read), Write: l.Write.with(others.Write),
	}
}

func (r Rate) with(others Rate) Rate {
	return Rate{
		BytesPerSecond:      cmp.Or(others.BytesPerSecond, r.BytesPerSecond),
		OperationsPerSecond: cmp.Or(others.OperationsPerSecond, r.OperationsPerSecond),
	}
}

// String says in words what limits allow: "0.5 CPUs, 768 MiB of memory,
// 2000 reads/s"; "" for none.
func (l Limits) String() string {
	var words []string
	add := func(limited bool, format string, args ...any) {
		if limited {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	noun := "CPUs"
	if l.CPUs == 1 {
		noun = "CPU"
	}
	add(l.CPUs > 0, "%s %s", strconv.FormatFloat(l.CPUs, 'f', -1, 64), noun)
	add(l.CPUSet != "", "processors %s", l.CPUSet)
	add(l.MemoryBytes > 0, "%s of memory", units.Bytes(uint64(max(0, l.MemoryBytes))))
	add(l.Read.OperationsPerSecond > 0, "%d reads/s", l.Read.OperationsPerSecond)
	add(l.Write.OperationsPerSecond > 0, "%d writes/s", l.Write.OperationsPerSecond)
	add(l.Read.BytesPerSecond > 0, "reads of %s/s", units.Bytes(uint64(max(0, l.Read.BytesPerSecond))))
	add(l.Write.BytesPerSecond > 0, "writes of %s/s", units.Bytes(uint64(max(0, l.Write.BytesPerSecond))))
	return strings.Join(words, ", ")
}
