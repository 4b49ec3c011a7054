package result

import "plimsoll/internal/result/hist"

// Trace divides the latency of a trial's I/Os into parts, from kernel events joined with the application's own times.
type Trace struct {
	Recorder string     `json:"recorder"`          // "BPF", "tracefs"
	Lost     uint64     `json:"lost,omitempty"`    // events that the recorder reported as lost
	Missing  []string   `json:"missing,omitempty"` // what cannot be known, and why
	Read     *Breakdown `json:"read,omitempty"`    // nil where the application read nothing
	Write    *Breakdown `json:"write,omitempty"`   // nil where it wrote nothing

	// Served counts the requests that devices completed, by owner: the application first, then others by bytes.
	Served []Served `json:"served,omitempty"`
}

// Breakdown is the mean latency of the application's I/Os in one direction, in
// parts that follow each other.
type Breakdown struct {
	IOs        uint64      `json:"ios"`          // of the application
	Bytes      uint64      `json:"bytes"`        // of the application
	TotalNS    float64     `json:"total_ns"`     // mean total latency that the application saw
	Parts      []TracePart `json:"parts"`        // in the order in which an I/O passes them
	ResidueNS  float64     `json:"residue_ns"`   // TotalNS less the sum of the parts, with its sign
	PerIO      float64     `json:"per_io"`       // requests made for the application per I/O of its
	BytesPerIO float64     `json:"bytes_per_io"` // that these requests carried

	// EntryNS and ReturnNS are the two halves of PartKernel: from the system
	// call to the block layer, and from completion back to the application.
	EntryNS  float64 `json:"entry_ns,omitempty"`
	ReturnNS float64 `json:"return_ns,omitempty"`
}

// PartName names a part of an I/O's latency.
type PartName string

// The parts of an I/O's latency, in the order in which they are shown.
const (
	PartUser PartName = "user" // in the application, before its system call and after it
	// from the system call to the block layer, and from completion back to the application: file system and overlay
	// included
	PartKernel PartName = "kernel"
	PartBlock  PartName = "block"  // queue, plug and scheduler of the block layer, until the request is issued
	PartDriver PartName = "driver" // from issue until the NVMe device has the command
	PartFabric PartName = "fabric" // of an NVMe-oF device: the initiator's wait less the target's time
	// of an NVMe-oF device: the target's own software; in PartFabric where the target does not record it
	PartTarget PartName = "target"
	PartDevice PartName = "device" // until completion
)

// TracePart is one part of the mean latency of I/Os.
type TracePart struct {
	Name   PartName `json:"name"`
	MeanNS float64  `json:"mean_ns"` // per I/O of the application
	From   string   `json:"from"`    // how it was measured: "slat less the system call", "D2C"

	// Latency is the distribution, where one was recorded; the parts' means are
	// of the same I/Os, their percentiles do not add up.
	Latency *hist.Histogram `json:"latency,omitempty"`
}

// Served counts the requests that one device completed for one owner.
type Served struct {
	Device      string `json:"device"` // kernel name
	Owner       string `json:"owner"`  // "application", "container cassandra-1", "jbd2/loop0-8", "not attributed"
	Application bool   `json:"application,omitempty"`
	Kernel      bool   `json:"kernel,omitempty"` // queued by a kernel thread on behalf of an unknown process
	Op          string `json:"op"`               // "read", "write", "discard", "flush", "other"
	Requests    uint64 `json:"requests"`
	Bytes       uint64 `json:"bytes"`
}
