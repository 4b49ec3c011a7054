package limits

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"plimsoll/internal/problem"
	"plimsoll/kubernetes/iofit"
)

// waits are how long the plugin waits for the runtime.
type waits struct {
	again    time.Duration // between two attempts to reach a runtime that restarts
	register time.Duration // for a registration
	look     time.Duration // between two looks at what runs
	measure  time.Duration // between two looks at what pods without a class do
}

var productionWaits = waits{again: time.Second, register: 10 * time.Second, look: time.Minute,
	measure: 15 * time.Second}

// Configure refuses CRI-O: it lists files of its own among the volumes of a container, which the plugin does not know,
// and then no container with limits would start.
func (p *Plugin) Configure(_ context.Context, _, runtime, version string) (api.EventMask, error) {
	var err error
	if runtime == "cri-o" {
		err = problem.New(problem.Unsupported, fmt.Sprintf("limits on devices with CRI-O %s", version),
			"it lists its files among the volumes of containers, and no container with limits would start",
			"remove the label "+iofit.HeldLabel+" from this node, or run containerd 2 on it")
	}
	p.configured(err)
	return 0, err // 0 is all events that it has handlers for
}

// Run answers the runtime at a socket, /var/run/nri/nri.sock where none is named, until the
// context is done. It comes back where the runtime restarts.
func (p *Plugin) Run(ctx context.Context, socket string) error {
	socket = cmp.Or(socket, api.DefaultSocketPath)
	p.connected("")
	for ctx.Err() == nil {
		c, err := p.register(ctx, p, socket, "50")
		if err != nil {
			p.log.Warn("The runtime is not reached, and is tried again", "error", err)
		} else {
			p.connected(socket)
			p.answer(ctx, c, socket)
			c.stub.Stop()
		}
		p.connected("")
		sleep(ctx, p.waits.again)
	}
	return nil
}

// answer stays with a connection until it has ended, and looks at what runs from time to time.
func (p *Plugin) answer(ctx context.Context, c *connection, socket string) {
	look := time.NewTicker(p.waits.look)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.closed:
			p.log.Warn("The runtime has gone, and is waited for")
			return
		case <-look.C:
			if err := p.look(ctx, socket); err != nil {
				p.log.Warn("The runtime does not list what runs, and is asked again", "error", err)
			}
		}
	}
}

// sleep waits for a time, or until the context is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// connection is one registration with the runtime. How it ends says nothing of the next.
type connection struct {
	stub   stub.Stub
	closed chan struct{} // closed with the connection
}

// register connects handlers to the runtime, unless that takes too long.
func (p *Plugin) register(ctx context.Context, handlers any, socket, index string) (*connection, error) {
	c := &connection{closed: make(chan struct{})}
	asked := make(chan struct{}) // closed when the plugin has asked the runtime to take it
	dial := func(path string) (net.Conn, error) {
		conn, err := net.DialTimeout("unix", path, p.waits.register)
		return &writeNotedConn{conn, sync.OnceFunc(func() { close(asked) })}, err
	}
	var err error
	c.stub, err = stub.New(handlers, stub.WithPluginName("plimsoll"), stub.WithPluginIdx(index),
		stub.WithSocketPath(socket), stub.WithDialer(dial), stub.WithOnClose(sync.OnceFunc(func() { close(c.closed) })))
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, p.waits.register)
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- c.stub.Start(ctx) }()
	select {
	case err = <-started:
		return c, err
	case <-limited.Done():
	}
	// Start waits without a limit for the runtime to configure the plugin. A call in the runtime's place ends the wait,
	// once Start has come there: before it has asked, both would use the stub.
	select {
	case <-asked:
	case err = <-started:
		return c, err
	}
	for plugin, _ := c.stub.(api.PluginService); ; {
		select {
		case err := <-started:
			if err == nil {
				c.stub.Stop()
			}
			return nil, fmt.Errorf("the runtime at %s has not configured the plugin within %s", socket, p.waits.register)
		case <-time.After(p.waits.again):
			go func() { _, _ = plugin.Configure(ctx, &api.ConfigureRequest{}) }()
		}
	}
}

// writeNotedConn is a connection that notes when something is written to it.
type writeNotedConn struct {
	net.Conn
	note func()
}

// Write implements net.Conn.
func (c *writeNotedConn) Write(text []byte) (int, error) {
	c.note()
	return c.Conn.Write(text)
}

// lister is registered beside the plugin for as long as the runtime takes to list what runs.
type lister struct {
	plugin *Plugin
	known  []string // containers, before the runtime was asked
	done   func()
}

// look has the runtime list what runs. What it creates while a plugin registers, it names to no handler of that.
func (p *Plugin) look(ctx context.Context, socket string) error {
	listed := make(chan struct{})
	l := &lister{plugin: p, known: p.known(), done: sync.OnceFunc(func() { close(listed) })}
	c, err := p.register(ctx, l, socket, "51")
	if err != nil {
		return err
	}
	defer c.stub.Stop()
	select {
	case <-listed:
		sleep(ctx, p.waits.again) // the answer is still to be sent
		return nil
	case <-c.closed:
		return fmt.Errorf("the runtime at %s has closed the connection", socket)
	case <-time.After(p.waits.register):
		return fmt.Errorf("the runtime at %s has listed nothing within %s", socket, p.waits.register)
	case <-ctx.Done():
		return nil
	}
}

// Synchronize judges what runs, and forgets what no longer does.
func (l *lister) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) (
	[]*api.ContainerUpdate, error,
) {
	defer l.done()
	for _, id := range l.known {
		if !slices.ContainsFunc(containers, func(c *api.Container) bool { return c.GetId() == id }) {
			l.plugin.forget(id)
		}
	}
	return l.plugin.check(pods, containers), nil
}

// RemoveContainer does nothing: who registers has to handle an event.
func (*lister) RemoveContainer(context.Context, *api.PodSandbox, *api.Container) error { return nil }
