// Package remote runs the load generator on another machine: Serve runs there and speaks over its standard input and
// output, as ssh connects them; Control runs beside the servers.
//
// Lines of JSON go both ways. Down: a Request, then orders. Up: the greeting, then reports, of which the last has the
// end. When the connection is lost, Serve ends: nobody would read what it measures.
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
)

// Mode is what the generator is to do.
type Mode string

// The modes.
const (
	Generate Mode = "generate"
	Wait     Mode = "wait"  // until the database answers
	Check    Mode = "check" // whether its data is as it has to be
)

// Request is what the generator has to know.
type Request struct {
	Mode  Mode            `json:"mode"`
	Plan  json.RawMessage `json:"plan"`
	Relay database.Relay  `json:"relay"`
}

// order is sent to the generator while it runs.
type order struct {
	Go   bool `json:"go,omitempty"`   // the load is to begin
	Stop bool `json:"stop,omitempty"` // it is to end early, and well
}

// report is sent by the generator.
type report struct {
	Ready  bool   `json:"ready,omitempty"`  // it waits for the order to begin
	Output []byte `json:"output,omitempty"` // next part of its output
	End    *End   `json:"end,omitempty"`
}

// End is how a generator ended.
type End struct {
	Error string            `json:"error,omitempty"` // "" when it ended well
	CPU   *result.ClientCPU `json:"cpu,omitempty"`   // nil where it generated no load
}

// greeting is the first line of the generator. What a login shell says before it is not looked at.
const greeting = "plimsoll load generator 1"

// Bounds of what is read from the other side.
const (
	mostLine     = 64 << 20         // of a report or a request
	mostError    = 4 << 10          // of what it says at its end
	mostBefore   = 1 << 20          // before the greeting
	connectLimit = time.Minute      // until the greeting
	endLimit     = 30 * time.Second // until the end, once it was asked to
)

// mostOutput bounds all parts of an output together.
var mostOutput = 1 << 30

// Options are what Control needs beside a request.
type Options struct {
	Output io.Writer                   // of the generator
	Gate   func(context.Context) error // returns when the load is to begin; nil for at once
}

// Connection leads to the standard input and output of Serve on another machine.
type Connection interface {
	io.Reader
	io.WriteCloser
	Kill()       // loses the connection
	Wait() error // returns when it is lost or closed, with the reason
}

// Control follows a generator behind a connection to its end. When ctx ends, the generator is asked to stop, which is
// no error.
func Control(ctx context.Context, to Connection, r Request, o Options) (End, error) {
	c := &control{Options: o, down: json.NewEncoder(to), up: bufio.NewReaderSize(to, 1<<16)}
	overdue := time.AfterFunc(connectLimit, to.Kill)
	undo := context.AfterFunc(ctx, func() {
		_ = c.send(order{Stop: true}) // else it has ended
		time.AfterFunc(endLimit, to.Kill)
	})
	end, err := c.follow(ctx, r, overdue)
	undo()
	overdue.Stop()
	_ = to.Close()
	if err != nil {
		to.Kill()
	}
	why := to.Wait()
	const subject = "the load generator on the clients' machine"
	switch {
	case err == nil:
		return end, nil
	case why == nil:
		return End{}, fmt.Errorf("%s: %w", subject, err)
	}
	return End{}, fmt.Errorf("%s: %w: %w", subject, err, why) // one line: of several, reports show the last
}

// control is the side of Control.
type control struct {
	Options
	mu   sync.Mutex // guards down, which answers and the end are written to
	down *json.Encoder
	up   *bufio.Reader // one goroutine reads it
}

func (c *control) send(message any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down.Encode(message)
}

// follow speaks to the generator until its end.
func (c *control) follow(ctx context.Context, r Request, overdue *time.Timer) (End, error) {
	if err := c.awaitGreeting(); err != nil {
		return End{}, err
	}
	overdue.Stop()
	if err := c.send(r); err != nil {
		return End{}, err
	}
	for outputLeft := mostOutput; ; {
		var from report
		if err := readLine(c.up, &from); err != nil {
			return End{}, err
		}
		if outputLeft -= len(from.Output); outputLeft < 0 {
			return End{}, fmt.Errorf("its output has more than %d bytes", mostOutput)
		}
		if len(from.Output) > 0 {
			if _, err := c.Output.Write(from.Output); err != nil {
				return End{}, err
			}
		}
		if from.End != nil {
			from.End.Error = printable.Shorten(from.End.Error, mostError)
			return *from.End, nil
		}
		if !from.Ready {
			continue
		}
		if c.Gate != nil {
			if err := c.Gate(ctx); err != nil {
				return End{}, err
			}
		}
		if err := c.send(order{Go: true}); err != nil {
			return End{}, err
		}
	}
}

func (c *control) awaitGreeting() error {
	for before := 0; before < mostBefore; {
		line, err := c.up.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("it did not start (%w)", err)
		}
		if strings.TrimRight(string(line), "\r\n") == greeting {
			return nil
		}
		before += len(line)
	}
	return errors.New("the login shell there says more than a greeting")
}

// readLine reads one message.
func readLine(from *bufio.Reader, message any) error {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > mostLine:
			return fmt.Errorf("a message has more than %d bytes", mostLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return errors.New("the connection was lost")
		case err != nil:
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		return decoder.Decode(message)
	}
}

// Session is a request as the generator sees it.
type Session struct {
	Request
	Output io.Writer
	begin  chan struct{}
	out    *output
}

// Gate reports that the load can begin, and returns when it is to.
func (s *Session) Gate(ctx context.Context) error {
	if err := s.out.send(report{Ready: true}); err != nil {
		return err
	}
	select {
	case <-s.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// output writes reports.
type output struct {
	mu sync.Mutex // guards to
	to *json.Encoder
}

func (o *output) send(r report) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Encode(r)
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	if err := o.send(report{Output: text}); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Serve does what a request asks for, and reports how it ended. When the connection is lost, the context of do ends.
func Serve(
	ctx context.Context, from io.Reader, to io.Writer,
	do func(context.Context, *Session) (*result.ClientCPU, error),
) error {
	if _, err := io.WriteString(to, greeting+"\n"); err != nil {
		return err
	}
	in := bufio.NewReaderSize(from, 1<<16)
	out := &output{to: json.NewEncoder(to)}
	s := &Session{Output: out, out: out, begin: make(chan struct{})}
	if err := readLine(in, &s.Request); err != nil {
		return fmt.Errorf("this is no request: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		begun := false
		for {
			var o order
			err := readLine(in, &o)
			if err != nil || o.Stop {
				stop()
				return
			}
			if o.Go && !begun {
				begun = true
				close(s.begin)
			}
		}
	}()
	cpu, err := do(ctx, s)
	end := &End{CPU: cpu}
	if err != nil {
		end.Error = err.Error()
	}
	return out.send(report{End: end})
}
