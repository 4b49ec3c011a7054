package runview

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/stats"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// Metric is a number that a trial may have, of all of its instances or of one of
// its tenants.
type Metric struct {
	ID             string // as --metric names it: "p99.9"
	Name           string // for people: "p99.9 latency"
	Unit           string // "ns"
	HigherIsBetter bool

	// value returns the metric of some instances of a trial: all of them or those of a tenant. m is their merged
	// measurement.
	value func(t *result.Trial, instances []result.Instance, m *result.Measurement) (value float64, ok bool)

	// counts marks a metric that needs no latencies.
	counts bool

	// merges marks a metric of merged measurements, such as a percentile, over the trials of one setup; others are
	// averaged. Its value function must use only m.
	merges bool

	// percent is the percentile that the metric needs, and latency returns what it is a percentile of; 0 and nil for
	// other metrics.
	percent float64
	latency func(m *result.Measurement) hist.Histogram
}

// operations returns how many operations the wanted instances of one setup's trials completed, of a percentile, and
// whether they are enough for it to be known: it takes hist.LeastFor of them. One that an imported file printed is
// taken as it is.
func (m Metric) operations(trials []*result.Trial, g *group) (count uint64, enough bool) {
	if m.latency == nil {
		return 0, true
	}
	for _, t := range trials {
		l := m.latency(g.measured(t))
		if l.Bins.IsEmpty() {
			return count, true
		}
		count += l.Count
	}
	return count, hist.Known(count, m.percent)
}

// Least returns how many operations of each setup it takes for the metric to be known; 0 where it is no percentile.
func (m Metric) Least() uint64 {
	if m.latency == nil {
		return 0
	}
	return hist.LeastFor(m.percent)
}

// Of returns the metric of a tenant of a trial, or of all its instances for "". ok is false when it is unknown. A
// percentile may be of too few operations, see SampleOf.
func (m Metric) Of(t *result.Trial, tenant string) (value float64, ok bool) {
	return m.Some(t, ofTenant(tenant))
}

// Some returns the metric of the wanted instances of a trial.
func (m Metric) Some(t *result.Trial, wanted func(*result.Instance) bool) (value float64, ok bool) {
	return m.valueIn(t, groupOf(wanted))
}

func (m Metric) valueIn(t *result.Trial, g *group) (value float64, ok bool) {
	measured := m.measured(t, g)
	if measured == nil {
		return 0, false
	}
	instances := slices.DeleteFunc(slices.Clone(t.Instances), func(in result.Instance) bool { return !g.wanted(&in) })
	value, ok = m.value(t, instances, measured)
	return value, ok && Finite(value)
}

// measured returns as much as the metric needs of what the instances of a group measured together in a trial.
func (m Metric) measured(t *result.Trial, g *group) *result.Measurement {
	if m.counts {
		return t.CountsBy(g.wanted)
	}
	return g.measured(t)
}

// group is some instances of trials, whose measurements are merged once for each trial.
type group struct {
	wanted func(*result.Instance) bool
	merged map[*result.Trial]*result.Measurement
}

func groupOf(wanted func(*result.Instance) bool) *group { return &group{wanted: wanted} }

// measured returns what the instances of the group measured together in a trial.
func (g *group) measured(t *result.Trial) *result.Measurement {
	m, known := g.merged[t]
	if known {
		return m
	}
	if g.merged == nil {
		g.merged = map[*result.Trial]*result.Measurement{}
	}
	m = t.MeasuredBy(g.wanted)
	g.merged[t] = m
	return m
}

// ofTenant returns which instances are of a tenant; all for "".
func ofTenant(tenant string) func(*result.Instance) bool {
	return func(in *result.Instance) bool { return tenant == "" || in.Tenant == tenant }
}

// Together returns the metric of the trials of one setup: that of their merged measurements, or the mean of their
// values. ok is false where it is unknown for one of them.
func (m Metric) Together(trials []*result.Trial, tenant string) (value float64, ok bool) {
	return m.together(trials, groupOf(ofTenant(tenant)))
}

func (m Metric) together(trials []*result.Trial, g *group) (value float64, ok bool) {
	var measurements []*result.Measurement
	sum := 0.0
	for _, t := range trials {
		value, ok = m.valueIn(t, g)
		if !ok {
			return 0, false
		}
		sum += value
		measurements = append(measurements, m.measured(t, g))
	}
	if len(measurements) < 2 || !m.merges {
		return sum / float64(len(measurements)), len(measurements) > 0
	}
	together := result.Together(measurements...)
	return m.ofMerged(&together)
}

// ofMerged returns the metric of merged measurements.
func (m Metric) ofMerged(merged *result.Measurement) (value float64, ok bool) {
	value, ok = m.value(nil, nil, merged)
	return value, ok && Finite(value)
}

// Sample returns the sample of the metric that trials of one point make, of one of its tenants, or of all
// instances for "".
func (m Metric) Sample(trials []*result.Trial, tenant string) Sample {
	return m.SampleOf(trials, ofTenant(tenant))
}

// SampleOf returns the sample of those instances that are wanted. A setup with a trial whose latencies cannot be
// merged with those of the others is left out. The sample is empty where a setup has too few operations for the metric:
// those that are left would be the fast ones.
func (m Metric) SampleOf(trials []*result.Trial, wanted func(*result.Instance) bool) Sample {
	g := groupOf(wanted)
	return m.sample(trials, g, func(setup []*result.Trial) (float64, bool) { return m.together(setup, g) })
}

// sample returns the sample that SampleOf documents. together returns the metric of the trials of one setup.
func (m Metric) sample(
	trials []*result.Trial, g *group, together func([]*result.Trial) (float64, bool),
) Sample {
	var sample Sample
	for _, u := range Take(trials, func(t *result.Trial) (float64, bool) { return m.valueIn(t, g) }) {
		if _, enough := m.operations(u.Trials, g); !enough {
			return nil
		}
		ok := true
		if m.merges && len(u.Trials) > 1 {
			u.Merged, ok = together(u.Trials)
		}
		if ok {
			sample = append(sample, u)
		}
	}
	return sample
}

// The metrics. A new one is one entry more; so that --metric and comparisons have it, name it in Metrics.
var (
	Rate = Metric{ID: "iops", Name: "IOPS", Unit: "per second", HigherIsBetter: true, counts: true,
		value: rate}
	Bandwidth = Metric{
		ID:             "bandwidth",
		Name:           "bandwidth",
		Unit:           "bytes per second",
		HigherIsBetter: true,
		counts:         true,
		value:          bandwidth,
	}
	WeakestRate = Metric{ID: "weakest", Name: "rate of the slowest instance", Unit: "per second", HigherIsBetter: true,
		counts: true, value: weakest}
	Fairness = Metric{ID: "fairness", Name: "Jain's index over instances", Unit: "share", HigherIsBetter: true,
		counts: true, value: fairness}

	MeanLatency  = latencyMetric("mean", "mean latency", result.Total, mean)
	MeanService  = latencyMetric("mean-service", "mean completion latency", result.Completion, mean)
	P50          = percentile("p50", result.Total, 50)
	P95          = percentile("p95", result.Total, 95)
	P99          = percentile("p99", result.Total, 99)
	P999         = percentile("p99.9", result.Total, 99.9)
	ServiceP99   = percentile("service-p99", result.Completion, 99)
	TailOverMean = Metric{ID: "tail-over-mean", Name: "p99 over mean latency", Unit: "ratio", merges: true,
		value: tailOverMean, percent: 99, latency: latencyOf(result.Total)}

	DeviceReads = deviceCount("device-reads", "device reads per operation", "per operation",
		func(d result.DeviceCounter) uint64 { return d.Reads })
	DeviceWrites = deviceCount("device-writes", "device writes per operation", "per operation",
		func(d result.DeviceCounter) uint64 { return d.Writes })
	DeviceReadBytes = deviceCount("device-read-bytes", "bytes read from devices per operation", "bytes",
		func(d result.DeviceCounter) uint64 { return d.ReadBytes })
	DeviceWriteBytes = deviceCount("device-write-bytes", "bytes written to devices per operation", "bytes",
		func(d result.DeviceCounter) uint64 { return d.WriteBytes })
	DeviceBandwidth = Metric{ID: "device-bandwidth", Name: "bandwidth of devices", Unit: "bytes per second",
		counts: true, value: deviceBandwidth}
	WrittenBytes = Metric{ID: "written", Name: "files written before", Unit: "bytes", counts: true, value: fileBytes}

	CPUPerOp     = Metric{ID: "cpu", Name: "CPU time per operation", Unit: "s", counts: true, value: cpuPerOperation}
	HostCPUPerOp = Metric{
		ID:     "host-cpu",
		Name:   "CPU time of the host per operation",
		Unit:   "s",
		counts: true,
		value:  hostCPUPerOperation,
	}
	PeakMemory  = Metric{ID: "memory", Name: "peak memory", Unit: "bytes", counts: true, value: peakMemory}
	FixedMemory = Metric{ID: "fixed-memory", Name: "memory that is never reclaimed", Unit: "bytes", counts: true,
		value: fixedMemory}

	// Of all instances together: what is a share of the time of one is added up.
	CacheBytes = perInstanceUsage("cache", "bytes", func(u *result.Usage) float64 { return float64(u.CacheBytes) })
	CPUs       = perInstanceUsage("processors", "processors",
		func(u *result.Usage) float64 { return u.CPUSeconds / max(u.Seconds, 1e-9) })
	Throttled = perInstanceUsage("throttled", "share",
		func(u *result.Usage) float64 { return u.ThrottledSeconds / max(u.Seconds, 1e-9) })
	IOPressure     = perInstanceUsage("io-pressure", "share", func(u *result.Usage) float64 { return u.IOPressure })
	CPUPressure    = perInstanceUsage("cpu-pressure", "share", func(u *result.Usage) float64 { return u.CPUPressure })
	MemoryPressure = perInstanceUsage(
		"memory-pressure",
		"share",
		func(u *result.Usage) float64 { return u.MemoryPressure },
	)
)

// Metrics are all metrics that are shown, in that order.
func Metrics() []Metric {
	return []Metric{Rate, Bandwidth, P50, P95, P99, P999, MeanLatency, WeakestRate, DeviceReads, CPUPerOp, PeakMemory}
}

func rate(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
	v := m.IOPS()
	return v, v >= 0
}

func bandwidth(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
	v := m.BytesPerSecond()
	return v, v > 0 || v == 0 && m.IOPS() == 0 // else nothing counted the bytes
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

// deviceCount returns the metric of a count of the devices that hold the files, per operation of any instance:
// devices do not distinguish them.
func deviceCount(id, name, unit string, count func(result.DeviceCounter) uint64) Metric {
	return Metric{ID: id, Name: name, Unit: unit, counts: true,
		value: func(t *result.Trial, _ []result.Instance, _ *result.Measurement) (float64, bool) {
			sum, known := 0.0, false
			for _, c := range t.Checks {
				for _, d := range c.Served {
					if d.Device.Depth == 0 {
						sum, known = sum+float64(count(d)), true
					}
				}
			}
			done := float64(t.Counts().IOs()) * t.RampFactor()
			return sum / done, known && done > 0
		}}
}

// hostCPUPerOperation returns the processor time of a whole trial for each operation, in seconds: that of the
// instances, of their clients, and of the kernel on their behalf.
func hostCPUPerOperation(t *result.Trial, _ []result.Instance, _ *result.Measurement) (float64, bool) {
	if t.Neighbours == nil || t.Neighbours.CPU == nil {
		return 0, false
	}
	done := float64(t.Counts().IOs()) * t.RampFactor()
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

// fixedMemory returns the sum of the memory of each instance that cannot be reclaimed. Where it was not sampled, it
// is the peak less the page cache.
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

// latencyMetric is one of the latency of a stage of all operations.
func latencyMetric(id, name string, stage result.Stage, quantity func(hist.Histogram) (float64, bool)) Metric {
	return Metric{
		ID:   id,
		Name: name,
		Unit: "ns",
		value: func(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
			return quantity(m.Latency(stage))
		},
	}
}

func mean(h hist.Histogram) (float64, bool) { return h.MeanNS, h.Count > 0 }

// percentile is one of the latency of a stage of all operations.
func percentile(id string, stage result.Stage, percent float64) Metric {
	return Metric{ID: id, Name: id + " latency", Unit: "ns", merges: true, percent: percent, latency: latencyOf(stage),
		value: func(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
			return percentileOf(m, stage, percent)
		}}
}

// latencyOf returns the latency of a stage of all operations of a measurement.
func latencyOf(stage result.Stage) func(*result.Measurement) hist.Histogram {
	return func(m *result.Measurement) hist.Histogram { return m.Latency(stage) }
}

// PercentileOf is a percentile of the latency of one operation.
func PercentileOf(operation string, percent float64) Metric {
	m := ofOperation(fmt.Sprintf("%s p%g", operation, percent), "ns", operation,
		func(o result.Operation, _ *result.Measurement) (float64, bool) {
			return percentileIn(o.Latency[result.Total], percent)
		})
	m.percent = percent
	m.latency = func(m *result.Measurement) hist.Histogram { return m.Operation(operation).Latency[result.Total] }
	return m
}

// RateOf is the rate of one operation.
func RateOf(operation string) Metric {
	m := ofOperation(operation, "1/s", operation,
		func(o result.Operation, m *result.Measurement) (float64, bool) { return o.Rate, m.IOs() > 0 })
	m.counts = true
	return m
}

// TimeShareOf is the share of one operation in the time that all of them took.
func TimeShareOf(operation string) Metric {
	return ofOperation(
		"time of "+operation,
		"",
		operation,
		func(o result.Operation, m *result.Measurement) (float64, bool) {
			total := 0.0
			for _, other := range m.Operations {
				total += timeIn(other)
			}
			share := timeIn(o) / total
			return share, Finite(share)
		},
	)
}

func ofOperation(
	id, unit, name string, value func(o result.Operation, m *result.Measurement) (float64, bool),
) Metric {
	return Metric{ID: id, Name: id, Unit: unit, merges: unit != "1/s",
		value: func(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
			return value(m.Operation(name), m)
		}}
}

// timeIn returns the nanoseconds that all operations of a kind took together.
func timeIn(o result.Operation) float64 {
	l := o.Latency[result.Total]
	return l.MeanNS * float64(l.Count)
}

// percentileOf returns a percentile of a measurement's latency, see result.Measurement.Counted. One that an imported
// file printed is that of all operations where they are of one kind.
func percentileOf(m *result.Measurement, stage result.Stage, percent float64) (ns float64, ok bool) {
	if whole, ok := hist.Percentile(m.Latency(stage).Bins, percent); ok {
		return float64(whole), true
	}
	kinds := m.Counted()
	if len(kinds) > 1 {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(o result.Operation) bool { return o.Count == 0 })
	}
	if len(kinds) != 1 {
		return 0, false
	}
	return percentileIn(kinds[0].Latency[stage], percent)
}

// percentileIn returns a percentile of a latency: of its histogram, or as an imported file printed it.
func percentileIn(l hist.Histogram, percent float64) (ns float64, ok bool) {
	if whole, ok := hist.Percentile(l.Bins, percent); ok {
		return float64(whole), true
	}
	at := slices.IndexFunc(l.Printed, func(q hist.Quantile) bool { return q.Percent == percent })
	if at < 0 {
		return 0, false
	}
	return float64(l.Printed[at].NS), true
}

// tailOverMean is the 99th percentile of latency as a multiple of its mean.
func tailOverMean(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
	p99, known := percentileOf(m, result.Total, 99)
	mean, ok := mean(m.Latency(result.Total))
	return p99 / mean, known && ok && mean > 0
}

func perInstanceUsage(id, unit string, quantity func(*result.Usage) float64) Metric {
	return Metric{ID: id, Name: strings.ReplaceAll(id, "-", " "), Unit: unit, counts: true,
		value: func(_ *result.Trial, instances []result.Instance, _ *result.Measurement) (sum float64, ok bool) {
			for _, in := range instances {
				if in.Usage == nil {
					return 0, false
				}
				sum += quantity(in.Usage)
			}
			return sum, true
		}}
}

// fileBytes returns the size of the files of a trial's instances.
func fileBytes(t *result.Trial, _ []result.Instance, _ *result.Measurement) (bytes float64, ok bool) {
	p := t.Preconditioning
	if p == nil || p.Kind != result.PreconditionedFile || p.Passes == 0 {
		return 0, false
	}
	return float64(p.Bytes), true // each pass writes all of them
}

// deviceBandwidth returns the bytes per second that the devices that hold the files read and wrote, while instances
// were measured.
func deviceBandwidth(t *result.Trial, _ []result.Instance, _ *result.Measurement) (float64, bool) {
	return DeviceRate(t, func(d result.DeviceCounter) uint64 { return d.ReadBytes + d.WriteBytes })
}

// fairness is Jain's index over the rates of the instances of a trial: 1 where all get the same, 1/n where one of n
// gets all.
func fairness(_ *result.Trial, instances []result.Instance, _ *result.Measurement) (float64, bool) {
	var rates []float64
	for _, in := range instances {
		if in.Measurement != nil {
			rates = append(rates, in.Measurement.IOPS())
		}
	}
	return stats.Jain(rates), len(rates) > 0
}
