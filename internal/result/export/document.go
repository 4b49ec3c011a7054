// Package export turns a run into documents for other programs: one JSON
// document (run.json), or one row per trial as NDJSON or CSV. It is pure.
//
// Documents hold percentiles where the store holds histograms. Names carry
// units; docs/reference/results.md describes every field.
package export

import (
	"encoding/json"
	"io"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// The types below are those of package result with Percentiles beside
// histograms: a field that is declared here hides the embedded one.
type (
	// Document is a run as run.json shows it.
	Document struct {
		result.Run
		Trials []trial `json:"trials"`
	}
	trial struct {
		result.Trial
		Instances []instance `json:"instances,omitempty"`
		Trace     *trace     `json:"trace,omitempty"`
	}
	instance struct {
		result.Instance
		Measurement *measurement `json:"measurement,omitempty"`
	}
	measurement struct {
		result.Measurement
		Operations []operation `json:"operations"`
	}
	operation struct {
		result.Operation
		Latency map[result.Stage]latency `json:"latency,omitempty"`
	}
	trace struct {
		result.Trace
		Read  *breakdown `json:"read,omitempty"`
		Write *breakdown `json:"write,omitempty"`
	}
	breakdown struct {
		result.Breakdown
		Parts []part `json:"parts"`
	}
	part struct {
		result.TracePart
		Latency *latency `json:"latency,omitempty"`
	}
	latency struct {
		hist.Histogram
		Percentiles *Percentiles `json:"percentiles,omitempty"`
	}
)

// Percentiles of a latency distribution, in nanoseconds, computed from its
// histogram.
type Percentiles struct {
	P50   uint64 `json:"p50_ns"`
	P90   uint64 `json:"p90_ns"`
	P95   uint64 `json:"p95_ns"`
	P99   uint64 `json:"p99_ns"`
	P999  uint64 `json:"p99_9_ns"`
	P9999 uint64 `json:"p99_99_ns"`
}

// NewPercentiles reads the percentiles off a histogram; nil when it is empty.
func NewPercentiles(bins hist.Bins) *Percentiles {
	ns, ok := hist.Percentiles(bins, 50, 90, 95, 99, 99.9, 99.99)
	if !ok {
		return nil
	}
	return &Percentiles{P50: ns[0], P90: ns[1], P95: ns[2], P99: ns[3], P999: ns[4], P9999: ns[5]}
}

// NewDocument makes the document of a run.
func NewDocument(run *result.Run) Document {
	d := Document{Run: *run, Trials: make([]trial, len(run.Trials))}
	for i, t := range run.Trials {
		d.Trials[i] = trial{t, newInstances(t.Instances), newTrace(t.Trace)}
	}
	return d
}

func newInstances(instances []result.Instance) []instance {
	out := make([]instance, len(instances))
	for i, in := range instances {
		out[i] = instance{in, newMeasurement(in.Measurement)}
	}
	return out
}

func newMeasurement(m *result.Measurement) *measurement {
	if m == nil {
		return nil
	}
	out := &measurement{*m, make([]operation, len(m.Operations))}
	for i, o := range m.Operations {
		out.Operations[i] = newOperation(o)
	}
	return out
}

func newOperation(o result.Operation) operation {
	out := operation{o, map[result.Stage]latency{}}
	for stage, l := range o.Latency {
		if l.Count > 0 || l.MaxNS > 0 {
			out.Latency[stage] = newLatency(l)
		}
	}
	return out
}

func newTrace(t *result.Trace) *trace {
	if t == nil {
		return nil
	}
	return &trace{*t, newBreakdown(t.Read), newBreakdown(t.Write)}
}

func newBreakdown(b *result.Breakdown) *breakdown {
	if b == nil {
		return nil
	}
	out := &breakdown{*b, make([]part, len(b.Parts))}
	for i, p := range b.Parts {
		out.Parts[i].TracePart = p
		if p.Latency != nil {
			l := newLatency(*p.Latency)
			out.Parts[i].Latency = &l
		}
	}
	return out
}

func newLatency(l hist.Histogram) latency {
	return latency{l, NewPercentiles(l.Bins)}
}

// JSON writes the document of a run, indented.
func JSON(w io.Writer, run *result.Run) error {
	return Indented(w, NewDocument(run))
}

// Indented writes any value as JSON for people and programs.
func Indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // stacks are written with ">"
	e.SetIndent("", "  ")
	return e.Encode(v)
}
