package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/field"
	"plimsoll/internal/printable"
	"plimsoll/internal/units"
)

// Limits are upper bounds on the resources of an instance, or of a scaled-down host. A zero field sets no limit.
type Limits struct {
	CPUs        float64 `json:"cpus,omitempty"`         // processors' worth of time: cpu.max of cgroups, CFS quota
	Pinned      int     `json:"pinned,omitempty"`       // processors of its own that an instance may run on alone of all
	CPUSet      string  `json:"cpuset,omitempty"`       // processors that it may run on, as cgroups list them: "0-3,8"
	MemoryBytes int64   `json:"memory_bytes,omitempty"` // page cache included, as memory.max counts; no swap on top
	Read        Rate    `json:"read,omitzero"`          // of each device that it stands on
	Write       Rate    `json:"write,omitzero"`         // of each device that it stands on
	IO          Rate    `json:"io,omitzero"`            // reads and writes together: what a volume of a cloud is provisioned with
	// IOWeight is its share of each device that it stands on, beside the weights of the others there, of which each has
	// 100 unless set. It limits only who shares a device that is busy.
	IOWeight int64 `json:"io_weight,omitempty"`
	// IOLatency is the latency of I/O for which the kernel slows down the others on a device.
	IOLatency time.Duration `json:"io_latency_ns,omitempty"`
}

// mostQuoted is how many letters an error repeats of a text that may be another user's.
const mostQuoted = 250

// UnmarshalJSON reads limits. Runs and plans come from other people, and their processors end up in settings of
// services: a list that is none is an error.
func (l *Limits) UnmarshalJSON(text []byte) error {
	type plain Limits
	if err := json.Unmarshal(text, (*plain)(l)); err != nil {
		return err
	}
	if l.CPUSet != "" && !field.IsProcessorSet(l.CPUSet) {
		return fmt.Errorf("cpuset %q is no list of processors, such as 0-3,8", printable.Shorten(l.CPUSet, mostQuoted))
	}
	return nil
}

// WithoutDevices returns l without what it sets on devices.
func (l Limits) WithoutDevices() Limits {
	l.Read, l.Write, l.IOWeight, l.IOLatency = Rate{}, Rate{}, 0, 0
	return l
}

// Rate is a limit on what a device does in a second. A zero field sets none.
type Rate struct {
	BytesPerSecond      int64 `json:"bytes_per_second,omitempty"`
	OperationsPerSecond int64 `json:"operations_per_second,omitempty"`
}

// None reports whether no limit is set.
func (l Limits) None() bool { return l == Limits{} }

// HostOverrides are changes that a command line makes to the limits of the experiment file's scaled-down host.
type HostOverrides struct {
	None   bool     `json:"none,omitempty"` // the file's limits did not hold
	Limits Limits   `json:"limits,omitzero"`
	Lifted []string `json:"lifted,omitempty"` // limits that did not hold, by their keys in files
}

// Empty reports whether the command line changes no limit.
func (h HostOverrides) Empty() bool { return !h.None && h.Limits.None() && len(h.Lifted) == 0 }

// With returns l with each limit that overrides sets in place of its own.
func (l Limits) With(overrides Limits) Limits {
	return Limits{
		CPUs: cmp.Or(overrides.CPUs, l.CPUs), CPUSet: cmp.Or(overrides.CPUSet, l.CPUSet),
		Pinned:      cmp.Or(overrides.Pinned, l.Pinned),
		MemoryBytes: cmp.Or(overrides.MemoryBytes, l.MemoryBytes),
		Read:        l.Read.override(overrides.Read), Write: l.Write.override(overrides.Write),
		IO:       l.IO.override(overrides.IO),
		IOWeight: cmp.Or(overrides.IOWeight, l.IOWeight), IOLatency: cmp.Or(overrides.IOLatency, l.IOLatency),
	}
}

// override returns r with each limit that overrides sets in place of its own.
func (r Rate) override(overrides Rate) Rate {
	return Rate{
		BytesPerSecond:      cmp.Or(overrides.BytesPerSecond, r.BytesPerSecond),
		OperationsPerSecond: cmp.Or(overrides.OperationsPerSecond, r.OperationsPerSecond),
	}
}

// String returns the limits in words: "0.5 CPUs, 768 MiB of memory, 2000 reads/s"; "" for none.
func (l Limits) String() string {
	var words []string
	add := func(limited bool, format string, args ...any) {
		if limited {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	noun := func(one bool) string {
		if one {
			return "CPU"
		}
		return "CPUs"
	}
	add(l.CPUs > 0, "%s %s", strconv.FormatFloat(l.CPUs, 'f', -1, 64), noun(l.CPUs == 1))
	add(l.Pinned > 0, "%d %s of its own", l.Pinned, noun(l.Pinned == 1))
	add(l.CPUSet != "", "processors %s", l.CPUSet)
	add(l.MemoryBytes > 0, "%s of memory", units.Bytes(uint64(max(0, l.MemoryBytes))))
	add(l.Read.OperationsPerSecond > 0, "%d reads/s", l.Read.OperationsPerSecond)
	add(l.Write.OperationsPerSecond > 0, "%d writes/s", l.Write.OperationsPerSecond)
	add(l.Read.BytesPerSecond > 0, "reads of %s/s", units.Bytes(uint64(max(0, l.Read.BytesPerSecond))))
	add(l.Write.BytesPerSecond > 0, "writes of %s/s", units.Bytes(uint64(max(0, l.Write.BytesPerSecond))))
	add(l.IO.OperationsPerSecond > 0, "%d reads and writes/s", l.IO.OperationsPerSecond)
	add(l.IO.BytesPerSecond > 0, "reads and writes of %s/s", units.Bytes(uint64(max(0, l.IO.BytesPerSecond))))
	add(l.IOWeight > 0, "I/O weight %d", l.IOWeight)
	add(l.IOLatency > 0, "I/O latency of %v", l.IOLatency)
	return strings.Join(words, ", ")
}
