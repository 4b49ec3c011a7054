package watch

import (
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector has the metrics of the document that was seen last, for Prometheus and OpenMetrics. Called concurrently: a
// document that it was given is not written any more.
type Collector struct{ last atomic.Pointer[Document] }

// Set takes the document of an interval.
func (c *Collector) Set(d *Document) { c.last.Store(d) }

var groupLabels = []string{"group", "name", "kind", "engine", "class"}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("plimsoll_watch_"+name, help, labels, nil)
}

var (
	metricDevice = desc("device", "A metric of a block device: docs/reference/metrics.md.", "device", "metric")
	metricHost   = desc("host", "A metric of the host: docs/reference/metrics.md.", "metric")
	metricGroup  = desc("group", "A metric of a group: docs/reference/metrics.md.", append(groupLabels, "metric")...)
	metricRate   = desc(
		"io_per_second",
		"Reads or writes of a group on a device.",
		append(groupLabels, "device", "op")...)
	metricBytes   = desc("io_bytes_per_second", "Bytes of them.", append(groupLabels, "device", "op")...)
	metricLatency = desc("io_seconds", "Percentiles of their time from the device's queue until complete.",
		append(groupLabels, "device", "op", "quantile")...)
	metricDepth = desc(
		"io_depth",
		"Requests of a group under way on a device, in the mean.",
		append(groupLabels, "device")...)
	metricHeld   = desc("memory_held_bytes", "Memory that no shortage takes from a group.", groupLabels...)
	metricEnough = desc("memory_enough_bytes", "Memory held, and page cache that is used again and again.", groupLabels...)
	metricLimit  = desc("limit", "A limit in force; 0 for none.", append(groupLabels, "of", "device")...)
	metricAsked  = desc("limit_asked", "A limit that the engine was asked for; 0 for none.",
		append(groupLabels, "of", "device")...)
	metricFinding = desc(
		"finding",
		"1 for each finding: docs/how-to/watch-a-host.md.",
		"kind",
		"group",
		"offender",
		"device",
		"of",
	)
)

// Describe sends nothing: which metrics there are is up to the host.
func (*Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the last document. Labels are UTF-8, whatever bytes names have.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	d := c.last.Load()
	if d == nil {
		return
	}
	sent := map[string]bool{}
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "?")
		}
		// Two groups may have the same labels once they are: one of a kind makes the whole answer fail.
		key := desc.String() + "\xff" + strings.Join(labels, "\xff")
		if sent[key] {
			return
		}
		sent[key] = true
		m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(desc, err)
		}
		to <- m
	}
	for name, value := range d.Host {
		send(metricHost, value, name)
	}
	for _, device := range d.Devices {
		for name, value := range device.Values {
			send(metricDevice, value, device.Name, name)
		}
	}
	for i := range d.Groups {
		g := &d.Groups[i]
		labels := func(values ...string) []string {
			return append([]string{g.Path, g.Name, string(g.Kind), g.Engine, g.Class}, values...)
		}
		for name, value := range g.Values {
			send(metricGroup, value, labels(name)...)
		}
		for _, u := range g.Drives {
			if u.Depth > 0 {
				send(metricDepth, u.Depth, labels(u.Device)...)
			}
			for op, s := range map[string]Stream{"read": u.Read, "write": u.Write} {
				send(metricRate, s.PerSecond, labels(u.Device, op)...)
				send(metricBytes, s.BytesPerSecond, labels(u.Device, op)...)
				if s.P99 > 0 {
					send(metricLatency, s.P50, labels(u.Device, op, "0.5")...)
					send(metricLatency, s.P99, labels(u.Device, op, "0.99")...)
				}
			}
		}
		if m := g.Memory; m != nil {
			send(metricHeld, float64(m.Held), labels()...)
			send(metricEnough, float64(m.Enough), labels()...)
		}
		for _, l := range g.Limits {
			send(metricLimit, l.Held, labels(l.Of, l.Device)...)
			if l.Asked != nil {
				send(metricAsked, *l.Asked, labels(l.Of, l.Device)...)
			}
		}
	}
	for _, f := range d.Findings {
		of := f.Op
		if f.Limit != nil {
			of = f.Limit.Of
		}
		send(metricFinding, 1, string(f.Kind), f.Group, f.Offender, f.Device, of)
	}
}
