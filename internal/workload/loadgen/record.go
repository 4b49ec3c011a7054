package loadgen

import (
	"math/bits"
	"time"

	"plimsoll/internal/workload/ycsb"
)

// Bins are those of fio: below 128 ns every value has its own; above, each power of
// two is cut into 64 of the same width, and the middle of one stands for it. The last
// takes all beyond five hours.
const (
	binBits  = 6
	binCount = 39 << binBits
)

// binOf is the bin of a value.
func binOf(ns uint64) int {
	shift := bits.Len64(ns) - (binBits + 1)
	if shift <= 0 {
		return int(ns)
	}
	return min((shift+1)<<binBits+int(ns>>shift)&(1<<binBits-1), binCount-1)
}

// binValue is the value that stands for a bin.
func binValue(bin int) uint64 {
	if bin < 2<<binBits {
		return uint64(bin)
	}
	shift := bin>>binBits - 1
	low := uint64(1<<binBits+bin&(1<<binBits-1)) << shift
	return low + 1<<shift/2
}

// histogram counts latencies. The zero value is empty.
type histogram struct {
	counts          []uint32 // nil until there is one
	low, high       int      // bins that may not be empty
	n               uint64
	sum             float64 // ns
	least, greatest uint64  // ns
}

func (h *histogram) record(d time.Duration) {
	ns := uint64(max(0, d))
	bin := binOf(ns)
	if h.counts == nil {
		h.counts = make([]uint32, binCount)
	}
	if h.n == 0 {
		h.low, h.high, h.least, h.greatest = bin, bin, ns, ns
	}
	h.low, h.high = min(h.low, bin), max(h.high, bin)
	h.least, h.greatest = min(h.least, ns), max(h.greatest, ns)
	h.counts[bin]++
	h.n++
	h.sum += float64(ns)
}

// take adds what another one counted, which is empty then.
func (h *histogram) take(other *histogram) {
	if other.n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make([]uint32, binCount)
	}
	if h.n == 0 {
		h.low, h.high, h.least, h.greatest = other.low, other.high, other.least, other.greatest
	}
	h.low, h.high = min(h.low, other.low), max(h.high, other.high)
	h.least, h.greatest = min(h.least, other.least), max(h.greatest, other.greatest)
	h.n += other.n
	h.sum += other.sum
	for bin := other.low; bin <= other.high; bin++ {
		h.counts[bin] += other.counts[bin]
	}
	other.clear()
}

func (h *histogram) clear() {
	if h.n > 0 {
		clear(h.counts[h.low : h.high+1])
	}
	h.n, h.sum = 0, 0
}

// latencies returns what was counted, as lines have it.
func (h *histogram) latencies() ycsb.Latencies {
	if h.n == 0 {
		return ycsb.Latencies{}
	}
	l := ycsb.Latencies{SumNS: h.sum, MinNS: h.least, MaxNS: h.greatest}
	for bin := h.low; bin <= h.high; bin++ {
		if n := h.counts[bin]; n > 0 {
			l.Bins = append(l.Bins, [2]uint64{binValue(bin), uint64(n)})
		}
	}
	return l
}

// tally is what was done of one kind of operation.
type tally struct {
	count, errors, timeouts, retries, bytes uint64
	total, service                          histogram
}

// tallies are what was done of all kinds, by their index in ycsb.Names.
type tallies struct {
	kinds [17]tally
	lag   histogram
}

// take adds what others did, who then have done nothing.
func (t *tallies) take(other *tallies) {
	for i := range t.kinds {
		to, from := &t.kinds[i], &other.kinds[i]
		to.count += from.count
		to.errors += from.errors
		to.timeouts += from.timeouts
		to.retries += from.retries
		to.bytes += from.bytes
		from.count, from.errors, from.timeouts, from.retries, from.bytes = 0, 0, 0, 0, 0
		to.total.take(&from.total)
		to.service.take(&from.service)
	}
	t.lag.take(&other.lag)
}

// line returns what was done, and forgets it.
func (t *tallies) line() ycsb.Line {
	var l ycsb.Line
	for i := range t.kinds {
		k := &t.kinds[i]
		if k.count+k.errors+k.retries == 0 {
			continue
		}
		l.Operations = append(l.Operations, ycsb.Done{
			Name: ycsb.Names[i], Count: k.count, Errors: k.errors, Timeouts: k.timeouts, Retries: k.retries,
			Bytes: k.bytes, Total: k.total.latencies(), Service: k.service.latencies(),
		})
	}
	l.Lag = t.lag.latencies()
	(&tallies{}).take(t)
	return l
}
