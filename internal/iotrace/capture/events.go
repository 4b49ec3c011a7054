package capture

import (
	"bytes"
	"slices"

	"plimsoll/internal/iotrace/blktrace"
)

// eventSorter turns events into records of a capture. Events of an interrupt may reach the buffer before those of the
// code that it interrupted, so it delays a few events of each CPU to put them in order.
type eventSorter struct {
	devices []device
	to      func(*blktrace.Record)
	named   map[uint32][16]byte // tasks whose name was already written
	// by CPU, sorted by time
	pending      map[uint32][]eventRecord
	devicesNamed bool // whether the devices' names were written
	drivers      bool // events of NVMe drivers are there
}

// nesting is more than interrupts can be in each other.
const nesting = 4

func (s *eventSorter) take(e *eventRecord) {
	if s.pending == nil {
		s.pending = map[uint32][]eventRecord{}
	}
	h := s.pending[e.CPU]
	i := len(h)
	for i > 0 && h[i-1].Time > e.Time {
		i--
	}
	h = slices.Insert(h, i, *e)
	if len(h) > nesting {
		s.give(&h[0])
		h = slices.Delete(h, 0, 1)
	}
	s.pending[e.CPU] = h
}

func (s *eventSorter) flush() {
	for _, h := range s.pending {
		for i := range h {
			s.give(&h[i])
		}
	}
	s.pending = nil
}

// give hands an event on, and before it what readers should know of it.
func (s *eventSorter) give(e *eventRecord) {
	if !s.devicesNamed {
		s.devicesNamed = true
		for _, d := range s.devices {
			s.to(&blktrace.Record{Time: e.Time, CPU: e.CPU, Action: blktrace.NoteMessage | blktrace.CatNotify,
				Device: blktrace.DeviceNumber(d.major, d.minor), PDU: []byte(blktrace.NamePrefix + d.name)})
		}
	}
	if known, ok := s.named[e.TID]; !ok || known != e.Comm {
		s.named[e.TID] = e.Comm
		name, _, _ := bytes.Cut(e.Comm[:], []byte{0})
		s.to(&blktrace.Record{Time: e.Time, CPU: e.CPU, PID: e.TID, Action: blktrace.NoteProcess | blktrace.CatNotify,
			PDU: append(slices.Clone(name), 0)})
	}
	d := s.devices[e.Dev]
	number := blktrace.DeviceNumber(d.major, d.minor)
	r := blktrace.Record{Time: e.Time, Sector: e.Sector, Bytes: e.Bytes, PID: e.TID, Device: number, CPU: e.CPU}
	if s.drivers && d.nvme() && !d.bios {
		// An NVMe driver makes a command, and says block_rq_issue right before it
		// rings the doorbell.
		switch e.Action {
		case 'N':
			e.Action = 'D'
		case 'D':
			e.Action = 'N'
		}
	}
	switch e.Action {
	case 'N':
		r.Action, r.PDU = blktrace.Submit, []byte(blktrace.SubmitPDU)
	case 'P', 'U', 'T':
		r.Action = actions[e.Action]
		if e.Action != 'P' {
			r.PDU = blktrace.CountPDU(e.Data)
		}
	default:
		r.Action = actions[e.Action] | categories(e.Opf)
	}
	switch e.Action {
	case 'X':
		r.PDU = blktrace.CountPDU(e.Data)
	case 'A':
		r.PDU = blktrace.RemapPDU(uint32(e.DataDev), number, e.Data)
	case 'C':
		r.Error = uint16(errno(e.Error))
	}
	s.to(&r)
}

// actions maps an event to the action that the kernel's own tracer stores for it.
var actions = map[uint8]blktrace.Action{
	'Q': blktrace.Queue | blktrace.CatQueue,
	'M': blktrace.BackMerge | blktrace.CatQueue,
	'F': blktrace.FrontMerge | blktrace.CatQueue,
	'G': blktrace.GetRequest | blktrace.CatQueue,
	'I': blktrace.Insert | blktrace.CatQueue,
	'R': blktrace.Requeue | blktrace.CatRequeue,
	'D': blktrace.Issue | blktrace.CatIssue,
	'C': blktrace.Complete | blktrace.CatComplete,
	'P': blktrace.Plug | blktrace.CatQueue,
	'U': blktrace.Unplug | blktrace.CatQueue,
	'T': blktrace.UnplugTimer | blktrace.CatQueue,
	'X': blktrace.Split,
	'A': blktrace.Remap | blktrace.CatQueue,
}

// opfFlags are the flags of bios and requests that have a category.
var opfFlags = []struct {
	bit      uint
	category blktrace.Action
}{{11, blktrace.CatSync}, {12, blktrace.CatMeta}, {17, blktrace.CatFUA}, {18, blktrace.CatFlush},
	{19, blktrace.CatAhead}}

// categories returns the categories of a request, by its operation and flags.
func categories(opf uint32) blktrace.Action {
	action := blktrace.CatFS
	op := opf & 0xff
	if op >= 32 { // a driver's own
		action = blktrace.CatPassthrough
	}
	if op&1 != 0 {
		action |= blktrace.CatWrite
	} else {
		action |= blktrace.CatRead
	}
	for _, flag := range opfFlags {
		if opf>>flag.bit&1 != 0 {
			action |= flag.category
		}
	}
	switch op {
	case 2:
		action |= blktrace.CatFlush
	case 3, 5:
		action |= blktrace.CatDiscard
	}
	return action
}
