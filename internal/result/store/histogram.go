package store

import (
	"encoding/binary"
	"errors"

	"plimsoll/internal/result"
)

// histogram is one of the six of a measurement.
type histogram struct {
	direction, latency string
	of                 *result.Latency
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

// latencyOf finds a histogram by its names; nil when there is none.
func latencyOf(m *result.Measurement, direction, latency string) *result.Latency {
	for _, h := range histogramsOf(m) {
		if h.direction == direction && h.latency == latency {
			return h.of
		}
	}
	return nil
}

// encodeBins writes each bin as two varints: the distance of its nanoseconds
// from the bin before, and its count. That takes 3 to 4 bytes per bin.
func encodeBins(bins []result.Bin) []byte {
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
func decodeBins(b []byte) (bins []result.Bin, err error) {
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
		bin := result.Bin{NS: last, Count: 0}
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
