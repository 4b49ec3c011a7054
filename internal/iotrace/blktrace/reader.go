package blktrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// FormatError describes damage at one place of a capture.
type FormatError struct {
	File    string
	Offset  int64 // of the first wrong byte, from the file's start
	Skipped int64 // bytes passed over until the next sound record, or the end
	Reason  string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: at byte %d: %s; %d bytes are passed over", e.File, e.Offset, e.Reason, e.Skipped)
}

// A Reader reads blocks of blockSize. Those of many files that are merged share sharedBlocks, so that they fit into the
// processor's caches. Records that need more room are rare, and get it.
const (
	blockSize    = 64 << 10
	leastBlock   = 12 << 10
	sharedBlocks = 640 << 10
	maxRecord    = header8 + 1<<16
)

// Reader reads the records of one file.
type Reader struct {
	name     string
	from     io.Reader
	block    int // bytes that are read at once
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0]
	size     int   // of the record that peek found
	err      error // of from; io.EOF at its end

	lastTime uint64
	// number of records older than the one before them
	disordered uint64

	begun bool
	text  *text // of blkparse; nil for a capture
}

// NewReader makes a Reader of a file; its name is for errors.
func NewReader(name string, from io.Reader) *Reader {
	return &Reader{name: name, from: from, block: blockSize}
}

// Name is the file's name.
func (d *Reader) Name() string { return d.name }

// Offset returns the offset at which the next record begins.
func (d *Reader) Offset() int64 { return d.base + int64(d.pos) }

// Disordered returns the number of records that were older than the one before them.
func (d *Reader) Disordered() uint64 { return d.disordered }

// fill makes n bytes available where the file has them.
func (d *Reader) fill(n int) bool {
	for d.end-d.pos < n && d.err == nil {
		if n > len(d.buf) {
			d.buf = append(d.buf, make([]byte, max(n, d.block)-len(d.buf))...)
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
	if !d.begun {
		d.begun = true
		d.fill(header7)
		if isText(d.buf[d.pos:min(d.end, d.pos+header7)]) {
			d.text = &text{names: map[uint32]string{}}
		}
	}
	if d.text != nil {
		return d.readText(records)
	}
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
		if size <= 0 || size > header8+longPDU && d.hidesRecord(size) {
			if n > 0 {
				break
			}
			return 0, d.skipDamage(size)
		}
		d.pos += size
		d.countDisorder(&records[n])
		n++
	}
	return n, nil
}

// plain reads records of the kind that nearly all are, and returns how many there are before another one, which parse
// may know.
func (d *Reader) plain(records []Record) int {
	buf := d.buf[d.pos:d.end]
	last := d.lastTime
	n := 0
	for n < len(records) {
		size := plainSize(buf)
		if size == 0 {
			break
		}
		r := &records[n]
		n++
		parse7((*[header7]byte)(buf), r)
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

// plainSize returns the size of a plain record at the start of b: a whole one of version 7 in the byte order of most
// processors, without a cgroup. It is 0 for any other one.
func plainSize(b []byte) int {
	if len(b) < header7 {
		return 0
	}
	h := (*[header7]byte)(b)
	size := header7 + int(binary.LittleEndian.Uint16(h[46:]))
	if binary.LittleEndian.Uint32(h[0:]) != magic|version7 || h[29]&1 != 0 || size > min(len(b), header8+longPDU) {
		return 0
	}
	return size
}

// peek returns the time of the next record, where that is a plain one and was read.
func (d *Reader) peek() (time uint64, ok bool) {
	d.size = plainSize(d.buf[d.pos:d.end])
	if d.size == 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(d.buf[d.pos+8:]), true
}

// take reads the record that peek found, and peeks at the one behind it.
func (d *Reader) take(r *Record) (next uint64, ok bool) {
	b := d.buf[d.pos:d.end]
	parse7((*[header7]byte)(b), r)
	r.Cgroup, r.PDU = 0, b[header7:d.size]
	d.countDisorder(r)
	b = b[d.size:]
	d.pos += d.size
	d.size = plainSize(b)
	if d.size == 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), true
}

// peekFurther is peek after more of the file was read. Before the first record, the kind of file must be known.
func (d *Reader) peekFurther() (time uint64, ok bool) {
	if !d.begun || d.text != nil {
		return 0, false
	}
	d.fill(header8 + longPDU)
	return d.peek()
}

// countDisorder compares a record with the one before it, and counts those out of order.
func (d *Reader) countDisorder(r *Record) {
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

// hidesRecord reports whether the payload of the record at the present place, size bytes long with its header,
// contains another record that is followed by one. Then the length is damaged, and skipping the payload would lose
// these records.
func (d *Reader) hidesRecord(size int) bool {
	data := d.buf[d.pos+header7 : d.end]
	var r Record
	for at := 0; at < size-header7 && at+header7 <= len(data); at++ {
		if hasMagic(data[at:]) && startsRecord(data[at:], &r) {
			return true
		}
	}
	return false
}

// parse reads the record at the start of b and returns its size.
func parse(b []byte, r *Record) int {
	if len(b) < header7 {
		return damageKind(b)
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
			return damageKind(b)
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

// parsePDU takes the payload behind a header, and a cgroup's id off its front.
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

// damageKind classifies the bytes at b, where no record begins.
func damageKind(b []byte) int {
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

// skipDamage skips bytes up to the next plausible record.
func (d *Reader) skipDamage(kind int) error {
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
			if hasMagic(d.buf[d.pos:d.end]) {
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

// hasMagic reports whether b, of at least four bytes, may be the start of a record.
func hasMagic(b []byte) bool {
	m := binary.LittleEndian.Uint32(b)
	return m == magic|version7 || m == magic|version8 ||
		bits.ReverseBytes32(m) == magic|version7 || bits.ReverseBytes32(m) == magic|version8
}

// plausible reports whether a record begins here and is followed by another one or by the end.
func (d *Reader) plausible() bool {
	d.fill(2 * maxRecord)
	return startsRecord(d.buf[d.pos:d.end], new(Record))
}

// startsRecord reports whether b starts with a record that is followed by another one or by the end. It overwrites r.
func startsRecord(b []byte, r *Record) bool {
	size := parse(b, r)
	if size <= 0 {
		return false
	}
	rest := b[size:]
	return len(rest) < 4 || damageKind(rest) == truncated || parse(rest, r) > 0
}
