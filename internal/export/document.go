// Package export turns a run into documents for other programs: one JSON
// document (run.json), or one row per trial as NDJSON or CSV. It is pure.
//
// Documents hold percentiles where the store holds histograms. Names carry
// units; docs/results.md describes every field.
package export

import (
	"encoding/json"
	"io"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
)

// The types below are those of package result with Percentiles in the place
// of Bins: a field that is declared here hides the embedded one.
type (
	// Document is a run as run.json shows it.
	Document struct {
		result.Run
		Trials []trial `json:"trials"`
	}
	trial struct {
		result.Trial
		Measurement *measurement `json:"measurement,omitempty"`
		Trace       *trace       `json:"trace,omitempty"`
	}
	measurement struct {
		result.Measurement
		Read  direction `json:"read"`
		Write direction `json:"write"`
	}
	direction struct {
		result.Direction
		Submission latency `json:"submission"`
		Completion latency `json:"completion"`
		Total      latency `json:"total"`
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
		Bins        *struct{}    `json:"bins,omitempty"` // always nil
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
func NewPercentiles(bins []hist.Bin) *Percentiles {
	if _, ok := hist.Percentile(bins, 50); !ok {
		return nil
	}
	at := func(p float64) uint64 {
		ns, _ := hist.Percentile(bins, p)
		return ns
	}
	return &Percentiles{at(50), at(90), at(95), at(99), at(99.9), at(99.99)}
}

// NewDocument makes the document of a run.
func NewDocument(run *result.Run) Document {
	d := Document{Run: *run, Trials: make([]trial, len(run.Trials))}
	for i, t := range run.Trials {
		d.Trials[i] = trial{t, newMeasurement(t.Measurement), newTrace(t.Trace)}
	}
	return d
}

func newMeasurement(m *result.Measurement) *measurement {
	if m == nil {
		return nil
	}
	return &measurement{*m, newDirection(m.Read), newDirection(m.Write)}
}

func newDirection(d result.Direction) direction {
	return direction{d, newLatency(d.Submission), newLatency(d.Completion), newLatency(d.Total)}
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
	return latency{l, nil, NewPercentiles(l.Bins)}
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
