package ycsb

// hash scatters numbers, as YCSB does: the absolute value of the 64-bit FNV-1a hash
// of the number's eight bytes, the lowest first.
func hash(number int64) int64 {
	const (
		offset = 0xcbf29ce484222325
		prime  = 0x100000001b3
	)
	h := uint64(offset)
	for range 8 {
		h = (h ^ uint64(number)&0xff) * prime
		number >>= 8
	}
	signed := int64(h)
	if signed < 0 {
		signed = -signed
	}
	return max(0, signed) // the least of all numbers has no absolute value
}
