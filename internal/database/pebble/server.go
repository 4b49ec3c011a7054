package pebble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"plimsoll/internal/database"
	"plimsoll/internal/database/socket"
)

// Config configures a server.
type Config struct {
	Dir    string // what Load laid out
	Socket string // where it answers
	Facts  string // file for its statistics at the end; "" for none
	Params database.PebbleParams
	Log    io.Writer // for what pebble says
}

// lastAnswers is how long a server that shuts down waits for clients to read their last answers.
const lastAnswers = 2 * time.Second

// Serve serves until the context ends, which is a good end: nothing that was answered
// is lost, and the facts are written. Any other end is an error, after which the
// process has to end too: what pebble does in the background may still hang.
func Serve(ctx context.Context, c Config) error {
	m, err := readMarker(c.Dir)
	if err != nil {
		return err
	}
	if want := database.PebbleLayout(c.Params); m.Layout != want {
		return fmt.Errorf("%s %s layout: %s, and not %s", c.Dir, database.PebbleShape, m.Layout, want)
	}
	debug.SetMemoryLimit(memory(c.Params))
	s := &server{dataset: m.Dataset, sync: c.Params.Sync, fatal: newFatal(c.Log), conns: map[net.Conn]bool{}}
	o := options(c.Params)
	s.lender = newLender(c.Params)
	listen(o, s.fatal, &s.stalls, s.lender)
	s.db, err = open(ctx, c.Dir, o, s.fatal)
	if err != nil || s.db == nil {
		return err
	}
	s.lender.start(s.db)
	held := hold(s.db, c.Params.Cache)
	end := sync.OnceFunc(held.end)
	defer end()
	listener, err := socket.Listen(c.Socket)
	if err != nil {
		end()
		return errors.Join(fmt.Errorf("listen on %s: %w", c.Socket, err), s.close())
	}
	begin := time.Now()
	accepting := make(chan error, 1)
	go func() { accepting <- s.accept(listener) }()
	select {
	case <-ctx.Done():
	case err = <-accepting:
		s.fatal.end(err)
	case err = <-s.fatal.why:
	}
	closing := listener.Close()
	if err != nil {
		return err
	}
	<-accepting //nolint:errcheck // it ends with the listener, whose error is told
	if err := s.finish(); err != nil {
		return err
	}
	end()
	f := gather(s.db.Metrics(), time.Since(begin), s.connections.Load(), &s.operations, &s.stalls)
	return errors.Join(s.close(), f.write(c.Facts), closing)
}

// open opens the store. It returns nil if the server is shut down first: on a full device, opening never returns.
func open(ctx context.Context, dir string, o *pebble.Options, f *fatal) (*pebble.DB, error) {
	type opened struct {
		db  *pebble.DB
		err error
	}
	done := make(chan opened, 1)
	go func() {
		db, err := pebble.Open(dir, o)
		done <- opened{db, err}
	}()
	select {
	case d := <-done:
		if d.err == nil {
			return d.db, nil
		}
		if strings.Contains(d.err.Error(), "resource temporarily unavailable") ||
			strings.Contains(d.err.Error(), "lock held by current process") {
			return nil, fmt.Errorf("%s: %s", dir, database.PebbleLocked)
		}
		return nil, fmt.Errorf("open %s: %w", dir, explain(d.err))
	case err := <-f.why:
		return nil, err
	case <-ctx.Done():
		return nil, nil
	}
}

// server is the state that all connections share.
type server struct {
	db      *pebble.DB
	dataset database.Dataset
	sync    bool
	fatal   *fatal
	stalls  stalls
	lender  *lender

	rows        rows
	operations  counters
	connections atomic.Int64 // accepted

	ending  atomic.Bool
	serving sync.WaitGroup
	mu      sync.Mutex // guards conns
	conns   map[net.Conn]bool
}

// mostConns bounds the connections: each takes memory.
const mostConns = 4096

// accept serves every connection in a goroutine of its own until the listener is
// closed.
func (s *server) accept(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept connections: %w", err)
		}
		if !s.enter(c) {
			_ = c.Close()
			continue
		}
		s.connections.Add(1)
		s.serving.Go(func() {
			defer s.leave(c)
			newConn(s, c).serve()
		})
	}
}

func (s *server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= mostConns || s.ending.Load() {
		return false
	}
	s.conns[c] = true
	return true
}

func (s *server) leave(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// finish makes every connection answer its pending requests, and waits for that.
func (s *server) finish() error {
	s.ending.Store(true)
	s.mu.Lock()
	for c := range s.conns {
		// Both fail for a connection that ends by itself.
		_ = c.SetReadDeadline(time.Now())
		_ = c.SetWriteDeadline(time.Now().Add(lastAnswers))
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case err := <-s.fatal.why:
		return err
	}
}

func (s *server) close() error {
	s.lender.close()
	done := make(chan error, 1)
	go func() { done <- s.db.Close() }()
	select {
	case err := <-done:
		return err
	case err := <-s.fatal.why:
		return err
	}
}
