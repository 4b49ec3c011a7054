package report

import (
	"io"
	"math"

	"plimsoll/internal/export"
	"plimsoll/internal/iotrace"
)

// TraceSchema is the version of the document that TraceJSON writes. It grows
// when a field changes its meaning or goes away.
const TraceSchema = 1

// The document of a trace; docs/trace.md describes every field.
type (
	traceDocument struct {
		Schema          int     `json:"schema"`
		DurationSeconds float64 `json:"duration_seconds"`
		iotrace.Account
		Devices []traceDevice                 `json:"devices"`
		Total   traceKey                      `json:"total"`
		By      map[TraceDimension][]traceKey `json:"by"`
		Target  []traceExport                 `json:"target,omitempty"`
	}
	traceDevice struct {
		iotrace.Device
		Depth      *float64      `json:"depth,omitempty"` // these are left out where they are withheld
		MaxDepth   *uint64       `json:"max_depth,omitempty"`
		Sequential *float64      `json:"sequential,omitempty"`
		Seconds    []traceSecond `json:"seconds,omitempty"`
	}
	traceSecond struct {
		iotrace.Second
		Requests map[iotrace.Op]uint64 `json:"requests"`
		Bytes    map[iotrace.Op]uint64 `json:"bytes"`
		Depth    *float64              `json:"depth,omitempty"`
	}
	traceKey struct {
		Key       string                              `json:"key"`
		Owner     *iotrace.Owner                      `json:"owner,omitempty"`
		Requests  uint64                              `json:"requests"`
		Bytes     uint64                              `json:"bytes"`
		Intervals map[iotrace.Interval]traceQuantiles `json:"intervals"`
		Parts     []traceShare                        `json:"parts,omitempty"`
	}
	traceQuantiles struct {
		Count    uint64  `json:"count"`
		SumNS    uint64  `json:"sum_ns"`
		MinNS    uint64  `json:"min_ns"`
		MeanNS   float64 `json:"mean_ns"`
		MaxNS    uint64  `json:"max_ns"`
		StddevNS float64 `json:"stddev_ns"`
		P50NS    uint64  `json:"p50_ns"`
		P90NS    uint64  `json:"p90_ns"`
		P99NS    uint64  `json:"p99_ns"`
		P999NS   uint64  `json:"p99_9_ns"`
	}
	traceShare struct {
		Part   string  `json:"part"`
		MeanNS float64 `json:"mean_ns"`
		Share  float64 `json:"share"`
	}
)

// TraceJSON writes what a trace tells as one document, by the dimensions that
// are asked for, or by all.
func TraceJSON(w io.Writer, a *iotrace.Account, by ...TraceDimension) error {
	d := traceDocument{Schema: TraceSchema, DurationSeconds: a.Duration.Seconds(), Account: *a, Devices: []traceDevice{},
		Total: newTraceKey(traceSum(a)), By: map[TraceDimension][]traceKey{}, Target: newTraceExports(a)}
	for _, dev := range a.Devices {
		d.Devices = append(d.Devices, newTraceDevice(dev))
	}
	for _, dimension := range dimensions(by) {
		keys := []traceKey{}
		for _, r := range traceRows(a, dimension) {
			keys = append(keys, newTraceKey(r))
		}
		d.By[dimension] = keys
	}
	return export.Indented(w, d)
}

// dimensions are those that are asked for, or all.
func dimensions(by []TraceDimension) []TraceDimension {
	if len(by) == 0 {
		return TraceDimensions
	}
	return by
}

func newTraceDevice(d iotrace.Device) traceDevice {
	v := traceDevice{Device: d}
	if d.Knows(iotrace.QuantityDepth) {
		depth := number(d.Depth)
		v.Depth = &depth
	}
	if d.Knows(iotrace.QuantityMaxDepth) {
		v.MaxDepth = &d.MaxDepth
	}
	if d.Knows(iotrace.QuantitySequential) {
		sequential := number(d.Sequential)
		v.Sequential = &sequential
	}
	for _, s := range d.Seconds {
		second := traceSecond{Second: s, Requests: map[iotrace.Op]uint64{}, Bytes: map[iotrace.Op]uint64{}}
		second.Q2CNS, second.D2CNS = number(s.Q2CNS), number(s.D2CNS)
		if d.Knows(iotrace.QuantityDepth) {
			depth := number(s.Depth)
			second.Depth = &depth
		}
		for op := range iotrace.Ops {
			if s.Requests[op] > 0 {
				second.Requests[op] = s.Requests[op]
			}
			if s.Bytes[op] > 0 {
				second.Bytes[op] = s.Bytes[op]
			}
		}
		v.Seconds = append(v.Seconds, second)
	}
	return v
}

// number is what JSON can write: of nothing comes 0.
func number(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func newTraceKey(r traceRow) traceKey {
	k := traceKey{Key: r.Label, Requests: r.Requests, Bytes: r.Bytes, Intervals: map[iotrace.Interval]traceQuantiles{}}
	if r.Dimension == TraceByProcess {
		k.Owner = &r.Key.Owner
	}
	for i := range iotrace.Intervals {
		if d := r.dist(i); d != nil {
			k.Intervals[i] = newTraceQuantiles(d)
		}
	}
	for _, p := range traceParts(r) {
		k.Parts = append(k.Parts, traceShare{p.Name, p.MeanNS, p.Share})
	}
	return k
}

func newTraceQuantiles(d *iotrace.Dist) traceQuantiles {
	return traceQuantiles{
		Count: d.Count, SumNS: d.SumNS, MinNS: d.MinNS, MeanNS: d.MeanNS(), MaxNS: d.MaxNS, StddevNS: d.StddevNS(),
		P50NS: percentile(d, 50), P90NS: percentile(d, 90), P99NS: percentile(d, 99), P999NS: percentile(d, 99.9),
	}
}
