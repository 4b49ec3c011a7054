package fact

import "cmp"

// Resource is a resource that instances use.
type Resource string

// The resources.
const (
	Memory     Resource = "memory"      // page cache: what does not fit is read from the device again
	Processors Resource = "processors"  // of the scaled-down host, or of the host
	OwnCPUs    Resource = "own cpus"    // the limit of each instance
	Reads      Resource = "reads"       // of the device a second, against a limit
	Writes     Resource = "writes"      //
	ReadBytes  Resource = "read bytes"  //
	WriteBytes Resource = "write bytes" //
	IOs        Resource = "reads and writes"
	IOBytes    Resource = "bytes read and written"
	Device     Resource = "device" // itself: it had a request under way nearly always, and instances waited for it
)

// resources are how people call them, and what it means that one binds.
var resources = map[Resource][2]string{
	"":         {"nothing", "nothing that was measured binds"},
	Memory:     {"memory", "memory: their files outgrow it, or they wait for it"},
	Processors: {"processors", "processors of all"},
	OwnCPUs:    {"own CPUs", "the CPUs that each may use"},
	Reads:      {"reads/s", "the reads that the device may do"},
	Writes:     {"writes/s", "the writes that the device may do"},
	ReadBytes:  {"bytes read/s", "the bytes that the device may read"},
	WriteBytes: {"bytes written/s", "the bytes that the device may write"},
	IOs:        {"reads and writes/s", "the reads and writes that the device may do"},
	IOBytes:    {"bytes/s", "the bytes that the device may read and write"},
	Device:     {"device", "the device itself"},
}

// Word is the resource in a table: "nothing" for none.
func (r Resource) Word() string { return cmp.Or(resources[r][0], string(r)) }

// Means tells what it means that the resource binds.
func (r Resource) Means() string { return cmp.Or(resources[r][1], string(r)) }

// Limit returns the resource's name as a limit: "reads a second".
func (r Resource) Limit() string {
	switch r {
	case Processors:
		return "CPUs"
	case Memory:
		return "memory"
	case Reads:
		return "reads a second"
	case Writes:
		return "writes a second"
	case ReadBytes:
		return "read bandwidth"
	case IOs:
		return "reads and writes a second"
	case IOBytes:
		return "bandwidth"
	}
	return "write bandwidth"
}

// Because is why instances do no more, where the resource binds: "the device is busy".
func (r Resource) Because() string {
	switch r {
	case Memory:
		return "their files outgrow its memory"
	case Processors:
		return "the processors are busy"
	case OwnCPUs:
		return "the CPUs that each may use are used up"
	case Device:
		return "the device is busy"
	}
	return "the device does all that it may"
}

// Use is how much of a resource instances use together.
type Use struct {
	Resource Resource `json:"resource"`
	Used     float64  `json:"used"`  // processors, or operations or bytes a second; for the device the share of the time
	Limit    float64  `json:"limit"` // in the same unit
	Binds    bool     `json:"binds"` // it is at its limit
}

// Share is the share of the limit that is used.
func (u Use) Share() float64 { return u.Used / u.Limit }
