package site

import (
	"context"
	"fmt"
	"net"
	"slices"

	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// clients is the machine that generates load, with this program on it.
type clients struct {
	host, dir string
	address   string // of this host, at which it reaches the servers
}

// FindClients asks the experiment's clients' machine what it is, and changes nothing there. It returns nil where this
// host generates the load.
func (r *Sites) FindClients(ctx context.Context) (*clients, error) {
	asked := r.Experiment.Clients
	if asked == nil {
		return nil, nil //nolint:nilnil // this host is none
	}
	subject := "clients on " + asked.Host
	seen, err := clienthost.Probe(ctx, asked.Host)
	if err != nil {
		return nil, err
	}
	c := &clients{host: asked.Host, address: asked.ServerAddress}
	if c.address == "" {
		c.address = seen
	}
	const name = "name the address at which it reaches this host: clients: {host: ..., server-address: 10.0.0.1}"
	if c.address == "" {
		return nil, problem.New(problem.Unsupported, subject, "its ssh does not say which address of this host it sees", name)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(c.address, "0"))
	if err != nil {
		return nil, problem.New(problem.Unsupported, subject,
			fmt.Sprintf("servers cannot be reached at %s: %s", c.address, err), name).CausedBy(err)
	}
	return c, l.Close()
}

// PrepareClients copies this program to the clients' machine. The journal takes it away.
func (r *Sites) PrepareClients(ctx context.Context) error {
	c, err := r.FindClients(ctx)
	if err != nil || c == nil {
		return err
	}
	r.Env.Trace("copying the load generator to " + c.host)
	program := clienthost.New(c.host, r.Env.RunID)
	_, err = r.Env.Journal.Do(ctx, program, func(mark string) error { return program.Copy(ctx, r.Self, mark) })
	if err != nil {
		return err
	}
	c.dir = program.Dir
	r.clients = c
	return nil
}

// fit has a step of the generator run it on the other machine.
func (c *clients) fit(step *workload.Step) *workload.Step {
	if c == nil {
		return step
	}
	at := slices.Index(step.Argv, "generate") + 1
	step.Argv = slices.Insert(step.Argv, at, "--clients", c.host, "--clients-dir", c.dir, "--server-address", c.address)
	step.Outputs = append(slices.Clone(step.Outputs), ycsb.ClientCPUName)
	return step
}
