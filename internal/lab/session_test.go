package lab

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
)

// line is a virtio-serial port as a guest sees it, over unix sockets: reading
// gives io.EOF while no host is there, writing waits for one.
type line struct {
	listener net.Listener
	mu       sync.Mutex
	conn     net.Conn
}

func (l *line) host() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		l.conn, _ = l.listener.Accept()
	}
	return l.conn
}

func (l *line) gone(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == conn {
		_ = conn.Close()
		l.conn = nil
	}
}

func (l *line) Read(b []byte) (int, error) {
	conn := l.host()
	if conn == nil {
		select {} // the test is over
	}
	n, err := conn.Read(b)
	if n == 0 {
		l.gone(conn)
		return 0, io.EOF
	}
	return n, err
}

// Write loses what a host that is gone would have got, as QEMU does.
func (l *line) Write(b []byte) (int, error) {
	if conn := l.host(); conn != nil {
		_, _ = conn.Write(b)
	}
	return len(b), nil
}

// guest is an agent that serves in this process.
func guest(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lab") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, portFile(0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go serve(&line{listener: listener})
	return dir
}

func do(t *testing.T, dir, stdin string, args ...string) (code int, stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code, err = Run(ctx, dir, Command{Args: args}, Streams{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String(), err
}

func TestRunGivesWhatACommandSays(t *testing.T) {
	dir := guest(t)
	big := strings.Repeat("0123456789abcdef", 1<<16)
	for _, c := range []struct {
		name, stdin, script string
		code                int
		out, errs           string
	}{
		{"nothing", "", "true", 0, "", ""},
		{"both outputs", "", "echo out; echo err >&2; exit 7", 7, "out\n", "err\n"},
		{"input", "a\nb\n", "wc -l", 0, "2\n", ""},
		{"a mebibyte through it", big, "cat", 0, big, ""},
		{"input unread", big, "exit 3", 3, "", ""},
		{"a signal", "", "kill -TERM $$", 128 + 15, "", ""},
		{"a daemon left behind", "", "sleep 3600 & echo $!", 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs, err := do(t, dir, c.stdin, "sh", "-c", c.script)
			if err != nil || code != c.code || errs != c.errs {
				t.Fatalf("status %d, %q, %v", code, errs, err)
			}
			if strings.HasPrefix(c.script, "sleep") {
				// It was not waited for, since it is there to be ended.
				if code, _, errs, err := do(t, dir, "", "kill", strings.TrimSpace(out)); err != nil || code != 0 {
					t.Errorf("status %d, %q, %v", code, errs, err)
				}
			} else if out != c.out {
				t.Errorf("%d bytes of output, want %d", len(out), len(c.out))
			}
		})
	}
	code, _, _, err := do(t, dir, "", "no-such-program")
	if code != 127 || err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("a program that there is not: status %d, %v", code, err)
	}
}

func TestATerminal(t *testing.T) {
	dir := guest(t)
	var out bytes.Buffer
	code, err := Run(t.Context(), dir,
		Command{Args: []string{"sh", "-c", "stty size; test -t 0 && test -t 1"}, TTY: true, Rows: 33, Cols: 77},
		Streams{Stdout: &out, Stderr: &out})
	if err != nil || code != 0 || !strings.Contains(out.String(), "33 77") {
		t.Errorf("status %d, %v: %s", code, err, &out)
	}
}

// A host that is interrupted passes it on, so that what runs can undo what it
// did, and hears how it ends.
func TestAnInterruptIsPassedOn(t *testing.T) {
	dir := guest(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &notifying{written: make(chan bool, 16)}
	go func() {
		<-out.written
		cancel()
	}()
	_, err := Run(ctx, dir,
		Command{Args: []string{"sh", "-c", `trap 'echo undone; exit 5' INT; echo up; while :; do sleep 0.05; done`}},
		Streams{Stdout: out, Stderr: out})
	if !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "undone") {
		t.Errorf("%v: %s", err, out)
	}
}

type notifying struct {
	bytes.Buffer
	written chan bool
}

func (n *notifying) Write(b []byte) (int, error) {
	n.written <- true
	return n.Buffer.Write(b)
}

// What a host ran dies with it, and the next one gets nothing of it.
func TestAHostThatVanishes(t *testing.T) {
	dir := guest(t)
	conn, release, err := dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "pid")
	nonce := strings.Repeat("n", nonceLength)
	fmt.Fprint(conn, greeting+nonce)
	if err := find(reader{conn}, []byte(nonce)); err != nil {
		t.Fatal(err)
	}
	if err := writeFrame(conn, frameRun, []byte(`{"args":["sh","-c","echo $$ > `+mark+`; exec yes"]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it writes
		t.Fatal(err)
	}
	_ = conn.Close()
	release()
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	code, out, _, err := do(t, dir, "", "sh", "-c", "echo mine")
	if err != nil || code != 0 || out != "mine\n" {
		t.Errorf("the next command: status %d, %q, %v", code, out, err)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what the host that is gone ran still runs")
		}
	}
}

type reader struct{ r io.Reader }

func (r reader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.r, b[:])
	return b[0], err
}

// Noise before the nonce, which another session left, is nobody's.
func TestFind(t *testing.T) {
	in := strings.NewReader("oPLIMPLIMSOLLrest")
	if err := find(in, []byte(greeting)); err != nil || in.Len() != 4 {
		t.Errorf("%v, %d bytes left", err, in.Len())
	}
	if err := find(in, []byte(greeting)); !errors.Is(err, io.EOF) {
		t.Errorf("without the mark: %v", err)
	}
}
