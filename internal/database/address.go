package database

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Address is where a server answers: on a socket, on a port of 127.0.0.1 in a network namespace of its own, or
// elsewhere.
type Address struct {
	Socket string `json:"socket,omitempty"` // path in a directory that is known where it is used; "" for a port
	Port   int    `json:"port,omitempty"`
	// Remote says where a server is that somebody else started: HOST:PORT of nodes with commas between, or where a
	// DSN is that tells, "env:NAME" or "file:PATH"
	Remote string `json:"remote,omitempty"`
	// Network is the path of the namespace's file. It is known once the server's container is there.
	Network string `json:"-"`
}

// In returns the address of a server whose sockets are in a directory.
func (a Address) In(dir string) Address {
	if a.Socket != "" {
		a.Socket = filepath.Join(dir, a.Socket)
	}
	return a
}

// String is the address in errors.
func (a Address) String() string {
	if at := a.Socket + a.Remote; at != "" {
		return at
	}
	return fmt.Sprintf("port %d of its container", a.Port)
}

const mostPort = 1<<16 - 1

// Check says what about an address cannot be; nil for one that can.
func (a Address) Check() error {
	switch {
	case a.Remote != "" && a.Socket == "" && a.Port == 0:
		return nil
	case a.Remote != "" || (a.Socket == "") == (a.Port == 0):
		return errors.New("a server answers on a socket, on a port, or elsewhere")
	case a.Socket != "" && !filepath.IsLocal(a.Socket):
		return fmt.Errorf("socket is to be a path in the working directory, not %q", a.Socket)
	case a.Port < 0 || a.Port > mostPort:
		return fmt.Errorf("port %d: write a number from 1 to %d", a.Port, mostPort)
	}
	return nil
}
