package follow

import "plimsoll/internal/iotrace/blktrace"

// counter is the last event of a device on a CPU. The kernel numbers them.
type counter struct {
	time int64
	last uint32 // 0: none yet
}

const (
	restartGap = 1 << 30 // a gap in sequence numbers from which they are taken to have restarted
	maxCPU     = 1 << 14 // far above what Linux can be built for
	nearby     = 64      // records that may lie between one and its copy
)

// follows reports whether a record's number follows the previous one, as nearly all do, and stores it. It is small,
// so that it is inlined.
func (d *device) follows(r *blktrace.Record) bool {
	if r.CPU >= uint32(len(d.cpus)) {
		return false
	}
	c := &d.cpus[r.CPU]
	if c.last != r.Sequence-1 {
		return false
	}
	c.last, c.time = r.Sequence, int64(r.Time)
	return true
}

// isDuplicate handles any other number, and reports whether the event was seen before. A capture may be given
// together with its own merge, record by record, since both are in the order of time.
func (d *device) isDuplicate(r *blktrace.Record) bool {
	if r.CPU >= maxCPU {
		return false // the record is damaged
	}
	for r.CPU >= uint32(len(d.cpus)) {
		d.cpus = append(d.cpus, counter{})
	}
	c := &d.cpus[r.CPU]
	ns := int64(r.Time)
	if c.last != 0 && c.last-r.Sequence < nearby && ns <= c.time {
		d.duplicates++
		return true
	}
	if gap := r.Sequence - c.last - 1; c.last != 0 && gap > 0 && gap < restartGap {
		d.lost += uint64(gap)
		d.lacks()
	}
	c.last, c.time = r.Sequence, ns
	return false
}
