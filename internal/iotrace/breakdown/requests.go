package breakdown

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result"
)

// requests are the block requests that the application's I/Os of one direction led to.
type requests struct {
	requests, bytes uint64
	intervals       [iotrace.Intervals]*iotrace.Dist
}

func (r *requests) count(i iotrace.Interval) uint64 {
	if r.intervals[i] == nil {
		return 0
	}
	return r.intervals[i].Count
}

// bios is the number of bios, each of which was queued once; without calls to
// count them in, that of requests.
func (r *requests) bios() uint64 {
	if n := r.count(iotrace.S2Q); n > 0 {
		return n
	}
	return r.requests
}

func (r *requests) add(c *iotrace.Cell) {
	r.requests += c.Requests
	r.bytes += c.Bytes
	for i, d := range c.Intervals {
		if d == nil || d.Count == 0 {
			continue
		}
		if r.intervals[i] == nil {
			r.intervals[i] = new(iotrace.Dist)
		}
		r.intervals[i].Merge(d)
	}
}

// requestsOf sums up the requests that the application's system calls queued, at the devices where they end. Requests
// that a stripe or a mapper sends on in the same call are counted below it. Requests of a loop device's thread are left
// out, since the application does not wait for them. total includes requests that others queued on its behalf.
func (j *join) requestsOf(op iotrace.Op) (requestsOf, all requests) {
	mine := func(c *iotrace.Cell) bool {
		return c.Op == op && j.Owns(c.Owner) && !c.Owner.Kernel && c.Owner.Call == j.Calls
	}
	charged := func(c *iotrace.Cell) bool { return c.Op == op && j.Owns(c.Owner) }
	reached := j.deviceNames(mine)
	if len(reached) == 0 {
		reached = j.deviceNames(charged)
		reached = reached[:min(1, len(reached))]
	}
	for i := range j.Account.Cells {
		c := &j.Account.Cells[i]
		if !charged(c) || !slices.Contains(reached, c.Device) {
			continue
		}
		all.add(c)
		if mine(c) {
			requestsOf.add(c)
		}
	}
	for _, i := range []iotrace.Interval{iotrace.S2Q, iotrace.S2X, iotrace.X2W} {
		requestsOf.intervals[i] = j.fullest(mine, reached, i)
	}
	return requestsOf, all
}

// flushes counts the flushes of the topmost device that has any: devices below repeat them.
func (j *join) flushes() (n float64) {
	flush := func(c *iotrace.Cell) bool { return c.Op == iotrace.Flush }
	reached := j.deviceNames(flush)
	for i := range j.Account.Cells {
		if c := &j.Account.Cells[i]; flush(c) && len(reached) > 0 && c.Device == reached[0] {
			n += float64(c.Requests)
		}
	}
	return n
}

// fullest is an interval as the devices reached have it, or as another one has
// it that counted more: some drivers send the very bio on that was queued above
// them, and it is queued once.
func (j *join) fullest(mine func(*iotrace.Cell) bool, reached []string, interval iotrace.Interval) *iotrace.Dist {
	var fullest *iotrace.Dist
	dists := map[string]*iotrace.Dist{}
	for i := range j.Account.Cells {
		c := &j.Account.Cells[i]
		if d := c.Intervals[interval]; mine(c) && d != nil && d.Count > 0 {
			name := c.Device
			if slices.Contains(reached, name) {
				name = ""
			}
			if dists[name] == nil {
				dists[name] = new(iotrace.Dist)
			}
			dists[name].Merge(d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dists)) { // those reached first
		if fullest == nil || dists[name].Count > fullest.Count {
			fullest = dists[name]
		}
	}
	return fullest
}

// stray is the share of the requests of some cells below which a device does not
// count as reached: a single page that was read of a program's file would else
// add all that a loop device's thread asks for on the disk that holds both.
const stray = 0.01

// deviceNames returns the devices that issue requests of some cells, the top first. Where none does, since their
// drivers take bios, it returns the lowest one.
func (j *join) deviceNames(match func(*iotrace.Cell) bool) (names []string) {
	issued, bios := map[string]uint64{}, map[string]uint64{}
	var total uint64
	for i := range j.Account.Cells {
		c := &j.Account.Cells[i]
		if !match(c) || c.Requests == 0 {
			continue // only queued here, and completed elsewhere
		}
		if d := c.Intervals[iotrace.D2C]; d != nil && d.Count > 0 {
			issued[c.Device] += c.Requests
			total += c.Requests
		} else {
			bios[c.Device] += c.Requests
		}
	}
	maps.DeleteFunc(issued, func(_ string, n uint64) bool { return float64(n) < stray*float64(total) })
	depth := func(name string) int {
		return slices.IndexFunc(j.Devices, func(d result.Device) bool { return d.Name == name })
	}
	higher := func(a, b string) int { return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b)) }
	if len(issued) == 0 && len(bios) > 0 {
		return []string{slices.MaxFunc(slices.Collect(maps.Keys(bios)), higher)}
	}
	return slices.SortedFunc(maps.Keys(issued), higher)
}
