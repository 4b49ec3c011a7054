package pebble_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/wire"
)

// Many clients update different fields of the same few records at the same time: each
// field has in the end what its only writer wrote last, and every read is of whole
// values.
func TestUpdatesOfOneRecordDoNotLoseEachOther(t *testing.T) {
	d := database.Dataset{Records: 8, Fields: 8, FieldBytes: 16, Seed: 1}
	p := params()
	p.Sync = false // what waits for a device hardly meets
	r := serve(t, load(t, d, p), p)
	const rounds = 300
	var last [8][8][]byte // by record and field
	var writers sync.WaitGroup
	for field := range d.Fields {
		c := r.dial(t, d)
		random := rand.New(rand.NewPCG(1, uint64(field)))
		writers.Go(func() {
			for round := range rounds {
				number := random.Int64N(d.Records)
				v := fmt.Appendf(nil, "field %d %8d", field, round)
				if err := c.Update(t.Context(), key(number), field, v); err != nil {
					t.Errorf("update: %v", err)
					return
				}
				last[number][field] = v
				got, err := c.Read(t.Context(), key(number), client.AllFields)
				if err != nil || !bytes.Equal(got[field*16:field*16+16], v) {
					t.Errorf("field %d of record %d is %q, %v, directly after %q was written", field, number, got, err, v)
					return
				}
			}
		})
	}
	writers.Wait()
	c := r.dial(t, d)
	for number := range d.Records {
		want := value(d, number)
		for field, v := range last[number] {
			copy(want[field*d.FieldBytes:], v)
		}
		mustRead(t, c, number, client.AllFields, want)
	}
}

// A scan finds the records in the order of their keys, those that were inserted
// meanwhile among them or not, in as many frames as it takes.
func TestScansAreInOrder(t *testing.T) {
	d := database.Dataset{Records: 2000, Fields: 2, FieldBytes: 300, Seed: 1}
	r := serve(t, load(t, d, params()), params())
	c := r.dial(t, d)
	for number := d.Records; number < d.Records+50; number++ {
		if err := c.Insert(t.Context(), key(number), value(d, number)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct{ from, records int64 }{{0, 1}, {0, 109}, {5, 110}, {1990, 20}, {0, 5000}, {2049, 10}} {
		for _, field := range []int{client.AllFields, 1} {
			values, frames := scanned(t, r, s.from, uint32(s.records), int32(field))
			want := min(s.records, d.Records+50-s.from)
			var wanted []byte
			for number := s.from; number < s.from+want; number++ {
				v := value(d, number)
				if field >= 0 {
					v = v[field*300 : field*300+300]
				}
				wanted = append(wanted, v...)
			}
			if !bytes.Equal(values, wanted) {
				t.Errorf("%d records from %d on, field %d: %d bytes, which are not those %d", s.records, s.from, field,
					len(values), len(wanted))
			}
			if least := len(wanted) / (128 << 10); frames <= least {
				t.Errorf("%d bytes came in %d frames", len(wanted), frames)
			}
			n, err := c.Scan(t.Context(), key(s.from), int(s.records), field)
			if err != nil || int64(n) != want {
				t.Errorf("%d records from %d on: the client finds %d, %v", s.records, s.from, n, err)
			}
		}
	}
}

// speak connects without a client.
func speak(t testing.TB, r *running) (net.Conn, *wire.Reader) {
	t.Helper()
	conn, err := net.Dial("unix", r.config.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	in := wire.NewReader(conn)
	if _, err := conn.Write(wire.AppendPreface(nil, wire.Version)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Preface(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Next(); err != nil {
		t.Fatal(err)
	}
	return conn, in
}

// scanned returns the values that a scan sends, and in how many frames.
func scanned(t testing.TB, r *running, from int64, records uint32, field int32) (values []byte, frames int) {
	t.Helper()
	conn, in := speak(t, r)
	q := wire.Request{Number: 1, Op: wire.OpScan, Field: field, Records: records, Key: key(from)}
	if _, err := conn.Write(wire.AppendRequest(nil, &q)); err != nil {
		t.Fatal(err)
	}
	for {
		a := mustAnswer(t, in, 1)
		_, part, err := wire.ParseScanned(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, part...)
		frames++
		if a.Status == wire.OK {
			return values, frames
		}
	}
}

func mustAnswer(t testing.TB, in *wire.Reader, number uint32) wire.Response {
	t.Helper()
	frame, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	a, err := wire.ParseResponse(frame)
	if err != nil || a.Number != number || a.Status > wire.More {
		t.Fatalf("answer %+v, %v, where that to %d was to come", a, err, number)
	}
	return a
}

// Requests that come together are answered together, far more of them than either
// side holds at a time, and their writes wait for the device together.
func TestLargeBatches(t *testing.T) {
	r := serve(t, load(t, small, params()), params())
	conn, in := speak(t, r)
	const requests = 20000
	go func() {
		var out []byte
		for i := range uint32(requests) {
			q := wire.Request{Number: i + 1, Op: wire.OpRead, Field: client.AllFields, Key: key(int64(i) % small.Records)}
			if i%4 == 3 {
				q.Op, q.Key = wire.OpInsert, key(small.Records+int64(i))
				q.Value = value(small, int64(i))
			}
			out = wire.AppendRequest(out, &q)
		}
		if _, err := conn.Write(out); err != nil {
			t.Errorf("send: %v", err)
		}
	}()
	for i := range uint32(requests) {
		a := mustAnswer(t, in, i+1)
		if i%4 != 3 && !bytes.Equal(a.Body, value(small, int64(i)%small.Records)) {
			t.Fatalf("request %d is answered with another record", i+1)
		}
	}
	c := r.dial(t, small)
	for i := int64(3); i < requests; i += 4 {
		mustRead(t, c, small.Records+i, client.AllFields, value(small, i))
	}
}

// Clients that come and go, some of them in the middle of what they asked, do not
// keep others from being served, and a server that is told to end does.
func TestClientsThatLeave(t *testing.T) {
	r := serve(t, load(t, small, params()), params())
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for range 20 {
				conn, _ := speak(t, r)
				q := wire.Request{Number: 1, Op: wire.OpScan, Field: client.AllFields, Records: 5000, Key: key(0)}
				sent := wire.AppendRequest(nil, &q)
				if i%2 == 0 {
					sent = sent[:len(sent)/2]
				}
				if _, err := conn.Write(sent); err != nil {
					t.Errorf("send: %v", err)
				}
				_ = conn.Close()
			}
		})
	}
	c := r.dial(t, small)
	for i := range int64(2000) {
		mustRead(t, c, i, client.AllFields, value(small, i))
	}
	clients.Wait()

	// One that asks and never reads does not hold the end up for ever.
	deaf, _ := speak(t, r)
	var out []byte
	for i := range uint32(50) {
		q := wire.Request{Number: i, Op: wire.OpScan, Field: client.AllFields, Records: 5000, Key: key(0)}
		out = wire.AppendRequest(out, &q)
	}
	if _, err := deaf.Write(out); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // it writes until the socket is full, or where this is too short is about to
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(t.Context(), key(1), client.AllFields); !errors.Is(err, client.ErrClosed) {
		t.Errorf("read from a server that ended: %v", err)
	}
}

// The block cache is as large as it was asked to be, also while memtables larger than
// it are filled: pebble counts them as part of it.
func TestWritesLeaveTheCacheAlone(t *testing.T) {
	p := params()
	p.Sync = false
	p.Cache, p.Memtable = 2<<20, 4<<20
	r := serve(t, load(t, small, p), p)
	c := r.dial(t, small)
	for i := range int64(50000) { // 20 MB
		if err := c.Insert(t.Context(), key(small.Records+i), value(small, i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for i := range small.Records { // 2 MB
			mustRead(t, c, i, client.AllFields, value(small, i))
		}
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.config.Facts)
	if err != nil {
		t.Fatal(err)
	}
	var facts struct {
		BlockCache struct{ Bytes int64 } `json:"block_cache"`
		Flushes    struct{ Count int }
	}
	if err := json.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	if b := facts.BlockCache.Bytes; facts.Flushes.Count < 3 || b < p.Cache*3/4 || b > p.Cache*9/8 {
		t.Errorf("a cache of %d bytes holds %d after %d flushes", p.Cache, b, facts.Flushes.Count)
	}
}
