package follow

import (
	"time"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// device is the state of a device, apart from its bios.
type device struct {
	number uint32
	name   string
	lastQ  int64
	queued uint64 // Q events
	issued uint64 // D events

	cpus       []counter // by CPU
	lost       uint64    // events, by gaps in their numbers
	duplicates uint64

	ticks         uint32 // issues and completions
	strict        bool   // the capture lacks events of it
	patience      patience
	reused        [phases]times
	orphans       uint64 // completions of requests whose start was not seen
	orphansQueued uint64 // the orphans that were seen to be queued
	unqueued      uint64 // issues of requests that were not seen to be queued
	reissued      uint64 // without a requeue
	superseded    supersededIssues

	stats   iotrace.Device
	inOrder uint64              // issued requests that begin where the one before ended
	data    uint64              // issued requests with data
	behind  [iotrace.Ops]uint64 // the one before

	depth    int64 // between D and C, now
	since    int64
	integral float64 // depth over nanoseconds
	seconds  []depthOf
	from     int64 // the span of the last of seconds
	until    int64
}

func newDevice(number uint32, strict bool, nameOf func(major, minor uint32) string) *device {
	d := &device{number: number, name: blktrace.MajMin(number), lastQ: never, strict: strict}
	d.patience.settle(strict)
	if nameOf != nil {
		if name := nameOf(number>>20, number&0xfffff); name != "" {
			d.name = name
		}
	}
	return d
}

// supersededIssues holds the last issues that were followed by another one of the same sectors before a completion.
// next is the place of the next one.
type supersededIssues struct {
	issues [16]supersededIssue
	next   int
}

// supersededIssue is free where bytes is 0.
type supersededIssue struct {
	sector uint64
	bytes  uint32
	op     iotrace.Op
	d      int64
}

func (s *supersededIssues) add(b *bio) {
	s.issues[s.next] = supersededIssue{b.key, b.bytesLeft, b.op, b.d}
	s.next = (s.next + 1) % len(s.issues)
}

// take removes the issue that a completion may be of and returns its time; never for none.
func (s *supersededIssues) take(e *event) int64 {
	for i := range s.issues {
		old := s.issues[i]
		if old.bytes > 0 && old.bytes == e.Bytes && old.sector == e.key && old.op == e.op {
			s.issues[i] = supersededIssue{}
			return old.d
		}
	}
	return never
}

// depthOf is the depth over one second, times nanoseconds.
type depthOf struct {
	second   int64
	integral float64
}

// maxSeconds bounds the series of a device: six hours of seconds with activity.
const maxSeconds = 6 * 3600

func (d *device) issues(e *event) {
	d.issued++
	if e.Bytes == 0 {
		return
	}
	d.data++
	if d.behind[e.op] == e.Sector {
		d.inOrder++
	}
	d.behind[e.op] = e.end()
}

// beginRequest notes that the driver got a request.
func (d *device) beginRequest(start, now int64) {
	d.advance(start, now)
	d.depth++
	d.stats.MaxDepth = max(d.stats.MaxDepth, uint64(d.depth))
}

// endRequest notes that the driver finished a request.
func (d *device) endRequest(start, now int64) {
	d.advance(start, now)
	d.depth = max(0, d.depth-1)
}

// advance integrates the queue depth up to now.
func (d *device) advance(start, now int64) {
	since := d.since
	d.since = max(now, since)
	if d.depth == 0 || now <= since {
		return
	}
	area := float64(d.depth) * float64(now-since)
	d.integral += area
	if from, to := since-start, now-start; from < to && from >= d.from && to <= d.until {
		d.seconds[len(d.seconds)-1].integral += area
	} else {
		d.spread(from, to)
	}
}

// spread adds the present depth to the seconds of a span.
func (d *device) spread(from, to int64) {
	for from < to {
		if from >= d.until || len(d.seconds) == 0 {
			if len(d.seconds) == maxSeconds {
				return
			}
			second := from / int64(time.Second)
			d.seconds = append(d.seconds, depthOf{second: second})
			d.from, d.until = second*int64(time.Second), (second+1)*int64(time.Second)
		}
		end := min(to, d.until)
		d.seconds[len(d.seconds)-1].integral += float64(d.depth) * float64(end-from)
		from = end
	}
}
