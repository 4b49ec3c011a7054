package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// embedded is the embedded server as a process of its own, started by the steps that
// package database makes.
type embedded struct {
	*program
	kind    database.Server
	dataset database.Dataset
	data    string // directory
}

func newEmbedded(t *testing.T, d database.Dataset) *embedded {
	t.Helper()
	kind, problems := database.All()[0].Decode(nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e := &embedded{program: newProgram(t), kind: kind, dataset: d}
	e.data = filepath.Join(e.dir, "data")
	return e
}

// start starts a step as the runner does, with the working directory as its scratch
// directory.
func (e *embedded) start(s workload.Step) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	e.t.Helper()
	if s.Argv[0] != "plimsoll" {
		e.t.Fatalf("the step is none of this program: %v", s.Argv)
	}
	var args []string
	for _, a := range s.Argv[1:] {
		args = append(args, strings.ReplaceAll(a, workload.ScratchDir, e.dir))
	}
	cmd, _, stderr = e.command(args...)
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	return cmd, stderr
}

// exit is how a step's process ended.
func (e *embedded) exit(cmd *exec.Cmd, stderr *bytes.Buffer) workload.Exit {
	e.t.Helper()
	timer := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	code := exitCode(e.t, cmd.Wait())
	x := workload.Exit{Code: code, Stderr: stderr.String()}
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		x.Signal = s.Signal().String()
	}
	return x
}

func (e *embedded) load() {
	e.t.Helper()
	if x := e.exit(e.start(e.kind.Load(e.data, e.dataset))); x.Code != 0 || x.Stderr != "" {
		e.t.Fatalf("loading ends with %+v", x)
	}
}

// serve starts the server and connects to it.
func (e *embedded) serve() (cmd *exec.Cmd, stderr *bytes.Buffer, c client.Client) {
	e.t.Helper()
	cmd, stderr = e.start(e.kind.Serve(e.data))
	e.t.Cleanup(func() { _ = cmd.Process.Kill() })
	within(e.t, hang, "the server answers", func() bool {
		var err error
		c, err = client.Dial(e.t.Context(), e.kind.Client().Name, e.client())
		return err == nil
	})
	e.t.Cleanup(func() { _ = c.Close() })
	return cmd, stderr, c
}

func (e *embedded) client() client.Config {
	return client.Config{At: e.kind.Address().In(e.dir), Fields: e.dataset.Fields,
		FieldBytes: e.dataset.FieldBytes}
}

// has fails the test where a record is not there, or is another one.
func (e *embedded) has(c client.Client, number int64) {
	e.t.Helper()
	got, err := c.Read(e.t.Context(), database.Key(nil, number), client.AllFields)
	if err != nil || !bytes.Equal(got, database.Value(nil, e.dataset, number)) {
		e.t.Fatalf("record %d: %d bytes, %v", number, len(got), err)
	}
}

func (e *embedded) insert(c client.Client, number int64) error {
	return c.Insert(e.t.Context(), database.Key(nil, number), database.Value(nil, e.dataset, number))
}

var thousand = database.Dataset{Records: 1000, Fields: 10, FieldBytes: 100, Seed: 5}

// A server that is killed has on the device what it said it had: nothing that was
// acknowledged is lost, however many wrote.
func TestEmbeddedServerIsKilled(t *testing.T) {
	e := newEmbedded(t, thousand)
	e.load()
	cmd, stderr, c := e.serve()
	var (
		writers sync.WaitGroup
		mu      sync.Mutex
		done    []int64 // acknowledged
	)
	for w := range int64(8) {
		conn, err := client.Dial(t.Context(), e.kind.Client().Name, e.client())
		if err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			defer conn.Close()
			for i := int64(0); ; i++ {
				number := thousand.Records + w*1e6 + i
				err := e.insert(conn, number)
				if errors.Is(err, client.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("an insert: %v", err)
					return
				}
				mu.Lock()
				done = append(done, number)
				mu.Unlock()
			}
		})
	}
	within(t, hang, "some records are inserted", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(done) > 300
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	x := e.exit(cmd, stderr)
	if why := e.kind.Failed(x); x.Signal != "killed" || !strings.Contains(why.Why, "signal") {
		t.Errorf("killed: %+v, %v", x, why)
	}
	if err := e.insert(c, 1); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a client of a server that was killed: %v", err)
	}
	_, _, c = e.serve() // where the socket of the other one still lies
	for _, number := range done {
		e.has(c, number)
	}
	for i := range thousand.Records {
		e.has(c, i)
	}
}

// A loader that is killed leaves what no server takes, and nothing is loaded into.
func TestEmbeddedLoaderIsKilled(t *testing.T) {
	e := newEmbedded(t, database.Dataset{Records: 50000, Fields: 10, FieldBytes: 100, Seed: 5})
	cmd, stderr := e.start(e.kind.Load(e.data, e.dataset))
	within(t, hang, "records are written", func() bool { return e.exists("data/loading/*.sst") })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if x := e.exit(cmd, stderr); x.Signal != "killed" {
		t.Fatalf("loading ends with %+v before it is killed", x)
	}
	for step, want := range map[*workload.Step]string{
		new(e.kind.Serve(e.data)):           "not loaded completely",
		new(e.kind.Load(e.data, e.dataset)): "is not empty",
	} {
		x := e.exit(e.start(*step))
		if why := e.kind.Failed(x); x.Code != exitFailure || !strings.Contains(why.Why, want) {
			t.Errorf("%s ends with %d, since %v; want %q", step.Argv[1], x.Code, why, want)
		}
	}
}

// What a parameter's flag cannot take is said with what it can.
func TestEmbeddedServerFlags(t *testing.T) {
	p := newProgram(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve-pebble", "--dir", "d", "--listen", "s", "--cache", "1k"}, `--cache takes a size from 1MiB to 1TiB, not "1k": write`},
		{[]string{"serve-pebble", "--dir", "d", "--listen", "s", "--sync", "maybe"}, "--sync takes true or false"},
		{[]string{"serve-pebble", "--dir", "d"}, "serve-pebble needs --listen"},
		{[]string{"load-pebble", "--dir", "d"}, "load-pebble needs --records"},
		{[]string{"load-pebble", "--dir", "d", "--records", "0"}, "0 records: write"},
		{[]string{"load-pebble", "more"}, "takes no argument"},
	} {
		code, _, stderr := p.run(c.args...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q ends with %d: %s", c.args, code, stderr)
		}
	}
}

// SIGTERM is a good end: what was asked is answered, and the facts are left behind.
func TestEmbeddedServerEnds(t *testing.T) {
	e := newEmbedded(t, thousand)
	e.load()
	cmd, stderr, c := e.serve()
	for i := range int64(20) {
		e.has(c, i)
	}
	if err := e.insert(c, thousand.Records); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if x := e.exit(cmd, stderr); x.Code != 0 || x.Stderr != "" {
		t.Errorf("ends with %+v", x)
	}
	step := e.kind.Serve(e.data)
	if !slices.Equal(step.Outputs, []string{database.PebbleFacts}) {
		t.Fatalf("outputs are %q", step.Outputs)
	}
	text, err := os.ReadFile(filepath.Join(e.dir, database.PebbleFacts))
	if err != nil || bytes.Count(text, []byte("\n")) != 1 {
		t.Fatalf("facts: %q, %v", text, err)
	}
	var facts struct {
		Connections  int
		Operations   map[string]int
		BytesWritten int `json:"bytes_written"`
		BlockCache   struct{ Hits, Misses int }
	}
	if err := json.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	if facts.Connections != 1 || facts.Operations["read"] != 20 || facts.Operations["insert"] != 1 ||
		facts.BytesWritten < 1000 {
		t.Errorf("facts are %s", text)
	}
	if _, err := os.Stat(e.kind.Address().In(e.dir).Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays behind: %v", err)
	}
	if err := e.insert(c, 1); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a client of a server that ended: %v", err)
	}
}

// What keeps a server from its data ends it with words that name cause and remedy.
func TestEmbeddedServerRefuses(t *testing.T) {
	remove := func(pattern string) func(*embedded) {
		return func(e *embedded) {
			names, _ := filepath.Glob(filepath.Join(e.data, pattern))
			if len(names) == 0 {
				e.t.Fatalf("nothing is like %s", pattern)
			}
			for _, name := range names {
				if err := os.Remove(name); err != nil {
					e.t.Fatal(err)
				}
			}
		}
	}
	// change writes to the only file that is like the pattern.
	change := func(pattern string, with func(text []byte) []byte) func(*embedded) {
		return func(e *embedded) {
			names, _ := filepath.Glob(filepath.Join(e.data, pattern))
			if len(names) != 1 {
				e.t.Fatalf("%s matches %q", pattern, names)
			}
			text, err := os.ReadFile(names[0])
			if err != nil {
				e.t.Fatal(err)
			}
			if err := os.WriteFile(names[0], with(text), 0o600); err != nil {
				e.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(*embedded)
		why   string
	}{
		{"torn", func(e *embedded) {
			remove("plimsoll.json")(e)
			if err := os.Mkdir(filepath.Join(e.data, "loading"), 0o700); err != nil {
				e.t.Fatal(err)
			}
		}, "not loaded completely"},
		{"without a marker", remove("plimsoll.json"), "no data of ours"},
		{"another version", change("plimsoll.json", func(text []byte) []byte {
			return bytes.Replace(text, []byte(`"format":1`), []byte(`"format":9`), 1)
		}), "another version"},
		{"a damaged marker", change("plimsoll.json", func([]byte) []byte { return []byte("{") }), "corrupt"},
		{"another layout", change("plimsoll.json", func(text []byte) []byte {
			return bytes.Replace(text, []byte("none"), []byte("zstd"), 1)
		}), "other parameters"},
		{"without a file", remove("*.sst"), "corrupt"},
		{"a file that is cut off", change("*.sst", func(text []byte) []byte { return text[:len(text)/2] }), "corrupt"},
		{"a damaged manifest", change("MANIFEST-*", func(text []byte) []byte {
			return slices.Concat(text[:10], []byte("xxxxxx"), text[16:])
		}), "corrupt"},
		{"another server", func(e *embedded) {
			e.serve()
			if err := os.Remove(e.kind.Address().In(e.dir).Socket); err != nil {
				e.t.Fatal(err)
			}
		}, "another server has its directory open"},
		{"no directory", func(e *embedded) { e.data = "/nowhere/data" }, "no data of ours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEmbedded(t, thousand)
			e.load()
			c.spoil(e)
			x := e.exit(e.start(e.kind.Serve(e.data)))
			why := e.kind.Failed(x)
			if x.Code != exitFailure || !strings.Contains(why.Why, c.why) || why.Remedy == "" {
				t.Errorf("ends with %d, since %v; stderr: %s", x.Code, why, x.Stderr)
			}
		})
	}
}

// A block that does not match its checksum ends the server: a read that fails again
// and again must not be measured.
func TestEmbeddedServerFindsDamage(t *testing.T) {
	e := newEmbedded(t, thousand)
	e.load()
	names, _ := filepath.Glob(filepath.Join(e.data, "*.sst"))
	f, err := os.OpenFile(names[0], os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("damage"), 2000)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	cmd, stderr, c := e.serve()
	e.has(c, thousand.Records-1)
	if _, err := c.Read(t.Context(), database.Key(nil, 0), client.AllFields); !errors.Is(err, client.ErrClosed) {
		t.Errorf("reading what is damaged: %v", err)
	}
	x := e.exit(cmd, stderr)
	if why := e.kind.Failed(x); x.Code != exitFailure || !strings.Contains(why.Why, "its data is corrupt") {
		t.Errorf("ends with %+v, since %v", x, why)
	}
}

// A full device ends the server, or the loader, with that as the reason: it neither
// tries again for ever nor says that something was written.
func TestEmbeddedServerFillsTheDevice(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEmbedded(t, database.Dataset{Records: 5000, Fields: 10, FieldBytes: 1000, Seed: 5})
	mnt := filepath.Join(e.dir, "mnt")
	if err := os.Mkdir(mnt, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", mnt, "tmpfs", 0, "size=96m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mnt, 0); err != nil {
			t.Error(err)
		}
	})
	e.data = filepath.Join(mnt, "data")

	load := e.kind.Load(e.data+"-too-large", database.Dataset{Records: 10050, Fields: 10, FieldBytes: 1000})
	x := e.exit(e.start(load))
	if why := e.kind.Failed(x); x.Code != exitFailure || !strings.Contains(why.Why, "device is full") {
		t.Errorf("loading too much ends with %+v, since %v", x, why)
	}
	if err := os.RemoveAll(e.data + "-too-large"); err != nil {
		t.Fatal(err)
	}

	e.load()
	cmd, stderr, c := e.serve()
	var written int64
	var failed error
	for ; failed == nil && written < 1e5; written++ {
		failed = e.insert(c, e.dataset.Records+written)
	}
	if !errors.Is(failed, client.ErrClosed) {
		t.Errorf("after %d inserts: %v", written, failed)
	}
	x = e.exit(cmd, stderr)
	if why := e.kind.Failed(x); x.Code != exitFailure || !strings.Contains(why.Why, "device is full") {
		t.Errorf("ends with %+v, since %v", x, why)
	}
	// Nothing that was acknowledged is lost, if there is room to start in.
	larger := fmt.Sprintf("size=%dm", 512)
	if err := unix.Mount("tmpfs", mnt, "tmpfs", unix.MS_REMOUNT, larger); err != nil {
		t.Fatal(err)
	}
	cmd, stderr, c = e.serve()
	for i := range e.dataset.Records + written - 1 {
		e.has(c, i)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if x := e.exit(cmd, stderr); x.Code != 0 {
		t.Errorf("ends with %+v", x)
	}
}
