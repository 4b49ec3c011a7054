package pebble_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/wire"
)

// ten are records that fit a line.
var ten = database.Dataset{Records: 10, Fields: 2, FieldBytes: 4, Seed: 9}

// talk is a connection without a client.
type talk struct {
	conn net.Conn
	in   *wire.Reader
}

// What a server answers to what, byte for byte or in words, as stories. Each story is
// one connection to one server.
func TestProtocol(t *testing.T) {
	r := serve(t, load(t, ten, params()), params())
	datadriven.Walk(t, "testdata/protocol", func(t *testing.T, path string) {
		var c talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "connect":
				conn, err := net.Dial("unix", r.config.Socket)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = conn.Close() })
				if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
					t.Fatal(err)
				}
				c = talk{conn, wire.NewReader(conn)}
				return ""
			case "send":
				var out []byte
				for line := range strings.Lines(d.Input) {
					out = append(out, sent(t, strings.Fields(line))...)
				}
				if _, err := c.conn.Write(out); err != nil {
					return err.Error() + "\n"
				}
				return ""
			case "greeted":
				return c.greeted()
			case "receive":
				frames := 1
				d.MaybeScanArgs(t, "frames", &frames)
				var said strings.Builder
				for range frames {
					said.WriteString(c.receive())
				}
				return said.String()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
	mustRead(t, r.dial(t, ten), 0, client.AllFields, value(ten, 0)) // whatever was sent, it still serves
}

// Whatever comes after the preface, the server stays, and answers whole frames or
// leaves.
func TestHostileFrames(t *testing.T) {
	r := serve(t, load(t, ten, params()), params())
	c := r.dial(t, ten)
	rapid.Check(t, func(q *rapid.T) {
		conn, in := speak(t, r)
		defer conn.Close()
		var out []byte
		for range rapid.IntRange(1, 6).Draw(q, "requests") {
			r := wire.Request{Number: rapid.Uint32().Draw(q, "number"), Op: wire.Op(rapid.IntRange(0, 6).Draw(q, "op")),
				Field: rapid.Int32Range(-2, 3).Draw(q, "field"), Records: rapid.Uint32().Draw(q, "records"),
				Key:   rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(q, "key"),
				Value: rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(q, "value")}
			out = wire.AppendRequest(out, &r)
		}
		for range rapid.IntRange(0, 3).Draw(q, "damaged bytes") {
			out[rapid.IntRange(0, len(out)-1).Draw(q, "at")] = rapid.Byte().Draw(q, "byte")
		}
		if _, err := conn.Write(out); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			q.Fatal(err)
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
			q.Fatal(err)
		}
		for {
			frame, err := in.Next()
			if err != nil {
				if ended(err) != "the server has left\n" || errors.Is(err, io.ErrUnexpectedEOF) {
					q.Fatalf("the answer ends with %v", err)
				}
				break
			}
			if a, err := wire.ParseResponse(frame); err != nil || a.Status > wire.Refused {
				q.Fatalf("answer %+v, %v", a, err)
			}
		}
		mustRead(t, c, 5, client.AllFields, value(ten, 5))
	})
}

// sent is a line of what is sent: a preface, a request, or hexadecimal digits.
func sent(t *testing.T, words []string) []byte {
	t.Helper()
	var r wire.Request
	var number int64
	var version uint16
	var text string
	r.Field = client.AllFields
	for _, w := range words[1:] {
		name, v, _ := strings.Cut(w, "=")
		to, known := map[string]any{"number": &r.Number, "field": &r.Field, "records": &r.Records, "key": &number,
			"value": &text, "version": &version}[name]
		if !known {
			continue
		}
		if _, err := fmt.Sscan(v, to); err != nil {
			t.Fatalf("%s: %v", w, err)
		}
	}
	ops := map[string]wire.Op{"read": wire.OpRead, "scan": wire.OpScan, "update": wire.OpUpdate,
		"insert": wire.OpInsert, "juggle": 99}
	switch op, known := ops[words[0]]; {
	case known:
		r.Op, r.Key, r.Value = op, key(number), []byte(text)
		return wire.AppendRequest(nil, &r)
	case words[0] == "preface":
		return wire.AppendPreface(nil, version)
	case words[0] == "bytes":
		b, err := hex.DecodeString(strings.Join(words[1:], ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	case words[0] == "text":
		return []byte(strings.Join(words[1:], " "))
	}
	t.Fatalf("nothing is called %s", words[0])
	return nil
}

func (c *talk) greeted() string {
	preface, err := c.in.Preface()
	if err != nil {
		return ended(err)
	}
	version, err := wire.ParsePreface(preface)
	if err != nil {
		return err.Error() + "\n"
	}
	text := fmt.Sprintf("version %d\n", version)
	frame, err := c.in.Next()
	if err != nil {
		return text + ended(err)
	}
	r, err := wire.ParseResponse(frame)
	if err != nil {
		return text + err.Error() + "\n"
	}
	h, err := wire.ParseHello(r.Body)
	if err != nil {
		return text + err.Error() + "\n"
	}
	return text + fmt.Sprintf("number %d status %d: %d records of %d x %d bytes\n", r.Number, r.Status, h.Records,
		h.Fields, h.FieldBytes)
}

func (c *talk) receive() string {
	frame, err := c.in.Next()
	if err != nil {
		return ended(err)
	}
	r, err := wire.ParseResponse(frame)
	if err != nil {
		return err.Error() + "\n"
	}
	words := []string{"ok", "more", "not found", "refused", "failed"}
	body := string(r.Body)
	if r.Status <= wire.More {
		body = hex.EncodeToString(r.Body)
		if strings.Trim(string(r.Body), "abcdefghijklmnopqrstuvwxyz") == "" {
			body = string(r.Body)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("number %d %s %s", r.Number, words[r.Status], body)) + "\n"
}

// ended is how the server left. A reset is what a connection ends with that still had
// something to be read.
func ended(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer\n"
	case errors.Is(err, io.EOF), strings.Contains(err.Error(), "connection reset"):
		return "the server has left\n"
	}
	return err.Error() + "\n"
}
