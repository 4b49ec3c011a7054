package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// clients is the machine that generates load, with this program on it.
type clients struct {
	host, dir string
	address   string // of this host, at which it reaches the servers
}

// findClients asks the experiment's clients' machine what it is, and changes nothing there. It returns nil where this
// host generates the load.
func (r *runner) findClients(ctx context.Context) (*clients, error) {
	asked := r.Experiment.Clients
	if asked == nil {
		return nil, nil //nolint:nilnil // this host is none
	}
	what := "clients on " + asked.Host
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
		return nil, problem.New(problem.Unsupported, what, "its ssh does not say which address of this host it sees", name)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(c.address, "0"))
	if err != nil {
		return nil, problem.New(problem.Unsupported, what,
			fmt.Sprintf("servers cannot be reached at %s: %s", c.address, err), name).CausedBy(err)
	}
	return c, l.Close()
}

// prepareClients copies this program to the clients' machine. The journal takes it away.
func (r *runner) prepareClients(ctx context.Context) error {
	c, err := r.findClients(ctx)
	if err != nil || c == nil {
		return err
	}
	r.env.Trace("copying the load generator to " + c.host)
	program := clienthost.New(c.host, r.env.RunID)
	_, err = r.env.Journal.Do(ctx, program, func(mark string) error { return program.Copy(ctx, r.Self, mark) })
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

// clientCPU returns the processor time of the clients' machine, which each instance's generator measured: of the one
// that saw it busiest. It is nil where none did.
func clientCPU(ends []end) (busiest *result.ClientCPU, err error) {
	for _, e := range ends {
		text, ok := e.outputs[ycsb.ClientCPUName]
		if !ok {
			continue
		}
		var c result.ClientCPU
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("processor time of the clients' machine: %w", err)
		}
		if busiest == nil || c.Busy() > busiest.Busy() {
			busiest = &c
		}
	}
	return busiest, nil
}
