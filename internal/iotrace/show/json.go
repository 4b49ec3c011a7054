package show

import (
	"io"
	"math"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result/export"
)

// Schema is the version of the document that JSON writes. It grows
// when a field changes its meaning or goes away.
const Schema = 1

// The document of a trace; docs/reference/trace.md describes every field.
type (
	document struct {
		Schema          int     `json:"schema"`
		DurationSeconds float64 `json:"duration_seconds"`
		iotrace.Account
		Devices []deviceDocument            `json:"devices"`
		Total   keyDocument                 `json:"total"`
		By      map[Dimension][]keyDocument `json:"by"`
		Target  []exportDocument            `json:"target,omitempty"`
	}
	deviceDocument struct {
		iotrace.Device
		Depth      *float64         `json:"depth,omitempty"` // these are left out where they are withheld
		MaxDepth   *uint64          `json:"max_depth,omitempty"`
		Sequential *float64         `json:"sequential,omitempty"`
		Seconds    []secondDocument `json:"seconds,omitempty"`
	}
	secondDocument struct {
		iotrace.Second
		Requests map[iotrace.Op]uint64 `json:"requests"`
		Bytes    map[iotrace.Op]uint64 `json:"bytes"`
		Depth    *float64              `json:"depth,omitempty"`
	}
	keyDocument struct {
		Key       string                         `json:"key"`
		Owner     *iotrace.Owner                 `json:"owner,omitempty"`
		Requests  uint64                         `json:"requests"`
		Bytes     uint64                         `json:"bytes"`
		Intervals map[iotrace.Interval]quantiles `json:"intervals"`
		Parts     []partDocument                 `json:"parts,omitempty"`
	}
	quantiles struct {
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
	partDocument struct {
		Part   string  `json:"part"`
		MeanNS float64 `json:"mean_ns"`
		Share  float64 `json:"share"`
	}
)

// JSON writes an account as one document, by the selected dimensions, or by all without any.
func JSON(w io.Writer, a *iotrace.Account, selected ...Dimension) error {
	d := document{Schema: Schema, DurationSeconds: a.Duration.Seconds(), Account: *a, Devices: []deviceDocument{},
		Total: newKey(sumOf(a)), By: map[Dimension][]keyDocument{}, Target: newExports(a)}
	for _, dev := range a.Devices {
		d.Devices = append(d.Devices, newDevice(dev))
	}
	for _, dimension := range dimensions(selected) {
		keys := []keyDocument{}
		for _, r := range rowsBy(a, dimension) {
			keys = append(keys, newKey(r))
		}
		d.By[dimension] = keys
	}
	return export.Indented(w, d)
}

// dimensions are those that are asked for, or all.
func dimensions(by []Dimension) []Dimension {
	if len(by) == 0 {
		return Dimensions
	}
	return by
}

func newDevice(d iotrace.Device) deviceDocument {
	v := deviceDocument{Device: d}
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
		second := secondDocument{Second: s, Requests: map[iotrace.Op]uint64{}, Bytes: map[iotrace.Op]uint64{}}
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

func newKey(r row) keyDocument {
	k := keyDocument{Key: r.Label, Requests: r.Requests, Bytes: r.Bytes, Intervals: map[iotrace.Interval]quantiles{}}
	if r.Dimension == ByProcess {
		k.Owner = &r.Key.Owner
	}
	for i := range iotrace.Intervals {
		if d := r.dist(i); d != nil {
			k.Intervals[i] = newQuantiles(d)
		}
	}
	for _, p := range partsOf(r) {
		k.Parts = append(k.Parts, partDocument{p.Name, p.MeanNS, p.Share})
	}
	return k
}

func newQuantiles(d *iotrace.Dist) quantiles {
	p := percentilesOf(d, 50, 90, 99, 99.9)
	return quantiles{
		Count: d.Count, SumNS: d.SumNS, MinNS: d.MinNS, MeanNS: d.MeanNS(), MaxNS: d.MaxNS, StddevNS: d.StddevNS(),
		P50NS: p[0], P90NS: p[1], P99NS: p[2], P999NS: p[3],
	}
}
