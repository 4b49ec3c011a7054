package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"plimsoll/internal/database/socket"
	"plimsoll/internal/database/wire"
)

// dialPebble connects to the embedded server, and sees that its records are what the
// caller takes them for.
func dialPebble(ctx context.Context, c Config) (Client, error) {
	stream, err := socket.Dial(ctx, c.At)
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded server: %w", err)
	}
	p := &pebbleClient{net: stream, in: wire.NewReader(stream), fieldBytes: c.FieldBytes}
	hello, err := p.greet(ctx)
	if err == nil && (hello.Fields != c.Fields || hello.FieldBytes != c.FieldBytes) {
		err = fmt.Errorf("it has records of %d x %d bytes, and not of %d x %d: this is another dataset",
			hello.Fields, hello.FieldBytes, c.Fields, c.FieldBytes)
	}
	if err != nil {
		_ = stream.Close()
		return nil, fmt.Errorf("greet the embedded server on %s: %w", c.At, err)
	}
	return p, nil
}

// pebbleClient has at most one request that it waits for. The answers to those that it
// waited too long for are skipped when they come.
type pebbleClient struct {
	net        net.Conn
	in         *wire.Reader
	out        []byte
	request    wire.Request
	fieldBytes int
	broken     error // why the connection is of no use any more

	deadline time.Time // that the connection has
	watched  context.Context
	unwatch  func() bool
	cut      atomic.Bool // the watched context ended, and with it what was waited for
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

func (p *pebbleClient) greet(ctx context.Context) (wire.Hello, error) {
	if err := p.limit(ctx); err != nil {
		return wire.Hello{}, err
	}
	if _, err := p.net.Write(wire.AppendPreface(nil, wire.Version)); err != nil {
		return wire.Hello{}, p.failed(ctx, err)
	}
	preface, err := p.in.Preface()
	if err != nil {
		return wire.Hello{}, p.failed(ctx, err)
	}
	version, err := wire.ParsePreface(preface)
	if err != nil {
		return wire.Hello{}, err
	}
	if version != wire.Version {
		return wire.Hello{}, fmt.Errorf("it speaks version %d of the protocol, and this program version %d: run both from "+
			"one version of plimsoll", version, wire.Version)
	}
	r, err := p.receive(ctx)
	if err != nil {
		return wire.Hello{}, err
	}
	return wire.ParseHello(r.Body)
}

func (p *pebbleClient) Read(ctx context.Context, key []byte, field int) ([]byte, error) {
	r, err := p.ask(ctx, wire.OpRead, key, field, 0, nil)
	return r.Body, err
}

// Scan implements Client.
func (p *pebbleClient) Scan(ctx context.Context, key []byte, records int, field int) (found int, err error) {
	if records <= 0 {
		return 0, nil
	}
	r, err := p.ask(ctx, wire.OpScan, key, field, records, nil)
	for err == nil {
		n, _, bad := wire.ParseScanned(r.Body)
		if bad != nil {
			return found, p.breaks(bad)
		}
		found += n
		if r.Status != wire.More {
			return found, nil
		}
		r, err = p.answer(ctx)
	}
	return found, err
}

// Update implements Client.
func (p *pebbleClient) Update(ctx context.Context, key []byte, field int, value []byte) error {
	_, err := p.ask(ctx, wire.OpUpdate, key, field, 0, value)
	return err
}

// Insert implements Client.
func (p *pebbleClient) Insert(ctx context.Context, key []byte, value []byte) error {
	_, err := p.ask(ctx, wire.OpInsert, key, AllFields, 0, value)
	return err
}

// Close implements Client.
func (p *pebbleClient) Close() error {
	if p.unwatch != nil {
		p.unwatch()
	}
	if p.broken == nil {
		p.broken = fmt.Errorf("%w: by this side", ErrClosed)
	}
	return p.net.Close()
}

// ask sends a request and waits for the first frame of its answer.
func (p *pebbleClient) ask(ctx context.Context, op wire.Op, key []byte, field, records int, value []byte) (
	wire.Response, error) {
	if p.broken != nil {
		return wire.Response{}, p.broken
	}
	p.request = wire.Request{Number: p.request.Number + 1, Op: op, Field: int32(field), Records: uint32(records),
		Key: key, Value: value}
	if err := p.request.Fits(); err != nil {
		return wire.Response{}, err
	}
	if err := p.limit(ctx); err != nil {
		return wire.Response{}, err
	}
	p.out = wire.AppendRequest(p.out[:0], &p.request)
	for sent := 0; sent < len(p.out); {
		n, err := p.net.Write(p.out[sent:])
		sent += n
		if err == nil || p.early(ctx, err) {
			continue
		}
		err = p.failed(ctx, err)
		if sent > 0 && p.broken == nil { // the server waits for the rest
			p.broken = fmt.Errorf("%w: a request was cut off by its deadline", ErrClosed)
		}
		return wire.Response{}, err
	}
	return p.answer(ctx)
}

// answer waits for the next frame of the answer to the current request.
func (p *pebbleClient) answer(ctx context.Context) (wire.Response, error) {
	for {
		r, err := p.receive(ctx)
		if err != nil {
			return r, err
		}
		// Numbers go round; that of an earlier request is less than half of them away.
		if behind := p.request.Number - r.Number; behind != 0 {
			if behind < 1<<31 && r.Number != 0 {
				continue
			}
			return wire.Response{}, p.breaks(refusal(r, "it answered what was not asked"))
		}
		switch r.Status {
		case wire.OK, wire.More:
			return r, nil
		case wire.NotFound:
			return wire.Response{}, ErrNotFound
		case wire.Failed:
			return wire.Response{}, &ServerError{Said: string(r.Body)}
		}
		return wire.Response{}, p.breaks(refusal(r, "an answer of an unknown status"))
	}
}

// refusal is why the server leaves, if it says so.
func refusal(r wire.Response, otherwise string) error {
	if r.Status == wire.Refused {
		return &ServerError{Said: string(r.Body)}
	}
	return &ServerError{Said: otherwise}
}

// receive waits for the next frame.
func (p *pebbleClient) receive(ctx context.Context) (wire.Response, error) {
	for {
		frame, err := p.in.Next()
		if err == nil {
			r, err := wire.ParseResponse(frame)
			if err != nil {
				return r, p.breaks(err)
			}
			return r, nil
		}
		if !p.early(ctx, err) {
			return wire.Response{}, p.failed(ctx, err)
		}
	}
}

// limit has what follows end with the context.
func (p *pebbleClient) limit(ctx context.Context) error {
	if ctx != p.watched {
		if p.unwatch != nil {
			p.unwatch()
			p.unwatch = nil
		}
		p.watched = ctx
		if ctx.Done() != nil {
			p.unwatch = context.AfterFunc(ctx, func() {
				p.cut.Store(true)
				_ = p.net.SetDeadline(past) // a closed connection has no deadline to pass
			})
		}
	}
	deadline, _ := ctx.Deadline()
	if p.cut.Swap(false) || !deadline.Equal(p.deadline) {
		if err := p.net.SetDeadline(deadline); err != nil {
			return p.failed(ctx, err)
		}
		p.deadline = deadline
	}
	if ended(ctx) {
		return context.Cause(ctx)
	}
	return nil
}

// early reports whether a deadline has passed that is not the context's, but that of
// an earlier one, and takes it away.
func (p *pebbleClient) early(ctx context.Context, err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || ended(ctx) {
		return false
	}
	deadline, limited := ctx.Deadline()
	if limited && !time.Now().Before(deadline) {
		return false
	}
	p.cut.Store(false)
	return p.net.SetDeadline(deadline) == nil
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// failed is an error of the connection as callers know it.
func (p *pebbleClient) failed(ctx context.Context, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return context.DeadlineExceeded
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return p.breaks(fmt.Errorf("%w by the server", ErrClosed))
	}
	return p.breaks(fmt.Errorf("%w: %w", ErrClosed, err))
}

// breaks makes the connection one of no use any more.
func (p *pebbleClient) breaks(err error) error {
	if p.broken == nil {
		p.broken = err
		if !errors.Is(err, ErrClosed) {
			p.broken = fmt.Errorf("%w: %w", ErrClosed, err)
		}
	}
	return err
}
