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
	// Pointers are nil for what is unknown.
	measurement struct {
		result.Measurement
		Seconds    *float64    `json:"seconds,omitempty"`
		UserCPU    *float64    `json:"user_cpu,omitempty"`
		SystemCPU  *float64    `json:"system_cpu,omitempty"`
		Operations []operation `json:"operations"`
	}
	operation struct {
		result.Operation
		Count   *uint64                  `json:"count,omitempty"`
		Errors  *uint64                  `json:"errors,omitempty"`
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
		MinNS       *uint64      `json:"min_ns,omitempty"`
		MaxNS       *uint64      `json:"max_ns,omitempty"`
		Percentiles *Percentiles `json:"percentiles,omitempty"`
	}
)

// Percentiles of a latency distribution, in nanoseconds, computed from its histogram. One that so few values do not
// show is nil, see hist.LeastFor.
type Percentiles struct {
	P50   *uint64 `json:"p50_ns,omitempty"`
	P90   *uint64 `json:"p90_ns,omitempty"`
	P95   *uint64 `json:"p95_ns,omitempty"`
	P99   *uint64 `json:"p99_ns,omitempty"`
	P999  *uint64 `json:"p99_9_ns,omitempty"`
	P9999 *uint64 `json:"p99_99_ns,omitempty"`
}

// NewPercentiles reads the percentiles off a histogram of so many values; nil when it has no bins, or too few values
// for any of them.
func NewPercentiles(bins hist.Bins, count uint64) *Percentiles {
	var p Percentiles
	for _, field := range []struct {
		percent float64
		target  **uint64
	}{{50, &p.P50}, {90, &p.P90}, {95, &p.P95}, {99, &p.P99}, {99.9, &p.P999}, {99.99, &p.P9999}} {
		ns, ok := hist.Percentile(bins, field.percent)
		*field.target = pointerIf(ok && hist.Known(count, field.percent), ns)
	}
	if p == (Percentiles{}) {
		return nil
	}
	return &p
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
	cpu := m.UserCPU > 0 || m.SystemCPU > 0
	out := &measurement{Measurement: *m, Seconds: pointerIf(!m.RateOnly, m.Seconds), UserCPU: pointerIf(cpu, m.UserCPU),
		SystemCPU: pointerIf(cpu, m.SystemCPU), Operations: make([]operation, len(m.Operations))}
	for i, o := range m.Operations {
		out.Operations[i] = newOperation(o, !m.RateOnly)
	}
	return out
}

// pointerIf returns value if known, and otherwise nil.
func pointerIf[T any](known bool, value T) *T {
	if !known {
		return nil
	}
	return &value
}

// newOperation makes the document of an operation, which was counted or is known by its rate alone.
func newOperation(o result.Operation, counted bool) operation {
	out := operation{Operation: o, Count: pointerIf(counted, o.Count),
		Errors: pointerIf(counted && o.Errors > 0, o.Errors), Latency: map[result.Stage]latency{}}
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
	known := l.MaxNS > 0
	return latency{l, pointerIf(known, l.MinNS), pointerIf(known, l.MaxNS), NewPercentiles(l.Bins, l.Count)}
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
