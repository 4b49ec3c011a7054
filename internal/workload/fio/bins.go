package fio

import (
	"math/bits"
	"slices"

	"plimsoll/internal/result/hist"
)

// fio's histograms: below 128 ns every value has a bin; above, each power of
// two is cut into 64 bins of the same width, and the middle of a bin stands
// for it. The last bin takes everything beyond.
const (
	binBits = 6
	// binCount is the number of bins since fio 3.0: 29 groups of 64.
	binCount = 29 << binBits
	// oldBinCount is the number of bins of fio 2: 19 groups of 64, in microseconds.
	oldBinCount = 19 << binBits
)

// binRange returns the lowest value of a bin, and the number of its values.
func binRange(index int) (low, width uint64) {
	if index < 2<<binBits {
		return uint64(index), 1
	}
	shift := index>>binBits - 1
	return uint64(1<<binBits+index&(1<<binBits-1)) << shift, 1 << shift
}

// binValue is the value that fio has stand for a bin.
func binValue(index int) uint64 {
	low, width := binRange(index)
	return low + width/2
}

// binIndex is the bin that a value falls into.
func binIndex(ns uint64) int {
	shift := bits.Len64(ns) - (binBits + 1)
	if shift <= 0 {
		return int(ns)
	}
	return min((shift+1)<<binBits+int(ns>>shift)&(1<<binBits-1), binCount-1)
}

// histogram counts values into fio's bins.
type histogram map[uint64]uint64

// bins returns the bins of the histogram, ascending.
func (h histogram) bins() []hist.Bin {
	bins := make([]hist.Bin, 0, len(h))
	for ns, n := range h {
		bins = append(bins, hist.Bin{NS: ns, Count: n})
	}
	slices.SortFunc(bins, func(a, b hist.Bin) int {
		if a.NS < b.NS {
			return -1
		}
		return 1
	})
	return bins
}
