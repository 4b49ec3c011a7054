package iotrace

import (
	"math"
	"math/big"
	"math/bits"

	"plimsoll/internal/result/hist"
)

// octaves and perOctave are the shape of fio's latency histograms
// (FIO_IO_U_PLAT_GROUP_NR and 2^FIO_IO_U_PLAT_BITS in its stat.h): exact below
// 128 ns, and within 1/128 above.
const (
	octaves    = 29
	octaveBits = 6
	perOctave  = 1 << octaveBits
)

// Dist is a distribution of times in nanoseconds. All but the histogram is
// exact, and merging loses nothing: the same times give the same Dist in
// whatever order, and by however many threads, they were added. The zero value
// is empty and ready for use.
type Dist struct {
	Count uint64
	SumNS uint64
	MinNS uint64
	MaxNS uint64

	// Squares is the sum of the squares of the times, in 128 bits: high, low.
	Squares [2]uint64

	// The histogram is the sum of both. Times are counted in small, so that many distributions fit into a processor's
	// caches. Counts that small cannot hold are in overflow.
	small    bins[uint16]
	overflow bins[uint64]
}

// bins are counts of the bins of some octaves in a row.
type bins[N uint16 | uint64] struct {
	first  int // bin, of counts
	counts []N
}

// count returns the count of a bin.
func (b *bins[N]) count(bin int) uint64 {
	if i := uint(bin - b.first); i < uint(len(b.counts)) {
		return uint64(b.counts[i])
	}
	return 0
}

// span makes room for the counts from one bin to another.
func (b *bins[N]) span(lowest, highest int) {
	end := b.first + len(b.counts)
	if lowest >= b.first && highest < end {
		return
	}
	first := lowest &^ (perOctave - 1)
	if b.counts == nil {
		end = first
	} else {
		first = min(first, b.first)
	}
	end = max(end, highest&^(perOctave-1)+perOctave)
	counts := make([]N, end-first)
	if b.counts != nil {
		copy(counts[b.first-first:], b.counts)
	}
	b.first, b.counts = first, counts
}

// Add adds a time.
func (d *Dist) Add(ns uint64) {
	if d.Count == 0 || ns < d.MinNS {
		d.MinNS = ns
	}
	d.MaxNS = max(d.MaxNS, ns)
	d.Count++
	d.SumNS += ns
	hi, lo := bits.Mul64(ns, ns)
	d.addSquares(hi, lo)
	d.AddBin(bin(ns), 1)
}

// AddAll adds times, faster than one by one.
func (d *Dist) AddAll(times []uint32) {
	const batch = 256 // squares of 28 bits each that 64 bits hold
	for ; len(times) > batch; times = times[batch:] {
		d.addBatch(times[:batch])
	}
	if len(times) > 0 {
		d.addBatch(times)
	}
}

func (d *Dist) addBatch(times []uint32) {
	least, greatest := times[0], times[0]
	var sum, squares uint64
	for _, short := range times {
		least, greatest = min(least, short), max(greatest, short)
		sum += uint64(short)
		squares += uint64(short) * uint64(short)
	}
	if greatest>>28 == 0 {
		d.addSquares(0, squares)
	} else {
		for _, short := range times { // their sum may not have fitted
			d.addSquares(0, uint64(short)*uint64(short))
		}
	}
	if d.Count == 0 {
		d.MinNS = uint64(least)
	}
	d.MinNS, d.MaxNS = min(d.MinNS, uint64(least)), max(d.MaxNS, uint64(greatest))
	d.Count += uint64(len(times))
	d.SumNS += sum

	d.small.span(int(shortBin(least)), int(shortBin(greatest)))
	first, counts := uint(d.small.first), d.small.counts
	for _, short := range times {
		n := &counts[shortBin(short)-first]
		*n++
		if *n == 0 { // it was full
			d.AddBin(int(shortBin(short)), 1<<16)
		}
	}
}

func (d *Dist) addSquares(hi, lo uint64) {
	var carry uint64
	d.Squares[1], carry = bits.Add64(d.Squares[1], lo, 0)
	d.Squares[0] += hi + carry
}

// Merge adds all times of another distribution.
func (d *Dist) Merge(o *Dist) {
	if o == nil || o.Count == 0 {
		return
	}
	if d.Count == 0 || o.MinNS < d.MinNS {
		d.MinNS = o.MinNS
	}
	d.MaxNS = max(d.MaxNS, o.MaxNS)
	d.Count += o.Count
	d.SumNS += o.SumNS
	d.addSquares(o.Squares[0], o.Squares[1])
	if first, end := o.occupied(); first < end {
		d.overflow.span(first, end-1)
	}
	addTo(&d.overflow, &o.small)
	addTo(&d.overflow, &o.overflow)
}

// addTo adds counts to those that span them.
func addTo[N uint16 | uint64](sum *bins[uint64], b *bins[N]) {
	if b.counts == nil {
		return
	}
	to := sum.counts[b.first-sum.first:][:len(b.counts)]
	for i, n := range b.counts {
		to[i] += uint64(n)
	}
}

// occupied returns the bins that may have counts: the first one, and the one behind the last.
func (d *Dist) occupied() (first, end int) {
	first, end = d.small.first, d.small.first+len(d.small.counts)
	if d.overflow.counts == nil {
		return first, end
	}
	if d.small.counts == nil {
		return d.overflow.first, d.overflow.first + len(d.overflow.counts)
	}
	return min(first, d.overflow.first), max(end, d.overflow.first+len(d.overflow.counts))
}

// bin is the index of the bin of a time: 0 to Bins-1.
func bin(ns uint64) int {
	if ns < 2*perOctave {
		return int(ns)
	}
	shift := bits.Len64(ns) - 1 - octaveBits
	return min((shift+1)<<octaveBits+int(ns>>shift)&(perOctave-1), Bins-1)
}

// shortBin is bin of a time that most are like. A floating-point number has the
// highest bit and those behind it where bin looks for them, and conversion is
// faster than the search.
func shortBin(ns uint32) uint {
	if ns < perOctave {
		return uint(ns)
	}
	const one = 0x3ff // the exponent of 1
	return uint(math.Float64bits(float64(ns))>>(52-octaveBits)) - (one+octaveBits-1)<<octaveBits
}

// Bins is the number of bins of the histogram.
const Bins = octaves * perOctave

// AddBin counts n times into a bin of the histogram, and nowhere else: for a
// recorder that summed the rest up itself. The bin of a time below 128 ns is
// the time; of another one with highest bit b, it is (b-5)*64 and the six bits
// after the highest.
func (d *Dist) AddBin(index int, n uint64) {
	d.overflow.span(index, index)
	d.overflow.counts[index-d.overflow.first] += n
}

// representative is the time that fio gives for a bin: its middle.
func representative(index int) uint64 {
	if index < 2*perOctave {
		return uint64(index)
	}
	shift := index>>octaveBits - 1
	return 1<<(shift+octaveBits) + uint64((float64(index&(perOctave-1))+0.5)*float64(uint64(1)<<shift))
}

// MeanNS is the mean, in nanoseconds; 0 of nothing.
func (d *Dist) MeanNS() float64 {
	if d == nil || d.Count == 0 {
		return 0
	}
	return float64(d.SumNS) / float64(d.Count)
}

// StddevNS is the standard deviation of the times as a whole population, in
// nanoseconds: the root of the mean of squares less the square of the mean,
// which in whole numbers does not cancel.
func (d *Dist) StddevNS() float64 {
	if d == nil || d.Count == 0 {
		return 0
	}
	n := new(big.Int).SetUint64(d.Count)
	squares := new(big.Int).SetUint64(d.Squares[0])
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(d.Squares[1]))
	sum := new(big.Int).SetUint64(d.SumNS)
	squares.Mul(squares, n).Sub(squares, sum.Mul(sum, sum)) // n^2 times the variance
	v, _ := new(big.Float).SetInt(squares).Float64()
	return math.Sqrt(v) / float64(d.Count)
}

// PercentilesNS returns percentiles (above 0, up to 100, ascending), within a bin; zeros of nothing.
func (d *Dist) PercentilesNS(ps ...float64) []uint64 {
	ns, ok := hist.Percentiles(d.Latency().Bins, ps...)
	if !ok {
		return make([]uint64, len(ps))
	}
	return ns
}

// Latency returns the distribution as results store it.
func (d *Dist) Latency() hist.Histogram {
	if d == nil || d.Count == 0 {
		return hist.Histogram{}
	}
	first, end := d.occupied()
	counted := make([]hist.Bin, 0, end-first)
	for bin := first; bin < end; bin++ {
		if n := d.small.count(bin) + d.overflow.count(bin); n > 0 {
			counted = append(counted, hist.Bin{NS: representative(bin), Count: n})
		}
	}
	return hist.Histogram{Count: d.Count, MeanNS: d.MeanNS(), MinNS: d.MinNS, MaxNS: d.MaxNS, Bins: hist.Pack(counted)}
}
