package iotrace

import (
	"slices"
	"time"
)

// Account is the result of analysing a trace: times between the events of requests, by device, operation, size and
// owner.
type Account struct {
	Recorder string        `json:"recorder"` // "blktrace capture", "BPF", "BPF, per request", "tracefs"
	Duration time.Duration `json:"-"`        // from the first event to the last, or that was recorded
	// that were seen; 0 where they were summed up in the kernel uncounted
	Events uint64 `json:"events"`
	// events that the recorder reported as lost, and completions that the kernel did not show
	Lost uint64 `json:"lost"`
	// number of timed requests, where not all were; the others are counted and assumed to take as long
	Timed uint64 `json:"timed,omitempty"`
	// events that occurred more than once in the input, and were counted once
	Twice   uint64   `json:"twice,omitempty"`
	Missing []string `json:"missing,omitempty"` // what cannot be known, and why: "CPU 1 has no file", "no Q: ..."
	// MissingCPUs are those that have no file, or of which a capture that lacks
	// events has none.
	MissingCPUs []int `json:"missing_cpus,omitempty"`

	Devices []Device `json:"devices"`
	Cells   []Cell   `json:"-"` // ascending by Key; By sums them up
}

// Quantity is a figure of a device that a damaged trace may not allow: see Device.Withheld.
type Quantity string

// The quantities that take all events of a device.
const (
	QuantityDepth      Quantity = "depth"
	QuantityMaxDepth   Quantity = "max_depth"
	QuantitySequential Quantity = "sequential"
	QuantityQ2Q        Quantity = "Q2Q"
)

// Knows reports whether a quantity of the device is told.
func (d *Device) Knows(q Quantity) bool { return !slices.Contains(d.Withheld, q) }

// Key identifies a cell.
type Key struct {
	Device string // kernel name where known, else "MAJ:MIN"
	Op     Op
	Size   SizeClass
	Owner  Owner
}

// SizeClass is the least power of two, in bytes, that holds the request: 0 for
// one without data, 4096 for those above 2048 and up to 4096 bytes.
type SizeClass uint64

// Owner is the process or container that a request was made for, as known when it was queued.
type Owner struct {
	Cgroup    uint64 `json:"cgroup,omitempty"`    // id (inode) of its cgroup; 0 for unknown
	Path      string `json:"path,omitempty"`      // of that cgroup, when known
	Container string `json:"container,omitempty"` // name, when a container's
	PID       uint32 `json:"pid,omitempty"`
	Command   string `json:"command,omitempty"`
	// a task of its queued it within a system call of its own: the interval S2Q is known
	Call bool `json:"call,omitempty"`
	// queued by a kernel thread on behalf of an unknown process: charged to no one
	Kernel bool `json:"kernel,omitempty"`
}

// Cell is the requests of one key.
type Cell struct {
	Key
	Requests  uint64
	Bytes     uint64
	Intervals [Intervals]*Dist // nil for what never occurred, or cannot be known
}

// Device holds the counts and times of a whole device.
type Device struct {
	Name     string `json:"name"` // kernel name where known, else "MAJ:MIN"
	MajMin   string `json:"majmin"`
	NQN      string `json:"nqn,omitempty"`  // of a namespace that this host exports: its subsystem,
	NSID     uint32 `json:"nsid,omitempty"` // and its number there
	Requests uint64 `json:"requests"`       // completed ones
	Bytes    uint64 `json:"bytes"`

	BackMerges       uint64 `json:"back_merges"`
	FrontMerges      uint64 `json:"front_merges"`
	OtherMerges      uint64 `json:"other_merges"` // of whole requests, or discontiguous
	Splits           uint64 `json:"splits"`
	Remaps           uint64 `json:"remaps"`
	Requeues         uint64 `json:"requeues"`
	Plugs            uint64 `json:"plugs"`
	Unplugs          uint64 `json:"unplugs"`
	UnpluggedByTimer uint64 `json:"unplugged_by_timer"`
	Unfinished       uint64 `json:"unfinished"` // queued or issued, and not completed when the trace ended

	// Of a capture that lacks events: requests that were given up, for their sectors
	// were asked for again or too many others overtook them; and intervals that were
	// left out, for chance would make as many of their length.
	Retired  uint64 `json:"retired,omitempty"`
	Doubtful uint64 `json:"doubtful,omitempty"`

	// Withheld names the quantities that would be wrong and are therefore 0.
	Withheld []Quantity `json:"withheld,omitempty"`

	// completed by the device's own count, and their ends not shown to the recorder
	Unshown uint64 `json:"unshown,omitempty"`

	Depth    float64 `json:"depth"` // mean number of requests between D and C
	MaxDepth uint64  `json:"max_depth"`
	// share of issued requests that begin where the one before, of the same direction, ended
	Sequential float64 `json:"sequential"`

	Seconds []Second `json:"seconds,omitempty"`
}

// Second is one second of a device.
type Second struct {
	At       int64       `json:"at"` // whole seconds since the trace began
	Requests [Ops]uint64 `json:"requests"`
	Bytes    [Ops]uint64 `json:"bytes"`
	Depth    float64     `json:"depth"`  // mean between D and C
	Q2CNS    float64     `json:"q2c_ns"` // mean of those completed in it
	D2CNS    float64     `json:"d2c_ns"`
}
