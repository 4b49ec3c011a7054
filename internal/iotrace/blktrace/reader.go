package blktrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// FormatError says what is wrong with a capture, and where.
type FormatError struct {
	File    string
	Offset  int64 // of the first wrong byte, from the file's start
	Skipped int64 // bytes passed over until the next sound record, or the end
	Reason  string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: at byte %d: %s; %d bytes are passed over", e.File, e.Offset, e.Reason, e.Skipped)
}

// readBuffer is small, so that those of many files fit into the processor's
// caches; records that need more room are rare, and get it.
const (
	readBuffer = 64 << 10
	maxRecord  = header8 + 1<<16
)

// Reader reads the records of one file.
type Reader struct {
	name     string
	from     io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0]
	err      error // of from; io.EOF at its end

	lastTime   uint64
	disordered uint64
}

// NewReader makes a Reader of a file; its name is for errors.
func NewReader(name string, from io.Reader) *Reader {
	return &Reader{name: name, from: from, buf: make([]byte, readBuffer)}
}

// Name is the file's name.
func (d *Reader) Name() string { return d.name }

// Offset is where the next record begins.
func (d *Reader) Offset() int64 { return d.base + int64(d.pos) }

// Disordered is how many records were older than the one before them.
func (d *Reader) Disordered() uint64 { return d.disordered }

// fill makes n bytes available where the file has them.
func (d *Reader) fill(n int) bool {
	for d.end-d.pos < n && d.err == nil {
		if n > len(d.buf) {
			d.buf = append(d.buf, make([]byte, n-len(d.buf))...)
		}
		if d.pos > 0 {
			copy(d.buf, d.buf[d.pos:d.end])
			d.base += int64(d.pos)
			d.end -= d.pos
			d.pos = 0
		}
		var read int
		read, d.err = d.from.Read(d.buf[d.end:])
		d.end += read
	}
	return d.end-d.pos >= n
}

// Read reads records, at least one, as far as they need no more of the file.
// Their PDUs are good until the next call. At the end it returns io.EOF. After a
// FormatError, the next call goes on behind the damage; any other error is of
// reading the file, and final.
func (d *Reader) Read(records []Record) (n int, err error) {
	for n = d.plain(records); n < len(records); n += d.plain(records[n:]) {
		if d.end-d.pos < maxRecord {
			if n > 0 {
				break // to make room would take the PDUs of those that were read
			}
			if d.fill(header8 + longPDU) {
				n = d.plain(records)
				if n > 0 {
					break
				}
			}
			if !d.fill(maxRecord) && d.end == d.pos {
				return 0, d.err
			}
		}
		size := parse(d.buf[d.pos:d.end], &records[n])
		if size <= 0 || size > header8+longPDU && d.swallows(size) {
			if n > 0 {
				break
			}
			return 0, d.damaged(size)
		}
		d.pos += size
		d.check(&records[n])
		n++
	}
	return n, nil
}

// plain reads records of the kind that nearly all are: whole ones of version 7
// in the byte order of most processors, without a cgroup. It returns how many
// there are before another one, which parse may know.
func (d *Reader) plain(records []Record) int {
	buf := d.buf[d.pos:d.end]
	last := d.lastTime
	n := 0
	for n < len(records) && len(buf) >= header7 {
		h := (*[header7]byte)(buf)
		size := header7 + int(binary.LittleEndian.Uint16(h[46:]))
		if binary.LittleEndian.Uint32(h[0:]) != magic|version7 || h[29]&1 != 0 || size > min(len(buf), header8+longPDU) {
			break
		}
		r := &records[n]
		n++
		parse7(h, r)
		r.Cgroup, r.PDU = 0, buf[header7:size]
		buf = buf[size:]
		if r.Time < last {
			d.disordered++
		}
		last = r.Time
	}
	d.lastTime = last
	d.pos = d.end - len(buf)
	return n
}

// check counts what the order of records tells.
func (d *Reader) check(r *Record) {
	if r.Time < d.lastTime {
		d.disordered++
	}
	d.lastTime = r.Time
}

// What parse found instead of a record.
const (
	truncated = 0
	noMagic   = -1
	noVersion = -2
	shortPDU  = -3
)

// longPDU is more data than any event has: two devices and a sector, behind a
// cgroup's id. Messages have more.
const longPDU = 24

// swallows tells whether the data of a record at the present place, which is
// size bytes long with it, has another record in it that is followed by one:
// then its length is damaged, and believing it would lose them.
func (d *Reader) swallows(size int) bool {
	data := d.buf[d.pos+header7 : d.end]
	var r Record
	for at := 0; at < size-header7 && at+header7 <= len(data); at++ {
		if begins(data[at:]) && leads(data[at:], &r) {
			return true
		}
	}
	return false
}

// parse reads the record at the start of b and returns its size.
func parse(b []byte, r *Record) int {
	if len(b) < header7 {
		return kind(b)
	}
	var pdu, size int
	switch binary.LittleEndian.Uint32(b) {
	case magic | version7:
		parse7((*[header7]byte)(b), r)
		size = header7
		pdu = int(binary.LittleEndian.Uint16(b[46:]))
	case magic | version8:
		if len(b) < header8 {
			return truncated
		}
		parse8(b, binary.LittleEndian, r)
		pdu, size = int(binary.LittleEndian.Uint16(b[50:])), header8
	default:
		switch bits.ReverseBytes32(binary.LittleEndian.Uint32(b)) {
		case magic | version7:
			parse7Big(b, r)
			pdu, size = int(binary.BigEndian.Uint16(b[46:])), header7
		case magic | version8:
			if len(b) < header8 {
				return truncated
			}
			parse8(b, binary.BigEndian, r)
			pdu, size = int(binary.BigEndian.Uint16(b[50:])), header8
		default:
			return kind(b)
		}
	}
	if pdu == 0 && r.Action&cgroupFlag == 0 {
		r.Cgroup, r.PDU = 0, nil
		return size
	}
	return parsePDU(b, size, pdu, r)
}

func parse7(h *[header7]byte, r *Record) {
	r.Sequence = binary.LittleEndian.Uint32(h[4:])
	r.Time = binary.LittleEndian.Uint64(h[8:])
	r.Sector = binary.LittleEndian.Uint64(h[16:])
	r.Bytes = binary.LittleEndian.Uint32(h[24:])
	r.Action = Action(binary.LittleEndian.Uint32(h[28:]))
	r.PID = binary.LittleEndian.Uint32(h[32:])
	r.Device = binary.LittleEndian.Uint32(h[36:])
	r.CPU = binary.LittleEndian.Uint32(h[40:])
	r.Error = binary.LittleEndian.Uint16(h[44:])
}

func parse7Big(b []byte, r *Record) {
	be := binary.BigEndian
	r.Sequence = be.Uint32(b[4:])
	r.Time = be.Uint64(b[8:])
	r.Sector = be.Uint64(b[16:])
	r.Bytes = be.Uint32(b[24:])
	r.Action = Action(be.Uint32(b[28:]))
	r.PID = be.Uint32(b[32:])
	r.Device = be.Uint32(b[36:])
	r.CPU = be.Uint32(b[40:])
	r.Error = be.Uint16(b[44:])
}

func parse8(b []byte, order binary.ByteOrder, r *Record) {
	r.Sequence = order.Uint32(b[4:])
	r.Time = order.Uint64(b[8:])
	r.Sector = order.Uint64(b[16:])
	r.Bytes = order.Uint32(b[24:])
	r.PID = order.Uint32(b[28:])
	r.Action = Action(order.Uint64(b[32:]))
	r.Device = order.Uint32(b[40:])
	r.CPU = order.Uint32(b[44:])
	r.Error = order.Uint16(b[48:])
}

// parsePDU takes the data behind a header, and a cgroup's id off its front.
func parsePDU(b []byte, header, pdu int, r *Record) int {
	if len(b) < header+pdu {
		return truncated
	}
	r.Cgroup, r.PDU = 0, b[header:header+pdu]
	if r.Action&cgroupFlag == 0 {
		return header + pdu
	}
	if pdu < 8 {
		return shortPDU
	}
	if b[0]&0xf0 == 0 { // the low byte of the magic, a version, comes first
		r.Cgroup = binary.LittleEndian.Uint64(r.PDU)
	} else {
		r.Cgroup = binary.BigEndian.Uint64(r.PDU)
	}
	r.Action &^= cgroupFlag
	r.PDU = r.PDU[8:]
	return header + pdu
}

// kind tells what is at b, where no record is.
func kind(b []byte) int {
	if len(b) < 4 {
		return truncated
	}
	m := binary.LittleEndian.Uint32(b)
	for _, m := range []uint32{m, bits.ReverseBytes32(m)} {
		if m == magic|version7 || m == magic|version8 {
			return truncated
		}
		if m&^0xff == magic {
			return noVersion
		}
	}
	return noMagic
}

const wrongLength = "a record whose length is damaged: it has other records in it, or goes beyond the file's end"

// damaged passes over what is no record.
func (d *Reader) damaged(kind int) error {
	e := &FormatError{File: d.name, Offset: d.Offset()}
	switch kind {
	case noMagic:
		e.Reason = "there is no record of a block trace here"
	case noVersion:
		e.Reason = fmt.Sprintf("a record of version %d, where 7 and 8 are known", d.version())
	case shortPDU:
		e.Reason = "a record of a cgroup lacks the cgroup's id"
	case truncated:
		e.Reason = "the file ends within a record"
	default:
		e.Reason = wrongLength
	}
	for {
		d.pos++ // what is here was no record
		for d.end-d.pos >= header7 || d.fill(header7) {
			if begins(d.buf[d.pos:d.end]) {
				break
			}
			d.pos++
		}
		if d.end-d.pos < header7 {
			d.pos = d.end
		}
		if d.pos == d.end || d.plausible() {
			break
		}
	}
	e.Skipped = d.Offset() - e.Offset
	if kind == truncated && d.pos < d.end {
		e.Reason = wrongLength
	}
	if d.err != nil && !errors.Is(d.err, io.EOF) && d.pos == d.end {
		return d.err
	}
	return e
}

func (d *Reader) version() byte {
	b := d.buf[d.pos:]
	if b[0] == magic>>24 {
		return b[3]
	}
	return b[0]
}

// begins tells whether b, of at least four bytes, may be the beginning of a
// record.
func begins(b []byte) bool {
	m := binary.LittleEndian.Uint32(b)
	return m == magic|version7 || m == magic|version8 ||
		bits.ReverseBytes32(m) == magic|version7 || bits.ReverseBytes32(m) == magic|version8
}

// plausible tells whether a record begins here that another one, or the end,
// follows.
func (d *Reader) plausible() bool {
	d.fill(2 * maxRecord)
	return leads(d.buf[d.pos:d.end], new(Record))
}

// leads tells whether b begins with a record that another one, or the end,
// follows. It uses r.
func leads(b []byte, r *Record) bool {
	size := parse(b, r)
	if size <= 0 {
		return false
	}
	rest := b[size:]
	return len(rest) < 4 || kind(rest) == truncated || parse(rest, r) > 0
}
