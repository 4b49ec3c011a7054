// Package headroom finds what a host still carries from a recording of it: which resource binds first, how many more
// containers of a kind fit, which provisioned rates would have been enough, and what was never seen.
//
// Nothing is measured, and no trial runs. Amounts are counted in seconds, or in the longer intervals of the recording:
// what happens within an interval is not known, and Replay says what it assumes.
//
// The package is pure.
package headroom

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"plimsoll/internal/recording"
)

// SchemaVersion is the version of an answer's form, which grows if what was written before reads otherwise.
const SchemaVersion = 1

// Resource names what may bind.
type Resource string

// The resources. Those of drives are per second.
const (
	CPU            Resource = "cpu"             // processors
	Memory         Resource = "memory"          // bytes: held, and page cache of files that was used more than once
	Operations     Resource = "iops"            // reads and writes
	Bandwidth      Resource = "bandwidth"       // bytes read and written
	Reads          Resource = "read-iops"       // reads
	Writes         Resource = "write-iops"      // writes
	ReadBandwidth  Resource = "read-bandwidth"  // bytes read
	WriteBandwidth Resource = "write-bandwidth" // bytes written
	// Mixed is the share of the drive that reads and writes take together: reads per second as a share of the most reads
	// alone, and writes likewise, added up.
	Mixed Resource = "reads and writes"
)

// Source is where a capacity is from.
type Source string

// The sources.
const (
	Machine  Source = "the machine"      // its processors and memory
	Measured Source = "measured"         // by a run
	Given    Source = "given"            // a data sheet, or what was provisioned
	MostSeen Source = "the most seen"    // in the recording: the least that it may be
	InForce  Source = "a limit in force" // of the kernel
)

// Capacity is what there is of a resource.
type Capacity struct {
	Drive    string   `json:"drive,omitempty"`
	Resource Resource `json:"resource"`
	Value    float64  `json:"value"`
	// Low and High are the ends of its interval; 0 for none.
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
	Source Source  `json:"source"`
	From   string  `json:"from,omitempty"` // the run, or the flag
}

// Options are what is asked.
type Options struct {
	// Container is the name of the container to fit more of; "" for those that use most of what binds.
	Container string
	// Quantile of intervals in which demand must fit; 0 for the highest of UsualQuantiles that is known.
	Quantile   float64
	Capacities []Capacity // measured, or given
	Seed       uint64
}

// UsualQuantiles are those that tables have.
var UsualQuantiles = []float64{0.5, 0.99, 0.999}

// EnoughQuantiles are those that provisioned rates are looked for.
var EnoughQuantiles = []float64{0.99, 0.999, 0.9999}

// Answer is what a recording says.
type Answer struct {
	Host            recording.Host `json:"host"`
	Source          string         `json:"source,omitempty"` // that wrote the recording
	From            time.Time      `json:"from"`
	To              time.Time      `json:"to"`
	IntervalSeconds float64        `json:"interval_seconds"`
	RecordedSeconds float64        `json:"recorded_seconds"`
	Gaps            []Gap          `json:"gaps,omitempty"`
	Torn            int            `json:"torn_records,omitempty"`
	OutOfOrder      int            `json:"intervals_out_of_order,omitempty"`
	Resets          int            `json:"counter_resets,omitempty"`

	Quantile  float64 `json:"quantile"` // that demand is compared with capacities at; 0 if the recording is too short for any
	Resources []Use   `json:"resources"`
	Binding   int     `json:"binding"` // index of the resource that binds first; -1 for none
	When      *Hours  `json:"when,omitempty"`

	More     []More   `json:"more,omitempty"`
	Enough   []Enough `json:"enough,omitempty"`
	Together []Pair   `json:"peak_together,omitempty"`
	// Memory is what the memory of containers is worth, by natural changes of its size.
	Memory []MemoryWorth `json:"memory_worth,omitempty"`
	Shape  []Hour        `json:"by_hour,omitempty"`
	Days   []Day         `json:"by_day,omitempty"`

	Unseen  []string `json:"never_seen,omitempty"`
	Unknown []string `json:"unknown,omitempty"`

	times []time.Time // at the ends of intervals
}

// MarshalJSON writes the answer with its kind and schema.
func (a *Answer) MarshalJSON() ([]byte, error) {
	type plain Answer
	return json.Marshal(struct {
		Kind   string `json:"kind"`
		Schema int    `json:"schema"`
		*plain
	}{"plimsoll headroom", SchemaVersion, (*plain)(a)})
}

// Gap is a time without intervals.
type Gap struct {
	From    time.Time `json:"from"`
	Seconds float64   `json:"seconds"`
	Why     string    `json:"why,omitempty"` // "" for unknown
}

// Use is the use of a resource over the recording.
type Use struct {
	Drive     string     `json:"drive,omitempty"`
	Resource  Resource   `json:"resource"`
	Quantiles []Quantile `json:"quantiles"` // by UsualQuantiles
	Most      float64    `json:"most"`
	Capacity  Capacity   `json:"capacity"`
	// Share of the capacity that demand takes at the answer's quantile; nil if that is not known.
	Share *float64 `json:"share,omitempty"`
	// AtCapacity is the share of intervals with 98% of the capacity or more, in which more may have been wanted. It is 0
	// if the capacity is only the most that was seen.
	AtCapacity float64 `json:"at_capacity,omitempty"`
	// LatencyRatio is the mean time of a drive's requests in the busiest 1% of intervals, as a multiple of the median
	// interval; 0 for unknown.
	LatencyRatio float64 `json:"latency_ratio,omitempty"`
	// Busy is the share of time in which the drive had a request under way, at the answer's quantile; 0 for unknown.
	Busy float64 `json:"busy,omitempty"`

	total []float32
	// besides reports that another capacity of the drive is known, and this is only the most that was seen.
	besides bool
}

// Hours is a part of the day, in UTC.
type Hours struct {
	From  int     `json:"from_hour"`
	To    int     `json:"to_hour"` // exclusive, from 1 to 24
	Share float64 `json:"share"`   // of the busiest 1% of intervals that lie in it
}

// series is what a recording has, as rates.
type series struct {
	recording *recording.Recording
	seconds   []float32
	services  []*service
}

// service is the copies of one container.
type service struct {
	name   string
	copies []recording.Thing
}

// newSeries returns the rates of a recording.
func newSeries(r *recording.Recording) *series {
	s := &series{recording: r, seconds: make([]float32, len(r.Seconds))}
	for i, length := range r.Seconds {
		s.seconds[i] = float32(length)
	}
	for _, c := range r.OfKind(recording.OfContainer) {
		n := len(s.services)
		if n == 0 || s.services[n-1].name != c.Thing.Name {
			s.services = append(s.services, &service{name: c.Thing.Name})
			n++
		}
		s.services[n-1].copies = append(s.services[n-1].copies, c.Thing)
	}
	return s
}

// rates returns the sum of metrics of a course, per second; nil if one is not there. Levels are not divided.
func (s *series) rates(c *recording.Course, factor float64, metrics ...recording.Metric) []float32 {
	var sum []float32
	for _, m := range metrics {
		values := c.Values(m)
		if values == nil {
			return nil
		}
		if sum == nil {
			sum = make([]float32, len(s.seconds))
		}
		for i, v := range values {
			if !m.Levels() {
				v /= s.seconds[i]
			}
			sum[i] += v * float32(factor)
		}
	}
	return sum
}

const (
	perMicro = 1e-6
	perKiB   = 1024
)

// ioMetrics are the metrics of a drive's resource.
var ioMetrics = map[Resource][]recording.Metric{
	Operations: {recording.Reads, recording.Writes}, Bandwidth: {recording.ReadBytes, recording.WriteBytes},
	Reads: {recording.Reads}, Writes: {recording.Writes},
	ReadBandwidth: {recording.ReadBytes}, WriteBandwidth: {recording.WriteBytes},
}

// ofHost returns the use of a resource by all of the host; nil if it is not known.
func (s *series) ofHost(u *Use, mix mixture) []float32 {
	r := s.recording
	host := r.Find(recording.Key{Kind: recording.OfHost})
	switch u.Resource {
	case CPU:
		return s.rates(host, perMicro, recording.CPU)
	case Memory:
		available := s.rates(host, perKiB, recording.Available)
		if available == nil || !(r.Header.Host.MemoryBytes > 0) {
			return nil
		}
		for i, v := range available {
			available[i] = float32(r.Header.Host.MemoryBytes) - v
		}
		for _, c := range r.OfKind(recording.OfContainer) {
			for i, v := range s.rates(c, perKiB, recording.ActiveFile) {
				if v > 0 { // NaN where it did not run
					available[i] += v
				}
			}
		}
		return available
	}
	drive := r.Find(recording.Key{Kind: recording.OfDrive, Name: u.Drive})
	if u.Resource == Mixed {
		return mix.shares(s.rates(drive, 1, recording.Reads), s.rates(drive, 1, recording.Writes))
	}
	return s.rates(drive, 1, ioMetrics[u.Resource]...)
}

// mixture is the most reads and the most writes of a drive, per second.
type mixture struct{ reads, writes float64 }

func (m mixture) shares(reads, writes []float32) []float32 {
	if reads == nil || writes == nil {
		return nil
	}
	for i := range reads {
		reads[i] = reads[i]/float32(m.reads) + writes[i]/float32(m.writes)
	}
	return reads
}

// ofCopy returns the use of a resource by one copy of a service in the intervals in which it ran; nil if it is unknown.
func (s *series) ofCopy(t recording.Thing, u *Use, mix mixture) []float32 {
	c := s.recording.Find(t.Key())
	ran := c.Values(recording.CPU)
	var rates []float32
	switch u.Resource {
	case CPU:
		rates = s.rates(c, perMicro, recording.CPU)
	case Memory:
		rates = s.rates(c, perKiB, recording.Anonymous, recording.SharedMemory, recording.ActiveFile)
		if rates == nil || allNaN(rates) { // an import has no active files
			rates = s.rates(c, perKiB, recording.Anonymous)
		}
	default:
		if s.recording.Header.UsesUnknown || t.IOUnknown {
			return nil
		}
		use := s.recording.Find(recording.Key{Kind: recording.OfUse, Name: t.Name, Copy: t.Copy, Drive: u.Drive})
		switch {
		case use == nil:
			rates = make([]float32, len(s.seconds))
		case u.Resource == Mixed:
			rates = mix.shares(s.rates(use, 1, recording.Reads), s.rates(use, 1, recording.Writes))
		default:
			rates = s.rates(use, 1, ioMetrics[u.Resource]...)
		}
		for i, v := range rates {
			if math.IsNaN(float64(v)) { // no line of an interval: the container did nothing there
				rates[i] = 0
			}
		}
	}
	present := make([]float32, 0, len(rates))
	for i, v := range rates {
		if !math.IsNaN(float64(ran[i])) && !math.IsNaN(float64(v)) {
			present = append(present, v)
		}
	}
	return present
}

func allNaN(values []float32) bool {
	return !slices.ContainsFunc(values, func(v float32) bool { return v == v })
}

// known returns the values that are numbers.
func known(values []float32) []float32 {
	out := make([]float32, 0, len(values))
	for _, v := range values {
		if v == v {
			out = append(out, v)
		}
	}
	return out
}
