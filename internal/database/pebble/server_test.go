package pebble_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/database/pebble"
)

// small is a dataset of several files, whose blocks hold a few records each.
var small = database.Dataset{Records: 5000, Fields: 4, FieldBytes: 100, Seed: 3}

// params are the defaults, in files as small as they go.
func params() database.PebbleParams {
	p := database.PebbleDefaults()
	p.FileSize = 1 << 20
	return p
}

// load lays out a dataset in a new directory.
func load(t testing.TB, d database.Dataset, p database.PebbleParams) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if err := pebble.Load(t.Context(), dir, d, p, t.Output()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// running is a server in this process.
type running struct {
	config pebble.Config
	end    func() error // well; once
}

// serve serves a directory until the test ends.
func serve(t testing.TB, dir string, p database.PebbleParams) *running {
	t.Helper()
	scratch, err := os.MkdirTemp("", "kv") // t.TempDir has the test's name in it, and sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	r := &running{config: pebble.Config{Dir: dir, Socket: filepath.Join(scratch, "s"),
		Facts: filepath.Join(scratch, database.PebbleFacts), Params: p, Log: t.Output()}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pebble.Serve(ctx, r.config) }()
	stopped := false
	r.end = func() error {
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if !stopped {
			if err := r.end(); err != nil {
				t.Errorf("the server ended with: %v", err)
			}
		}
		_ = os.RemoveAll(scratch)
	})
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if conn, err := net.Dial("unix", r.config.Socket); err == nil {
			_ = conn.Close()
			return r
		}
		select {
		case err := <-ended:
			stopped = true
			t.Fatalf("the server ended at once: %v", err)
		default:
		}
		if time.Since(begin) > 5*time.Minute {
			t.Fatal("the server does not answer")
		}
	}
}

// dial connects to it.
func (r *running) dial(t testing.TB, d database.Dataset) client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), "pebble",
		client.Config{At: database.Address{Socket: r.config.Socket}, Fields: d.Fields, FieldBytes: d.FieldBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func key(number int64) []byte { return database.Key(nil, number) }

func value(d database.Dataset, number int64) []byte { return database.Value(nil, d, number) }

func mustRead(t testing.TB, c client.Client, number int64, field int, want []byte) {
	t.Helper()
	got, err := c.Read(t.Context(), key(number), field)
	if err != nil {
		t.Fatalf("record %d: %v", number, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("record %d, field %d: %d bytes that are not those that were written", number, field, len(got))
	}
}

// What was loaded is there, all of it and nothing else; what is written can be read,
// and is there when the directory is served again.
func TestServer(t *testing.T) {
	for _, sync := range []string{"true", "false"} {
		for _, compression := range []string{"none", "snappy", "zstd"} {
			t.Run("sync="+sync+",compression="+compression, func(t *testing.T) {
				p := params()
				for k, v := range map[string]string{"sync": sync, "compression": compression} {
					if err := p.Set(k, v); err != nil {
						t.Fatal(err)
					}
				}
				dir := load(t, small, p)
				r := serve(t, dir, p)
				c := r.dial(t, small)
				for i := range small.Records {
					mustRead(t, c, i, client.AllFields, value(small, i))
				}
				mustRead(t, c, 7, 2, value(small, 7)[200:300])
				other := bytes.Repeat([]byte("x"), 100)
				record := bytes.Repeat([]byte("y"), 400)
				ctx := t.Context()
				for _, err := range []error{
					c.Update(ctx, key(7), 2, other),
					c.Update(ctx, key(8), client.AllFields, record),
					c.Insert(ctx, key(small.Records), record),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				seven := slicesWith(value(small, 7), 200, other)
				check := func(c client.Client) {
					t.Helper()
					mustRead(t, c, 7, client.AllFields, seven)
					mustRead(t, c, 8, client.AllFields, record)
					mustRead(t, c, 9, client.AllFields, value(small, 9))
					mustRead(t, c, small.Records, client.AllFields, record)
					n, err := c.Scan(ctx, key(0), 10000, client.AllFields)
					if err != nil || int64(n) != small.Records+1 {
						t.Fatalf("a scan of all finds %d, %v", n, err)
					}
				}
				check(c)
				if err := r.end(); err != nil {
					t.Fatal(err)
				}
				check(serve(t, dir, p).dial(t, small))
			})
		}
	}
}

func slicesWith(whole []byte, at int, part []byte) []byte {
	copy(whole[at:], part)
	return whole
}

func TestNotThere(t *testing.T) {
	c := serve(t, load(t, small, params()), params()).dial(t, small)
	field := make([]byte, small.FieldBytes)
	absent := key(small.Records)
	if _, err := c.Read(t.Context(), absent, client.AllFields); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	if err := c.Update(t.Context(), absent, 0, field); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("update: %v", err)
	}
	if err := c.Update(t.Context(), absent, client.AllFields, value(small, 0)); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("update of all fields: %v", err)
	}
	if n, err := c.Scan(t.Context(), absent, 5, 0); n != 0 || err != nil {
		t.Errorf("scan: %d, %v", n, err)
	}
	if n, err := c.Scan(t.Context(), key(small.Records-3), 5, 0); n != 3 || err != nil {
		t.Errorf("scan at the end: %d, %v", n, err)
	}
	mustRead(t, c, 0, client.AllFields, value(small, 0)) // the connection is as good as before
}

// Loading twice gives the same files, and another seed other ones.
func TestLoadedBytes(t *testing.T) {
	files := func(d database.Dataset) map[string]string {
		dir := load(t, d, params())
		m := map[string]string{}
		names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
		if err != nil || len(names) < 2 {
			t.Fatal(names, err)
		}
		for _, name := range append(names, filepath.Join(dir, "plimsoll.json")) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m[filepath.Base(name)] = string(text)
		}
		return m
	}
	a, b := files(small), files(small)
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s differs from one load to the next", name)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d files, and then %d", len(a), len(b))
	}
	other := small
	other.Seed++
	for name, text := range files(other) {
		if strings.HasSuffix(name, ".sst") && text == a[name] {
			t.Errorf("%s is the same with another seed", name)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	huge := database.Dataset{Records: 1e9, Fields: 10, FieldBytes: 100000}
	for _, c := range []struct {
		dir  string
		d    database.Dataset
		want string
	}{
		{full, small, database.PebbleNotEmpty},
		{t.TempDir(), huge, database.PebbleFull},
		{t.TempDir(), database.Dataset{}, "0 records"},
	} {
		if err := pebble.Load(t.Context(), c.dir, c.d, params(), io.Discard); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("loading %v: %v, want %q", c.d, err, c.want)
		}
	}
	if entries, _ := os.ReadDir(full); len(entries) != 1 {
		t.Error("what was refused left something behind")
	}
}
