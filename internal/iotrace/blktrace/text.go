package blktrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// text is the state of a Reader of blkparse's default output, one line for each event. The text lacks cgroups, driver
// data (see Submit), bytes beyond whole sectors, and the sectors of requests without data.
type text struct {
	line    int               // lines that were read
	events  int               // lines that were events of requests
	names   map[uint32]string // of processes, as records told them
	pdus    []byte            // of the records of one call of Read
	pending []Record          // read, and not returned yet
}

// maxNames bounds the names that are kept.
const maxNames = 1 << 16

// IsText reports whether the file is text of blkparse, as far as it was read.
func (d *Reader) IsText() bool { return d.text != nil }

// isText reports whether a file begins with text.
func isText(beginning []byte) bool {
	return len(beginning) > 0 && !slices.ContainsFunc(beginning, func(b byte) bool {
		return b < ' ' && b != '\t' && b != '\n' && b != '\r' || b == 0x7f
	})
}

// readText reads as Read does.
func (d *Reader) readText(records []Record) (n int, err error) {
	t := d.text
	if len(t.pending) == 0 {
		t.pdus = t.pdus[:0]
	}
	start := d.Offset()
	var damage *FormatError
	for n < len(records) {
		if len(t.pending) > 0 {
			records[n], t.pending = t.pending[0], t.pending[1:]
			n++
			continue
		}
		if n > 0 && bytes.IndexByte(d.buf[d.pos:d.end], '\n') < 0 {
			return n, nil // the next line may be long in coming
		}
		line := d.peekLine()
		if len(line) == 0 {
			break
		}
		r, name, event := t.parse(bytes.TrimRight(line, " \r\n"))
		known := event || aside(bytes.TrimSpace(line))
		switch {
		case n > 0 && !known:
			return n, nil // the next call says that
		case event && damage != nil:
			return 0, damage
		case !known && damage == nil:
			damage = &FormatError{File: d.name, Offset: d.Offset(),
				Reason: fmt.Sprintf("line %d is none of blkparse's default output", t.line+1)}
		}
		d.pos += len(line)
		t.line++
		if event {
			t.hold(r, name)
			d.countDisorder(&r)
		}
		if damage != nil {
			damage.Skipped = d.Offset() - damage.Offset
		}
	}
	switch {
	case n > 0:
		return n, nil
	case t.events == 0 && d.Offset() > start && errors.Is(d.err, io.EOF):
		e := &FormatError{File: d.name, Offset: start, Skipped: d.Offset() - start, Reason: noEventsReason(damage != nil)}
		if damage != nil {
			e.Offset, e.Skipped = damage.Offset, damage.Skipped
		}
		return 0, e
	case damage != nil:
		return 0, damage
	}
	return 0, d.err
}

// noEventsReason explains a text without events: blkparse printed none, or another program wrote it.
func noEventsReason(other bool) string {
	if other {
		return "this is text, and no line is one of blkparse's default output: print it without a format of your own " +
			"(blkparse -i NAME, without -f and -F), or name the capture itself (NAME.blktrace.0)"
	}
	return "this is the summary that blkparse prints, without events: print them (blkparse without -q), or name the " +
		"capture itself (NAME.blktrace.0)"
}

// hold adds an event, behind the name of its process where it is new.
func (t *text) hold(r Record, name []byte) {
	t.pending = t.pending[:0]
	known, named := t.names[r.PID]
	if len(name) > 0 && (!named || known != string(name)) && (named || len(t.names) < maxNames) {
		t.names[r.PID] = string(name)
		t.pending = append(t.pending, Record{Action: NoteProcess | CatNotify, Time: r.Time, Device: r.Device, CPU: r.CPU,
			PID: r.PID, PDU: t.keep(name)})
	}
	t.pending = append(t.pending, r)
	if !r.Action.IsNote() { // messages have no format that one may choose
		t.events++
	}
}

// keep copies data for a record.
func (t *text) keep(data []byte) []byte {
	begin := len(t.pdus)
	t.pdus = append(t.pdus, data...)
	return t.pdus[begin:len(t.pdus):len(t.pdus)]
}

// peekLine returns the next line, its end included; the start of one that is too long to be blkparse's; nothing at the
// end of the file.
func (d *Reader) peekLine() []byte {
	for seen := 0; ; {
		have := d.buf[d.pos:d.end]
		end := bytes.IndexByte(have[seen:], '\n')
		if end >= 0 {
			return have[:seen+end+1]
		}
		seen = len(have)
		if seen >= blockSize/2 || !d.fill(seen+1) {
			return have[:seen:seen]
		}
	}
}

// nonEventPrefixes begin the lines of blkparse's summaries and messages.
var nonEventPrefixes = [][]byte{
	[]byte("Input file "),
	[]byte("CPU"),
	[]byte("Total ("),
	[]byte("Reads "),
	[]byte("Read "),
	[]byte("PC "),
	[]byte("IO unplugs:"),
	[]byte("Throughput (R/W):"),
	[]byte("Events ("),
	[]byte("Skips:"),
	[]byte("Allocation wait:"),
	[]byte("Dispatch wait:"),
	[]byte("Completion wait:"),
}

func aside(line []byte) bool {
	if len(line) == 0 || slices.ContainsFunc(nonEventPrefixes, func(a []byte) bool { return bytes.HasPrefix(line, a) }) {
		return true
	}
	at := bytes.LastIndex(line, []byte(" (")) // "fio (1118)" is above the summary of a process
	return at > 0 && bytes.HasSuffix(line, []byte(")")) && len(bytes.Trim(line[at+2:len(line)-1], "0123456789., ")) == 0
}

// textActions are the events by their letters.
var textActions = map[string]Action{
	"Q": Queue, "M": BackMerge, "F": FrontMerge, "G": GetRequest, "S": Sleep, "R": Requeue, "D": Issue, "C": Complete,
	"P": Plug, "U": Unplug, "UT": UnplugTimer, "I": Insert, "X": Split, "B": Bounce, "A": Remap, "m": messageAction,
}

// cursor scans a line.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) word() []byte {
	c.rest = bytes.TrimLeft(c.rest, " ")
	end := bytes.IndexByte(c.rest, ' ')
	if end < 0 {
		end = len(c.rest)
	}
	word := c.rest[:end]
	c.rest = c.rest[end:]
	return word
}

// number reads a number of at most so many bits.
func (c *cursor) number(bits int) uint64 {
	c.rest = bytes.TrimLeft(c.rest, " ")
	end := 0
	for end < len(c.rest) && '0' <= c.rest[end] && c.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(string(c.rest[:end]), 10, bits)
	c.rest, c.bad = c.rest[end:], c.bad || err != nil
	return n
}

// skip passes what if it comes next, and reports whether it did.
func (c *cursor) skip(word string) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(c.rest, " "), []byte(word))
	if ok {
		c.rest = rest
	}
	return ok
}

// expect passes over what must come next.
func (c *cursor) expect(what string) { c.bad = !c.skip(what) || c.bad }

// bracketed reads the text between brackets, which may contain brackets.
func (c *cursor) bracketed() (inner []byte) {
	c.expect("[")
	end := bytes.LastIndexByte(c.rest, ']')
	if end < 0 {
		c.bad = true
		return nil
	}
	inner, c.rest = c.rest[:end], c.rest[end+1:]
	return inner
}

// parse reads the line of an event, and the name of its process where the line has it.
func (t *text) parse(line []byte) (r Record, name []byte, ok bool) {
	c := &cursor{rest: line}
	major := uint32(c.number(12))
	c.expect(",")
	r.Device = DeviceNumber(major, uint32(c.number(20)))
	r.CPU = uint32(c.number(14))
	r.Sequence = uint32(c.number(32))
	r.Time = c.number(33) * 1e9
	c.expect(".")
	digits := len(c.rest)
	r.Time += c.number(30)
	c.bad = c.bad || digits-len(c.rest) != 9
	r.PID = uint32(c.number(32))
	action, known := textActions[string(c.word())]
	categories, flags := parseCategories(c.word())
	if c.bad || !known || !flags {
		return r, nil, false
	}
	if action == messageAction {
		r.Action, r.PDU = action, t.keep(bytes.TrimPrefix(c.rest, []byte(" ")))
		return r, nil, true
	}
	r.Action = action | categories
	switch action {
	case Remap:
		r.Sector = c.number(64)
		c.expect("+")
		r.Bytes = uint32(c.number(23)) << 9
		c.expect("<-")
		c.expect("(")
		from := uint32(c.number(12))
		c.expect(",")
		from = DeviceNumber(from, uint32(c.number(20)))
		c.expect(")")
		r.PDU = t.keep(RemapPDU(from, r.Device, c.number(64)))
	case Split:
		r.Sector = c.number(64)
		c.expect("/")
		rest := c.number(64)
		if rest > r.Sector { // the record is of the first part
			r.Bytes = uint32(min((rest-r.Sector)<<9, 1<<32-512))
		}
		r.PDU = t.keep(CountPDU(rest))
		name = c.bracketed()
	case Unplug, UnplugTimer:
		name = c.bracketed()
		r.PDU = t.keep(CountPDU(c.number(64)))
	case Plug:
		name = c.bracketed()
	default:
		name = c.request(&r)
	}
	if string(name) == "(null)" || string(name) == "unknown" { // what blkparse prints for none
		name = nil
	}
	return r, name, !c.bad && len(bytes.TrimSpace(c.rest)) == 0
}

// request reads what blkparse prints of a request or bio: sector and length of data, the sector of what has none where
// it completes, the bytes of a command that a driver or program made; perhaps its data or, with -t, a time; and the
// name of the process, or the error.
func (c *cursor) request(r *Record) (name []byte) {
	event := r.Action.Event()
	ends := event == Complete || event == Requeue
	c.rest = bytes.TrimLeft(c.rest, " ")
	numbered := len(c.rest) > 0 && '0' <= c.rest[0] && c.rest[0] <= '9'
	if numbered {
		r.Sector = c.number(64)
	}
	data := numbered && c.skip("+")
	if data {
		r.Bytes = uint32(c.number(23)) << 9
	}
	timed := false
	if c.skip("(") {
		inner, rest, closed := bytes.Cut(c.rest, []byte(")"))
		timed = len(inner) >= 8 && !bytes.Contains(bytes.TrimLeft(inner, " "), []byte(" ")) // else it is bytes in hex
		c.rest, c.bad = rest, c.bad || !closed
	}
	if !data && !timed && numbered != ends { // a command
		r.Action |= CatPassthrough
		if !ends {
			c.bad = c.bad || r.Sector > 1<<32-1
			r.Bytes, r.Sector = uint32(r.Sector), 0
		}
	}
	inner := c.bracketed()
	if !ends {
		return inner
	}
	number, err := strconv.ParseInt(string(inner), 10, 32)
	c.bad = c.bad || err != nil
	r.Error = uint16(number)
	return nil
}

// messageAction is the action of a message.
const messageAction = NoteMessage | CatNotify

// parseCategories reads the letters of a request's operation: "WS", "FWFSM".
func parseCategories(flags []byte) (all Action, ok bool) {
	rest, flush := bytes.CutPrefix(flags, []byte("F"))
	if flush {
		all = CatFlush
	}
	if len(rest) == 0 {
		return 0, false
	}
	switch rest[0] {
	case 'D':
		all |= CatDiscard | CatWrite
	case 'W':
		all |= CatWrite
	case 'R', 'N': // without data, it has no letter
		all |= CatRead
	default:
		return 0, false
	}
	for _, flag := range rest[1:] {
		at := bytes.IndexByte([]byte("FASM"), flag)
		if at < 0 {
			return 0, false
		}
		all |= []Action{CatFUA, CatAhead, CatSync, CatMeta}[at]
	}
	return all, true
}
