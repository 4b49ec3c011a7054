package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"plimsoll/internal/database/wire"
)

// Bounds of a connection.
const (
	greeting  = 10 * time.Second // for the preface
	flushAt   = 64 << 10         // bytes of answers that are gathered before they are sent
	mostSyncs = 128              // writes that are gathered before they are waited for
)

// conn answers one client. Requests are answered in their order. Those that came
// together are answered together, and their writes reach the device together.
type conn struct {
	server *server
	net    net.Conn
	in     *wire.Reader
	out    []byte          // answers that were not sent
	syncs  []*pebble.Batch // whose log may not be on the device; their answers are in out
	record []byte          // of an update
}

func newConn(s *server, c net.Conn) *conn {
	return &conn{server: s, net: c, in: wire.NewReader(c), out: make([]byte, 0, 4<<10)}
}

// serve answers until the client leaves, says what cannot be meant, or the server
// ends.
func (c *conn) serve() {
	if !c.greet() {
		return
	}
	for {
		if len(c.out) > 0 && (!c.in.Ready() || len(c.out) >= flushAt || len(c.syncs) >= mostSyncs) {
			if c.flush() != nil {
				return
			}
		}
		if c.server.ending.Load() && !c.in.Ready() {
			return
		}
		frame, err := c.in.Next()
		if err != nil {
			return
		}
		r, err := wire.ParseRequest(frame)
		if err == nil {
			err = c.answer(&r)
		}
		if err != nil {
			c.out = wire.AppendResponse(c.out, r.Number, wire.Refused, []byte(err.Error()))
			_ = c.flush() // it is told, if it listens, and left
			return
		}
	}
}

// greet exchanges prefaces, and reports whether the client speaks our version.
func (c *conn) greet() bool {
	_ = c.net.SetReadDeadline(time.Now().Add(greeting))
	preface, err := c.in.Preface()
	if err != nil {
		return false
	}
	version, err := wire.ParsePreface(preface)
	if err != nil {
		return false
	}
	c.out = wire.AppendPreface(c.out, wire.Version)
	if version == wire.Version {
		d := c.server.dataset
		c.out = wire.AppendResponse(c.out, 0, wire.OK,
			wire.AppendHello(nil, wire.Hello{Fields: d.Fields, FieldBytes: d.FieldBytes, Records: d.Records}))
	}
	if c.flush() != nil || version != wire.Version {
		return false
	}
	_ = c.net.SetReadDeadline(time.Time{})
	return true
}

// flush sends the answers, after the writes that they confirm are durable.
func (c *conn) flush() error {
	for i, b := range c.syncs {
		if err := b.SyncWait(); err != nil {
			c.server.fatal.hang(explain(fmt.Errorf("write the log: %w", err)))
		}
		_ = b.Close() // it only goes back to its pool
		c.syncs[i] = nil
	}
	c.syncs = c.syncs[:0]
	_, err := c.net.Write(c.out)
	c.out = c.out[:0]
	return err
}

// answer appends the answer to a request. The error is for a request that cannot be
// meant.
func (c *conn) answer(r *wire.Request) error {
	d := c.server.dataset
	if r.Field < -1 || int(r.Field) >= d.Fields {
		return fmt.Errorf("field %d: records have %d", r.Field, d.Fields)
	}
	want := int(d.RecordBytes())
	if r.Op == wire.OpUpdate && r.Field >= 0 {
		want = d.FieldBytes
	}
	if writes := r.Op == wire.OpUpdate || r.Op == wire.OpInsert; writes && len(r.Value) != want {
		return fmt.Errorf("a value of %d bytes: it takes %d", len(r.Value), want)
	}
	var err error
	switch r.Op {
	case wire.OpRead:
		err = c.read(r)
	case wire.OpScan:
		err = c.scan(r)
	case wire.OpUpdate:
		err = c.update(r)
	case wire.OpInsert:
		err = c.write(r.Key, r.Value)
		if err == nil {
			c.out = wire.AppendResponse(c.out, r.Number, wire.OK, nil)
		}
	default:
		return fmt.Errorf("operation %d: there is no such one", r.Op)
	}
	c.server.operations[r.Op].Add(1)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		c.out = wire.AppendResponse(c.out, r.Number, wire.NotFound, nil)
	case err != nil:
		if damage(err) { // whoever asks again is told the same
			c.server.fatal.hang(explain(err))
		}
		c.out = wire.AppendResponse(c.out, r.Number, wire.Failed, []byte(err.Error()))
	}
	return nil
}

func (c *conn) read(r *wire.Request) error {
	value, closer, err := c.server.db.Get(r.Key)
	if err != nil {
		return err
	}
	c.out = wire.AppendResponse(c.out, r.Number, wire.OK, c.part(value, r.Field))
	return closer.Close()
}

// part is a field of a record, or all of it.
func (c *conn) part(record []byte, field int32) []byte {
	if field < 0 {
		return record
	}
	n := c.server.dataset.FieldBytes
	return record[int(field)*n : int(field+1)*n]
}

// scan sends records while it reads them, several in a frame.
func (c *conn) scan(r *wire.Request) (err error) {
	iterator, err := c.server.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, iterator.Close()) }()
	frame, begin := c.beginScanned(r)
	found := uint32(0)
	for ok := iterator.SeekGE(r.Key); ok && found < r.Records; {
		value, err := iterator.ValueAndErr()
		if err != nil {
			c.out = c.out[:begin]
			return err
		}
		c.out = append(c.out, c.part(value, r.Field)...)
		found++
		frame++
		if found == r.Records { // the next one might have to be read
			break
		}
		if len(c.out) >= flushAt {
			wire.EndScanned(c.out, begin, wire.More, frame)
			if err := c.flush(); err != nil {
				return nil // the client is gone
			}
			frame, begin = c.beginScanned(r)
		}
		ok = iterator.Next()
	}
	if err := iterator.Error(); err != nil {
		c.out = c.out[:begin]
		return err
	}
	wire.EndScanned(c.out, begin, wire.OK, frame)
	return nil
}

// beginScanned begins a frame of a scan's answer, of no records yet.
func (c *conn) beginScanned(r *wire.Request) (records uint32, begin int) {
	c.out, begin = wire.BeginResponse(c.out, r.Number, wire.OK)
	c.out = binary.LittleEndian.AppendUint32(c.out, 0)
	return 0, begin
}

// update rewrites a record with one field replaced, or all. Records are stored whole, as YCSB's binding of RocksDB
// stores them, so that one look-up reads one; an update then reads first. Fields with keys of their own would make
// each read of a record a scan.
func (c *conn) update(r *wire.Request) error {
	unlock := c.server.rows.lock(r.Key)
	defer unlock()
	value, closer, err := c.server.db.Get(r.Key)
	if err != nil {
		return err
	}
	c.record = append(c.record[:0], value...)
	if err := closer.Close(); err != nil {
		return err
	}
	copy(c.part(c.record, r.Field), r.Value)
	if err := c.write(r.Key, c.record); err != nil {
		return err
	}
	c.out = wire.AppendResponse(c.out, r.Number, wire.OK, nil)
	return nil
}

// write writes a record. With sync, it is on the device when flush returns.
func (c *conn) write(key, value []byte) error {
	db := c.server.db
	if !c.server.sync {
		return db.Set(key, value, pebble.NoSync)
	}
	b := db.NewBatch()
	if err := b.Set(key, value, nil); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return err // the batch may be in use, and goes with the garbage
	}
	c.syncs = append(c.syncs, b)
	return nil
}

// rows are locks of records, so that two updates of one do not lose a field. Records
// share them.
type rows [256]sync.Mutex

func (r *rows) lock(key []byte) (unlock func()) {
	h := uint32(2166136261) // FNV-1a
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	m := &r[h%uint32(len(r))]
	m.Lock()
	return m.Unlock
}
