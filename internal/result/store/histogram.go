package store

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// histogram is one of a trial: of a stage of an operation of an instance, or of
// a part of its trace.
type histogram struct {
	instance        int
	operation, name string // name: the stage, or the part
	bins            hist.Bins
}

// histogramsOf returns the histograms of a trial's measurements.
func histogramsOf(t result.Trial) (out []histogram) {
	for _, in := range t.Instances {
		if in.Measurement == nil {
			continue
		}
		for _, o := range in.Measurement.Operations {
			for _, stage := range slices.Sorted(maps.Keys(o.Latency)) {
				out = append(out, histogram{in.Index, o.Name, string(stage), o.Latency[stage].Bins})
			}
		}
	}
	return out
}

// setBins sets the bins of one histogram in its trial.
func setBins(t *result.Trial, h histogram) error {
	i := slices.IndexFunc(t.Instances, func(in result.Instance) bool { return in.Index == h.instance })
	if i < 0 || t.Instances[i].Measurement == nil {
		return fmt.Errorf("histogram of trial %d, of which instance %d has no measurement", t.Seq, h.instance)
	}
	o := t.Instances[i].Measurement.Operation(h.operation)
	l, known := o.Latency[result.Stage(h.name)]
	if !known {
		return fmt.Errorf("trial %d: unknown histogram %s %s", t.Seq, h.operation, h.name)
	}
	l.Bins = h.bins
	o.Latency[result.Stage(h.name)] = l
	return nil
}

// traceHistograms returns the histograms of a trace's parts, with the parts' names.
func traceHistograms(t *result.Trace) (out []histogram) {
	if t == nil {
		return nil
	}
	for _, b := range []struct {
		direction string
		breakdown *result.Breakdown
	}{{result.Read, t.Read}, {result.Write, t.Write}} {
		if b.breakdown == nil {
			continue
		}
		for i := range b.breakdown.Parts {
			if part := &b.breakdown.Parts[i]; part.Latency != nil {
				out = append(out, histogram{operation: b.direction, name: string(part.Name), bins: part.Latency.Bins})
			}
		}
	}
	return out
}

// setTraceBins puts the bins of one part of a trial's trace where they belong.
func setTraceBins(t *result.Trial, h histogram) error {
	if t.Trace == nil {
		return fmt.Errorf("histogram of trial %d, which has no trace", t.Seq)
	}
	b := t.Trace.Write
	if h.operation == result.Read {
		b = t.Trace.Read
	}
	if b != nil {
		for i := range b.Parts {
			if p := &b.Parts[i]; string(p.Name) == h.name && p.Latency != nil {
				p.Latency.Bins = h.bins
				return nil
			}
		}
	}
	return fmt.Errorf("trial %d: unknown histogram %s %s of its trace", t.Seq, h.operation, h.name)
}
