package follow

import (
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// event is a record in the form that the follower works on.
type event struct {
	time   int64
	sector uint64
	key    uint64 // by which its bio is found: the sector, or flushes
	from   uint64 // sector: Remap's origin, Split's rest
	cgroup uint64
	bytes  uint32
	pid    uint32
	device uint32
	origin uint32 // device: Remap's
	cpu    uint32
	text   int32 // index in the batch's texts of a note
	errno  int32
	kind   kind
	op     iotrace.Op
}

// kind is what an event is: the events of blktrace that the follower knows, and
// what only ours have.
type kind uint8

const (
	ignored    = kind(0)
	submitted  = kind(64) // to an NVMe device
	named      = kind(65) // a process
	deviceName = kind(66)

	unknown = blktrace.Action(63) // stands for all events that no kernel has yet
)

// flushes is where flushes are found, whose sector says nothing: the kernel
// makes one, at sector 0, for all that wait.
const flushes = ^uint64(0)

func (e *event) end() uint64 { return e.sector + uint64(e.bytes>>9) }

// batch is events on their way from the decoder to the follower.
type batch struct {
	events []event
	texts  []string
}

const batchSize = 512 // fits into a processor's first cache

// add appends a record.
func (b *batch) add(r *blktrace.Record) {
	b.events = b.events[:len(b.events)+1]
	e := &b.events[len(b.events)-1]
	e.time, e.sector, e.bytes = int64(r.Time), r.Sector, r.Bytes
	e.pid, e.device, e.cpu, e.cgroup = r.PID, r.Device, r.CPU, r.Cgroup
	e.errno = 0
	if r.Error != 0 {
		e.errno = r.Errno()
	}
	if r.Action.IsNote() {
		b.note(e, r)
		return
	}
	e.kind = kind(min(r.Action.Event(), unknown))
	e.op = operation(r.Action, r.Bytes)
	e.key = e.sector
	if e.op == iotrace.Flush {
		e.key = flushes
	}
	switch r.Action.Event() {
	case blktrace.Remap:
		var ok bool
		if e.origin, e.from, ok = r.RemappedFrom(); !ok {
			e.kind = ignored
		}
	case blktrace.Split:
		e.from, _ = r.Count()
	case blktrace.DriverData:
		e.kind = ignored
		if r.IsSubmit() {
			e.kind = submitted
		}
	}
}

func (b *batch) note(e *event, r *blktrace.Record) {
	e.kind, e.text = ignored, int32(len(b.texts))
	switch r.Action.Event() {
	case blktrace.NoteProcess:
		e.kind = named
		b.texts = append(b.texts, r.Text())
	case blktrace.NoteMessage:
		if name, ok := r.DeviceName(); ok {
			e.kind = deviceName
			b.texts = append(b.texts, name)
		}
	}
}

// zones are the categories of zone management.
const zones = blktrace.CatZoneReset | blktrace.CatZoneResetAll | blktrace.CatZoneFinish | blktrace.CatZoneOpen | blktrace.CatZoneClose

// operation tells what a request does by its categories.
func operation(a blktrace.Action, bytes uint32) iotrace.Op {
	const special = blktrace.CatPassthrough | blktrace.CatDiscard | blktrace.CatFlush | zones
	switch {
	case a&(blktrace.CatRead|special) == blktrace.CatRead:
		return iotrace.Read
	case a&(blktrace.CatWrite|special) == blktrace.CatWrite:
		return iotrace.Write
	case a&blktrace.CatPassthrough != 0:
		return iotrace.Other
	case a&blktrace.CatDiscard != 0:
		return iotrace.Discard
	case a&blktrace.CatFlush != 0 && bytes == 0:
		return iotrace.Flush
	case a&zones != 0:
		return iotrace.Other
	case a&blktrace.CatWrite != 0:
		return iotrace.Write
	case a&blktrace.CatRead != 0:
		return iotrace.Read
	}
	return iotrace.Other
}
