package hist

import (
	"math"
	"math/big"
)

// LeastAbove is how many values of a histogram must be above a percentile for it to be known: fewer are a matter of
// chance.
const LeastAbove = 10

// LeastFor returns the fewest values from which a percentile is known, so that LeastAbove of them are above it: 1,000
// for the 99th percentile, 10,000 for the 99.9th. No number of values is enough for the 100th.
func LeastFor(percent float64) uint64 {
	above := (100 - percent) / 100
	if !(above > 0) {
		return math.MaxUint64
	}
	return uint64(math.Ceil(LeastAbove/above - 1e-6)) // 100 - 99.9 is not a whole tenth in binary
}

// Known reports whether a percentile is known from so many values.
func Known(count uint64, percent float64) bool { return count >= LeastFor(percent) }

// Percentile returns the p-th percentile (above 0, up to 100) of a histogram, in nanoseconds, as fio defines it: the
// value of the first bin at which the running count reaches p/100 of all. ok is false for an empty histogram and for
// any other p.
func Percentile(bins Bins, p float64) (ns uint64, ok bool) {
	all, ok := Percentiles(bins, p)
	if !ok {
		return 0, false
	}
	return all[0], true
}

// Percentiles returns several percentiles of a histogram, in nanoseconds; ps must ascend. ok is false for an empty
// histogram, and where ps are out of range or order.
func Percentiles(bins Bins, ps ...float64) (ns []uint64, ok bool) {
	var total uint64
	r := reader{packed: bins.packed}
	for r.next() {
		total += r.bin.Count
	}
	greatest := r.bin.NS
	if total == 0 || !validPercents(ps) {
		return nil, false
	}
	ns = make([]uint64, 0, len(ps))
	var running uint64
	r = reader{packed: bins.packed}
	for _, p := range ps {
		limit := limitOf(p, total)
		for !limit.isReached(running) && r.next() {
			running += r.bin.Count
		}
		if !limit.isReached(running) {
			r.bin.NS = greatest // rounding took the limit above the total
		}
		ns = append(ns, r.bin.NS)
	}
	return ns, true
}

// validPercents reports whether ps ascend and are all above 0 and up to 100.
func validPercents(ps []float64) bool {
	before := 0.0
	for i, p := range ps {
		if !(p > 0 && p <= 100) || i > 0 && p < before {
			return false
		}
		before = p
	}
	return true
}

// limit is the count at which a percentile is reached.
type limit struct {
	floor   uint64 // the greatest whole number that is not above the limit
	isWhole bool
}

func (l limit) isReached(running uint64) bool {
	return running > l.floor || l.isWhole && running == l.floor
}

// limitOf returns the limit of p percent of total.
//
// fio computes it in C's long double, in an order that is the compiler's choice.
// Where p/100 of all is nearly a whole number, rounding would choose another bin than
// fio does; multiplying first, with bits to spare, does not round before the end.
func limitOf(p float64, total uint64) limit {
	exactly := exact().SetFloat64(p)
	exactly.Mul(exactly, exact().SetUint64(total))
	exactly.Quo(exactly, exact().SetInt64(100))
	below, _ := exactly.Uint64() // whole numbers are compared much faster
	return limit{below, exactly.IsInt()}
}

func exact() *big.Float { return new(big.Float).SetPrec(256) }
