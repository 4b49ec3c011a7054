package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/database"
)

// echo is a server on a socket that sends back what it gets, and ends when its client does.
func echo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return path
}

func relayTo(t *testing.T, server database.Address) *Relay {
	t.Helper()
	r, err := NewRelay(t.Context(), "127.0.0.1", func(ctx context.Context) (net.Conn, error) { return Dial(ctx, server) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A relay passes bytes both ways, to the last one, on several connections.
func TestRelayLeadsToTheServer(t *testing.T) {
	r := relayTo(t, database.Address{Socket: echo(t)})
	for range 3 {
		conn, err := Dial(t.Context(), database.Address{Socket: "not used", Relay: r.Address()})
		if err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		go func() {
			_, _ = conn.Write(sent)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d of %d bytes came back: %v", len(got), len(sent), err)
		}
		_ = conn.Close()
	}
}

// Clients learn why the server does not answer, as if they were beside it.
func TestRelaySaysWhyTheServerDoesNotAnswer(t *testing.T) {
	r := relayTo(t, database.Address{Socket: filepath.Join(t.TempDir(), "nobody")})
	_, err := Dial(t.Context(), database.Address{Relay: r.Address()})
	if err == nil || !strings.Contains(err.Error(), "nobody: no such file") {
		t.Errorf("it says %v", err)
	}
}

// Who does not know the key reaches no server, whatever is sent.
func TestAttackRelay(t *testing.T) {
	reached := make(chan struct{}, 100)
	r, err := NewRelay(t.Context(), "127.0.0.1", func(context.Context) (net.Conn, error) {
		reached <- struct{}{}
		return nil, errors.New("reached")
	})
	if err != nil {
		t.Fatal(err)
	}
	wrong := r.Address()
	wrong.Key = database.Secret(strings.Repeat("01", len(r.key)))
	if _, err := Dial(
		t.Context(),
		database.Address{Relay: wrong},
	); err == nil ||
		strings.Contains(err.Error(), "reached") {
		t.Errorf("with another key: %v", err)
	}
	var old []byte // an answer that was right once
	for _, answer := range []func(nonce []byte) []byte{
		func(nonce []byte) []byte { return nonce },
		func([]byte) []byte { return make([]byte, 32) },
		func([]byte) []byte { return bytes.Repeat([]byte("SELECT 1;"), 1000) },
		func([]byte) []byte { return nil },
		func([]byte) []byte { return old },
	} {
		old = answerTo([]byte("an earlier nonce"), r.key)
		conn, err := net.Dial("tcp", r.Address().Address)
		if err != nil {
			t.Fatal(err)
		}
		nonce := make([]byte, nonceBytes)
		if _, err := io.ReadFull(conn, nonce); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(answer(nonce))
		_ = conn.(*net.TCPConn).CloseWrite()
		if rest, _ := io.ReadAll(conn); len(rest) > 0 { // reset is as good as closed
			t.Errorf("it answers %q", rest)
		}
		_ = conn.Close()
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if len(reached) > 0 {
		t.Errorf("the server was reached %d times", len(reached))
	}
}
