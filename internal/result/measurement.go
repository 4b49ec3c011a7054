package result

import (
	"maps"
	"slices"

	"plimsoll/internal/hist"
)

// Measurement is what a workload reported of one instance in one trial.
type Measurement struct {
	Seconds    float64     `json:"seconds"`    // measured time, ramp excluded
	Operations []Operation `json:"operations"` // that it did, each name once
	UserCPU    float64     `json:"user_cpu"`   // share of one core, mean over jobs, 0 to 1
	SystemCPU  float64     `json:"system_cpu"` // share of one core, mean over jobs, 0 to 1

	// Notes are what speaks against it, for people: "the load generator was itself the
	// bottleneck: ...".
	Notes []string `json:"notes,omitempty"`

	// OpenLoop is how an open loop went, of an instance alone; nil for any other load.
	OpenLoop *OpenLoop `json:"open_loop,omitempty"`
}

// OpenLoop is how operations fared that began at a rate, whatever the server did.
type OpenLoop struct {
	Rate    float64 `json:"rate"`              // operations per second that were to begin
	Overdue uint64  `json:"overdue,omitempty"` // operations that had not begun at the end although their time had come
	// BehindSeconds is how late the next of them was.
	BehindSeconds float64 `json:"behind_seconds,omitempty"`

	// LagP99NS is the 99th percentile of by how much operations began late although a connection
	// was free, which is the generator's own doing.
	LagP99NS float64 `json:"lag_p99_ns"`
	BusyCPU  float64 `json:"busy_cpu"` // share of the CPUs that the generator may use which it used, 0 to 1
	// Hindered says that the generator was itself the bottleneck, by either of both.
	Hindered bool `json:"hindered,omitempty"`

	// P99NS is the 99th percentile of total latency in each interval of the measured time, what
	// is left out of it as warm-up included: where it grows to the end, so does a queue. 0 for an
	// interval in which nothing was completed.
	P99NS           []float64 `json:"p99_ns,omitempty"`
	IntervalSeconds float64   `json:"interval_seconds,omitempty"`
}

// The operations of workloads that read and write blocks.
const (
	Read  = "read"
	Write = "write"
)

// Operation is one kind of what a workload counts: fio's reads, the updates of
// YCSB, TPC-C's new-order.
type Operation struct {
	Name           string                   `json:"name"`
	Count          uint64                   `json:"count"`              // completed without an error
	Errors         uint64                   `json:"errors,omitempty"`   // apart from Count, and in no latency
	Timeouts       uint64                   `json:"timeouts,omitempty"` // of Errors, those that no answer came to in time
	Retries        uint64                   `json:"retries,omitempty"`  // attempts after the first, whatever came of them
	Bytes          uint64                   `json:"bytes,omitempty"`
	Rate           float64                  `json:"rate"` // completed per second
	BytesPerSecond float64                  `json:"bytes_per_second,omitempty"`
	Latency        map[Stage]hist.Histogram `json:"latency,omitempty"`
}

// Stage is the part of an operation that a latency is of.
type Stage string

// The stages. What an application waits for is Total, and workloads that know no
// parts have no other.
const (
	Submission Stage = "submission" // until the kernel has it: fio's slat
	Completion Stage = "completion" // from then on: fio's clat; in an open loop, what the server took
	Total      Stage = "total"      // fio's lat
)

// Stages are all stages, in the order in which an operation goes through them.
var Stages = []Stage{Submission, Completion, Total}

// ReadsWrites returns the operations of a workload that reads and writes blocks,
// without those that it did not do at all.
func ReadsWrites(reads, writes Operation) []Operation {
	var done []Operation
	for _, o := range []Operation{named(Read, reads), named(Write, writes)} {
		if !o.none() {
			done = append(done, o)
		}
	}
	return done
}

func named(name string, o Operation) Operation {
	o.Name = name
	return o
}

// none reports whether nothing is known of an operation but its name.
func (o Operation) none() bool {
	return o.Count == 0 && o.Errors == 0 && o.Timeouts == 0 && o.Retries == 0 && o.Bytes == 0 && o.Rate == 0 &&
		o.BytesPerSecond == 0 && len(o.Latency) == 0
}

// Operation returns the operation of that name; one that did nothing when the
// workload has none.
func (m Measurement) Operation(name string) Operation {
	i := slices.IndexFunc(m.Operations, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		return Operation{Name: name}
	}
	return m.Operations[i]
}

// SetOperation replaces the operation of that name, or adds it.
func (m *Measurement) SetOperation(o Operation) {
	i := slices.IndexFunc(m.Operations, func(other Operation) bool { return other.Name == o.Name })
	if i < 0 {
		m.Operations = append(m.Operations, o)
		return
	}
	m.Operations[i] = o
}

// ScaledRates returns a copy in which every operation had its rate times by.
func (m Measurement) ScaledRates(by float64) Measurement {
	m.Operations = slices.Clone(m.Operations)
	for i := range m.Operations {
		m.Operations[i].Rate *= by
	}
	return m
}

// IOs is the number of operations completed, all kinds together.
func (m Measurement) IOs() (n uint64) {
	for _, o := range m.Operations {
		n += o.Count
	}
	return n
}

// IOPS is the rate of all kinds of operations together, per second.
func (m Measurement) IOPS() (rate float64) {
	for _, o := range m.Operations {
		rate += o.Rate
	}
	return rate
}

// newOrder is the transaction of TPC-C by which it is measured.
const newOrder = "new-order"

// TPMC is TPC-C's measure: new orders a minute (clause 5.4). 0 for what has none.
func (m Measurement) TPMC() float64 { return 60 * m.Operation(newOrder).Rate }

// BytesPerSecond is the bandwidth of all kinds of operations together.
func (m Measurement) BytesPerSecond() (rate float64) {
	for _, o := range m.Operations {
		rate += o.BytesPerSecond
	}
	return rate
}

// Latency returns the latencies of a stage of all operations, merged.
func (m Measurement) Latency(stage Stage) hist.Histogram {
	all := make([]hist.Histogram, len(m.Operations))
	for i, o := range m.Operations {
		all[i] = o.Latency[stage]
	}
	return hist.Merge(all...)
}

// Together returns what instances that ran at the same time measured: counts and
// rates add up, latencies merge as if all had been recorded into one histogram,
// CPU shares are means over the instances, and the time is the longest.
func Together(all ...*Measurement) (sum Measurement) {
	parts := map[string][]Operation{}
	var names []string
	for _, m := range all {
		sum.Seconds = max(sum.Seconds, m.Seconds)
		sum.UserCPU += m.UserCPU / float64(len(all))
		sum.SystemCPU += m.SystemCPU / float64(len(all))
		sum.Notes = append(sum.Notes, m.Notes...)
		for _, o := range m.Operations {
			if parts[o.Name] == nil {
				names = append(names, o.Name)
			}
			parts[o.Name] = append(parts[o.Name], o)
		}
	}
	for _, name := range names {
		sum.Operations = append(sum.Operations, addOperations(name, parts[name]))
	}
	return sum
}

func addOperations(name string, parts []Operation) Operation {
	sum := Operation{Name: name}
	latencies := map[Stage][]hist.Histogram{}
	for _, o := range parts {
		sum.Count += o.Count
		sum.Errors += o.Errors
		sum.Timeouts += o.Timeouts
		sum.Retries += o.Retries
		sum.Bytes += o.Bytes
		sum.Rate += o.Rate
		sum.BytesPerSecond += o.BytesPerSecond
		for stage, h := range o.Latency {
			latencies[stage] = append(latencies[stage], h)
		}
	}
	for stage, all := range latencies {
		sum.setLatency(stage, hist.Merge(all...))
	}
	return sum
}

// setLatency sets the latencies of a stage.
func (o *Operation) setLatency(stage Stage, h hist.Histogram) {
	if o.Latency == nil {
		o.Latency = map[Stage]hist.Histogram{}
	}
	o.Latency[stage] = h
}

// SetLatency sets the latencies of a stage in a copy of those that there are, so
// that who has another copy of o does not see it.
func (o *Operation) SetLatency(stage Stage, h hist.Histogram) {
	o.Latency = maps.Clone(o.Latency)
	o.setLatency(stage, h)
}
