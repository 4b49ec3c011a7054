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
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// longest is the most bytes of a path that an address takes, without its zero.
const longest = 107

// dialPath connects to the socket at path. The server, which may be hostile, writes the directory: a link there
// would lead this process, which may be root, to a server of the host.
func dialPath(ctx context.Context, path string) (net.Conn, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "connect to", Path: path, Err: err}
	}
	socket := os.NewFile(uintptr(fd), path)
	defer socket.Close()
	info, err := socket.Stat()
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		err = &os.PathError{Op: "connect to", Path: path, Err: unix.ENOTSOCK}
	}
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd)) // short, and the socket itself
}

// Listen listens on a new socket at path. It replaces one left by a killed server, and fails if a server answers
// there.
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

// shorten returns a path short enough for a socket's address, and a function that releases its resources.
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
