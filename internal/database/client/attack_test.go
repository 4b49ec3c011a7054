package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/database"
)

// elsewhereAt is a server whose DSN or credentials are in a variable.
func elsewhereAt(t *testing.T, name, secret string) database.Address {
	t.Helper()
	t.Setenv("PLIMSOLL_ATTACK_DSN", secret)
	at := database.Address{Remote: "env:PLIMSOLL_ATTACK_DSN", Credentials: "env:PLIMSOLL_ATTACK_DSN"}
	if name == "cassandra" {
		at.Remote = "127.0.0.1:1"
	}
	return at
}

// TestAttackSlipsInDSN: a DSN with a slip in it, of which drivers quote a part, and one of which nothing is wrong but
// that no server is there. No part of the password is in an error of any way to a server.
func TestAttackSlipsInDSN(t *testing.T) {
	for _, c := range []struct {
		name, dsn string
		parts     []string
	}{
		{"mysql", "root:sekret/db", []string{"sekret"}},
		{"mysql", "root:sekret tcp(127.0.0.1:1)/db", []string{"sekret"}},
		{"mysql", "root:sekret@tcp(127.0.0.1:1/db", []string{"sekret"}},
		{"mysql", "root:sekret@tcp(127.0.0.1:1)", []string{"sekret"}},
		{"mysql", "root:@tcp(sekret:x)/db", []string{"sekret"}},
		{"mysql", "root:x@tcp(127.0.0.1:1)/se%zzkret", []string{"zzkret"}},
		{"mysql", "root:x@tcp(127.0.0.1:1)/db?tls=sekret", []string{"sekret"}},
		{"mysql", "root:x@tcp(127.0.0.1:1)/db?timeout=sekret", []string{"sekret"}},
		{"mysql", "root:x@tcp(127.0.0.1:1)/db?strict=sekret", []string{"sekret"}},
		{"mysql", "root:x@unix(/sekret/my.sock)/db", []string{"sekret"}},
		{"mysql", "mysql://root:sekret@127.0.0.1:1/db", []string{"sekret"}},
		{"postgresql", "host=127.0.0.1 port=1 user=bob password=foo sekret sslmode=disable", []string{"sekret", "foo"}},
		{"postgresql", "postgres://bob:s@ek:sekr@et@127.0.0.1:bad/db", []string{"sekr", "s@ek", "@et"}},
		{"postgresql", "postgres://bob:sek/ret@127.0.0.1:1/db", []string{"sek", "/ret"}},
		{"postgresql", "postgres://bob:sekr%zzet@127.0.0.1:1/db", []string{"sekr", "zzet"}},
		{"postgresql", "postgres://bob:sek%72et@sekret:1/db", []string{"sekret", "sek%72"}},
		{"postgresql", "bob:sekret@127.0.0.1:1/db", []string{"sekret"}},
		{"postgresql", "password = sekret host='127.0.0.1", []string{"sekret"}},
		{"postgresql", "host=127.0.0.1 sslmode=sekret", []string{"sekret"}},
		{"postgresql", "host=127.0.0.1 port=1 target_session_attrs=sekret", []string{"sekret"}},
		{"postgresql", "postgres://bob:sekret@127.0.0.1:1/db?sslmode=disable", []string{"sekret"}},
		{"postgresql", "postgres://bob@127.0.0.1:1/db?passfile=/etc/sekret", []string{"sekret"}},
		{"postgresql", "service=sekret servicefile=/etc/sekret", []string{"sekret"}},
		{"mongodb", "mongodb://bob:sekret", []string{"sekret"}},
		{"mongodb", "mongodb://bob:sekr%zzet@127.0.0.1:1/", []string{"sekr", "%zz"}},
		{"mongodb", "mongodb://bob:sek/ret@127.0.0.1:1/", []string{"sek", "/ret"}},
		{"mongodb", "bob:sekret@127.0.0.1:1", []string{"sekret"}},
		{"mongodb", "mongodb://bob:x@127.0.0.1:1/?tls=sekret", []string{"sekret"}},
		{"mongodb", "mongodb://127.0.0.1:1/?tlsCAFile=/etc/sekret", []string{"sekret"}},
		{"mongodb", "mongodb://bob:sekret@127.0.0.1:1/?authMechanism=sekret", []string{"sekret"}},
		{"mongodb", "mongodb://127.0.0.1:1/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s",
			[]string{"k8s"}},
		{"cassandra", "bob sekret", []string{"sekret"}},
		{"cassandra", "bob:sekret", []string{"sekret"}},
	} {
		server := elsewhereAt(t, c.name, c.dsn)
		config := Config{At: server, Options: map[string]string{database.SchemaOption: "bench"}, Fields: 1, FieldBytes: 1}
		terminals := config
		terminals.Warehouses = 1
		for how, do := range map[string]func(ctx context.Context) error{
			"dial": func(ctx context.Context) error { _, err := Dial(ctx, c.name, config); return err },
			"load": func(ctx context.Context) error {
				return Load(ctx, c.name, server, database.Dataset{Records: 1, Fields: 1, FieldBytes: 1}, config.Options)
			},
			"dial TPC-C":  func(ctx context.Context) error { _, err := Dial(ctx, c.name, terminals); return err },
			"check TPC-C": func(ctx context.Context) error { return CheckTPCC(ctx, c.name, terminals) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // nobody is there
			err := do(ctx)
			cancel()
			if err == nil {
				t.Errorf("%s %s %q: no error", how, c.name, c.dsn)
				continue
			}
			for _, part := range c.parts {
				if strings.Contains(err.Error(), part) {
					t.Errorf("%s %s %q: %v", how, c.name, c.dsn, err)
				}
			}
		}
	}
}

// fakeServer answers each connection as it is told, and returns its address.
func fakeServer(t *testing.T, answer func(conn net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// TestAttackServerRepeatsSecret: what a server says of who asked stays, without what the DSN has.
func TestAttackServerRepeatsSecret(t *testing.T) {
	mysql := fakeServer(t, func(conn net.Conn) {
		_, _ = conn.Write(mysqlPacket(0, "\xff\x15\x04#28000Access denied: sekret"))
	})
	postgresql := fakeServer(t, func(conn net.Conn) {
		var head [8]byte
		_, _ = io.ReadFull(conn, head[:])
		fields := "SFATAL\x00VFATAL\x00C28P01\x00MAccess denied: sekret\x00\x00"
		_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(len(fields) + 4)}, fields...))
		_, _ = io.Copy(io.Discard, conn)
	})
	for name, dsn := range map[string]string{
		"mysql":      "bob:sekret@tcp(" + mysql + ")/",
		"postgresql": "postgres://bob:sekret@" + postgresql + "/db?sslmode=disable",
	} {
		_, err := Dial(t.Context(), name, Config{At: elsewhereAt(t, name, dsn)})
		if err == nil || strings.Contains(err.Error(), "sekret") || !strings.Contains(err.Error(), "Access denied") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGuardKeepsWhatErrorsAre: an error without a part of the secret is that very one; one with it is still found.
func TestGuardKeepsWhatErrorsAre(t *testing.T) {
	address := database.Address{Remote: "env:X", Credentials: "env:X", Secret: "postgres://bob:a/b:c@db:1/bench"}
	g := newGuard(address, map[string]string{database.SchemaOption: "bench"})
	plain := fmt.Errorf("%w: tcp: connection refused; postgres has bench already", context.DeadlineExceeded)
	if got := g.hide(plain); got != plain { //nolint:errorlint // it is that very one
		t.Errorf("%v is another one", got)
	}
	for _, message := range []string{"lookup a/b", "at b:c", "c@db", "BOB", "a%2fb:c"} {
		hidden := g.hide(&ServerError{Said: "x " + message})
		var server *ServerError
		if !errors.As(hidden, &server) || server.Said == "x "+message || strings.Contains(hidden.Error(), message) {
			t.Errorf("%q: %v", message, hidden)
		}
	}
	text := fmt.Sprintf("%v %+v %#v %s %q %x", address, address, address, address.Secret, address.Secret, address.Secret)
	if strings.Contains(text, "bob") {
		t.Errorf("an address prints its secret: %s", text)
	}
}

// mysqlPacket is a packet of MySQL's protocol.
func mysqlPacket(number byte, text string) []byte {
	return append([]byte{byte(len(text)), byte(len(text) >> 8), 0, number}, text...)
}

// TestAttackServerReadsFile: a server that asks for a file of this host in place of an answer gets none, whatever
// the DSN says.
func TestAttackServerReadsFile(t *testing.T) {
	const content = "TOP-SECRET-OF-ROOT"
	path := filepath.Join(t.TempDir(), "rootfile")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got bytes.Buffer
	server := fakeServer(t, func(conn net.Conn) {
		_, _ = conn.Write(mysqlPacket(0, mysqlGreeting))
		packet := make([]byte, 64<<10)
		_, _ = conn.Read(packet)
		_, _ = conn.Write(mysqlPacket(2, "\x00\x00\x00\x02\x00\x00\x00"))
		_, _ = conn.Read(packet) // SET NAMES
		_, _ = conn.Write(mysqlPacket(1, "\xfb"+path))
		for {
			n, err := conn.Read(packet)
			mu.Lock()
			got.Write(packet[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	for _, option := range []string{"allowAllFiles=true&charset=utf8", "charset=utf8"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := Dial(ctx, "mysql", Config{At: elsewhereAt(t, "mysql", "root:x@tcp("+server+")/x?"+option)})
		cancel()
		mu.Lock()
		if err == nil || strings.Contains(got.String(), content) {
			t.Errorf("with %s the server got %q: %v", option, got.String(), err)
		}
		mu.Unlock()
	}
}

// TestAttackServerAsksForPassword: a server that nothing shows to be the right one does not get a password in the
// clear.
func TestAttackServerAsksForPassword(t *testing.T) {
	const yes = "allowCleartextPasswords=true"
	for options, may := range map[string]bool{
		yes: false, yes + "&tls=preferred": false, yes + "&tls=skip-verify": false, yes + "&tls=true": true,
		"tls=true": false,
		yes + "&tls=true&allowFallbackToPlaintext=true": false, yes + "&allowOldPasswords=true": false,
	} {
		server, err := reveal(elsewhereAt(t, "mysql", "root:x@tcp(db:1)/?"+options))
		if err != nil {
			t.Fatal(err)
		}
		config, err := mysqlElsewhere(server)
		if err != nil || config.AllowCleartextPasswords != may || config.AllowOldPasswords || config.AllowAllFiles {
			t.Errorf("%s: %+v, %v", options, config, err)
		}
	}
}
