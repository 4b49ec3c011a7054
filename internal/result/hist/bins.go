package hist

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Bin counts the latencies of one bin.
type Bin struct {
	NS    uint64 `json:"ns"` // the bin's representative value, in nanoseconds
	Count uint64 `json:"n"`
}

// Bins are the bins of a histogram, ascending by NS, each value once, without those
// that count nothing. They stay packed, in some two bytes each, so that thousands of
// trials fit into memory, and are unpacked as they are read. The zero value has none,
// and == compares them.
type Bins struct {
	packed string // made by Pack alone
}

// Pack packs bins, in whatever order they are: those of one value are added up.
func Pack(bins []Bin) Bins {
	if !isOrdered(bins) {
		bins = sortedBins(bins)
	}
	return Bins{string(pack(bins))}
}

func isOrdered(bins []Bin) bool {
	for i, b := range bins {
		if b.Count == 0 || i > 0 && bins[i-1].NS >= b.NS {
			return false
		}
	}
	return true
}

// sortedBins returns bins ascending by NS, each value once, without empty ones.
func sortedBins(bins []Bin) []Bin {
	bins = slices.Clone(bins)
	slices.SortFunc(bins, func(a, b Bin) int { return cmp.Compare(a.NS, b.NS) })
	sums := bins[:0]
	for _, b := range bins {
		if n := len(sums); n > 0 && sums[n-1].NS == b.NS {
			sums[n-1].Count += b.Count
			continue
		}
		sums = append(sums, b)
	}
	return slices.DeleteFunc(sums, func(b Bin) bool { return b.Count == 0 })
}

// All yields the bins in their order.
func (b Bins) All() iter.Seq[Bin] {
	return func(yield func(Bin) bool) {
		r := reader{packed: b.packed}
		for r.next() && yield(r.bin) {
		}
	}
}

// Unpack returns the bins; nil for none.
func (b Bins) Unpack() []Bin {
	if b.IsEmpty() {
		return nil
	}
	bins := make([]Bin, 0, len(b.packed)/2)
	for r := (reader{packed: b.packed}); r.next(); {
		bins = append(bins, r.bin)
	}
	return bins
}

// IsEmpty reports whether there are no bins.
func (b Bins) IsEmpty() bool { return b.packed == "" }

// String prints the bins, for messages of tests.
func (b Bins) String() string { return fmt.Sprint(b.Unpack()) }

// mergeBatch is how many histograms are merged in one pass. Larger batches would build long intermediate sums where
// histograms have few bins in common.
const mergeBatch = 16

// MergeBins adds histograms up, bin by bin.
func MergeBins(histograms ...Bins) Bins {
	histograms = slices.DeleteFunc(slices.Clone(histograms), Bins.IsEmpty)
	for len(histograms) > 1 {
		var sums []Bins
		for group := range slices.Chunk(histograms, mergeBatch) {
			sums = append(sums, addUp(group))
		}
		histograms = sums
	}
	if len(histograms) == 0 {
		return Bins{}
	}
	return histograms[0]
}

func addUp(histograms []Bins) Bins {
	if len(histograms) == 1 {
		return histograms[0]
	}
	sum := histograms[0].Unpack()
	var missing []Bin
	for _, h := range histograms[1:] {
		missing = addTo(sum, h, missing[:0])
		sum = insert(sum, missing)
	}
	return Pack(sum)
}

// addTo adds what b counts to the bins of sum, and appends those that sum has not to
// missing.
func addTo(sum []Bin, b Bins, missing []Bin) []Bin {
	i := 0
	for r := (reader{packed: b.packed}); r.next(); {
		for i < len(sum) && sum[i].NS < r.bin.NS {
			i++
		}
		if i < len(sum) && sum[i].NS == r.bin.NS {
			sum[i].Count += r.bin.Count
			continue
		}
		missing = append(missing, r.bin)
	}
	return missing
}

// insert puts bins that sum has not into their places, from the last one on.
func insert(sum, missing []Bin) []Bin {
	old, left := len(sum), len(missing)
	sum = append(sum, missing...)
	for to := len(sum) - 1; left > 0; to-- {
		if old > 0 && sum[old-1].NS > missing[left-1].NS {
			old--
			sum[to] = sum[old]
			continue
		}
		left--
		sum[to] = missing[left]
	}
	return sum
}
