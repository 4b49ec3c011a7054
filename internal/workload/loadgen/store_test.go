package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/workload/ycsb"
)

// store is a database in memory, which answers as a test wants it to.
type store struct {
	dataset database.Dataset
	mu      sync.Mutex
	records map[string][]byte
	dialled int
	open    int
	asked   []string // "read user123 3", where kept
	keep    bool

	refuse func(dialled int) error                              // to connect
	answer func(ctx context.Context, asked string, n int) error // before anything is done; n counts from 1
	count  int
}

func newStore(d database.Dataset) *store {
	s := &store{dataset: d, records: map[string][]byte{}}
	for number := range d.Records {
		s.records[string(database.Key(nil, number))] = database.Value(nil, d, number)
	}
	return s
}

func (s *store) dial(_ context.Context, name string, c client.Config) (client.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name != "fake" || c.At.Socket != "db.sock" || c.Fields != s.dataset.Fields || c.FieldBytes != s.dataset.FieldBytes {
		return nil, fmt.Errorf("dialled %s with %+v", name, c)
	}
	s.dialled++
	if s.refuse != nil {
		if err := s.refuse(s.dialled); err != nil {
			return nil, err
		}
	}
	s.open++
	return &connection{store: s}, nil
}

// connection is a client of a store.
type connection struct {
	store  *store
	mu     sync.Mutex // held by nobody: one goroutine uses it at a time
	closed bool
}

func (c *connection) ask(ctx context.Context, format string, args ...any) (done func(), err error) {
	if !c.mu.TryLock() {
		return nil, errors.New("two goroutines use one connection")
	}
	if c.closed {
		panic("a closed connection is used")
	}
	asked := fmt.Sprintf(format, args...)
	s := c.store
	s.mu.Lock()
	s.count++
	n := s.count
	if s.keep {
		s.asked = append(s.asked, asked)
	}
	s.mu.Unlock()
	time.Sleep(100 * time.Microsecond) // in a bubble, time passes only where somebody waits for it
	if s.answer != nil {
		err = s.answer(ctx, asked, n)
	}
	s.mu.Lock()
	return func() { s.mu.Unlock(); c.mu.Unlock() }, err
}

func (c *connection) Read(ctx context.Context, key []byte, field int) ([]byte, error) {
	done, err := c.ask(ctx, "read %s %d", key, field)
	defer done()
	if err != nil {
		return nil, err
	}
	value, ok := c.store.records[string(key)]
	if !ok {
		return nil, client.ErrNotFound
	}
	return c.store.part(value, field), nil
}

func (s *store) part(record []byte, field int) []byte {
	if field == client.AllFields {
		return record
	}
	return record[field*s.dataset.FieldBytes:][:s.dataset.FieldBytes]
}

func (c *connection) Scan(ctx context.Context, key []byte, records int, field int) (int, error) {
	done, err := c.ask(ctx, "scan %s %d %d", key, records, field)
	defer done()
	return min(records, len(c.store.records)), err
}

func (c *connection) Update(ctx context.Context, key []byte, field int, value []byte) error {
	done, err := c.ask(ctx, "update %s %d", key, field)
	defer done()
	if err != nil {
		return err
	}
	record, ok := c.store.records[string(key)]
	if !ok {
		return client.ErrNotFound
	}
	record = slices.Clone(record)
	if n := copy(c.store.part(record, field), value); n != len(value) || n != len(c.store.part(record, field)) {
		return fmt.Errorf("a value of %d bytes for field %d", len(value), field)
	}
	c.store.records[string(key)] = record
	return nil
}

func (c *connection) Insert(ctx context.Context, key []byte, value []byte) error {
	done, err := c.ask(ctx, "insert %s", key)
	defer done()
	if err != nil {
		return err
	}
	if _, twice := c.store.records[string(key)]; twice {
		return errors.New("this record is there already")
	}
	c.store.records[string(key)] = slices.Clone(value)
	return nil
}

func (c *connection) Close() error {
	c.closed = true
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.open--
	return nil
}

// planOf is a plan of a closed loop that others are made from.
func planOf(change func(*ycsb.Plan)) *ycsb.Plan {
	p := &ycsb.Plan{
		Client: "fake", At: database.Address{Socket: "db.sock"}, Output: "out",
		Dataset: database.Dataset{Records: 100, Fields: 3, FieldBytes: 20, Seed: 1},
		Mix:     ycsb.Mix{ycsb.Read: 1}, Distribution: ycsb.Uniform, Threads: 2, Timeout: 5 * time.Second,
		Runtime: 200 * time.Millisecond, Seed: 1,
	}
	change(p)
	return p
}

// bubbleTimer is a sleeper on the clock of a bubble of synctest.
type bubbleTimer struct {
	woken chan struct{}
	once  sync.Once
}

func newBubbleTimer() (sleeper, error) { return &bubbleTimer{woken: make(chan struct{})}, nil }

func (s *bubbleTimer) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.woken:
	}
}

func (s *bubbleTimer) wake() { s.once.Do(func() { close(s.woken) }) }

func (s *bubbleTimer) close() {}

// inBubble runs a test whose time passes only while all of it waits: how fast this host is changes nothing.
func inBubble(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, Options{newSleeper: newBubbleTimer}) })
}

// generated is what a plan does to a store, as its workload reads it.
func generated(ctx context.Context, t *testing.T, o Options, p *ycsb.Plan, s *store) (lines []ycsb.Line, out []byte) {
	t.Helper()
	var output bytes.Buffer
	o.Dial, o.Output = s.dial, &output
	if err := Run(ctx, p, o); err != nil {
		t.Fatal(err)
	}
	if s.open != 0 {
		t.Errorf("%d connections are left open", s.open)
	}
	for text := range strings.Lines(output.String()) {
		l, err := ycsb.ReadLine([]byte(text))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 || lines[len(lines)-1].End == nil {
		t.Fatalf("the output has no end: %s", output.String())
	}
	return lines, output.Bytes()
}

// sum adds up lines.
func sum(lines []ycsb.Line) (all ycsb.Line) {
	for i := range lines {
		all.Add(&lines[i])
	}
	return all
}

func done(l ycsb.Line, name string) ycsb.Done {
	i := slices.IndexFunc(l.Operations, func(d ycsb.Done) bool { return d.Name == name })
	if i < 0 {
		return ycsb.Done{Name: name}
	}
	return l.Operations[i]
}
