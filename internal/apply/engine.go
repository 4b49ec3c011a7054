package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
)

// Engine is a Docker engine, as a plan names it.
type Engine struct {
	Name string `json:"name"` // of the Docker context
	Host string `json:"host"` // unix:///PATH, ssh://USER@HOST or tcp://HOST:PORT
	ID   string `json:"id"`   // that the engine has for itself

	// Address is where other hosts reach published ports; "" where that is not known.
	Address string `json:"address,omitempty"`
}

// Host is what an engine says of the host that it runs on.
type Host struct {
	Engine      Engine
	CPUs        int
	MemoryBytes int64
	Drive       string // of the model, by the engine's label plimsoll.drive
}

const (
	// answerLimit ends a request to an engine that hangs.
	answerLimit = 2 * time.Minute
	// mostAnswer is more than any engine has to say.
	mostAnswer = 256 << 20
)

// connection asks an engine.
type connection struct {
	Engine
	api   *client.Client
	limit time.Duration
}

// connect opens a connection, which asks nothing yet.
func (e Engine) connect() (*connection, error) {
	if err := checkHost(e.Host); err != nil {
		return nil, err
	}
	api, err := client.New(client.WithHost("http://docker"), client.WithDialContext(
		func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx) }))
	if err != nil {
		return nil, err
	}
	return &connection{Engine: e, api: api, limit: answerLimit}, nil
}

func (e Engine) dial(ctx context.Context) (net.Conn, error) {
	if path, ok := strings.CutPrefix(e.Host, "unix://"); ok {
		var d net.Dialer
		c, err := d.DialContext(ctx, "unix", path)
		return &boundedConn{Conn: c}, err
	}
	dial := func() (net.Conn, error) { return dialSSH(e.Host) }
	if address, ok := strings.CutPrefix(e.Host, "tcp://"); ok {
		dial = func() (net.Conn, error) { return e.dialTLS(ctx, address) }
	}
	c, err := dial()
	if err != nil {
		return nil, err
	}
	return &boundedConn{Conn: c}, nil
}

// boundedConn ends a connection that says more than an engine has to.
type boundedConn struct {
	net.Conn
	read atomic.Int64 // bytes, of whichever goroutine of the client reads
}

func (c *boundedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.read.Add(int64(n)) > mostAnswer {
		return n, errors.New("the engine does not stop talking")
	}
	return n, err
}

// sshConn is a connection to an engine through the standard input and output of ssh.
type sshConn struct {
	io.WriteCloser
	io.Reader
	cmd         *exec.Cmd
	diagnostics *printable.Tail
}

// dialSSH has the other host's docker lead to its engine, as Docker's own contexts do.
func dialSSH(host string) (net.Conn, error) {
	cmd, err := clienthost.Command(context.Background(), host, "docker system dial-stdio")
	if err != nil {
		return nil, err
	}
	c := &sshConn{cmd: cmd, diagnostics: &printable.Tail{Most: 4 << 10}}
	cmd.Stderr = c.diagnostics
	cmd.WaitDelay = time.Second // a program that ssh started may hold stderr after it
	if c.WriteCloser, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.Reader, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return c, cmd.Start()
}

// Read adds what ssh said to the end of a connection.
func (c *sshConn) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if said := strings.TrimSpace(c.diagnostics.String()); errors.Is(err, io.EOF) && said != "" {
		err = fmt.Errorf("%w: %s", err, printable.Line(said))
	}
	return n, err
}

// Close ends ssh.
func (c *sshConn) Close() error {
	_ = c.cmd.Process.Kill() // gone already is as good
	_ = c.cmd.Wait()
	return nil
}

// The other methods of a net.Conn. What hangs is ended by Close.

// LocalAddr implements net.Conn.
func (*sshConn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPort{}) }

// RemoteAddr implements net.Conn.
func (*sshConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPort{}) }

// SetDeadline implements net.Conn.
func (*sshConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (*sshConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (*sshConn) SetWriteDeadline(time.Time) error { return nil }

// ask makes a request within the limit. extra is what the request itself may wait for.
func (c *connection) ask(
	ctx context.Context, request string, extra time.Duration, do func(context.Context) error,
) error {
	limit := c.limit + extra
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	err := do(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("engine %s: %s: %w", c.Name, request, err)
}

// Describe asks engines what they and their hosts are.
func Describe(ctx context.Context, engines []Engine) (hosts []Host, err error) {
	for _, e := range engines {
		h, err := e.describe(ctx)
		if err != nil {
			return nil, err
		}
		for _, other := range hosts {
			if other.Engine.ID == h.Engine.ID {
				return nil, problem.New(problem.Invalid, "contexts "+other.Engine.Name+" and "+e.Name,
					"both lead to an engine with the ID "+h.Engine.ID, "name one of them; if these are two engines, the host of one "+
						"is a copy of the other's: remove /etc/docker/key.json and engine-id of its data root, and restart it")
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func (e Engine) describe(ctx context.Context) (Host, error) {
	c, err := e.connect()
	if err != nil {
		return Host{}, err
	}
	defer c.api.Close()
	return c.describe(ctx)
}

// Labels of an engine: the drive of the model that its volumes are on, and the address of its host.
const (
	driveLabel   = labelPrefix + "drive="
	addressLabel = labelPrefix + "address="
)

func (c *connection) describe(ctx context.Context) (Host, error) {
	h := Host{Engine: c.Engine}
	err := c.ask(ctx, "ask what it is", 0, func(ctx context.Context) error {
		info, err := c.api.Info(ctx, client.InfoOptions{})
		if err != nil {
			return err
		}
		h.Engine.ID, h.CPUs, h.MemoryBytes = info.Info.ID, info.Info.NCPU, info.Info.MemTotal
		for _, l := range info.Info.Labels {
			if drive, ok := strings.CutPrefix(l, driveLabel); ok {
				h.Drive = drive
			}
			if address, ok := strings.CutPrefix(l, addressLabel); ok {
				at, err := netip.ParseAddr(address)
				if err != nil {
					return fmt.Errorf("its label %s%s has no address", addressLabel, address)
				}
				h.Engine.Address = at.String()
			}
		}
		if h.Engine.ID == "" || h.CPUs <= 0 || h.MemoryBytes <= 0 {
			return fmt.Errorf("it says that its ID is %q, and that its host has %d processors and %d bytes of memory",
				h.Engine.ID, h.CPUs, h.MemoryBytes)
		}
		return nil
	})
	return h, err
}
