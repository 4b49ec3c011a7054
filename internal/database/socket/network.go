package socket

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
)

// ownNetwork is the file of the namespace that a thread is in.
const ownNetwork = "/proc/thread-self/ns/net"

// The first thread of a program cannot be ended, and /proc/self/ns is where it is: it is kept for the
// main goroutine, so that no other one takes it to another network and leaves it there.
func init() { runtime.LockOSThread() }

// dialIn connects to a port of 127.0.0.1 in the network namespace of a file. A thread enters the
// namespace to make the connection, and comes back; the connection stays where it was made.
// The namespace of this program itself is refused: another server than the one that is meant
// may answer there.
func dialIn(ctx context.Context, network string, port int) (net.Conn, error) {
	namespace, err := os.Open(network)
	if err != nil {
		return nil, fmt.Errorf("the server's network: %w", err)
	}
	defer namespace.Close()
	type dialled struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() {
		var d dialled
		runtime.LockOSThread()
		err := inNetwork(namespace, func() {
			var dialer net.Dialer
			d.conn, d.err = dialer.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		})
		if err == nil || !err.stays {
			runtime.UnlockOSThread() // else the thread ends with this goroutine, and nobody uses it again
		}
		if err != nil {
			if d.conn != nil {
				_ = d.conn.Close()
			}
			d = dialled{err: err.why}
		}
		done <- d
	}()
	d := <-done
	return d.conn, d.err
}

// namespaceError is a failure to enter a network namespace, or to leave it.
type namespaceError struct {
	why   error
	stays bool // it did not come back
}

// inNetwork calls do while the thread, which the caller has locked, is in a network namespace.
func inNetwork(namespace *os.File, do func()) *namespaceError {
	ownNamespace, err := os.Open(ownNetwork)
	if err != nil {
		return &namespaceError{why: fmt.Errorf("the network of this program: %w", err)}
	}
	defer ownNamespace.Close()
	switch isOwn, err := sameFile(ownNamespace, namespace); {
	case err != nil:
		return &namespaceError{why: err}
	case isOwn:
		return &namespaceError{
			why: fmt.Errorf("%s is the network of this program: the server shares it", namespace.Name()),
		}
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return &namespaceError{why: fmt.Errorf("enter the server's network: %w", err)}
	}
	do()
	if err := back(ownNamespace); err != nil {
		return &namespaceError{fmt.Errorf("leave the server's network: %w", err), true}
	}
	return nil
}

// back returns the thread to a network namespace; tests have it fail.
var back = func(own *os.File) error { return unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) }

func sameFile(a, b *os.File) (bool, error) {
	is, err := a.Stat()
	if err != nil {
		return false, err
	}
	other, err := b.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(is, other), nil
}

// OwnNetwork moves the thread, which the caller has locked, into a new network namespace with only a loopback, and
// returns its file. The namespace lasts as long as the thread, processes started from it, or the file.
func OwnNetwork() (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("get a network namespace: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("bring up lo: %w", err)
	}
	return os.Open(ownNetwork)
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// Dial connects to a server.
func Dial(ctx context.Context, server database.Address) (net.Conn, error) {
	switch {
	case server.Relay.Address != "":
		return dialRelay(ctx, server.Relay)
	case server.Socket != "":
		return dialPath(ctx, server.Socket)
	case server.Network == "":
		return nil, fmt.Errorf("%s: which container is not known", server)
	}
	return dialIn(ctx, server.Network, server.Port)
}
