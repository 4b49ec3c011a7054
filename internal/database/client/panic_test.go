package client

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
)

// mysqlGreeting is a handshake of MySQL's protocol, as a server of version 5.7 sends it.
var mysqlGreeting = "\x0a5.7.0\x00\x01\x00\x00\x0012345678\x00\xff\xf7\x21\x02\x00\x08\x00\x15" +
	strings.Repeat("\x00", 10) + "123456789012\x00mysql_native_password\x00"

// mysqlSending is a server that accepts every user, and then sends the same answer to each request.
func mysqlSending(t *testing.T, answer []byte) string {
	t.Helper()
	return fakeServer(t, func(conn net.Conn) {
		request := make([]byte, 64<<10)
		_, err := conn.Write(mysqlPacket(0, mysqlGreeting))
		for sends := mysqlPacket(2, "\x00\x00\x00\x02\x00\x00\x00"); err == nil; sends = answer {
			if _, err = conn.Read(request); err == nil {
				_, err = conn.Write(sends)
			}
		}
	})
}

// Handshakes that are cut anywhere panic in the driver. They are errors of every way to connect, also in goroutines of
// database/sql.
func TestAttackHandshakeOfMysql(t *testing.T) {
	panics := 0
	for _, cut := range []int{0, 1, 7, 12, 20, 27, 30, 45, len(mysqlGreeting) - 1} {
		address := fakeServer(t, func(conn net.Conn) {
			_, _ = conn.Write(mysqlPacket(0, mysqlGreeting[:cut]))
			_, _ = io.Copy(io.Discard, conn)
		})
		for way, dial := range waysToDial(t, address) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			err := dial(ctx)
			cancel()
			if err == nil || strings.Contains(err.Error(), "sekret") {
				t.Errorf("%s, the first %d bytes: %v", way, cut, err)
			}
			if errors.Is(err, ErrClosed) && strings.Contains(err.Error(), "makes no sense") {
				panics++
			}
		}
	}
	if panics == 0 {
		t.Error("no handshake makes the driver panic: is the guard needed?")
	}
}

// waysToDial returns all ways to connect to MySQL.
func waysToDial(t *testing.T, address string) map[string]func(context.Context) error {
	t.Helper()
	running := runningAt(t, "mysql", address, dsnOf("mysql", address))
	c := Config{At: running.Address}
	return map[string]func(context.Context) error{
		"dial": func(ctx context.Context) error { _, err := Dial(ctx, "mysql", c); return err },
		"dial for TPC-C": func(ctx context.Context) error {
			_, err := Dial(ctx, "mysql", Config{At: running.Address, Warehouses: 1})
			return err
		},
		"counters": func(ctx context.Context) error { _, err := DialCounter(ctx, running); return err },
		"answers":  func(ctx context.Context) error { return Answers(ctx, "mysql", running.Address) },
		"load": func(ctx context.Context) error {
			return Load(ctx, "mysql", running.Address, database.Dataset{Records: 1, Fields: 1, FieldBytes: 1}, nil)
		},
		"load of TPC-C": func(ctx context.Context) error {
			return c.guarded(func(c Config, _ *guard) error { return loadTPCC(ctx, mysqlDialect(c, "tpcc"), 2) })
		},
		"check of TPC-C": func(ctx context.Context) error { return CheckTPCC(ctx, "mysql", c) },
	}
}

// Answers to statements that are too short panic in the driver as well.
func TestAttackAnswersOfMysql(t *testing.T) {
	for name, answer := range map[string]string{
		"prepared statement": "\x00\x01", "header of an OK": "\x00", "columns without end": "\x01",
		"error without number": "\xff", "length of a column count": "\xfc",
	} {
		address := mysqlSending(t, mysqlPacket(1, answer))
		for way, dial := range waysToDial(t, address) {
			if way == "answers" {
				continue // it is connected
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			err := dial(ctx)
			cancel()
			if err == nil || strings.Contains(err.Error(), "sekret") {
				t.Errorf("%s, %s: %v", way, name, err)
			}
		}
	}
}

// panicking is a client that panics once.
type panicking struct {
	Client
	calls  int
	closed bool
}

func (p *panicking) Read(context.Context, []byte, int) ([]byte, error) {
	p.calls++
	panic("sekret: slice bounds out of range")
}

func (p *panicking) Version() string { p.calls++; panic("sekret") }

func (p *panicking) Close() error { p.closed = true; return driver.ErrBadConn }

// A client that has panicked is not used, except to close it.
func TestPanicEndsConnection(t *testing.T) {
	g := newGuard(database.Address{Remote: "env:X", Secret: "bob:sekret"}, nil)
	broken := &panicking{}
	c := &guarded{Client: broken, guard: g}
	for range 2 {
		if _, err := c.Read(t.Context(), nil, 0); !errors.Is(err, ErrClosed) || strings.Contains(err.Error(), "sekret") {
			t.Errorf("read: %v", err)
		}
	}
	if v := c.Version(); v != "" || broken.calls != 1 {
		t.Errorf("version %q, %d calls", v, broken.calls)
	}
	if err := c.Close(); !errors.Is(err, driver.ErrBadConn) || !broken.closed {
		t.Errorf("close: %v", err)
	}
	if v := (&guarded{Client: &panicking{}}).Version(); v != "" {
		t.Errorf("version %q", v)
	}
}
