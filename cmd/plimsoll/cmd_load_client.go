package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/database/client"
	"plimsoll/internal/database/socket"
	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/observe"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/loadgen/remote"
	"plimsoll/internal/workload/ycsb"
)

// loadClient is the name of the command that is the generator on another machine.
const loadClient = "load-client"

// newLoadClientCommand returns the command that generates load for the plimsoll of another machine.
func newLoadClientCommand() *cobra.Command {
	return &cobra.Command{
		Use: loadClient, Hidden: true, Args: cobra.NoArgs,
		Short: "Generate load on a database of another machine",
		Long: `Generate load on a database of another machine, whose plimsoll started this
through ssh and speaks to it over standard input and output. It ends when that
connection does. docs/how-to/clients-on-another-machine.md explains it.

EXIT STATUS
  0  what happened was reported
  1  the connection was lost, or what came over it is no request`,
		Example: `  ssh bench@client1 ./.plimsoll-RUN-clients-01234567/plimsoll load-client`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failure(remote.Serve(cmd.Context(), os.Stdin, os.Stdout, loadFor))
		},
	}
}

// loadFor does what another machine asks for.
func loadFor(ctx context.Context, s *remote.Session) (*result.ClientCPU, error) {
	plan, err := ycsb.ReadPlan(s.Plan)
	if err != nil {
		return nil, err
	}
	if plan.At.Remote != "" || s.Relay.Address == "" {
		return nil, errors.New("a request names no relay to the server")
	}
	plan.At.Relay = s.Relay
	switch s.Mode {
	case remote.Wait:
		answered, err := loadgen.Wait(ctx, plan, client.Dial)
		if err == nil {
			_, err = s.Output.Write(answered.Text())
		}
		return nil, err
	case remote.Check:
		return nil, loadgen.Check(ctx, plan)
	case remote.Generate:
	default:
		return nil, fmt.Errorf("there is no %q", s.Mode)
	}
	var cpu func() *result.ClientCPU
	gate := func(ctx context.Context) error {
		err := s.Gate(ctx)
		if err == nil {
			cpu, err = watchCPUs(plan.Ramp + plan.Runtime)
		}
		return err
	}
	err = loadgen.Run(ctx, plan, loadgen.Options{Dial: client.Dial, Output: s.Output, Gate: gate})
	if cpu == nil {
		return nil, err
	}
	return cpu(), err
}

// leastCPUSamples are taken of the processors, however short a trial is.
const leastCPUSamples = 8

// watchCPUs samples the processors of this machine until end is called.
func watchCPUs(expected time.Duration) (end func() *result.ClientCPU, err error) {
	every := min(observe.Every, max(100*time.Millisecond, expected/leastCPUSamples))
	recorder, err := observe.Start(observe.Subject{Host: true}, hostfs.Default(), every)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return func() *result.ClientCPU {
		c := &result.ClientCPU{CPUs: runtime.NumCPU(), Seconds: time.Since(began).Seconds()}
		into := map[string]*float64{
			"cpu.user":   &c.User,
			"cpu.system": &c.System,
			"cpu.iowait": &c.IOWait,
			"cpu.steal":  &c.Steal,
		}
		for _, s := range recorder.Stop() {
			if to := into[s.Metric]; to != nil {
				*to = s.Mean()
			}
		}
		return c
	}, nil
}

// elsewhere is a machine that generates load in place of this one.
type elsewhere struct {
	host, dir, address string
	mode               remote.Mode
}

func modeOf(wait, check bool) remote.Mode {
	switch {
	case wait:
		return remote.Wait
	case check:
		return remote.Check
	}
	return remote.Generate
}

// generate has the other machine follow a plan, and leads it to the server.
func (e elsewhere) generate(ctx context.Context, plan *ycsb.Plan) (failed error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	relay, err := socket.NewRelay(context.WithoutCancel(ctx), e.address,
		func(ctx context.Context) (net.Conn, error) { return socket.Dial(ctx, plan.At) })
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, relay.Close()) }()
	o := remote.Options{Output: io.Discard}
	if e.mode != remote.Check {
		output, err := newOutput(plan)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, output.Close()) }()
		o.Output = output
	}
	if e.mode == remote.Generate && plan.Gate != "" {
		o.Gate = func(ctx context.Context) error { return passGate(ctx, plan.Gate) }
	}
	there, err := clienthost.Connect(e.host, e.dir, loadClient)
	if err != nil {
		return err
	}
	end, err := remote.Control(ctx, there, remote.Request{Mode: e.mode, Plan: text, Relay: relay.Address()}, o)
	if err != nil {
		return err
	}
	if end.Error != "" {
		return errors.New(end.Error)
	}
	if end.CPU == nil {
		return nil
	}
	used, err := json.Marshal(end.CPU)
	if err != nil {
		return err
	}
	return os.WriteFile(ycsb.ClientCPUName, append(used, '\n'), stack.KeptMode)
}
