package client

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
)

// countingConn is a connection to a server of one warehouse, which counts.
type countingConn struct {
	fullConn
	prepared map[string]int // by text
	begun    int
	why      error // why nothing can be prepared
}

func (c *countingConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &oneRow{}, nil
}

func (c *countingConn) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	c.prepared[text]++
	return struct{ fullStmt }{}, c.why
}

var errBegun = errors.New("no transaction here")

func (c *countingConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.begun++
	return nil, errBegun
}

func (c *countingConn) Ping(context.Context) error                     { return nil }
func (c *countingConn) CheckNamedValue(value *driver.NamedValue) error { return nil }
func (c *countingConn) Close() error                                   { return nil }

// oneRow is the answer 1.
type oneRow struct{ read bool }

func (*oneRow) Columns() []string { return []string{"count"} }
func (*oneRow) Close() error      { return nil }
func (r *oneRow) Next(values []driver.Value) error {
	if r.read {
		return io.EOF
	}
	values[0], r.read = int64(1), true
	return nil
}

func dialCounting(t *testing.T, conn *countingConn) (Client, error) {
	t.Helper()
	conn.prepared = map[string]int{}
	return dialTPCC(t.Context(), dialect{
		name: "mysql", in: "tpcc",
		connect: func(context.Context) (driver.Conn, error) { return conn, nil },
		message: func(err error) (string, bool) { return err.Error(), true },
	}, 1)
}

// Statements are prepared before the first transaction, each once for all kinds of transactions.
func TestStatementsOfTPCCArePreparedOnce(t *testing.T) {
	conn := new(countingConn)
	c, err := dialCounting(t, conn)
	if err != nil {
		t.Fatal(err)
	}
	if len(conn.prepared) == 0 || conn.begun > 0 {
		t.Errorf("%d statements are prepared, and %d transactions were begun", len(conn.prepared), conn.begun)
	}
	for i, kind := range transactions {
		var said *ServerError
		err := c.(Transactor).Do(t.Context(), kind)
		if !errors.As(err, &said) || said.Said != errBegun.Error() || conn.begun != i+1 {
			t.Errorf("%s: %v, after %d transactions", kind, err, conn.begun)
		}
	}
	for text, n := range conn.prepared {
		if n != 1 {
			t.Errorf("prepared %d times: %s", n, text)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestTPCCSaysWhyNothingIsPrepared(t *testing.T) {
	conn := &countingConn{why: errors.New("too many statements")}
	_, err := dialCounting(t, conn)
	if err == nil || !strings.Contains(err.Error(), conn.why.Error()) {
		t.Errorf("%v, want %v", err, conn.why)
	}
}
