package stats

import (
	"slices"

	"plimsoll/internal/result"
)

// Since is what a measurement holds beyond an earlier state of itself, such as
// the beginning that is left out as warm-up: counts and bins are subtracted,
// and rates are of the time between. early must be an earlier state of m.
//
// Least and greatest latencies are those of m where their bins still count
// something, and else the values of the outermost bins that do.
func Since(m, early result.Measurement) result.Measurement {
	late := result.Measurement{RuntimeSeconds: m.RuntimeSeconds - early.RuntimeSeconds}
	share := func(whole, before float64) float64 {
		if late.RuntimeSeconds <= 0 {
			return whole
		}
		return max(0, (whole*m.RuntimeSeconds-before*early.RuntimeSeconds)/late.RuntimeSeconds)
	}
	late.UserCPU, late.SystemCPU = share(m.UserCPU, early.UserCPU), share(m.SystemCPU, early.SystemCPU)
	late.Read = directionSince(m.Read, early.Read, late.RuntimeSeconds)
	late.Write = directionSince(m.Write, early.Write, late.RuntimeSeconds)
	return late
}

func directionSince(d, early result.Direction, seconds float64) result.Direction {
	late := result.Direction{
		IOs: d.IOs - min(early.IOs, d.IOs), Bytes: d.Bytes - min(early.Bytes, d.Bytes),
		Submission: latencySince(d.Submission, early.Submission),
		Completion: latencySince(d.Completion, early.Completion),
		Total:      latencySince(d.Total, early.Total),
	}
	if seconds > 0 {
		late.IOPS, late.BytesPerSecond = float64(late.IOs)/seconds, float64(late.Bytes)/seconds
	}
	return late
}

func latencySince(l, early result.Latency) result.Latency {
	before := map[uint64]uint64{}
	for _, b := range early.Bins {
		before[b.NS] = b.Count
	}
	var late result.Latency
	for _, b := range l.Bins {
		if n := b.Count - min(before[b.NS], b.Count); n > 0 {
			late.Bins = append(late.Bins, result.Bin{NS: b.NS, Count: n})
			late.Count += n
		}
	}
	if late.Count == 0 {
		return result.Latency{}
	}
	late.MeanNS = max(0, (l.MeanNS*float64(l.Count)-early.MeanNS*float64(early.Count))/float64(late.Count))
	late.MinNS, late.MaxNS = late.Bins[0].NS, late.Bins[len(late.Bins)-1].NS
	counted := func(b result.Bin) bool { return b.Count > 0 }
	first := slices.IndexFunc(l.Bins, counted)
	least, greatest := l.Bins[first].NS == late.MinNS, l.Bins[len(l.Bins)-1].NS == late.MaxNS
	if least {
		late.MinNS = l.MinNS
	}
	if greatest {
		late.MaxNS = l.MaxNS
	}
	// A bin's value may lie beyond the exact extreme in it.
	if least {
		late.MaxNS = max(late.MinNS, late.MaxNS)
	} else {
		late.MinNS = min(late.MinNS, late.MaxNS)
	}
	return late
}
