package follow

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"plimsoll/internal/iotrace"
)

// maxCells bounds the number of cells with separate owners.
const maxCells = 600

// cellKey is a cell's key by numbers: device, owner, operation, class of size.
type cellKey uint64

func newCellKey(device, owner uint16, op iotrace.Op, size uint8) cellKey {
	return cellKey(device)<<32 | cellKey(owner)<<16 | cellKey(op)<<8 | cellKey(size)
}

func (k cellKey) device() uint16 { return uint16(k >> 32) }
func (k cellKey) owner() uint16  { return uint16(k >> 16) }
func (k cellKey) op() iotrace.Op { return iotrace.Op(k >> 8) }
func (k cellKey) size() uint8    { return uint8(k) }

func (k cellKey) pool() cellKey { return k&^(0xffff<<16) | pooled<<16 }

// cell collects times until there are enough to add them at once: histograms of
// many cells do not fit into the processor's caches, and each addition would
// wait for memory.
type cell struct {
	iotrace.Cell
	key     cellKey
	waiting [intervals]uint8
	times   [intervals][batchSize]uint32
}

// batchSize is the number of times that are added to a distribution at once.
const batchSize = 128

// intervals is the number of intervals that a capture can have.
const intervals = iotrace.Q2D + 1

// put stores the time between two events. It reports whether flushBatch must be called: the batch is full, or the time
// was too long. It is small, so that it is inlined.
func (c *cell) put(i iotrace.Interval, ns int64) bool {
	n := c.waiting[i]
	c.times[i][n] = uint32(ns)
	c.waiting[i] = n + 1
	return n == batchSize-1 || ns > math.MaxUint32
}

// flushBatch empties a full batch. A time above 4.29 s, which does not fit into the batch, is added by itself.
func (c *cell) flushBatch(i iotrace.Interval, ns int64) {
	if ns > math.MaxUint32 {
		c.waiting[i]--
		c.dist(i).Add(uint64(ns))
		return
	}
	c.waiting[i] = 0
	c.add(i, batchSize)
}

// add adds the first n times of an interval.
func (c *cell) add(i iotrace.Interval, n int) {
	c.dist(i).AddAll(c.times[i][:n])
}

func (c *cell) flush() {
	for i, n := range c.waiting {
		if n > 0 {
			c.add(iotrace.Interval(i), int(n))
		}
	}
	c.waiting = [intervals]uint8{}
}

func (c *cell) dist(i iotrace.Interval) *iotrace.Dist {
	if c.Intervals[i] == nil {
		c.Intervals[i] = new(iotrace.Dist)
	}
	return c.Intervals[i]
}

// accountant adds finished bios to the cells of an account.
type accountant struct {
	cells  []*cell
	places []place // of cells: a hash table; a power of two, never more than half full
	// whether cells of other owners were pooled, at maxCells
	pooled bool
	series []series // by device
	start  func() int64
}

// series collects completions for the seconds of a device.
type series struct {
	seconds     []second
	current     int   // index of the second that was added to last
	from, until int64 // its span
}

type second struct {
	number     int64
	requests   [iotrace.Ops]uint64
	bytes      [iotrace.Ops]uint64
	q2c, d2c   uint64
	q2cs, d2cs uint64
}

func sizeClass(bytes uint32) uint8 {
	if bytes == 0 {
		return 0
	}
	return uint8(bits.Len32(bytes-1)) + 1
}

type place struct {
	key  cellKey
	cell *cell // nil: free
}

func newAccountant(start func() int64) *accountant {
	return &accountant{places: make([]place, 512), start: start}
}

// cellFor returns the cell of a bio.
func (a *accountant) cellFor(b *finishedBio) *cell {
	key := newCellKey(b.device, b.owner, b.op, sizeClass(b.total))
	p := a.place(key)
	if p.cell == nil && len(a.cells) >= maxCells && key.owner() != pooled {
		a.pooled = true
		key = key.pool()
		p = a.place(key)
	}
	if p.cell != nil {
		return p.cell
	}
	c := &cell{key: key}
	*p = place{key, c}
	if a.cells = append(a.cells, c); len(a.cells) > len(a.places)/2 {
		a.places = make([]place, 2*len(a.places))
		for _, c := range a.cells {
			*a.place(c.key) = place{c.key, c}
		}
	}
	return c
}

// place returns the slot of a key, or the free one where it belongs.
func (a *accountant) place(key cellKey) *place {
	last := uint64(len(a.places) - 1)
	slot := uint64(key) * 0x9e3779b97f4a7c15 >> 40
	for {
		p := &a.places[slot&last]
		if p.key == key || p.cell == nil {
			return p
		}
		slot++
	}
}

func (a *accountant) add(b *finishedBio) {
	c := a.cellFor(b)
	if b.c != never {
		a.addCompletion(c, b)
	}
	if b.q2q != never {
		if c.put(iotrace.Q2Q, b.q2q) {
			c.flushBatch(iotrace.Q2Q, b.q2q)
		}
	}
	if b.q != never {
		if b.m != never {
			if ns := since(b.q, b.m); c.put(iotrace.Q2M, ns) {
				c.flushBatch(iotrace.Q2M, ns)
			}
		}
		if b.g != never {
			if ns := since(b.q, b.g); c.put(iotrace.Q2G, ns) {
				c.flushBatch(iotrace.Q2G, ns)
			}
		}
		if b.leads && b.d != never {
			if ns := since(b.q, b.d); c.put(iotrace.Q2D, ns) {
				c.flushBatch(iotrace.Q2D, ns)
			}
		}
	}
	if b.i != never {
		if b.g != never {
			if ns := since(b.g, b.i); c.put(iotrace.G2I, ns) {
				c.flushBatch(iotrace.G2I, ns)
			}
		}
		if b.d != never {
			if ns := since(b.i, b.d); c.put(iotrace.I2D, ns) {
				c.flushBatch(iotrace.I2D, ns)
			}
		}
	} else if b.m != never && b.d != never {
		if ns := since(b.m, b.d); c.put(iotrace.M2D, ns) {
			c.flushBatch(iotrace.M2D, ns)
		}
	}
	if b.n != never && b.d != never {
		if ns := since(b.d, b.n); c.put(iotrace.D2N, ns) {
			c.flushBatch(iotrace.D2N, ns)
		}
	}
}

// addCompletion adds the times of a completed bio to its cell and to the series of its device.
func (a *accountant) addCompletion(c *cell, b *finishedBio) {
	var requests uint64 // without a branch, which could hardly be predicted
	if b.leads {
		requests = 1
	}
	c.Requests += requests
	c.Bytes += uint64(b.bytes)
	s := a.second(b)
	s.requests[b.op] += requests
	s.bytes[b.op] += uint64(b.bytes)
	if b.q != never {
		q2c := since(b.q, b.c)
		if c.put(iotrace.Q2C, q2c) {
			c.flushBatch(iotrace.Q2C, q2c)
		}
		s.q2c += uint64(q2c)
		s.q2cs++
	}
	if b.d != never {
		d2c := since(b.d, b.c)
		if c.put(iotrace.D2C, d2c) {
			c.flushBatch(iotrace.D2C, d2c)
		}
		s.d2c += uint64(d2c)
		s.d2cs++
		if b.n != never {
			if ns := since(b.n, b.c); c.put(iotrace.N2C, ns) {
				c.flushBatch(iotrace.N2C, ns)
			}
		}
	}
}

// second returns the second in which a bio completed.
func (a *accountant) second(b *finishedBio) *second {
	if int(b.device) < len(a.series) {
		if s := &a.series[b.device]; b.c >= s.from && b.c < s.until {
			return &s.seconds[s.current]
		}
	}
	return a.another(b)
}

// another returns the second of a completion, if the completion before was in a different one.
func (a *accountant) another(b *finishedBio) *second {
	for int(b.device) >= len(a.series) {
		a.series = append(a.series, series{})
	}
	s := &a.series[b.device]
	start := a.start()
	number := (b.c - start) / int64(time.Second)
	var found bool
	s.current, found = slices.BinarySearchFunc(s.seconds, number, func(s second, number int64) int {
		return cmp.Compare(s.number, number)
	})
	if !found {
		if len(s.seconds) == maxSeconds {
			s.from, s.until = 0, 0
			return new(second)
		}
		s.seconds = slices.Insert(s.seconds, s.current, second{number: number})
	}
	s.from = start + number*int64(time.Second)
	s.until = s.from + int64(time.Second)
	return &s.seconds[s.current]
}

// account makes the account of all that was followed.
func account(f *follower, a *accountant) *iotrace.Account {
	out := &iotrace.Account{Recorder: "blktrace capture", Duration: time.Duration(since(f.start, f.last)),
		Events: f.events}
	for i, d := range f.devices {
		out.Devices = append(out.Devices, d.result(f, a.seconds(i, d, since(f.start, f.last))))
		out.Missing = append(out.Missing, d.missing()...)
	}
	for _, c := range a.cells {
		c.flush()
		key := c.key
		if f.devices[key.device()].withholds() {
			c.Intervals[iotrace.Q2Q] = nil
		}
		c.Key = iotrace.Key{Device: f.devices[key.device()].name, Op: key.op(), Owner: f.owners.owner(key.owner())}
		if size := key.size(); size > 0 {
			c.Size = 1 << (size - 1)
		}
		out.Cells = append(out.Cells, c.Cell)
	}
	out.SortCells()
	slices.SortFunc(out.Devices, func(a, b iotrace.Device) int { return cmp.Compare(a.MajMin, b.MajMin) })
	if f.owners.pooled || a.pooled {
		out.Missing = append(out.Missing, "processes: there are too many to distinguish all; the rest are shown as one")
	}
	var orphans uint64
	for _, d := range f.devices {
		orphans += d.orphans
		out.Lost += d.lost
		out.Twice += d.duplicates
	}
	if orphans > 0 {
		out.Missing = append(out.Missing, fmt.Sprintf("%d requests were only seen to be completed: "+
			"they began before the trace, or their events are lost", orphans))
	}
	if out.Twice > 0 {
		out.Missing = append(out.Missing, fmt.Sprintf("%d events were given more than once "+
			"(a capture and its own merge?), by their CPUs, numbers and times: each counts once", out.Twice))
	}
	if f.givenUp > 0 {
		out.Missing = append(out.Missing, fmt.Sprintf("%d requests were given up: more than %d at once had no "+
			"completion", f.givenUp, maxInFlight))
	}
	return out
}

// seconds joins completions and queue depth for each second.
func (a *accountant) seconds(i int, d *device, duration int64) []iotrace.Second {
	var done []second
	if i < len(a.series) {
		done = a.series[i].seconds
	}
	depth := d.seconds
	var out []iotrace.Second
	for len(done) > 0 || len(depth) > 0 {
		var s iotrace.Second
		if len(depth) == 0 || len(done) > 0 && done[0].number <= depth[0].second {
			s.At = done[0].number
		} else {
			s.At = depth[0].second
		}
		if len(done) > 0 && done[0].number == s.At {
			one := done[0]
			s.Requests, s.Bytes = one.requests, one.bytes
			s.Q2CNS, s.D2CNS = mean(one.q2c, one.q2cs), mean(one.d2c, one.d2cs)
			done = done[1:]
		}
		for len(depth) > 0 && depth[0].second == s.At {
			length := min(int64(time.Second), duration-s.At*int64(time.Second)) // the last one is shorter
			if length > 0 {
				s.Depth += depth[0].integral / float64(length)
			}
			depth = depth[1:]
		}
		out = append(out, s)
	}
	return out
}

func mean(sum, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}

// result returns the device as an account has it.
func (d *device) result(f *follower, seconds []iotrace.Second) iotrace.Device {
	out := d.stats
	out.Name, out.Seconds = d.name, seconds
	out.MajMin = fmt.Sprintf("%d:%d", d.number>>20, d.number&0xfffff)
	if d.withholds() {
		out.Withheld = []iotrace.Quantity{
			iotrace.QuantityDepth, iotrace.QuantityMaxDepth, iotrace.QuantitySequential, iotrace.QuantityQ2Q,
		}
		out.MaxDepth = 0
		for i := range out.Seconds {
			out.Seconds[i].Depth = 0
		}
		return out
	}
	if duration := since(f.start, f.last); duration > 0 {
		out.Depth = d.integral / float64(duration)
	}
	if d.data > 0 {
		out.Sequential = float64(d.inOrder) / float64(d.data)
	}
	return out
}

// withholds reports whether the capture lacks events of the device, without which
// what takes all of them would be wrong.
func (d *device) withholds() bool {
	return (d.strict || d.reissued > 0) && (d.queued > 0 || d.issued > 0 || d.stats.Requests > 0)
}

// lostNotes names the figures that lack events of an incomplete capture.
func (d *device) lostNotes() (out []string) {
	say := func(format string, values ...any) { out = append(out, d.name+": "+fmt.Sprintf(format, values...)) }
	if d.lost > 0 {
		say("gaps in the numbers of its events say that %d are lost: "+
			"requests that they were of are not shown, or in part", d.lost)
	}
	if !d.withholds() {
		return out
	}
	say("its depth, what is sequential and Q2Q are left out, for they take every event, " +
		"and not all are there; counts are too low")
	if d.stats.Retired > 0 {
		say("%d requests were given up: their completions are missing, "+
			"and their sectors were asked for again, or thousands of later events passed them", d.stats.Retired)
	}
	if d.stats.Doubtful > 0 {
		say("%d times are left out: so long ones come about where an event is taken "+
			"for that of an earlier request of the same sectors", d.stats.Doubtful)
	}
	if d.reissued > 0 {
		say("%d requests were issued again without a record that they were requeued: "+
			"each counts once, from its last issue", d.reissued)
	}
	return out
}

// missing names the figures that cannot be known.
func (d *device) missing() (out []string) {
	switch {
	case d.queued == 0 && d.stats.Remaps == 0 && (d.issued > 0 || d.stats.Requests > 0):
		out = append(out, fmt.Sprintf("%s: the capture has none of its Q: the time and the process that queued a "+
			"request are not known", d.name))
	case d.issued == 0 && d.queued > 0:
		out = append(out, fmt.Sprintf("%s: the capture has none of its D: it passes its I/O on to other devices, or "+
			"D was not recorded", d.name))
	}
	if d.stats.Requests == 0 && (d.queued > 0 || d.issued > 0) {
		out = append(out, fmt.Sprintf("%s: the capture has none of its C: the time of requests is not known", d.name))
	}
	out = append(out, d.lostNotes()...)
	if len(d.seconds) == maxSeconds {
		out = append(out, fmt.Sprintf("%s: its series ends after %d seconds", d.name, maxSeconds))
	}
	if d.stats.Unfinished > 0 && d.stats.Requests > 0 {
		out = append(out, fmt.Sprintf("%s: %d requests were not completed when the trace ended, or their completions "+
			"are lost", d.name, d.stats.Unfinished))
	}
	return out
}
