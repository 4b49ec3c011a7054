package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/testkit/hosttest"
)

// apart starts servers that say a word to whoever connects, on one port of 127.0.0.1, each in a
// network namespace of its own, and returns their addresses.
func apart(t *testing.T, words ...string) (all []database.Address) {
	t.Helper()
	port := 0
	for _, word := range words {
		type made struct {
			file *os.File
			l    net.Listener
			err  error
		}
		done := make(chan made)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
			var m made
			m.file, m.err = OwnNetwork()
			if m.err == nil {
				m.l, m.err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
			}
			done <- m
		}()
		m := <-done
		if m.err != nil {
			t.Fatal(m.err)
		}
		t.Cleanup(func() { _ = m.l.Close(); m.file.Close() })
		port = m.l.Addr().(*net.TCPAddr).Port
		go func() {
			for {
				conn, err := m.l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, word)
				_ = conn.Close()
			}
		}()
		all = append(all, database.Address{Port: port, Network: fmt.Sprintf("/proc/self/fd/%d", m.file.Fd())})
	}
	return all
}

// heard is the server's answer to a new connection.
func heard(t *testing.T, server database.Address) string {
	t.Helper()
	conn, err := Dial(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// networks are the namespaces that threads of this process are in, each once.
func networks(t *testing.T) map[string]bool {
	t.Helper()
	links, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, link := range links {
		to, err := os.Readlink(link)
		if err == nil { // else the thread has ended
			found[to] = true
		}
	}
	return found
}

// settled waits until all threads of this process are in one network.
func settled(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); len(networks(t)) > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("threads are in networks %v", networks(t))
		}
	}
}

// Servers on one port are told apart by their networks, from any number of threads at a time, and
// no thread stays where it went.
func TestServersInNetworksOfTheirOwn(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	servers := apart(t, "red", "blue")
	done := make(chan string)
	for i := range 40 {
		go func() {
			for range 5 {
				if answer, want := heard(t, servers[i%2]), []string{"red", "blue"}[i%2]; answer != want {
					t.Errorf("%s answers in place of %s", answer, want)
				}
			}
			done <- ""
		}()
	}
	for range 40 {
		<-done
	}
	settled(t)
	if conn, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", servers[0].Port)); err == nil {
		t.Error("it answers on this host too")
		_ = conn.Close()
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// A network has a loopback, and no way out of it.
func TestOwnNetworkHasNothingElse(t *testing.T) {
	hosttest.Exclusive(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		file, err := OwnNetwork()
		if err != nil {
			done <- err
			return
		}
		defer file.Close()
		interfaces, err := net.Interfaces()
		if err == nil && (len(interfaces) != 1 || interfaces[0].Name != "lo" || interfaces[0].Flags&net.FlagUp == 0) {
			err = fmt.Errorf("it has %v", interfaces)
		}
		if _, out := net.DialTimeout("tcp4", "192.0.2.1:9", time.Second); !errors.Is(out, syscall.ENETUNREACH) {
			err = errors.Join(err, fmt.Errorf("the way out: %w", out))
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What is no network of a server's own is not dialled in: a server of this host may be on the port.
func TestNetworksThatAreRefused(t *testing.T) {
	hosttest.Exclusive(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	met := make(chan struct{}, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			met <- struct{}{}
			_ = conn.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc/self/ns/net", link); err != nil {
		t.Fatal(err)
	}
	for network, want := range map[string]string{
		"":                  "which container is not known",
		"/proc/self/ns/net": "is the network of this program",
		link:                "is the network of this program",
		"/proc/self/ns/mnt": "enter the server's network: invalid argument",
		file:                "enter the server's network: invalid argument",
		"/proc/none/ns/net": "no such file",
	} {
		conn, err := Dial(t.Context(), database.Address{Port: port, Network: network})
		if err == nil {
			_ = conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: it says %v, and not %q", network, err, want)
		}
	}
	settled(t)
	select {
	case <-met:
		t.Error("the server of this host was met")
	default:
	}
}

// A thread that does not come back from a server's network ends: nothing else runs on it.
func TestThreadsThatDoNotComeBack(t *testing.T) {
	hosttest.Exclusive(t)
	server := apart(t, "red")[0]
	usual := back
	defer func() { back = usual }()
	back = func(*os.File) error { return unix.EPERM }
	for range 5 {
		if _, err := Dial(t.Context(), server); !errors.Is(err, unix.EPERM) {
			t.Errorf("it says %v", err)
		}
	}
	settled(t)
}

// Dialling ends with its context, also where nobody answers at all.
func TestDiallingEndsWithItsContext(t *testing.T) {
	hosttest.Exclusive(t)
	server := apart(t, "red")[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, server); err == nil {
		t.Error("it connects")
	}
	server.Port = 1
	if _, err := Dial(t.Context(), server); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("where nobody listens: %v", err)
	}
	settled(t)
}
