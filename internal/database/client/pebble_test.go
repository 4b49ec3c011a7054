package client

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/socket"
	"plimsoll/internal/database/wire"
)

// script is a server that does what a test wants.
type script struct {
	t    *testing.T
	conn net.Conn
	in   *wire.Reader
}

// scripted starts a server that greets one client and then does as play says.
func scripted(t *testing.T, play func(*script)) Client {
	t.Helper()
	c, err := greeted(t, wire.Version, wire.Hello{Fields: 2, FieldBytes: 4}, play)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func greeted(t *testing.T, version uint16, h wire.Hello, play func(*script)) (Client, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	played := make(chan struct{})
	go func() {
		defer close(played)
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		s := &script{t, conn, wire.NewReader(conn)}
		if _, err := s.in.Preface(); err != nil {
			t.Error(err)
		}
		s.send(wire.AppendPreface(nil, version))
		if version == wire.Version {
			s.answer(0, wire.OK, string(wire.AppendHello(nil, h)))
		}
		play(s)
	}()
	t.Cleanup(func() { <-played })
	c, err := Dial(t.Context(), "pebble", Config{At: database.Address{Socket: path}, Fields: 2, FieldBytes: 4})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func (s *script) send(b []byte) {
	if _, err := s.conn.Write(b); err != nil {
		s.t.Errorf("send: %v", err)
	}
}

func (s *script) answer(number uint32, status wire.Status, body string) {
	s.send(wire.AppendResponse(nil, number, status, []byte(body)))
}

// request waits for the next one, and returns its number.
func (s *script) request() uint32 { return s.asked().Number }

// asked waits for the next request, and returns it.
func (s *script) asked() (r wire.Request) {
	frame, err := s.in.Next()
	if err != nil {
		s.t.Errorf("receive: %v", err)
		return r
	}
	r, err = wire.ParseRequest(frame)
	if err != nil {
		s.t.Error(err)
	}
	return r
}

// expiresAt is when a context ends whose request is not answered. A host that is slow may not even have sent it.
func expiresAt() time.Time { return time.Now().Add(20 * time.Millisecond) }

// What was waited for too long is an error of its own, and its answer, which comes
// later, is not taken for that of the next request.
func TestDeadline(t *testing.T) {
	c := scripted(t, func(s *script) {
		r := s.asked()
		if string(r.Key) == "a" {
			first := r.Number
			r = s.asked()
			s.answer(first, wire.OK, "late")
		}
		s.answer(r.Number, wire.OK, "next")
	})
	ctx, cancel := context.WithDeadline(t.Context(), expiresAt())
	defer cancel()
	_, err := c.Read(ctx, []byte("a"), AllFields)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrClosed) {
		t.Errorf("after its deadline: %v", err)
	}
	if _, err := c.Read(ctx, []byte("a"), AllFields); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a context that has ended: %v", err)
	}
	got, err := c.Read(t.Context(), []byte("b"), AllFields)
	if err != nil || string(got) != "next" {
		t.Errorf("then: %q, %v", got, err)
	}
}

// bare is a context of a deadline alone, as a load generator makes that does not want
// to allocate one for each operation.
type bare struct {
	context.Context
	deadline time.Time
}

func (b *bare) Deadline() (time.Time, bool) { return b.deadline, true }

func TestDeadlineThatMoves(t *testing.T) {
	c := scripted(t, func(s *script) {
		for r := s.asked(); ; r = s.asked() {
			if string(r.Key) != "nothing" {
				s.answer(r.Number, wire.OK, string(r.Key))
			}
			if string(r.Key) == "three" {
				return
			}
		}
	})
	ctx := &bare{Context: context.Background()}
	for i, want := range []string{"one", "", "three"} {
		key := want
		ctx.deadline = time.Now().Add(5 * time.Minute)
		if want == "" {
			key, ctx.deadline = "nothing", expiresAt()
		}
		got, err := c.Read(ctx, []byte(key), AllFields)
		if want == "" && !errors.Is(err, context.DeadlineExceeded) || want != "" && (err != nil || string(got) != want) {
			t.Errorf("read %d: %q, %v", i, got, err)
		}
	}
}

// A context that is cancelled ends what waits for it, and nothing after that.
func TestCancelled(t *testing.T) {
	asked := make(chan struct{})
	c := scripted(t, func(s *script) {
		for range 3 {
			s.request()
			asked <- struct{}{}
		}
		s.answer(s.request(), wire.OK, "fine")
	})
	why := errors.New("the run is over")
	for range 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-asked
			cancel(why)
		}()
		if _, err := c.Read(ctx, []byte("a"), AllFields); !errors.Is(err, why) {
			t.Errorf("cancelled: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, err := c.Read(ctx, []byte("a"), AllFields)
	if err != nil || string(got) != "fine" {
		t.Errorf("then: %q, %v", got, err)
	}
	cancel() // while nothing waits
}

// A scan that is left in the middle does not lend its other frames to the next one.
func TestScanLeftInTheMiddle(t *testing.T) {
	for limit := 20 * time.Millisecond; !scanIsLeft(t, limit); limit *= 2 { // for a host that is slow
		if limit > time.Minute {
			t.Fatal("no scan was left in the middle")
		}
	}
}

// scanIsLeft reports whether the limit was long enough for the first frame of a scan to come.
func scanIsLeft(t *testing.T, limit time.Duration) bool {
	t.Helper()
	late := make(chan struct{})
	two, three := "\x02\x00\x00\x00", "\x03\x00\x00\x00"
	c := scripted(t, func(s *script) {
		next := func() (number uint32, ok bool) { // none comes where the limit was too short
			frame, err := s.in.Next()
			if err != nil {
				return 0, false
			}
			r, err := wire.ParseRequest(frame)
			return r.Number, err == nil
		}
		first, ok := next()
		if !ok {
			return
		}
		s.answer(first, wire.More, two)
		<-late
		second, ok := next()
		if !ok {
			return
		}
		s.answer(first, wire.More, two)
		s.answer(first, wire.OK, two)
		s.answer(second, wire.More, three)
		s.answer(second, wire.OK, three)
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	n, err := c.Scan(ctx, []byte("a"), 10, AllFields)
	close(late)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d records, %v", n, err)
	}
	if n == 0 {
		return false
	}
	if n != 2 {
		t.Errorf("%d records", n)
	}
	if n, err := c.Scan(t.Context(), []byte("b"), 10, AllFields); n != 6 || err != nil {
		t.Errorf("then %d records, %v", n, err)
	}
	return true
}

// Errors can be told apart; what broke a connection is said by all that follows.
func TestErrors(t *testing.T) {
	c := scripted(t, func(s *script) {
		s.answer(s.request(), wire.NotFound, "")
		s.answer(s.request(), wire.Failed, "no luck")
		s.request()
	})
	var failed *ServerError
	if _, err := c.Read(t.Context(), []byte("a"), 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("not found: %v", err)
	}
	if err := c.Insert(t.Context(), []byte("a"), nil); !errors.As(err, &failed) || failed.Said != "no luck" {
		t.Errorf("failed: %v", err)
	}
	if err := c.Insert(t.Context(), nil, nil); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("without a key: %v", err)
	}
	if err := c.Insert(t.Context(), []byte("a"), make([]byte, wire.MaxFrame)); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("with too much: %v", err)
	}
	for range 2 { // the server leaves, and is not there
		if err := c.Update(t.Context(), []byte("a"), 0, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Scan(t.Context(), []byte("a"), 1, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("closed by this side: %v", err)
	}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	for name, answer := range map[string]func(s *script, number uint32){
		"another number":    func(s *script, number uint32) { s.answer(number+1, wire.OK, "") },
		"an unknown status": func(s *script, number uint32) { s.answer(number, 77, "") },
		"a short frame":     func(s *script, _ uint32) { s.send([]byte{1, 0, 0, 0, 9}) },
		"a huge frame":      func(s *script, _ uint32) { s.send([]byte{255, 255, 255, 255}) },
		"half a frame":      func(s *script, _ uint32) { s.send([]byte{100, 0, 0, 0, 1, 2}) },
		"a short scan":      func(s *script, number uint32) { s.answer(number, wire.OK, "abc") },
		"a refusal":         func(s *script, number uint32) { s.answer(number, wire.Refused, "you cannot mean that") },
	} {
		t.Run(name, func(t *testing.T) {
			c := scripted(t, func(s *script) { answer(s, s.request()) })
			_, err := c.Scan(t.Context(), []byte("a"), 1, AllFields)
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%v", err)
			}
			if name == "a refusal" && !strings.Contains(err.Error(), "you cannot mean that") {
				t.Errorf("%v", err)
			}
			if _, err := c.Scan(t.Context(), []byte("a"), 1, AllFields); !errors.Is(err, ErrClosed) {
				t.Errorf("then: %v", err)
			}
		})
	}
}

func TestDial(t *testing.T) {
	nothing := func(*script) {}
	if _, err := greeted(t, 9, wire.Hello{}, nothing); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("another version: %v", err)
	}
	_, err := greeted(t, wire.Version, wire.Hello{Fields: 3, FieldBytes: 4}, nothing)
	if err == nil || !strings.Contains(err.Error(), "3 x 4 bytes, and not of 2 x 4") {
		t.Errorf("another dataset: %v", err)
	}
	if _, err := Dial(t.Context(), "pebbel", Config{}); err == nil ||
		!strings.Contains(err.Error(), "there are cassandra, mongodb, mysql, pebble, postgresql") {
		t.Errorf("another database: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	nowhere := database.Address{Socket: filepath.Join(t.TempDir(), "none")}
	if _, err := Dial(ctx, "pebble", Config{At: nowhere}); err == nil {
		t.Error("connected to nothing")
	}
}
