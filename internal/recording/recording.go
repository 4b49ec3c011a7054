// Package recording has what a running host did, interval by interval: of the host, of each drive, of each container,
// and of each container on each drive. Package watch writes recordings, package segments keeps them in files, and
// package imports makes them of what other programs wrote.
//
// The package is pure. A recording knows nothing of capacities: package headroom reads it.
//
// Hazards. Names are untrusted, and stay as they are. An amount that nobody counted is NaN, never 0: a container that
// did not run in an interval has NaN throughout.
package recording

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the version of the form of segments, which grows if older programs would misread newer files.
const SchemaVersion = 1

// Kind is the kind of thing that amounts are of.
type Kind string

// The kinds of things.
const (
	OfHost      Kind = "host"
	OfDrive     Kind = "drive"
	OfContainer Kind = "container" // or a unit of systemd, or another cgroup with processes
	OfUse       Kind = "use"       // of a drive by a container
	OfServer    Kind = "server"    // a database server in a container; copies are in the order in which they were named
)

// Metric names an amount, with its unit. Amounts that grow are those of the interval, not those since some time.
type Metric string

// The metrics. Not every kind of thing has each: see Metrics.
const (
	CPU            Metric = "cpu_us"
	Steal          Metric = "steal_us"     // processor time that a hypervisor took
	Throttled      Metric = "throttled_us" // processor time that a limit denied
	Reads          Metric = "reads"
	Writes         Metric = "writes"
	ReadBytes      Metric = "read_bytes"
	WriteBytes     Metric = "write_bytes"
	RequestTime    Metric = "request_us" // of all requests that were under way, added up
	Busy           Metric = "busy_us"    // in which a request was under way
	Anonymous      Metric = "anonymous_kib"
	SharedMemory   Metric = "shared_kib"
	Cache          Metric = "cache_kib"  // page cache, shared memory included
	ActiveFile     Metric = "active_kib" // page cache of files that was used more than once
	Available      Metric = "available_kib"
	MajorFaults    Metric = "major_faults"
	Refaults       Metric = "refaults" // pages that were read again soon after they were taken from the page cache
	CPUPressure    Metric = "cpu_pressure_us"
	MemoryPressure Metric = "memory_pressure_us"
	IOPressure     Metric = "io_pressure_us"
	Operations     Metric = "operations" // of a server, as it counts them
	Timed          Metric = "timed"      // operations that OperationTime is of; unknown if the server measures no time
	OperationTime  Metric = "timed_us"   // of all timed operations, added up
)

// Metrics returns the metrics of a kind of thing, in the order of columns.
func (k Kind) Metrics() []Metric {
	switch k {
	case OfHost:
		return []Metric{CPU, Steal, Available, Cache, CPUPressure, MemoryPressure, IOPressure}
	case OfDrive:
		return []Metric{Reads, Writes, ReadBytes, WriteBytes, RequestTime, Busy}
	case OfContainer:
		return []Metric{CPU, Throttled, Anonymous, SharedMemory, Cache, ActiveFile, MajorFaults, Refaults, CPUPressure,
			MemoryPressure, IOPressure}
	case OfUse:
		return []Metric{Reads, Writes, ReadBytes, WriteBytes}
	case OfServer:
		return []Metric{Operations, Timed, OperationTime}
	}
	return nil
}

// Levels reports whether a metric is a level at the end of the interval, such as memory; else it is an amount of the
// interval.
func (m Metric) Levels() bool { return strings.HasSuffix(string(m), "_kib") }

// Host is what a recording is of.
type Host struct {
	Name        string  `json:"name"`
	Kernel      string  `json:"kernel,omitempty"`
	CPUs        float64 `json:"cpus,omitempty"`         // 0 for unknown
	MemoryBytes float64 `json:"memory_bytes,omitempty"` // 0 for unknown
}

// Header begins each segment.
type Header struct {
	Schema   int      `json:"schema"`
	Host     Host     `json:"host"`
	Interval float64  `json:"interval_s"`
	Source   string   `json:"source,omitempty"`  // what wrote it: "plimsoll watch", "node_exporter"
	Unknown  []string `json:"unknown,omitempty"` // what cannot be seen there, and why
	// UsesUnknown reports whether reads and writes of containers were not counted.
	UsesUnknown bool `json:"uses_unknown,omitempty"`
}

// Thing is the host, a drive, a container, the use of a drive by a container, or a server in a container.
type Thing struct {
	Kind Kind `json:"kind"`
	// Name is what stays when a container is made again: the service of Compose with its project, the workload of
	// Kubernetes with its namespace, the unit of systemd; else the container's name.
	Name string `json:"name,omitempty"`
	// Copy numbers what runs under one name at the same time, from 1. A copy that ends leaves its number to the next.
	Copy    int     `json:"copy,omitempty"`
	Manager string  `json:"manager,omitempty"` // what knows Name: compose, kubernetes, systemd, docker; or the kind of a server
	Drive   string  `json:"drive,omitempty"`   // of a use
	Limits  []Limit `json:"limits,omitempty"`
	// IOUnknown reports whether reads and writes of the container were not counted.
	IOUnknown bool `json:"io_unknown,omitempty"`
}

// Key identifies a thing.
type Key struct {
	Kind  Kind
	Name  string
	Copy  int
	Drive string
}

// Key returns what identifies the thing, whatever its limits are now.
func (t Thing) Key() Key { return Key{t.Kind, t.Name, t.Copy, t.Drive} }

// Label returns the container's name, with the number of the copy if it is not the first.
func (t Thing) Label() string {
	if t.Copy > 1 {
		return fmt.Sprintf("%s #%d", t.Name, t.Copy)
	}
	return t.Name
}

// Limit is a limit that the kernel held for a container.
type Limit struct {
	Of    string  `json:"of"` // a key of limits in experiment files: cpus, memory, read-iops, read-bandwidth
	Drive string  `json:"drive,omitempty"`
	Value float64 `json:"value"`
}

// Amounts is what a thing did in an interval, by the order of its kind's metrics. NaN is unknown.
type Amounts struct {
	Thing  Thing
	Values []float64
}

// Row is an interval.
type Row struct {
	Time    time.Time // of its end
	Seconds float64   // its measured length
	Amounts []Amounts
}

// Gap is a time of which nothing was recorded.
type Gap struct {
	From, To time.Time
	Why      string `json:",omitempty"` // "" for unknown: the recorder did not run
}

// Seconds returns the length of the gap.
func (g Gap) Seconds() float64 { return g.To.Sub(g.From).Seconds() }

// Course is what a thing did, by interval of its recording.
type Course struct {
	Thing  Thing // as it was last
	values map[Metric][]float32
	rows   int
}

// Values returns the amounts of a metric, one for each interval; nil if the thing has no such metric. They are not to
// be changed.
func (c *Course) Values(m Metric) []float32 {
	if c == nil {
		return nil
	}
	values := c.values[m]
	for values != nil && len(values) < c.rows {
		values = append(values, nan32)
	}
	return values
}

// Recording is what a host did, as courses over one series of intervals.
type Recording struct {
	Header  Header
	Times   []time.Time // of the ends of intervals, ascending
	Seconds []float64   // their lengths
	Courses []*Course

	Gaps       []Gap
	Torn       int // records with a wrong checksum, or cut off, which were left out
	OutOfOrder int // intervals that were not later than the one before, which were left out
	Resets     int // counters that went back
	Lost       int // intervals that could not be written
	Sources    int // segments, or files

	byKey map[Key]*Course
}

// New returns a recording without intervals.
func New(h Header) *Recording { return &Recording{Header: h, byKey: map[Key]*Course{}} }

var nan32 = float32(math.NaN())

// MostCells bounds the amounts of a recording in memory: 4 bytes each.
const MostCells = 300_000_000

// ErrTooLong is in the error of a recording with more amounts than MostCells.
var ErrTooLong = fmt.Errorf("the recording has more than %d amounts", MostCells)

// Add adds an interval. It reports false for an interval that does not end after the one before, which it counts.
func (r *Recording) Add(row Row) (added bool, err error) {
	n := len(r.Times)
	if !(row.Seconds > 0) || math.IsInf(row.Seconds, 0) || n > 0 && !row.Time.After(r.Times[n-1]) {
		r.OutOfOrder++
		return false, nil
	}
	if n > 0 {
		begins := row.Time.Add(-time.Duration(row.Seconds * float64(time.Second)))
		if lost := begins.Sub(r.Times[n-1]).Seconds(); lost > max(r.Header.Interval, row.Seconds)/2 {
			r.Gaps = append(r.Gaps, Gap{From: r.Times[n-1], To: begins})
		}
	}
	r.Times, r.Seconds = append(r.Times, row.Time), append(r.Seconds, row.Seconds)
	cells := 0
	for _, a := range row.Amounts {
		c := r.course(a.Thing)
		for i, m := range c.Thing.Kind.Metrics() {
			v := nan32
			if i < len(a.Values) {
				v = float32(a.Values[i])
			}
			values := c.values[m]
			for len(values) < n {
				values = append(values, nan32)
			}
			if len(values) > n { // two containers of one name at once: their sum
				if !math.IsNaN(float64(v)) {
					values[n] += v
				}
			} else {
				values = append(values, v)
			}
			c.values[m] = values
		}
	}
	for _, c := range r.Courses {
		c.rows = n + 1
		cells += len(c.values)
	}
	if cells*(n+1) > MostCells {
		return true, ErrTooLong
	}
	return true, nil
}

// course returns the course of a thing, a new one if there is none.
func (r *Recording) course(t Thing) *Course {
	c := r.byKey[t.Key()]
	if c == nil {
		c = &Course{values: map[Metric][]float32{}}
		r.byKey[t.Key()] = c
		r.Courses = append(r.Courses, c)
	}
	c.Thing = t
	return c
}

// Find returns the course of a thing; nil if the recording has none.
func (r *Recording) Find(k Key) *Course { return r.byKey[k] }

// OfKind returns the courses of a kind, sorted by name, copy and drive.
func (r *Recording) OfKind(k Kind) (courses []*Course) {
	for _, c := range r.Courses {
		if c.Thing.Kind == k {
			courses = append(courses, c)
		}
	}
	slices.SortFunc(courses, func(a, b *Course) int {
		x, y := a.Thing, b.Thing
		if c := strings.Compare(x.Name, y.Name); c != 0 {
			return c
		}
		if x.Copy != y.Copy {
			return x.Copy - y.Copy
		}
		return strings.Compare(x.Drive, y.Drive)
	})
	return courses
}

// Recorded returns how many seconds of intervals there are.
func (r *Recording) Recorded() (seconds float64) {
	for _, s := range r.Seconds {
		seconds += s
	}
	return seconds
}

// CounterResets returns how often counters went back: Resets of an import, and amounts of the host or a drive that are
// unknown between two that are known.
func (r *Recording) CounterResets() int {
	resets := r.Resets
	for _, c := range r.Courses {
		if c.Thing.Kind != OfHost && c.Thing.Kind != OfDrive {
			continue
		}
		first := c.Thing.Kind.Metrics()[0]
		values := c.Values(first)
		for i := 1; i+1 < len(values); i++ {
			if values[i] != values[i] && values[i-1] == values[i-1] && values[i+1] == values[i+1] {
				resets++
			}
		}
	}
	return resets
}
