package hist

// Since returns the latencies recorded after early, an earlier state of h: counts and bins are subtracted. Least and
// greatest are those of h where their bins still count something, and else the values of the outermost bins that do.
func (h Histogram) Since(early Histogram) Histogram {
	var late Histogram
	bins := subtract(h.Bins, early.Bins)
	for _, b := range bins {
		late.Count += b.Count
	}
	if late.Count == 0 {
		return Histogram{}
	}
	late.Bins = Pack(bins)
	late.MeanNS = max(0, (h.MeanNS*float64(h.Count)-early.MeanNS*float64(early.Count))/float64(late.Count))
	late.MinNS, late.MaxNS = bins[0].NS, bins[len(bins)-1].NS
	first, last := h.Bins.ends()
	least, greatest := first == late.MinNS, last == late.MaxNS
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

// subtract returns the bins of total less those of earlier, without bins that then count nothing.
func subtract(total, earlier Bins) (left []Bin) {
	before := reader{packed: earlier.packed}
	isMore := before.next()
	for b := range total.All() {
		for isMore && before.bin.NS < b.NS {
			isMore = before.next()
		}
		if isMore && before.bin.NS == b.NS {
			b.Count -= min(before.bin.Count, b.Count)
		}
		if b.Count > 0 {
			left = append(left, b)
		}
	}
	return left
}

// ends returns the values of the outermost bins, in nanoseconds; 0 for none.
func (b Bins) ends() (first, last uint64) {
	r := reader{packed: b.packed}
	r.next()
	first = r.bin.NS
	for r.next() {
	}
	return first, r.bin.NS
}
