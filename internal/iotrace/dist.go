package iotrace

import (
	"math"
	"math/big"
	"math/bits"
	"slices"

	"plimsoll/internal/hist"
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

	// The histogram is the sum of both: groups of bins, where times are added one by
	// one, and bins in ascending order, where many distributions have few times each.
	groups *[octaves]*[perOctave]uint64
	sparse []binned
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

// Tally adds many times to a distribution. It keeps the bins of those that are not
// yet in the histogram in the order in which they came: to count each at once in one
// of many histograms would wait for memory each time. The zero value is ready.
type Tally struct {
	bins []uint16
}

// settled is how many bins a Tally keeps.
const settled = 2048

// Add adds times. The histogram is complete once they are settled.
func (t *Tally) Add(d *Dist, times []uint32) {
	const most = 256 // squares of 28 bits each that 64 bits hold
	for ; len(times) > most; times = times[most:] {
		t.some(d, times[:most])
	}
	if len(times) > 0 {
		t.some(d, times)
	}
}

func (t *Tally) some(d *Dist, times []uint32) {
	least, most := d.MinNS, d.MaxNS
	if d.Count == 0 {
		least = uint64(times[0])
	}
	var sum, squares uint64
	bins := t.bins
	for _, short := range times {
		ns := uint64(short)
		least, most = min(least, ns), max(most, ns)
		sum += ns
		squares += ns * ns
		bins = append(bins, uint16(shortBin(short)))
	}
	t.bins = bins
	d.MinNS, d.MaxNS = least, most
	d.Count += uint64(len(times))
	d.SumNS += sum
	if most>>28 == 0 {
		d.addSquares(0, squares)
	} else {
		for _, short := range times { // their sum may not have fitted
			d.addSquares(0, uint64(short)*uint64(short))
		}
	}
	if len(bins) >= settled {
		t.settle(d)
		t.bins = bins[:0]
	}
}

// Settle moves what was counted to the distribution's histogram.
func (t *Tally) Settle(d *Dist) {
	if len(t.bins) > 0 {
		t.settle(d)
	}
	t.bins = nil
}

// settle counts the bins first where all counts are at hand, then into d.
func (t *Tally) settle(d *Dist) {
	var counts [1 << 11]uint32 // a power of two needs no check of its bounds
	first, last := t.bins[0], t.bins[0]
	for _, bin := range t.bins {
		counts[bin%uint16(len(counts))]++
		first, last = min(first, bin), max(last, bin)
	}
	fresh := 0
	for i, s := range d.sparse {
		at := s.bin()
		d.sparse[i] += binned(counts[at])
		counts[at] = 0
	}
	for _, n := range counts[first : last+1] {
		if n > 0 {
			fresh++
		}
	}
	if fresh == 0 {
		return
	}
	d.sparse = slices.Grow(d.sparse, fresh)
	for i, n := range counts[first : last+1] {
		if n > 0 {
			d.sparse = append(d.sparse, newBinned(int(first)+i, uint64(n)))
		}
	}
	slices.Sort(d.sparse)
}

// binned is a bin, in the highest bits, and how many times are in it.
type binned uint64

const binShift = 64 - 11

func newBinned(bin int, n uint64) binned { return binned(bin)<<binShift | binned(n) }
func (b binned) bin() int                { return int(b >> binShift) }
func (b binned) count() uint64           { return uint64(b) & (1<<binShift - 1) }

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
	if o.groups != nil {
		for g, theirs := range o.groups {
			if theirs == nil {
				continue
			}
			mine := d.group(g)
			for i, n := range theirs {
				mine[i] += n
			}
		}
	}
	for _, s := range o.sparse {
		d.AddBin(s.bin(), s.count())
	}
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
	d.group(index >> octaveBits)[index&(perOctave-1)] += n
}

// group is the bins of an octave.
func (d *Dist) group(octave int) *[perOctave]uint64 {
	if d.groups == nil {
		d.groups = new([octaves]*[perOctave]uint64)
	}
	group := d.groups[octave]
	if group == nil {
		group = new([perOctave]uint64)
		d.groups[octave] = group
	}
	return group
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

// PercentileNS is the p-th percentile (above 0, up to 100), within a bin; 0 of
// nothing.
func (d *Dist) PercentileNS(p float64) uint64 {
	if d == nil {
		return 0
	}
	ns, _ := hist.Percentile(d.Latency().Bins, p)
	return ns
}

// Latency gives the distribution as results hold it.
func (d *Dist) Latency() hist.Histogram {
	if d == nil || d.Count == 0 {
		return hist.Histogram{}
	}
	l := hist.Histogram{Count: d.Count, MeanNS: d.MeanNS(), MinNS: d.MinNS, MaxNS: d.MaxNS}
	sparse := d.sparse
	var counted []hist.Bin
	next := func(bin int, n uint64) {
		if len(sparse) > 0 && sparse[0].bin() == bin {
			n += sparse[0].count()
			sparse = sparse[1:]
		}
		if n > 0 {
			counted = append(counted, hist.Bin{NS: representative(bin), Count: n})
		}
	}
	var groups [octaves]*[perOctave]uint64
	if d.groups != nil {
		groups = *d.groups
	}
	for g, bins := range groups {
		if bins != nil {
			for i, n := range bins {
				next(g<<octaveBits+i, n)
			}
			continue
		}
		for len(sparse) > 0 && sparse[0].bin()>>octaveBits == g {
			next(sparse[0].bin(), 0)
		}
	}
	l.Bins = hist.Pack(counted)
	return l
}
