package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"time"
)

// A segment is lines, each with the CRC-32C of its text in front: eight hexadecimal digits and a space. The first
// letter of a text is its kind:
//
//	h JSON      the header of the segment
//	d ID JSON   a thing, before the first interval with it, and after its limits changed
//	i TIME LENGTH ID:AMOUNTS...   an interval: ms since 1970 of its end, µs, and the amounts of things
//	l N JSON    N intervals that could not be written before this line, and why
//
// AMOUNTS are in the order of the kind's metrics, separated by commas; "-" is unknown, and zeros at the end are left
// out. Each segment can be read alone.
const (
	headerLine   = 'h'
	thingLine    = 'd'
	intervalLine = 'i'
	lostLine     = 'l'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumDigits is the length of a checksum with its space.
const sumDigits = 9

// Encoder writes the lines of a segment. The zero Encoder is ready for the first segment.
type Encoder struct {
	ids    map[Key]int
	things []Thing
	known  []bool // in this segment
	buffer []byte
}

// Begin returns the first line of a segment.
func (e *Encoder) Begin(h Header) []byte {
	h.Schema = SchemaVersion
	e.Forget()
	return append([]byte(nil), e.line(headerLine, h)...)
}

// Forget makes the next interval name its things again: the lines of the last were not written.
func (e *Encoder) Forget() { clear(e.known) }

// line returns a line with JSON.
func (e *Encoder) line(kind byte, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // a limit that is no number
		text = []byte("null")
	}
	return sealed(nil, append([]byte{kind, ' '}, text...))
}

// sealed appends a line with its checksum.
func sealed(to, text []byte) []byte {
	to = fmt.Appendf(to, "%08x ", crc32.Checksum(text, castagnoli))
	return append(append(to, text...), '\n')
}

// Lost returns a line of intervals that could not be written.
func (e *Encoder) Lost(intervals int, why string) []byte {
	text, err := json.Marshal(why)
	if err != nil {
		text = []byte(`""`)
	}
	return sealed(nil, fmt.Appendf(nil, "%c %d %s", lostLine, intervals, text))
}

// Interval returns the lines of an interval. They are valid until the next call.
func (e *Encoder) Interval(row Row) []byte {
	if e.ids == nil {
		e.ids = map[Key]int{}
	}
	lines, text := e.buffer[:0], make([]byte, 0, 1024)
	text = append(text, intervalLine, ' ')
	text = strconv.AppendInt(text, row.Time.UnixMilli(), 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, int64(math.Round(row.Seconds*1e6)), 10)
	for _, a := range row.Amounts {
		key := a.Thing.Key()
		id, seen := e.ids[key]
		if !seen {
			id = len(e.things)
			e.ids[key] = id
			e.things, e.known = append(e.things, a.Thing), append(e.known, false)
		}
		if !e.known[id] || !sameLimits(e.things[id].Limits, a.Thing.Limits) {
			e.things[id], e.known[id] = a.Thing, true
			thing, err := json.Marshal(a.Thing)
			if err != nil {
				continue
			}
			lines = sealed(lines, fmt.Appendf(nil, "%c %d %s", thingLine, id, thing))
		}
		text = appendAmounts(text, id, a.Values)
	}
	e.buffer = sealed(lines, text)
	return e.buffer
}

func sameLimits(a, b []Limit) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// largest is the largest amount that is written: integers up to here are exact in a float64.
const largest = 1 << 53

func appendAmounts(text []byte, id int, values []float64) []byte {
	text = append(text, ' ')
	text = strconv.AppendInt(text, int64(id), 10)
	text = append(text, ':')
	end := len(values)
	for end > 0 && values[end-1] == 0 {
		end--
	}
	for i, v := range values[:end] {
		if i > 0 {
			text = append(text, ',')
		}
		if !(v >= 0 && v <= largest) {
			text = append(text, '-')
			continue
		}
		text = strconv.AppendInt(text, int64(math.Round(v)), 10)
	}
	return text
}

// Decoder reads the lines of segments into a recording.
type Decoder struct {
	// Since and Until bound the times of intervals that are taken; zero for no bound.
	Since, Until time.Time

	recording *Recording
	things    map[int]Thing
	lost      string // why the intervals before the next were lost
	amounts   []Amounts
	values    []float64
}

// ErrNewer is in the error of segments that a newer program wrote.
var ErrNewer = errors.New("a newer plimsoll wrote it")

// Recording returns what was read; nil before a header was.
func (d *Decoder) Recording() *Recording { return d.recording }

// Segment reads a segment. A line with a wrong checksum, or without an end, is left out and counted. The error is of a
// segment that cannot be one, or of one that makes the recording too long.
func (d *Decoder) Segment(name string, text []byte) error {
	d.things = map[int]Thing{}
	begun := false
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		body, ok := opened(line)
		if !ok || !whole {
			if !begun && d.recording == nil && len(rest) == 0 && len(line) < sumDigits {
				return nil // the segment was begun, and no more
			}
			if !begun {
				return fmt.Errorf("%s is no segment of a recording: its first line has no header with a checksum", name)
			}
			d.recording.Torn++
			continue
		}
		if !begun && body[0] != headerLine {
			return fmt.Errorf("%s is no segment of a recording: it begins without a header", name)
		}
		begun = true
		if err := d.line(name, body); err != nil {
			return err
		}
	}
	if begun {
		d.recording.Sources++
	}
	return nil
}

// opened returns the text of a line whose checksum is right.
func opened(line []byte) (text []byte, ok bool) {
	if len(line) < sumDigits+2 || line[sumDigits-1] != ' ' {
		return nil, false
	}
	sum, err := strconv.ParseUint(string(line[:sumDigits-1]), 16, 32)
	text = line[sumDigits:]
	return text, err == nil && uint32(sum) == crc32.Checksum(text, castagnoli)
}

// line takes a line. Lines with a right checksum that make no sense are counted as torn: somebody changed them.
func (d *Decoder) line(name string, body []byte) error {
	rest := bytes.TrimPrefix(body[1:], []byte(" "))
	switch body[0] {
	case headerLine:
		return d.header(name, rest)
	case thingLine:
		number, text, _ := bytes.Cut(rest, []byte(" "))
		id, err := strconv.Atoi(string(number))
		var t Thing
		if err != nil || json.Unmarshal(text, &t) != nil || t.Kind.Metrics() == nil {
			d.recording.Torn++
			return nil
		}
		d.things[id] = t
	case lostLine:
		number, text, _ := bytes.Cut(rest, []byte(" "))
		n, err := strconv.Atoi(string(number))
		if err != nil || n < 0 || json.Unmarshal(text, &d.lost) != nil {
			d.recording.Torn++
			return nil
		}
		d.recording.Lost += n
	case intervalLine:
		return d.interval(rest)
	default:
		d.recording.Torn++
	}
	return nil
}

func (d *Decoder) header(name string, text []byte) error {
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("%s: its header: %w", name, err)
	}
	switch {
	case h.Schema > SchemaVersion:
		return fmt.Errorf("%s: %w: its schema is %d, and this program reads up to %d", name, ErrNewer, h.Schema,
			SchemaVersion)
	case !(h.Interval > 0 && h.Interval <= 3600):
		return fmt.Errorf("%s: its header has intervals of %g s: they have up to an hour", name, h.Interval)
	}
	if d.recording == nil {
		d.recording = New(h)
		return nil
	}
	if d.recording.Header.Host.Name != h.Host.Name {
		return fmt.Errorf("%s is of host %q, and the segments before are of %q: keep a directory for each host", name,
			h.Host.Name, d.recording.Header.Host.Name)
	}
	longest := max(d.recording.Header.Interval, h.Interval)
	uses := d.recording.Header.UsesUnknown || h.UsesUnknown
	d.recording.Header = h
	d.recording.Header.Interval, d.recording.Header.UsesUnknown = longest, uses
	return nil
}

func (d *Decoder) interval(text []byte) error {
	field, text, _ := bytes.Cut(text, []byte(" "))
	ms, err := strconv.ParseInt(string(field), 10, 64)
	field, text, _ = bytes.Cut(text, []byte(" "))
	length, lengthErr := strconv.ParseInt(string(field), 10, 64)
	if err != nil || lengthErr != nil || ms < 0 || ms > latestMS {
		d.recording.Torn++
		return nil
	}
	row := Row{Time: time.UnixMilli(ms).UTC(), Seconds: float64(length) / 1e6}
	if !d.Since.IsZero() && row.Time.Before(d.Since) || !d.Until.IsZero() && row.Time.After(d.Until) {
		return nil
	}
	row.Amounts = d.amounts[:0]
	d.values = d.values[:0]
	for len(text) > 0 {
		field, text, _ = bytes.Cut(text, []byte(" "))
		number, amounts, _ := bytes.Cut(field, []byte(":"))
		id, err := strconv.Atoi(string(number))
		thing, known := d.things[id]
		if err != nil || !known {
			d.recording.Torn++ // the line of the thing was torn
			continue
		}
		from := len(d.values)
		for range thing.Kind.Metrics() {
			var one []byte
			one, amounts, _ = bytes.Cut(amounts, []byte(","))
			d.values = append(d.values, amount(one))
		}
		row.Amounts = append(row.Amounts, Amounts{Thing: thing, Values: d.values[from:len(d.values):len(d.values)]})
	}
	gaps := len(d.recording.Gaps)
	_, err = d.recording.Add(row)
	if len(d.recording.Gaps) > gaps {
		d.recording.Gaps[gaps].Why = d.lost
	}
	d.lost = ""
	d.amounts = row.Amounts
	return err
}

// latestMS bounds times to those that all formats can write.
const latestMS = 253_402_300_799_000 // the end of 9999

// amount reads an amount; nothing is 0, as zeros at the end are left out.
func amount(text []byte) float64 {
	if len(text) == 0 {
		return 0
	}
	if len(text) > 16 {
		return math.NaN()
	}
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return math.NaN()
		}
		n = 10*n + int64(c-'0')
	}
	if n > largest {
		return math.NaN()
	}
	return float64(n)
}
