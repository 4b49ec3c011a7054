package database

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Address is the address of a server: a socket, a port of 127.0.0.1 in a network namespace of its own, or a remote
// address.
type Address struct {
	Socket string `json:"socket,omitempty"` // path in a directory that is known where it is used; "" for a port
	Port   int    `json:"port,omitempty"`
	// Remote says where a server is that somebody else started: HOST:PORT of nodes with commas between, or where a
	// DSN is that tells, "env:NAME" or "file:PATH"
	Remote string `json:"remote,omitempty"`
	// Credentials is the source of a DSN, or of user:password: "env:NAME" or "file:PATH"; "" for none.
	Credentials string `json:"credentials,omitempty"`
	// Secret is the content of Credentials. It is set only where a server is connected to.
	Secret Secret `json:"-"`
	// Relay is where a relay leads to the server; zero where the server is reached directly.
	Relay Relay `json:"-"`
	// Network is the path of the namespace's file. It is known once the server's container is there.
	Network string `json:"-"`
}

// Relay leads clients on another machine to a server that listens on no network. It takes those that know its key.
type Relay struct {
	Address string `json:"address"` // IP:PORT
	Key     Secret `json:"key"`
}

// Secret is a text that is printed nowhere.
type Secret string

// Format implements fmt.Formatter, for all verbs.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(secret)")) }

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

// Check returns an error for an invalid address.
func (a Address) Check() error {
	switch {
	case a.Remote != "" && a.Socket == "" && a.Port == 0:
		return nil
	case a.Remote != "" || (a.Socket == "") == (a.Port == 0):
		return errors.New("a server answers on a socket, on a port, or is external")
	case a.Socket != "" && !filepath.IsLocal(a.Socket):
		return fmt.Errorf("socket must be a path in the working directory, not %q", a.Socket)
	case a.Port < 0 || a.Port > mostPort:
		return fmt.Errorf("port %d: write a number from 1 to %d", a.Port, mostPort)
	}
	return nil
}
