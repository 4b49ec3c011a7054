package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/problem"
)

// Bounds of servers that are asked for their counters. They are not trusted.
const (
	mostAnswer      = 4 << 20 // bytes between two calls of Counts
	mostCounterRows = 100_000 // of one statement
	// CounterTimeout is the longest that a connection, or an answer, may take.
	CounterTimeout = 5 * time.Second
)

// errTooMuch ends a connection to a server that sends more than counters take.
var errTooMuch = fmt.Errorf("the server sends more than %d bytes for its counters", mostAnswer)

// DialCounter connects to a server that somebody else started, to read its counters. The statements are fixed, and only
// read.
func DialCounter(ctx context.Context, s database.Running) (database.Counter, error) {
	p, known := protocols[s.Client.Name]
	switch {
	case !known:
		return nil, unknown(s.Client.Name)
	case p.counter == nil:
		return nil, fmt.Errorf("client %s reads no counters", s.Client.Name)
	}
	c := Config{At: s.Address, Options: s.Client.Options, budget: &budget{}}
	var made database.Counter
	err := c.guarded(func(c Config, g *guard) error {
		ctx, cancel := context.WithTimeout(ctx, CounterTimeout)
		defer cancel()
		c.budget.renew()
		counter, err := p.counter(ctx, c)
		if err == nil {
			made = &boundedCounter{counter, c.budget, g}
		}
		return err
	})
	return made, err
}

// CheckCounter returns an error if the secret of a server cannot be read. It connects to nothing.
func CheckCounter(s database.Running) error {
	_, err := reveal(s.Address)
	return err
}

// boundedCounter is a counter whose answers are bounded in time and size, and whose errors have no part of a secret.
type boundedCounter struct {
	database.Counter
	budget *budget
	guard  *guard
}

// Counts implements database.Counter.
func (b *boundedCounter) Counts(ctx context.Context) (counts database.Counts, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CounterTimeout,
		fmt.Errorf("the server has not answered for %s", CounterTimeout))
	defer cancel()
	b.budget.renew()
	err = b.counts(ctx, &counts)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return counts, b.guard.hide(err)
}

// counts fills counts. A panic of the driver is an error.
func (b *boundedCounter) counts(ctx context.Context, counts *database.Counts) (err error) {
	defer func() { unpanic(recover(), &err) }()
	*counts, err = b.Counter.Counts(ctx)
	return err
}

// budget bounds the bytes that all connections to a server may receive.
type budget struct{ remaining atomic.Int64 }

func (b *budget) renew() { b.remaining.Store(mostAnswer) }

// dialing is how drivers make connections.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext implements the dialers of drivers.
func (d dialing) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// bound returns a dialer whose connections are bounded; nil for the usual dialer. A nil budget bounds nothing.
func (b *budget) bound(dial dialing) dialing {
	if b == nil {
		return dial
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: CounterTimeout}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &boundedConn{conn, b}, nil
	}
}

// boundedConn is a connection that ends when its budget is spent.
type boundedConn struct {
	net.Conn
	budget *budget
}

// Read implements net.Conn.
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.budget.remaining.Load() <= 0 {
		_ = c.Close()
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p)
	c.budget.remaining.Add(-int64(n))
	return n, err
}

// number reads a counter of a server. Counters have no sign and no fraction.
func number(what string, text []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the server's counter %s is %.40q, which is no count", what, text)
	}
	return n, nil
}

// errNoCounters is the error of a server that counts no operations.
func errNoCounters(title, why, remedy string) error {
	return problem.New(problem.Unsupported, title+" counts no operations", why, remedy)
}

// errManyRows is of a server whose answer never ends.
var errManyRows = errors.New("the server has more rows of counters than any has")
