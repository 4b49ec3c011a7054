package capture

import (
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"plimsoll/internal/iotrace"
)

// charge distributes requests that were counted and not timed over the owners of timed requests of the same kind: to
// each in proportion to its missing requests.
func charge(found map[iotrace.Key]*iotrace.Cell, untimed *iotrace.Cell) {
	var owners []*iotrace.Cell
	var lacks []uint64
	var sum uint64
	for _, similar := range []func(k iotrace.Key) bool{
		func(k iotrace.Key) bool {
			return k.Device == untimed.Device && k.Op == untimed.Op && k.Size == untimed.Size
		},
		func(k iotrace.Key) bool { return k.Device == untimed.Device && k.Op == untimed.Op },
		func(k iotrace.Key) bool { return k.Device == untimed.Device },
	} {
		for _, key := range slices.SortedFunc(maps.Keys(found), compare) {
			c := found[key]
			whole := c.Intervals[iotrace.Q2C]
			if !similar(key) || whole == nil {
				continue
			}
			n := whole.Count - min(whole.Count, c.Requests)
			owners, lacks, sum = append(owners, c), append(lacks, n), sum+n
		}
		if len(owners) > 0 {
			break
		}
	}
	if len(owners) == 0 {
		owners, lacks = append(owners, &iotrace.Cell{Key: iotrace.Key{Owner: ownerless}}), append(lacks, 0)
	}
	if sum == 0 { // none lacks any: there are a few more than the times of theirs stand for
		lacks[0], sum = 1, 1
	}
	var before, requests, bytes uint64
	for i, o := range owners {
		before += lacks[i]
		key := untimed.Key
		key.Owner = o.Owner
		c := found[key]
		if c == nil {
			c = &iotrace.Cell{Key: key}
			found[key] = c
		}
		r, b := scaled(untimed.Requests, before, sum), scaled(untimed.Bytes, before, sum)
		c.Requests, c.Bytes = c.Requests+r-requests, c.Bytes+b-bytes
		requests, bytes = r, b
	}
}

// scaled returns v * n / divisor, rounded.
func scaled(v, n, divisor uint64) uint64 {
	hi, lo := bits.Mul64(v, n)
	if hi >= divisor {
		return math.MaxUint64
	}
	q, rest := bits.Div64(hi, lo, divisor)
	if rest >= divisor-rest {
		q++
	}
	return q
}

// stretch scales the times of a cell up to the number of requests counted. The timed ones are a random sample.
func stretch(c *iotrace.Cell) {
	whole := c.Intervals[iotrace.Q2C]
	if whole == nil || whole.Count == 0 || c.Requests == 0 || whole.Count == c.Requests {
		return
	}
	n, timed := c.Requests, whole.Count
	scale := func(v uint64) uint64 { return scaled(v, n, timed) }
	for i, d := range c.Intervals {
		if d == nil {
			continue
		}
		out := &iotrace.Dist{Count: scale(d.Count), SumNS: scale(d.SumNS), MinNS: d.MinNS, MaxNS: d.MaxNS}
		squares := new(big.Int).SetUint64(d.Squares[0])
		squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(d.Squares[1]))
		squares.Mul(squares, new(big.Int).SetUint64(n)).Div(squares, new(big.Int).SetUint64(timed))
		out.Squares = [2]uint64{new(big.Int).Rsh(squares, 64).Uint64(), squares.Uint64()}
		var before, scaledBefore uint64 // of the bins so far: given, and scaled
		for b := range d.Latency().Bins.All() {
			before += b.Count
			out.AddBin(fineBin(b.NS), scale(before)-scaledBefore)
			scaledBefore = scale(before)
		}
		c.Intervals[i] = out
	}
}
