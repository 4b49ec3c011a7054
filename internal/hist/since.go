package hist

import "slices"

// Since is what a histogram holds beyond an earlier state of itself: counts and bins
// are subtracted. Least and greatest are those of h where their bins still count
// something, and else the values of the outermost bins that do.
func (h Histogram) Since(early Histogram) Histogram {
	before := map[uint64]uint64{}
	for _, b := range early.Bins {
		before[b.NS] = b.Count
	}
	var late Histogram
	for _, b := range h.Bins {
		if n := b.Count - min(before[b.NS], b.Count); n > 0 {
			late.Bins = append(late.Bins, Bin{NS: b.NS, Count: n})
			late.Count += n
		}
	}
	if late.Count == 0 {
		return Histogram{}
	}
	late.MeanNS = max(0, (h.MeanNS*float64(h.Count)-early.MeanNS*float64(early.Count))/float64(late.Count))
	late.MinNS, late.MaxNS = late.Bins[0].NS, late.Bins[len(late.Bins)-1].NS
	counted := func(b Bin) bool { return b.Count > 0 }
	first := slices.IndexFunc(h.Bins, counted)
	least, greatest := h.Bins[first].NS == late.MinNS, h.Bins[len(h.Bins)-1].NS == late.MaxNS
	if least {
		late.MinNS = h.MinNS
	}
	if greatest {
		late.MaxNS = h.MaxNS
	}
	// A bin's value may lie beyond the exact extreme in it.
	if least {
		late.MaxNS = max(late.MinNS, late.MaxNS)
	} else {
		late.MinNS = min(late.MinNS, late.MaxNS)
	}
	return late
}
