package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// The bytes on the wire, as stories. Hexadecimal digits may be grouped by blanks; a
// line is what arrives at once.
func TestStories(t *testing.T) {
	datadriven.RunTest(t, "testdata/stories", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "preface":
			var version int
			d.ScanArgs(t, "version", &version)
			return hex.EncodeToString(AppendPreface(nil, uint16(version))) + "\n"
		case "request":
			return grouped(AppendRequest(nil, scanRequest(t, d)), 4, 4, 1, 4, 4, 2)
		case "response":
			var number, status int
			d.ScanArgs(t, "number", &number)
			d.ScanArgs(t, "status", &status)
			return grouped(AppendResponse(nil, uint32(number), Status(status), []byte(d.Input)), 4, 4, 1)
		case "hello":
			body := AppendHello(nil, Hello{Fields: 10, FieldBytes: 100, Records: 1 << 33})
			h, err := ParseHello(body)
			return fmt.Sprintf("%s\n%+v %v\n", hex.EncodeToString(body), h, err)
		case "arrives":
			return arrives(t, d.Input)
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

func scanRequest(t *testing.T, d *datadriven.TestData) *Request {
	var number, op, field, records int
	r := &Request{Field: -1, Value: []byte(d.Input)}
	var key string
	for name, to := range map[string]any{"number": &number, "op": &op, "field": &field, "records": &records, "key": &key} {
		if d.HasArg(name) {
			d.ScanArgs(t, name, to)
			if name == "field" {
				r.Field = int32(field)
			}
		}
	}
	r.Number, r.Op, r.Records, r.Key = uint32(number), Op(op), uint32(records), []byte(key)
	return r
}

// grouped writes bytes as hexadecimal digits, in groups of these lengths.
func grouped(b []byte, lengths ...int) string {
	var groups []string
	for _, n := range lengths {
		groups = append(groups, hex.EncodeToString(b[:n]))
		b = b[n:]
	}
	return strings.Join(append(groups, hex.EncodeToString(b)), " ") + "\n"
}

// pieces is a stream of which each read returns one piece, and an error that passes
// between them.
type pieces struct{ left [][]byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	if len(p.left[0]) == 0 {
		p.left = p.left[1:]
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, p.left[0])
	p.left[0] = p.left[0][n:]
	return n, nil
}

// arrives reads what arrives as frames of requests.
func arrives(t *testing.T, lines string) string {
	var p pieces
	for line := range strings.Lines(lines) {
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(line), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		p.left = append(p.left, b)
	}
	var out strings.Builder
	r := NewReader(&p)
	for {
		ready := r.Ready()
		frame, err := r.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			fmt.Fprintln(&out, "waits")
		case err != nil:
			fmt.Fprintln(&out, err)
			return out.String()
		default:
			q, err := ParseRequest(frame)
			if err != nil {
				fmt.Fprintf(&out, "ready=%v %v\n", ready, err)
				continue
			}
			fmt.Fprintf(&out, "ready=%v number=%d op=%d field=%d records=%d key=%q value=%q\n", ready, q.Number, q.Op,
				q.Field, q.Records, q.Key, q.Value)
		}
	}
}

// Whatever is sent arrives, however the stream is cut up and interrupted.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytesOf := func(low, high int, name string) []byte {
			return rapid.SliceOfN(rapid.Byte(), low, high).Draw(t, name)
		}
		var sent []Request
		var stream []byte
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			r := Request{Number: rapid.Uint32().Draw(t, "number"), Op: Op(rapid.Byte().Draw(t, "op")),
				Field: rapid.Int32().Draw(t, "field"), Records: rapid.Uint32().Draw(t, "records"),
				Key: bytesOf(1, MaxKey, "key"), Value: bytesOf(0, 20000, "value")}
			if err := r.Fits(); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, r)
			stream = AppendRequest(stream, &r)
		}
		var p pieces
		for len(stream) > 0 {
			n := rapid.IntRange(0, len(stream)).Draw(t, "piece")
			p.left = append(p.left, stream[:n:n], nil)
			stream = stream[n:]
		}
		in := NewReader(&p)
		for i, want := range sent {
			frame, err := in.Next()
			for errors.Is(err, os.ErrDeadlineExceeded) {
				frame, err = in.Next()
			}
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			got, err := ParseRequest(frame)
			if err != nil || got.Number != want.Number || got.Op != want.Op || got.Field != want.Field ||
				got.Records != want.Records || !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) {
				t.Fatalf("request %d arrives as %+v, %v, and was %+v", i, got, err, want)
			}
		}
	})
}

// endless announces the largest frame, sends a little of it, and waits.
type endless struct{ sent bool }

func (e *endless) Read(b []byte) (int, error) {
	if e.sent {
		return 0, os.ErrDeadlineExceeded
	}
	e.sent = true
	return copy(b, []byte{0, 0, 32, 0, 1, 2, 3}), nil
}

func TestAnnouncedBytesTakeNoMemory(t *testing.T) {
	r := NewReader(&endless{})
	if _, err := r.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if len(r.buffer) > 4<<10 {
		t.Errorf("a buffer of %d bytes for 7", len(r.buffer))
	}
}

// Nothing that arrives panics, or makes the buffer grow beyond what arrived.
func FuzzReader(f *testing.F) {
	f.Add(AppendRequest(nil, &Request{Number: 1, Op: OpRead, Key: []byte("k")}))
	f.Add(AppendResponse(nil, 1, OK, []byte("abc")))
	f.Add(append(AppendPreface(nil, Version), AppendResponse(nil, 0, OK, AppendHello(nil, Hello{}))...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := NewReader(bytes.NewReader(stream))
		if preface, err := r.Preface(); err == nil {
			if _, err := ParsePreface(preface); err != nil {
				r = NewReader(bytes.NewReader(stream))
			}
		}
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			if q, err := ParseRequest(frame); err == nil {
				again := AppendRequest(nil, &q)
				if !bytes.Equal(again[lengthBytes:], frame) {
					t.Fatalf("%x parses as %+v, which is %x", frame, q, again)
				}
			}
			p, err := ParseResponse(frame)
			if err != nil {
				continue
			}
			if again := AppendResponse(nil, p.Number, p.Status, p.Body); !bytes.Equal(again[lengthBytes:], frame) {
				t.Fatalf("%x parses as %+v, which is %x", frame, p, again)
			}
			if n, values, err := ParseScanned(p.Body); err == nil && (n < 0 || len(values) != len(p.Body)-4) {
				t.Fatalf("a scan of %d records, %d bytes", n, len(values))
			}
			_, _ = ParseHello(p.Body)
		}
		if limit := max(4<<10, 2*len(stream)); len(r.buffer) > limit {
			t.Fatalf("a buffer of %d for %d bytes", len(r.buffer), len(stream))
		}
	})
}
