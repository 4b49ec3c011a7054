package hist

import (
	"encoding/binary"
	"errors"
)

// The packed form of a bin is its count and, where that is another than that of the
// bin before, its step: the distance of its nanoseconds from the bin before, or from 0.
// Neighbours in a histogram of fio, or of any log-linear kind, are mostly of one step.
//
// The first byte has a bit for the same step, six bits of the count, least significant
// first, and a bit for more of it. What is left of the count, and the step, follow as
// varints. There is one packed form of a histogram: ReadBins refuses any other.
const (
	sameStep  = 1 << 0
	moreCount = 1 << 7
	firstBits = 6 // of the count
)

func pack(bins []Bin) []byte {
	b := make([]byte, 0, 2*len(bins)+binary.MaxVarintLen64)
	var ns, step uint64
	for _, bin := range bins {
		first := byte(bin.Count&(1<<firstBits-1)) << 1
		rest := bin.Count >> firstBits
		repeats := bin.NS-ns == step
		if repeats {
			first |= sameStep
		}
		if rest > 0 {
			first |= moreCount
		}
		b = append(b, first)
		if rest > 0 {
			b = binary.AppendUvarint(b, rest)
		}
		if !repeats {
			step = bin.NS - ns
			b = binary.AppendUvarint(b, step)
		}
		ns = bin.NS
	}
	return b
}

// Packed returns the packed form, which ReadBins reads.
func (b Bins) Packed() []byte { return []byte(b.packed) }

// reader reads packed bins.
type reader struct {
	packed string
	offset int // in packed, of the next bin
	bin    Bin // that next returned last
	step   uint64
}

// next reads the next bin, and reports whether there was one.
func (r *reader) next() bool {
	if r.offset >= len(r.packed) {
		return false
	}
	first := r.packed[r.offset]
	r.offset++
	r.bin.Count = uint64(first>>1) & (1<<firstBits - 1)
	if first&moreCount != 0 {
		r.bin.Count |= r.uvarint() << firstBits
	}
	if first&sameStep == 0 {
		r.step = r.uvarint()
	}
	r.bin.NS += r.step
	return true
}

func (r *reader) uvarint() (v uint64) {
	for shift := 0; ; shift += 7 {
		c := r.packed[r.offset]
		r.offset++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

var errDamaged = errors.New("the histogram is cut off or damaged")

// ReadBins reads the bytes that Packed returned. It fails for any other bytes, and needs no more memory than packed.
func ReadBins(packed []byte) (Bins, error) {
	rest := packed
	var ns, step uint64
	for isFirst := true; len(rest) > 0; isFirst = false {
		first := rest[0]
		rest = rest[1:]
		count := uint64(first>>1) & (1<<firstBits - 1)
		if first&moreCount != 0 {
			high, n := shortestUvarint(rest)
			if n == 0 || high == 0 || high >= 1<<(64-firstBits) {
				return Bins{}, errDamaged
			}
			count |= high << firstBits
			rest = rest[n:]
		}
		if first&sameStep == 0 {
			other, n := shortestUvarint(rest)
			if n == 0 || other == step {
				return Bins{}, errDamaged
			}
			step = other
			rest = rest[n:]
		}
		ascends := ns+step > ns || isFirst
		if count == 0 || !ascends {
			return Bins{}, errDamaged
		}
		ns += step
	}
	return Bins{string(packed)}, nil
}

// shortestUvarint reads a varint, and how many bytes it takes: 0 where it is cut off, of
// more than 64 bits, or longer than it has to be.
func shortestUvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}
