package hist

import "math/big"

// Percentile is the p-th percentile (above 0, up to 100) of a histogram, in
// nanoseconds, as fio defines it: the value of the first bin at which the
// running count reaches p/100 of all. ok is false for an empty histogram and
// for another p. Bins must ascend by NS, as fio's and those of MergeBins do.
func Percentile(bins []Bin, p float64) (ns uint64, ok bool) {
	var total uint64
	for _, b := range bins {
		total += b.Count
	}
	if total == 0 || !(p > 0 && p <= 100) {
		return 0, false
	}
	// fio computes the limit in C's long double, in an order that is the
	// compiler's choice. Where p/100 of all is nearly a whole number, rounding
	// would choose another bin than fio does; multiplying first, with bits to
	// spare, does not round before the end.
	limit := exact().SetFloat64(p)
	limit.Mul(limit, exact().SetUint64(total))
	limit.Quo(limit, exact().SetInt64(100))
	below, _ := limit.Uint64() // whole numbers are compared much faster
	reached := limit.IsInt()
	var running uint64
	for _, b := range bins {
		running += b.Count
		if b.Count > 0 && (running > below || reached && running == below) {
			return b.NS, true
		}
	}
	return bins[len(bins)-1].NS, true // rounding took the limit above the total
}

func exact() *big.Float { return new(big.Float).SetPrec(256) }
