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

// maxCells bounds the cells that tell owners apart.
const maxCells = 600

// cellKey is a cell's key by numbers: device, operation, power of two, owner.
type cellKey struct {
	device uint16
	owner  uint16
	op     iotrace.Op
	size   uint8
}

// cell collects times until there are enough to add them at once: histograms of
// many cells do not fit into the processor's caches, and each addition would
// wait for memory.
type cell struct {
	iotrace.Cell
	key     cellKey
	waiting [measured]uint8
	times   [measured][256]uint32
}

// measured is the number of intervals that a capture can tell.
const measured = iotrace.Q2D + 1

// add is small, so that it is inlined.
func (c *cell) add(i iotrace.Interval, ns uint64) {
	n := c.waiting[i]
	c.times[i][n] = uint32(ns)
	c.waiting[i]++
	if n == 255 || ns > math.MaxUint32 {
		c.full(i, ns)
	}
}

// full is for a time that is the last one that there is room for, or too long.
func (c *cell) full(i iotrace.Interval, ns uint64) {
	c.waiting[i]-- // to 255 from 0
	if ns > math.MaxUint32 {
		c.dist(i).Add(ns)
		return
	}
	c.dist(i).AddAll(c.times[i][:])
	c.waiting[i] = 0
}

func (c *cell) flush(i iotrace.Interval) {
	if c.waiting[i] > 0 {
		c.dist(i).AddAll(c.times[i][:c.waiting[i]])
		c.waiting[i] = 0
	}
}

func (c *cell) dist(i iotrace.Interval) *iotrace.Dist {
	if c.Intervals[i] == nil {
		c.Intervals[i] = new(iotrace.Dist)
	}
	return c.Intervals[i]
}

// accountant sums up what is finished.
type accountant struct {
	cells  []*cell
	index  [][][]*cell // by device, operation and size, owner
	recent *cell
	beyond bool
	series []series // by device
	start  func() int64
}

// sizes is the number of size classes.
const sizes = 34

// series is what completions add to the seconds of a device.
type series struct {
	seconds     []second
	at          int   // of the last one that was added to
	from, until int64 // its span
}

type second struct {
	at         int64
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

// of finds the cell of a bio.
func (a *accountant) of(b *finished) *cell {
	key := cellKey{b.device, b.owner, b.op, sizeClass(b.total)}
	if a.recent != nil && a.recent.key == key {
		return a.recent
	}
	at := a.at(key)
	if *at == nil && len(a.cells) >= maxCells && key.owner != pooled {
		a.beyond = true
		key.owner = pooled
		at = a.at(key)
	}
	if *at == nil {
		*at = &cell{key: key}
		a.cells = append(a.cells, *at)
	}
	a.recent = *at
	return *at
}

// at is the place of a cell.
func (a *accountant) at(key cellKey) **cell {
	for int(key.device) >= len(a.index) {
		a.index = append(a.index, nil)
	}
	if a.index[key.device] == nil {
		a.index[key.device] = make([][]*cell, int(iotrace.Ops)*sizes)
	}
	owners := &a.index[key.device][int(key.op)*sizes+int(key.size)]
	if int(key.owner) >= len(*owners) {
		*owners = append(*owners, make([]*cell, int(key.owner)+1-len(*owners))...)
	}
	return &(*owners)[key.owner]
}

func (a *accountant) add(b *finished) {
	c := a.of(b)
	if b.c != never {
		if b.leads {
			c.Requests++
		}
		c.Bytes += uint64(b.bytes)
		a.second(b)
	}
	if b.q2q != never {
		c.add(iotrace.Q2Q, uint64(b.q2q))
	}
	if b.q != never {
		c.put(iotrace.Q2G, b.q, b.g)
		c.put(iotrace.Q2M, b.q, b.m)
		c.put(iotrace.Q2C, b.q, b.c)
		if b.leads {
			c.put(iotrace.Q2D, b.q, b.d)
		}
	}
	if b.g != never {
		c.put(iotrace.G2I, b.g, b.i)
	}
	if b.d == never {
		return
	}
	if b.i != never {
		c.put(iotrace.I2D, b.i, b.d)
	} else if b.m != never {
		c.put(iotrace.M2D, b.m, b.d)
	}
	c.put(iotrace.D2C, b.d, b.c)
	if b.n != never {
		c.put(iotrace.D2N, b.d, b.n)
		c.put(iotrace.N2C, b.n, b.c)
	}
}

// put adds the time between two events, if there was the second.
func (c *cell) put(i iotrace.Interval, from, to int64) {
	if to != never {
		c.add(i, uint64(since(from, to)))
	}
}

// second adds a completed bio to the series of its device.
func (a *accountant) second(b *finished) {
	for int(b.device) >= len(a.series) {
		a.series = append(a.series, series{})
	}
	s := &a.series[b.device]
	if b.c < s.from || b.c >= s.until {
		start := a.start()
		at := (b.c - start) / int64(time.Second)
		var found bool
		s.at, found = slices.BinarySearchFunc(s.seconds, at, func(s second, at int64) int { return cmp.Compare(s.at, at) })
		if !found {
			if len(s.seconds) == maxSeconds {
				s.from, s.until = 0, 0
				return
			}
			s.seconds = slices.Insert(s.seconds, s.at, second{at: at})
		}
		s.from = start + at*int64(time.Second)
		s.until = s.from + int64(time.Second)
	}
	one := &s.seconds[s.at]
	if b.leads {
		one.requests[b.op]++
	}
	one.bytes[b.op] += uint64(b.bytes)
	if b.q != never {
		one.q2c += uint64(since(b.q, b.c))
		one.q2cs++
	}
	if b.d != never {
		one.d2c += uint64(since(b.d, b.c))
		one.d2cs++
	}
}

// account makes the account of all that was followed.
func account(f *follower, a *accountant) *iotrace.Account {
	out := &iotrace.Account{Recorder: "blktrace capture", Duration: time.Duration(since(f.start, f.last)), Events: f.events}
	for i, d := range f.devices {
		out.Devices = append(out.Devices, d.told(f, a.seconds(i, d, since(f.start, f.last))))
		out.Missing = append(out.Missing, d.missing()...)
	}
	for _, c := range a.cells {
		for i := range measured {
			c.flush(i)
		}
		key := c.key
		c.Key = iotrace.Key{Device: f.devices[key.device].name, Op: key.op, Owner: f.owners.owner(key.owner)}
		if key.size > 0 {
			c.Size = 1 << (key.size - 1)
		}
		out.Cells = append(out.Cells, c.Cell)
	}
	out.SortCells()
	slices.SortFunc(out.Devices, func(a, b iotrace.Device) int { return cmp.Compare(a.MajMin, b.MajMin) })
	if f.owners.beyond || a.beyond {
		out.Missing = append(out.Missing, "processes: there are too many to tell all apart; the rest are shown as one")
	}
	if f.orphans > 0 {
		out.Missing = append(out.Missing, fmt.Sprintf("%d requests were only seen to be completed: they began before the trace, or their events are lost", f.orphans))
	}
	if f.givenUp > 0 {
		out.Missing = append(out.Missing, fmt.Sprintf("%d requests were given up: more than %d at once had no completion", f.givenUp, maxInFlight))
	}
	return out
}

// seconds joins what completions and the depth tell of each second.
func (a *accountant) seconds(i int, d *device, duration int64) []iotrace.Second {
	var done []second
	if i < len(a.series) {
		done = a.series[i].seconds
	}
	depth := d.seconds
	var out []iotrace.Second
	for len(done) > 0 || len(depth) > 0 {
		var s iotrace.Second
		if len(depth) == 0 || len(done) > 0 && done[0].at <= depth[0].at {
			s.At = done[0].at
		} else {
			s.At = depth[0].at
		}
		if len(done) > 0 && done[0].at == s.At {
			one := done[0]
			s.Requests, s.Bytes = one.requests, one.bytes
			s.Q2CNS, s.D2CNS = mean(one.q2c, one.q2cs), mean(one.d2c, one.d2cs)
			done = done[1:]
		}
		for len(depth) > 0 && depth[0].at == s.At {
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

// told is the device as an account has it.
func (d *device) told(f *follower, seconds []iotrace.Second) iotrace.Device {
	out := d.stats
	out.Name, out.Seconds = d.name, seconds
	out.MajMin = fmt.Sprintf("%d:%d", d.number>>20, d.number&0xfffff)
	if duration := since(f.start, f.last); duration > 0 {
		out.Depth = d.integral / float64(duration)
	}
	if d.data > 0 {
		out.Sequential = float64(d.inOrder) / float64(d.data)
	}
	return out
}

// missing tells what cannot be known of a device.
func (d *device) missing() (out []string) {
	switch {
	case d.queued == 0 && d.stats.Remaps == 0 && (d.issued > 0 || d.stats.Requests > 0):
		out = append(out, fmt.Sprintf("%s: the capture has no Q of it: when its requests were queued, and by whom, is not known", d.name))
	case d.issued == 0 && d.queued > 0:
		out = append(out, fmt.Sprintf("%s: the capture has no D of it: it passes its I/O on to other devices, or D was not recorded", d.name))
	}
	if d.stats.Requests == 0 && (d.queued > 0 || d.issued > 0) {
		out = append(out, fmt.Sprintf("%s: the capture has no C of it: how long its requests took is not known", d.name))
	}
	if len(d.seconds) == maxSeconds {
		out = append(out, fmt.Sprintf("%s: its series ends after %d seconds", d.name, maxSeconds))
	}
	if d.stats.Unfinished > 0 && d.stats.Requests > 0 {
		out = append(out, fmt.Sprintf("%s: %d requests were not completed when the trace ended, or their completions are lost", d.name, d.stats.Unfinished))
	}
	return out
}
