package watch

import (
	"encoding/json"
	"time"
)

// SchemaVersion is the version of a document's form, which grows where what was written before reads otherwise.
const SchemaVersion = 1

// Document is what was seen of a host in an interval.
type Document struct {
	Kind    string    `json:"kind"` // "plimsoll watch"
	Schema  int       `json:"schema"`
	Time    time.Time `json:"time"` // of the interval's end
	Seconds float64   `json:"seconds"`

	Host     Values    `json:"host"`
	Devices  []Device  `json:"devices"`
	Groups   []Group   `json:"groups"`
	Findings []Finding `json:"findings"`
	Classes  []Class   `json:"classes,omitempty"` // predicted beside measured
	Unknown  []string  `json:"unknown,omitempty"` // what cannot be seen here, and why
}

// MarshalJSON writes the document with its kind and schema.
func (d *Document) MarshalJSON() ([]byte, error) {
	type plain Document
	out := plain(*d)
	out.Kind, out.Schema = "plimsoll watch", SchemaVersion
	return json.Marshal(out)
}

// Values are metrics by name, as docs/reference/metrics.md lists them. What is not known is not in it.
type Values map[string]float64

// Device is a block device.
type Device struct {
	Name   string `json:"name"`
	MajMin string `json:"majmin"`
	Values Values `json:"metrics"`
}

// Kind is the kind of a group.
type Kind string

// The kinds of groups.
const (
	Container Kind = "container"
	Service   Kind = "service"
	Scope     Kind = "scope"
	Slice     Kind = "slice"
	Plain     Kind = "group"   // another cgroup, with processes of its own
	Process   Kind = "process" // of the host, in no group of its own; or the kernel
)

// Group is a cgroup, or processes of the host that are in none of the others.
type Group struct {
	Path   string `json:"path,omitempty"` // from the root of its hierarchy
	Kind   Kind   `json:"kind"`
	Engine string `json:"engine,omitempty"` // docker, containerd, podman, cri-o, systemd; "" for unknown
	ID     string `json:"id,omitempty"`     // of a container
	Name   string `json:"name"`
	Class  string `json:"class,omitempty"` // of a model

	Values Values  `json:"metrics,omitempty"`
	Drives []Use   `json:"drives,omitempty"`
	Memory *Memory `json:"memory,omitempty"`
	Limits []Limit `json:"limits,omitempty"`
}

// Use is what a group did on a device in the interval.
type Use struct {
	Device string `json:"device"`
	Read   Stream `json:"read"`
	Write  Stream `json:"write"`

	// Depth is how many of its requests were under way in the mean; 0 where latencies are not known.
	Depth float64 `json:"depth,omitempty"`
}

// Stream is the reads, or the writes, of a group on a device.
type Stream struct {
	PerSecond      float64 `json:"per_second"`
	BytesPerSecond float64 `json:"bytes_per_second"`
	// Percentiles of the time from the device's queue until the request was complete; 0 where they are not known.
	P50 float64 `json:"p50_seconds,omitempty"`
	P99 float64 `json:"p99_seconds,omitempty"`
}

// Memory is the memory of a group.
type Memory struct {
	Bytes int64 `json:"bytes"`
	// Held is what no shortage takes from it: anonymous and shared memory, and the kernel's own for it. Swap may.
	Held  int64 `json:"held_bytes"`
	Cache int64 `json:"cache_bytes"` // page cache of files
	// Enough is the least limit that would take none of the page cache that is used again and again: what is held,
	// and active files.
	Enough   int64  `json:"enough_bytes"`
	AtLimit  uint64 `json:"at_limit"` // how often it met its limit since it was made
	OOMKills uint64 `json:"oom_kills"`
}

// Limit is a limit of a group: as the kernel holds it, and as the engine was asked for it.
type Limit struct {
	Of     string   `json:"of"` // a key of limits in experiment files: "cpus", "memory", "read-iops"
	Device string   `json:"device,omitempty"`
	Held   float64  `json:"in_force"`           // 0 for none
	Above  string   `json:"held_by,omitempty"`  // the group above whose limit it is, where that is the least
	Asked  *float64 `json:"asked_of,omitempty"` // of the engine; 0 for none; nil where that is not known
	Used   float64  `json:"used,omitempty"`     // in the interval
}

// Class is the containers of a class of the model together: predicted under full load, and measured.
type Class struct {
	Name      string   `json:"class"`
	Count     int      `json:"count"`
	Rate      float64  `json:"predicted_rate,omitempty"` // operations a second, of all
	P99       float64  `json:"predicted_p99_seconds,omitempty"`
	Reads     float64  `json:"predicted_reads,omitempty"` // a second
	CPUs      float64  `json:"predicted_cpus,omitempty"`
	SeenReads float64  `json:"measured_reads"`
	SeenCPUs  float64  `json:"measured_cpus"`
	Carries   int      `json:"load_line,omitempty"` // instances that the host carries if they run alone; 0 for unknown
	Helps     string   `json:"helps,omitempty"`     // the resource of which more would help most
	Unknown   string   `json:"unknown,omitempty"`   // why nothing is predicted
	Outside   []string `json:"outside,omitempty"`   // why it is extrapolated
}
