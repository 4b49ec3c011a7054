package store

import (
	"encoding/binary"
	"errors"
	"slices"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
)

// histogram is one of the six of a measurement, or that of a part of a trace.
type histogram struct {
	direction, name string
	of              *hist.Histogram
}

func histogramsOf(m *result.Measurement) []histogram {
	return []histogram{
		{"read", "submission", &m.Read.Submission},
		{"read", "completion", &m.Read.Completion},
		{"read", "total", &m.Read.Total},
		{"write", "submission", &m.Write.Submission},
		{"write", "completion", &m.Write.Completion},
		{"write", "total", &m.Write.Total},
	}
}

// traceHistogramsOf are those of the parts of a trace, by their names.
func traceHistogramsOf(t *result.Trace) (out []histogram) {
	for _, b := range []struct {
		direction string
		of        *result.Breakdown
	}{{"read", t.Read}, {"write", t.Write}} {
		if b.of == nil {
			continue
		}
		for i := range b.of.Parts {
			if part := &b.of.Parts[i]; part.Latency != nil {
				out = append(out, histogram{b.direction, string(part.Name), part.Latency})
			}
		}
	}
	return out
}

// bareTrace is a copy whose histograms have no bins.
func bareTrace(t result.Trace) *result.Trace {
	for _, b := range []**result.Breakdown{&t.Read, &t.Write} {
		if *b == nil {
			continue
		}
		bare := **b
		bare.Parts = slices.Clone(bare.Parts)
		for i := range bare.Parts {
			if l := bare.Parts[i].Latency; l != nil {
				without := *l
				without.Bins = nil
				bare.Parts[i].Latency = &without
			}
		}
		*b = &bare
	}
	return &t
}

// encodeBins writes each bin as two varints: the distance of its nanoseconds
// from the bin before, and its count. That takes 3 to 4 bytes per bin.
func encodeBins(bins []hist.Bin) []byte {
	b := make([]byte, 0, 4*len(bins))
	last := uint64(0)
	for _, bin := range bins {
		// Distances wrap around, so that any order comes back as it was.
		b = binary.AppendUvarint(b, bin.NS-last)
		b = binary.AppendUvarint(b, bin.Count)
		last = bin.NS
	}
	return b
}

// decodeBins is the inverse of encodeBins; no bins are nil.
func decodeBins(b []byte) (bins []hist.Bin, err error) {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err = errors.New("the histogram is cut off or damaged")
			return 0
		}
		b = b[n:]
		return v
	}
	last := uint64(0)
	for len(b) > 0 {
		last += next()
		bin := hist.Bin{NS: last, Count: 0}
		if err == nil {
			bin.Count = next()
		}
		if err != nil {
			return nil, err
		}
		bins = append(bins, bin)
	}
	return bins, nil
}
