package watch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/recording"
)

// scripted answers with 1,000 operations more at each call, until it fails or hangs.
type scripted struct {
	counts database.Counts
	hangs  bool
	fails  atomic.Bool
	closed chan struct{}
}

// Counts implements database.Counter.
func (s *scripted) Counts(ctx context.Context) (database.Counts, error) {
	switch {
	case s.hangs:
		<-ctx.Done()
		return s.counts, ctx.Err()
	case s.fails.Load():
		return s.counts, errors.New("connection reset by peer")
	}
	s.counts.Operations += 1000
	return s.counts, nil
}

// Close implements database.Counter.
func (s *scripted) Close() error { close(s.closed); return nil }

// sampled is a sample of a moment in seconds.
func sampled(seconds float64, counts database.Counts) *sample {
	return &sample{moment: time.Unix(0, int64(seconds*1e9)), counts: counts}
}

// What a server did is a rate between two answers. Resets, failures and missing answers leave intervals unknown.
func TestServersAreRates(t *testing.T) {
	huge := uint64(math.MaxUint64)
	s := &server{}
	for i, c := range []struct {
		got  *sample
		want string
	}{
		{sampled(1, database.Counts{Operations: 100, Timed: 50, Microseconds: 1000}), "[]"},
		{sampled(2, database.Counts{Operations: 300, Timed: 150, Microseconds: 5000}), "[200 100 4000]"},
		{sampled(2.8, database.Counts{Operations: 380, Readings: 40, Timed: 150, Microseconds: 5000}), "[50 NaN NaN]"},
		{nil, "[]"},
		{sampled(4.8, database.Counts{Operations: 500}), "[]"}, // it spans an interval without an answer
		{sampled(5.8, database.Counts{Operations: 510}), "[10 NaN NaN]"},
		{sampled(6.8, database.Counts{Operations: 5}), "[]"}, // the counters went back
		{sampled(7.8, database.Counts{Operations: 25, Readings: 90}), "[0 NaN NaN]"},
		{sampled(8.8, database.Counts{Operations: 99, Readings: 90, Era: "2"}), "[]"},
		{&sample{failed: true}, "[]"},
		{sampled(10.8, database.Counts{Operations: 100, Era: "2"}), "[]"},
		{sampled(11.8, database.Counts{Operations: huge, Era: "2"}), "[]"}, // no server does that
		{sampled(11.8, database.Counts{Operations: huge, Era: "2"}), "[]"}, // nor that
		{sampled(12.8, database.Counts{Operations: huge, Timed: huge, Microseconds: huge, Era: "2"}), "[0 NaN NaN]"},
	} {
		if got := fmt.Sprint(s.amounts(c.got, 1)); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
}

// A recorder has a row for each server that answers. A server that hangs, or goes away, holds up nothing, and is said
// once.
func TestRecordServers(t *testing.T) {
	m := newHost(t)
	m.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
	good := &scripted{closed: make(chan struct{})}
	hanging := &scripted{hangs: true, closed: make(chan struct{})}
	warnings := make(chan string, 10)
	open := func(c database.Counter) func(context.Context) (database.Counter, error) {
		return func(context.Context) (database.Counter, error) { return c, nil }
	}
	refused := func(context.Context) (database.Counter, error) { return nil, errors.New("connection refused") }
	w, err := New(Options{Roots: m.roots, Sockets: []string{}, NoLatency: true,
		Warn: func(text string) { warnings <- text },
		Servers: []Server{{"shop/db", "postgresql", open(good)}, {"shop/db", "postgresql", open(hanging)},
			{"ring", "cassandra", refused}}})
	if err != nil {
		t.Fatal(err)
	}
	w.engines.systemctl, w.engines.containerd = "", "none"
	r, err := newRecorder(w, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if said := <-warnings; !strings.Contains(said, "ring") || !strings.Contains(said, "connection refused") {
		t.Errorf("warned: %q", said)
	}
	key := recording.Key{Kind: recording.OfServer, Name: "shop/db", Copy: 1}
	for rows := 0; rows < 2; {
		if last := r.servers[0].last; last != nil { // answers of this test are not a second apart
			last.moment = time.Now().Add(-time.Second)
		}
		for _, a := range served(r.servers, time.Second, 1) {
			if a.Thing.Key() != key {
				t.Errorf("a server that does not answer has %+v", a)
			}
			if n := a.Values[0]; n < 500 || n > 3000 {
				t.Errorf("%g operations", n)
			}
			rows++
		}
	}
	good.fails.Store(true)
	r.servers[0].ask()
	if said := <-warnings; !strings.Contains(said, "shop/db") || !strings.Contains(said, "reset by peer") {
		t.Errorf("warned: %q", said)
	}
	r.Close()
	<-good.closed
	<-hanging.closed
	if len(warnings) > 0 {
		t.Errorf("warned again: %q", <-warnings)
	}
}
