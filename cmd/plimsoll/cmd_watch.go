package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plimsoll/internal/field"
	"plimsoll/internal/observe/metricserver"
	"plimsoll/internal/printable"
	"plimsoll/internal/recording/segments"
	"plimsoll/internal/report"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/watch"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	interval        time.Duration
	once, noLatency bool
	metrics         string
	sockets         []string
	model, host     string

	record  string
	bytes   int64
	service bool
	follow  bool
	// databases are servers that are asked for their counters: CONTAINER=KIND,KEY=VALUE
	databases []string
	probe     string
}

func newWatchCommand(a *app) *cobra.Command {
	flags := watchFlags{interval: 2 * time.Second, bytes: segments.UsualBytes}
	cmd := &cobra.Command{
		Use:   "watch [--once]",
		Short: "Show who does what on this host's drives now, and who disturbs whom",
		Long: `Show what containers of Docker, containerd and podman, units of systemd, and other
cgroups do on each drive of this host now. It shows reads and writes, how long they
take, what waits for I/O, and memory that no shortage takes. Limits in force stand
beside those that engines were asked for. Who disturbs whom is named, with the
numbers that show it. No trial runs, and nothing is changed.

The view refreshes until interrupted. --once looks for one interval. --json prints
a document for each interval, one on each line. --metrics serves the last one to
Prometheus, as OpenMetrics where it is asked for: on the loopback address, unless
another one is named.

Latencies are those of block requests, from the device's queue until they are
complete, by the BPF programs that trials use. That takes root. What cannot be seen
is listed with the reason.

With --model, containers with the label plimsoll.class=NAME are predicted under full
load, beside what they do now: "plimsoll fit" writes models.

--record DIR shows nothing: it writes what the host, its drives and its containers
do, each second, to files in DIR, until interrupted. "plimsoll headroom DIR" reads
them. The oldest are removed if all have more than --bytes. --service-file prints a
unit of systemd that does so from each boot on. --database records operations of a
server in a container too, as the server counts them. Its statements only read.
--probe lowers a limit of a container meanwhile and restores it. After a crash,
"plimsoll clean" restores it.

docs/how-to/watch-a-host.md explains each finding.

EXIT STATUS
  0  watched, and interrupted where it is not --once
  1  the host cannot be read, or the address cannot be listened at
  2  the command line is wrong, or there is no such file`,
		Example: `  sudo plimsoll watch
  sudo plimsoll watch --once --json | jq -r '.findings[].text'
  sudo plimsoll watch --metrics 9101
  sudo plimsoll watch --model model.json
  sudo plimsoll watch --record /var/lib/plimsoll-recording --bytes 2GiB
  sudo plimsoll watch --record DIR --database shop/db=postgresql,dsn=file:/etc/shop.dsn
  plimsoll watch --record /var/lib/plimsoll-recording --service-file`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.record != "" || flags.service || len(flags.databases) > 0 || flags.probe != "" {
				return flags.recordHost(cmd, a)
			}
			return flags.watch(cmd.Context(), a)
		},
	}
	f := cmd.Flags()
	f.Var(field.Flag(field.Duration(100*time.Millisecond, time.Hour), &flags.interval), "interval",
		"`time` between two views, such as 5s; of a recording, from 1s (its default) to 1m")
	f.BoolVar(&flags.once, "once", false, "look for one interval, and end")
	f.BoolVar(&flags.noLatency, "no-latency", false, "leave out latencies, which cost each request some processor time")
	f.StringVar(&flags.metrics, "metrics", "", "`address` to serve metrics at: a port of the loopback address, or "+
		"ADDRESS:PORT")
	f.StringArrayVar(&flags.sockets, "socket", nil, "`path` of a socket with the Docker API; repeatable (default: those "+
		"of Docker and podman)")
	f.StringVar(&flags.model, "model", "", "`file` of a model to predict containers by")
	f.StringVar(&flags.host, "host-file", "", "`file` of what this host has, for predictions")
	f.StringVar(&flags.record, "record", "", "`directory` to record into, until interrupted")
	f.Var(field.Flag(field.Size(segments.LeastBytes, math.MaxInt64), &flags.bytes), "bytes",
		"`size` that a recording may have; then its oldest part is removed")
	f.BoolVar(&flags.follow, "follow", false, "record reads and writes of containers also where cgroups do not count "+
		"them (version 1), by following block requests: up to 10% of a processor")
	f.StringArrayVar(&flags.databases, "database", nil, "`server` to record operations of: CONTAINER=KIND,dsn=file:PATH, "+
		"dsn=env:NAME, or for Cassandra address=HOST:PORT, credentials=file:PATH, tls=true, ca=PATH; repeatable")
	f.StringVar(&flags.probe, "probe", "", "`memory=CONTAINER`: while it is recorded, lower the container's memory by steps "+
		"as long as it does not read again what it lost, and restore it")
	f.BoolVar(&flags.service, "service-file", false, "print a unit of systemd that records, and end")
	f.BoolVar(&a.jsonOutput, "json", false, "print JSON")
	mutuallyExclusive(cmd, "once", "metrics")
	for _, excluded := range []string{"once", "metrics", "model", "host-file", "json", "no-latency"} {
		mutuallyExclusive(cmd, "record", excluded)
	}
	return cmd
}

// metricsAddress returns the address to listen at: on the loopback where only a port is named.
func metricsAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = "", text
	}
	if host == "" {
		host = "127.0.0.1"
	}
	_, err = net.LookupPort("tcp", port)
	if err != nil || net.ParseIP(host) == nil {
		return "", fmt.Errorf("--metrics takes a port, or IP:PORT of this host, such as 9101 or 10.0.0.1:9101, not %q", text)
	}
	return net.JoinHostPort(host, port), nil
}

// options returns what is watched.
func (f *watchFlags) options() (o watch.Options, err error) {
	o.Sockets, o.NoLatency = f.sockets, f.noLatency
	if f.model == "" {
		if f.host != "" {
			return o, &exitError{exitUsage, errors.New("--host-file is for predictions: add --model")}
		}
		return o, nil
	}
	o.Model, err = readModel(f.model)
	if err != nil || f.host == "" {
		return o, err
	}
	text, err := inputfile.Read(f.host, inputfile.MaxText)
	if err != nil {
		return o, &exitError{exitUsage, err}
	}
	if len(o.Model.Classes) == 0 {
		return o, &exitError{exitUsage, fmt.Errorf("%s knows no class", f.model)}
	}
	kind, err := o.Model.ParseHost(o.Model.HostOf(&o.Model.Classes[0]), f.host, text)
	if err != nil {
		return o, &exitError{exitUsage, err}
	}
	o.Host = &kind
	return o, nil
}

func (f *watchFlags) watch(ctx context.Context, a *app) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	w, err := watch.New(options)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	defer w.Close()
	if f.once {
		d, err := w.Look(ctx, f.interval)
		if err == nil && a.jsonOutput {
			err = a.document("", d)
		} else if err == nil {
			err = a.showWatched(d, false)
		}
		if err != nil {
			return &exitError{codeOf(err), err}
		}
		return nil
	}
	served := make(chan error, 1)
	var collector watch.Collector
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if f.metrics != "" {
		at, err := metricsAddress(f.metrics)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		go func() {
			err := metricserver.Serve(ctx, at, metricserver.Age, func(at net.Addr) {
				if !a.jsonOutput {
					fmt.Fprintf(a.stdout, "http://%s/metrics until interrupted\n", at)
				}
			}, &collector)
			served <- err
			stop() // without it nobody may look
		}()
	}
	for {
		d, err := w.Look(ctx, f.interval)
		if ctx.Err() != nil {
			stop()
			if f.metrics != "" {
				err = <-served
				if err != nil {
					return &exitError{exitFailure, err}
				}
			}
			return nil
		}
		if err != nil {
			return &exitError{exitFailure, err}
		}
		collector.Set(d)
		switch {
		case a.jsonOutput:
			err = json.NewEncoder(a.data()).Encode(d)
		case f.metrics == "" || isTerminal(a.stdout):
			err = a.showWatched(d, true)
		}
		if err != nil {
			return &exitError{exitFailure, err}
		}
	}
}

// showWatched prints a document for people, on a terminal in the place of the one before.
func (a *app) showWatched(d *watch.Document, again bool) error {
	var text bytes.Buffer
	warn := false
	for _, f := range d.Findings {
		warn = warn || f.Kind == watch.Disturbs
	}
	answer := report.Answer{Kind: "watch", Verdict: d.Verdict(), Sections: d.Sections()}
	err := report.AnswerText(&text, answer, warn, a.terminalOptions())
	if err != nil {
		return err
	}
	shown := text.String()
	if again && isTerminal(a.stdout) {
		if _, err := fmt.Fprint(unfiltered(a.stdout), printable.ClearScreen); err != nil {
			return err
		}
		lines := strings.SplitAfter(shown, "\n")
		shown = strings.Join(lines[:min(len(lines), terminalHeight()-1)], "")
	}
	_, err = fmt.Fprint(a.styled(), shown)
	return err
}

// terminalHeight returns how many lines the terminal of standard output has.
func terminalHeight() int {
	_, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || height < 2 {
		return math.MaxInt
	}
	return height
}
