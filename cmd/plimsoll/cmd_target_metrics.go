package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"plimsoll/internal/stack/nvmetarget"
)

func newTargetMetrics(a *app, t *nvmetarget.Targets) *cobra.Command {
	var (
		addr  string
		port  uint16
		trace bool
	)
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Serve this host's processor and device times to hosts that measure it",
		Long: `Report how much time this host's processors spent in each mode, until interrupted,
at http://ADDRESS:PORT/metrics: in the format of Prometheus, and under the name
(node_cpu_seconds_total) that its node exporter has. Where a node exporter runs
already, this is not needed.

It also shows how many reads and writes the device of each exported namespace
completed, and in which time, so that a traced run knows what of an I/O is the
fabric's. A node exporter does not.

With --trace it records the target's requests by BPF as well. Histograms show how
long they took there, from the arrival of their command, and how long of that in the
device. Then a traced run shows the target's software apart from the fabric, too.
Recording costs each request some of the processors' time, an estimated microsecond,
whether a run is traced or not. It keeps the module nvmet in use: end it before the
last export is taken back, or the module stays loaded.

A run on another host reads it before and after each trial on a stack whose
source says metrics=PORT, and shows what an I/O costs the target:

  nvmeof(transport=tcp, addr=10.0.0.1, nqn=NQN, metrics=9100)

Every program that reaches the port can read it; nothing else of the host is shown.

EXIT STATUS
  0    interrupted
  1    it cannot listen there
  2    the command line is wrong
  3    the host cannot record its target's requests; the reason is printed`,
		Example: `  plimsoll target metrics --addr 10.0.0.1
  plimsoll target metrics --addr 10.0.0.1 --trace`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if net.ParseIP(addr) == nil {
				return &exitError{exitUsage, fmt.Errorf("--addr takes an IP address of this host, not %q: the one at "+
					"which it is a target", addr)}
			}
			t.State = a.state
			at := net.JoinHostPort(addr, strconv.Itoa(int(port)))
			err := t.ServeMetrics(cmd.Context(), at, trace, func(at net.Addr) {
				fmt.Fprintf(a.stdout, "http://%s/metrics until interrupted; metrics=%s in a source has runs read it\n",
					at, portOf(at))
			})
			if err != nil && !errors.Is(err, cmd.Context().Err()) {
				return withExitCode(err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "", "IP `address` of this host to listen at")
	f.Uint16Var(&port, "port", 9100, "`port` to listen at, the node exporter's by default; 0 for any that is free")
	f.BoolVar(&trace, "trace", false, "record the target's requests, and show them too")
	return cmd
}

func portOf(at net.Addr) string {
	_, port, _ := net.SplitHostPort(at.String()) // a listener's address has one
	return port
}
