package result

import (
	"maps"
	"slices"

	"plimsoll/internal/result/hist"
)

// Measurement holds the counts, rates and latencies that a workload reported for one instance in one trial.
type Measurement struct {
	Seconds    float64     `json:"seconds"`    // measured time, ramp excluded
	Operations []Operation `json:"operations"` // that it did, each name once
	UserCPU    float64     `json:"user_cpu"`   // share of one core, mean over jobs, 0 to 1
	SystemCPU  float64     `json:"system_cpu"` // share of one core, mean over jobs, 0 to 1

	// RateOnly reports that a rate, and latencies perhaps, are all that is known of operations, as of an imported point:
	// Seconds and counts are made of the rate, and errors are unknown.
	RateOnly bool `json:"rate_only,omitempty"`

	// Notes are reasons to doubt the measurement, for people: "the load generator was itself the bottleneck: ...".
	Notes []string `json:"notes,omitempty"`

	// OpenLoop describes the schedule of an instance driven by an open loop; nil for any other load.
	OpenLoop *OpenLoop `json:"open_loop,omitempty"`
}

// OpenLoop describes how well operations kept to a schedule that does not wait for the server.
type OpenLoop struct {
	Rate    float64 `json:"rate"`              // operations per second that were to begin
	Overdue uint64  `json:"overdue,omitempty"` // operations that had not begun at the end although their time had come
	// BehindSeconds is the time by which the first overdue operation was late.
	BehindSeconds float64 `json:"behind_seconds,omitempty"`

	// LagP99NS is the 99th percentile of the delay of operations for which a connection was free. The generator
	// caused that delay itself.
	LagP99NS float64 `json:"lag_p99_ns"`
	BusyCPU  float64 `json:"busy_cpu"` // share of the generator's CPUs that it used, 0 to 1
	// Hindered reports whether the generator was the bottleneck, judged by LagP99NS and BusyCPU.
	Hindered bool `json:"hindered,omitempty"`

	// P99NS is the 99th percentile of total latency in each interval of the measured time, discarded warm-up
	// included; 0 for an interval in which no operation completed. A growing latency means a growing queue.
	P99NS           []float64 `json:"p99_ns,omitempty"`
	IntervalSeconds float64   `json:"interval_seconds,omitempty"`
}

// The operations of workloads that read and write blocks, and make them durable: by fsync or by fdatasync.
const (
	Read  = "read"
	Write = "write"
	Fsync = "fsync"
)

// Operation counts one kind of operation of a workload: fio's reads, YCSB's updates, TPC-C's new-order.
type Operation struct {
	Name     string `json:"name"`
	Count    uint64 `json:"count"`              // completed without an error
	Errors   uint64 `json:"errors,omitempty"`   // not part of Count, and not in Latency
	Timeouts uint64 `json:"timeouts,omitempty"` // the Errors that got no answer in time
	// attempts after the first, successful or not
	Retries        uint64                   `json:"retries,omitempty"`
	Bytes          uint64                   `json:"bytes,omitempty"`
	Rate           float64                  `json:"rate"` // completed per second
	BytesPerSecond float64                  `json:"bytes_per_second,omitempty"`
	Latency        map[Stage]hist.Histogram `json:"latency,omitempty"`
}

// Stage is the part of an operation that a latency covers.
type Stage string

// The stages. What an application waits for is Total, and workloads that know no
// parts have no other.
const (
	Submission Stage = "submission" // until the kernel has it: fio's slat
	Completion Stage = "completion" // from then on: fio's clat; in an open loop, what the server took
	Total      Stage = "total"      // fio's lat
)

// Stages lists all stages, in the order in which an operation passes them.
var Stages = []Stage{Submission, Completion, Total}

// ReadsWrites returns the operations of a workload on blocks, without those of which nothing is known.
func ReadsWrites(reads, writes Operation) []Operation {
	var done []Operation
	for _, o := range []Operation{named(Read, reads), named(Write, writes)} {
		if !o.isEmpty() {
			done = append(done, o)
		}
	}
	return done
}

func named(name string, o Operation) Operation {
	o.Name = name
	return o
}

// isEmpty reports whether o has no field set but its name.
func (o Operation) isEmpty() bool {
	return o.Count == 0 && o.Errors == 0 && o.Timeouts == 0 && o.Retries == 0 && o.Bytes == 0 && o.Rate == 0 &&
		o.BytesPerSecond == 0 && len(o.Latency) == 0
}

// Operation returns the operation of that name, or one with counts of 0 where the workload has none.
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

// ScaledRates returns a copy in which the rate of every operation is multiplied by factor.
func (m Measurement) ScaledRates(factor float64) Measurement {
	m.Operations = slices.Clone(m.Operations)
	for i := range m.Operations {
		m.Operations[i].Rate *= factor
	}
	return m
}

// Counted returns the operations that sums and percentiles of the whole measurement are of: all of them. Of a workload
// that reads and writes blocks they leave fsyncs out, which make earlier writes durable and are no further I/Os: fio
// counts them apart, too.
func (m Measurement) Counted() []Operation {
	if m.Operation(Read).isEmpty() && m.Operation(Write).isEmpty() {
		return m.Operations
	}
	return slices.DeleteFunc(slices.Clone(m.Operations), func(o Operation) bool { return o.Name == Fsync })
}

// IOs returns the number of completed operations, see Counted.
func (m Measurement) IOs() (n uint64) {
	for _, o := range m.Counted() {
		n += o.Count
	}
	return n
}

// IOPS returns the rate of operations per second, see Counted.
func (m Measurement) IOPS() (rate float64) {
	for _, o := range m.Counted() {
		rate += o.Rate
	}
	return rate
}

// newOrder is the transaction of TPC-C by which it is measured.
const newOrder = "new-order"

// TPMC returns tpmC, TPC-C's new-order transactions per minute (clause 5.4); 0 for other workloads.
func (m Measurement) TPMC() float64 { return 60 * m.Operation(newOrder).Rate }

// BytesPerSecond returns the bandwidth of operations, see Counted.
func (m Measurement) BytesPerSecond() (rate float64) {
	for _, o := range m.Counted() {
		rate += o.BytesPerSecond
	}
	return rate
}

// Latency returns the merged latencies of operations for a stage, see Counted and mergeLatencies.
func (m Measurement) Latency(stage Stage) hist.Histogram { return mergeLatencies(stage, m.Counted()) }

// mergeLatencies merges the latencies of operations for a stage. The result is empty if the latencies of one of them
// are unknown, since the rest would not be those of all operations.
func mergeLatencies(stage Stage, operations []Operation) hist.Histogram {
	var histograms []hist.Histogram
	for _, o := range operations {
		l := o.Latency[stage]
		switch {
		case l.Count > 0:
			histograms = append(histograms, l)
		case o.Count > 0:
			return hist.Histogram{}
		}
	}
	return hist.Merge(histograms...)
}

// Together sums up measurements of instances that ran at the same time: counts and rates are added, histograms are
// merged, CPU shares are averaged, and the longest time is taken.
func Together(measurements ...*Measurement) Measurement {
	return addUp(measurements, func(sum *Operation, parts []Operation) {
		for _, o := range parts {
			for stage := range o.Latency {
				if _, merged := sum.Latency[stage]; !merged {
					sum.setLatency(stage, mergeLatencies(stage, parts))
				}
			}
		}
	})
}

// addUp sums up measurements as Together does; addLatencies sets the latencies of the sum of an operation.
func addUp(measurements []*Measurement, addLatencies func(sum *Operation, parts []Operation)) (sum Measurement) {
	parts := map[string][]Operation{}
	var names []string
	for _, m := range measurements {
		sum.Seconds = max(sum.Seconds, m.Seconds)
		sum.UserCPU += m.UserCPU / float64(len(measurements))
		sum.SystemCPU += m.SystemCPU / float64(len(measurements))
		sum.RateOnly = sum.RateOnly || m.RateOnly
		sum.Notes = append(sum.Notes, m.Notes...)
		for _, o := range m.Operations {
			if parts[o.Name] == nil {
				names = append(names, o.Name)
			}
			parts[o.Name] = append(parts[o.Name], o)
		}
	}
	for _, name := range names {
		o := addCounts(name, parts[name])
		addLatencies(&o, parts[name])
		sum.Operations = append(sum.Operations, o)
	}
	return sum
}

func addCounts(name string, parts []Operation) Operation {
	sum := Operation{Name: name}
	for _, o := range parts {
		sum.Count += o.Count
		sum.Errors += o.Errors
		sum.Timeouts += o.Timeouts
		sum.Retries += o.Retries
		sum.Bytes += o.Bytes
		sum.Rate += o.Rate
		sum.BytesPerSecond += o.BytesPerSecond
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

// SetLatency sets the latencies of a stage. It copies the map, so that other copies of o do not change.
func (o *Operation) SetLatency(stage Stage, h hist.Histogram) {
	o.Latency = maps.Clone(o.Latency)
	o.setLatency(stage, h)
}
