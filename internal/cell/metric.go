package cell

import (
	"math"
	"slices"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
)

// Metric is a number that a trial may have, of all of its instances or of one of
// its tenants.
type Metric struct {
	ID             string // as --metric names it: "p99.9"
	Name           string // for people: "p99.9 latency"
	Unit           string // "ns"
	HigherIsBetter bool

	// of returns the metric of some instances of a trial, which are all that it has
	// or those of a tenant; m is what they measured together.
	of func(t *result.Trial, instances []result.Instance, m *result.Measurement) (value float64, ok bool)
}

// Of returns the metric of a tenant of a trial, or of all of its instances for "".
// ok is false when the trial does not tell.
func (m Metric) Of(t *result.Trial, tenant string) (value float64, ok bool) {
	measured, instances := t.Measured(), t.Instances
	if tenant != "" {
		measured = t.OfTenant(tenant)
		instances = slices.DeleteFunc(slices.Clone(instances), func(in result.Instance) bool { return in.Tenant != tenant })
	}
	if measured == nil {
		return 0, false
	}
	value, ok = m.of(t, instances, measured)
	return value, ok && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// The metrics that findings ask for by name.
var (
	Rate        = Metric{"iops", "IOPS", "per second", true, rate}
	Bandwidth   = Metric{"bandwidth", "bandwidth", "bytes per second", true, bandwidth}
	DeviceReads = Metric{"device-reads", "device reads per operation", "per operation", false,
		counted(func(d result.DeviceCounter) uint64 { return d.Reads })}
	CPUPerOp    = Metric{"cpu", "CPU time per operation", "s", false, cpuPerOperation}
	PeakMemory  = Metric{"memory", "peak memory", "bytes", false, peakMemory}
	WeakestRate = Metric{"weakest", "rate of the slowest instance", "per second", true, weakest}
	MeanLatency = latencyMetric("mean", "mean latency", mean)
	P50         = percentile("p50", 50)
	P99         = percentile("p99", 99)
	P999        = percentile("p99.9", 99.9)
)

// What a model asks for beside them.
var (
	DeviceWrites = Metric{"device-writes", "device writes per operation", "per operation", false,
		counted(func(d result.DeviceCounter) uint64 { return d.Writes })}
	DeviceReadBytes = Metric{"device-read-bytes", "bytes read from devices per operation", "bytes", false,
		counted(func(d result.DeviceCounter) uint64 { return d.ReadBytes })}
	DeviceWriteBytes = Metric{"device-write-bytes", "bytes written to devices per operation", "bytes", false,
		counted(func(d result.DeviceCounter) uint64 { return d.WriteBytes })}
	FixedMemory = Metric{"fixed-memory", "memory that no shortage frees", "bytes", false, fixedMemory}

	HostCPUPerOp = Metric{"host-cpu", "CPU time of the host per operation", "s", false, hostCPUPerOperation}
)

// Metrics are all metrics that are shown, in that order. A new one is one entry
// more.
func Metrics() []Metric {
	return []Metric{Rate, Bandwidth, P50, P99, P999, MeanLatency, WeakestRate, DeviceReads, CPUPerOp, PeakMemory}
}

func rate(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
	v := m.IOPS()
	return v, v >= 0
}

func bandwidth(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
	v := m.BytesPerSecond()
	return v, v >= 0
}

// weakest is the rate of the instance that got least, one that died included.
func weakest(_ *result.Trial, instances []result.Instance, _ *result.Measurement) (float64, bool) {
	least := math.Inf(1)
	for _, in := range instances {
		v := 0.0
		if in.Measurement != nil {
			v = in.Measurement.IOPS()
		}
		least = min(least, v)
	}
	return least, true
}

// counted is what the devices that files lie on did for an operation, of whichever
// instance: devices do not tell them apart.
func counted(count func(result.DeviceCounter) uint64) func(*result.Trial, []result.Instance, *result.Measurement) (
	float64, bool) {
	return func(t *result.Trial, _ []result.Instance, _ *result.Measurement) (float64, bool) {
		sum, known := 0.0, false
		for _, c := range t.Checks {
			for _, d := range c.Served {
				if d.Device.Depth == 0 {
					sum, known = sum+float64(count(d)), true
				}
			}
		}
		done := float64(t.Measured().IOs()) * t.RampFactor()
		return sum / done, known && done > 0
	}
}

// hostCPUPerOperation is the processor time that all of a trial took of the host for
// each operation, in seconds: of the instances, of who asks them, and of the kernel for
// them.
func hostCPUPerOperation(t *result.Trial, _ []result.Instance, _ *result.Measurement) (float64, bool) {
	if t.Neighbours == nil || t.Neighbours.CPU == nil {
		return 0, false
	}
	done := float64(t.Measured().IOs()) * t.RampFactor()
	return t.Neighbours.CPU.OwnSeconds / done, done > 0
}

// cpuPerOperation is the processor time that the instances' groups used, in
// seconds, for each operation that they completed meanwhile, ramp included.
func cpuPerOperation(t *result.Trial, instances []result.Instance, m *result.Measurement) (float64, bool) {
	seconds := 0.0
	for _, in := range instances {
		if in.Usage == nil {
			return 0, false
		}
		seconds += in.Usage.CPUSeconds
	}
	done := float64(m.IOs()) * t.RampFactor()
	return seconds / done, done > 0
}

// peakMemory is the sum of the most that each instance held.
func peakMemory(_ *result.Trial, instances []result.Instance, _ *result.Measurement) (float64, bool) {
	bytes := 0.0
	for _, in := range instances {
		if in.Usage == nil || in.Usage.PeakMemoryBytes == 0 {
			return 0, false
		}
		bytes += float64(in.Usage.PeakMemoryBytes)
	}
	return bytes, true
}

// fixedMemory is the sum of what each instance held that cannot be taken from it. Where nothing
// sampled that, it is what its page cache left of the most that it held.
func fixedMemory(_ *result.Trial, instances []result.Instance, _ *result.Measurement) (float64, bool) {
	bytes := 0.0
	for _, in := range instances {
		switch u := in.Usage; {
		case u == nil:
			return 0, false
		case u.FixedBytes > 0:
			bytes += float64(u.FixedBytes)
		case u.CacheBytes > 0 && u.PeakMemoryBytes > 0:
			bytes += float64(max(0, u.PeakMemoryBytes-u.CacheBytes))
		default:
			return 0, false
		}
	}
	return bytes, true
}

// latencyMetric is one of the total latency of all operations.
func latencyMetric(id, name string, of func(hist.Histogram) (float64, bool)) Metric {
	return Metric{id, name, "ns", false,
		func(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
			return of(m.Latency(result.Total))
		}}
}

func mean(h hist.Histogram) (float64, bool) { return h.MeanNS, h.Count > 0 }

func percentile(id string, percent float64) Metric {
	return Metric{id, id + " latency", "ns", false,
		func(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
			bins := make([]hist.Bins, len(m.Operations))
			for i, o := range m.Operations {
				bins[i] = o.Latency[result.Total].Bins
			}
			ns, ok := hist.Percentile(hist.MergeBins(bins...), percent)
			if !ok {
				return printed(m, percent)
			}
			return float64(ns), true
		}}
}

// printed is a percentile as an imported file has it, which holds for the trial
// when all that it did was of one kind.
func printed(m *result.Measurement, percent float64) (ns float64, ok bool) {
	var of *result.Operation
	for i, o := range m.Operations {
		if o.Count == 0 {
			continue
		}
		if of != nil {
			return 0, false
		}
		of = &m.Operations[i]
	}
	if of == nil && len(m.Operations) == 1 {
		of = &m.Operations[0]
	}
	if of == nil {
		return 0, false
	}
	for _, q := range of.Latency[result.Total].Printed {
		if q.Percent == percent {
			return float64(q.NS), true
		}
	}
	return 0, false
}
