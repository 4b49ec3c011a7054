package capture

import (
	"encoding/binary"
	"errors"

	"plimsoll/internal/iotrace/blktrace"
)

// The kernel's trace buffer is pages: a time and a length, then events, each
// with a header of a type in 5 bits and the time since the one before in 27.
const (
	pageHeader  = 16
	lengthBits  = 0xfffff // a flag above them reports lost events in the page
	kindPadding = 29
	kindExtend  = 30 // of the time
	kindStamp   = 31
)

var errPage = errors.New("a page of the kernel's trace buffer is not of the known form")

// eachEvent calls take with the events of a page and their times in nanoseconds.
func eachEvent(page []byte, take func(ns uint64, data []byte) error) error {
	if len(page) < pageHeader {
		return errPage
	}
	word := binary.NativeEndian.Uint32
	ns := binary.NativeEndian.Uint64(page)
	end := pageHeader + int(binary.NativeEndian.Uint64(page[8:])&lengthBits)
	if end > len(page) {
		return errPage
	}
	for offset := pageHeader; offset+4 <= end; {
		head := word(page[offset:])
		kind, delta := head&31, uint64(head>>5)
		if bigEndian {
			kind, delta = head>>27, uint64(head&(1<<27-1))
		}
		offset += 4
		var length int
		switch {
		case kind == kindPadding && delta == 0:
			return nil
		case kind >= 1 && kind < kindPadding:
			length = int(kind) * 4
		case offset+4 > end:
			return errPage
		case kind == kindExtend:
			ns += delta + uint64(word(page[offset:]))<<27
			offset += 4
			continue
		case kind == kindStamp:
			ns = ns&^(1<<59-1) | (delta + uint64(word(page[offset:]))<<27)
			offset += 4
			continue
		default: // the length is beside the header, and counts itself
			length = int(word(page[offset:]))
		}
		if length < 4 || offset+length > end {
			return errPage
		}
		data := page[offset : offset+length]
		offset += length
		if kind == 0 {
			data = data[4:]
		}
		ns += delta
		if kind == kindPadding {
			continue
		}
		if err := take(ns, data); err != nil {
			return err
		}
	}
	return nil
}

var bigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// blkRecord decodes an event of the tracer "blk": a record as in a capture, but with the buffer's time and the
// tracer's magic and sequence. It reports whether data is such an event.
func blkRecord(cpu uint32, ns uint64, data []byte) (*blktrace.Record, bool) {
	const (
		header     = 48
		withCgroup = 1 << 8
	)
	if len(data) < header {
		return nil, false
	}
	e := binary.NativeEndian
	action, pdu := e.Uint32(data[28:]), int(e.Uint16(data[46:]))
	if e.Uint32(data[40:]) != cpu || pdu > len(data)-header || len(data)-header-pdu > 3 {
		return nil, false
	}
	r := &blktrace.Record{
		Time: ns, Sector: e.Uint64(data[16:]), Bytes: e.Uint32(data[24:]), Action: blktrace.Action(action &^ withCgroup),
		PID: e.Uint32(data[32:]), Device: e.Uint32(data[36:]), CPU: cpu, Error: e.Uint16(data[44:]),
		PDU: data[header : header+pdu],
	}
	if action&withCgroup != 0 && pdu >= 8 {
		r.Cgroup, r.PDU = e.Uint64(r.PDU), r.PDU[8:]
	}
	return r, true
}
