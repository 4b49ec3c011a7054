// Package socket connects to servers: on unix sockets at paths of any length, and on ports in
// network namespaces of their own.
// The kernel takes at most
// 107 bytes, which a scratch directory deep below somebody's home exceeds: such a
// socket is reached through a descriptor of its directory.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// longest is the most bytes of a path that an address takes, without its zero.
const longest = 107

// dialPath connects to the socket at path.
func dialPath(ctx context.Context, path string) (net.Conn, error) {
	short, release, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// Listen listens on a new socket at path. What a server that was killed left there
// is replaced; one that answers is not.
func Listen(path string) (net.Listener, error) {
	if err := removeDead(path); err != nil {
		return nil, err
	}
	short, release, err := shorten(path)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", short)
	if err != nil {
		release()
		return nil, err
	}
	return listener{Listener: l, release: release}, nil
}

// listener keeps the descriptor that its address leads through: closing removes the
// socket by that.
type listener struct {
	net.Listener
	release func()
}

// Close implements net.Listener.
func (l listener) Close() error {
	defer l.release()
	return l.Listener.Close()
}

func removeDead(path string) error {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return nil
	}
	conn, err := dialPath(context.Background(), path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another server answers on %s", path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// shorten returns a path that an address takes, and what gives back what it needs.
func shorten(path string) (short string, release func(), err error) {
	if len(path) <= longest {
		return path, func() {}, nil
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
