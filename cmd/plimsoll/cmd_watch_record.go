package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/field"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/recording/segments"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/trial"
	"plimsoll/internal/units"
	"plimsoll/internal/watch"
)

// Intervals of recordings.
const (
	shortestRecorded = time.Second
	longestRecorded  = time.Minute
)

// recordHost records into a directory until interrupted, or prints the unit that does.
func (f *watchFlags) recordHost(cmd *cobra.Command, a *app) error {
	switch {
	case f.record == "" && f.probe != "":
		return &exitError{exitUsage, errors.New("--probe is of a recording: add --record DIR")}
	case f.record == "":
		return &exitError{exitUsage, errors.New("--service-file and --database are of a recording: add --record DIR")}
	case f.probe != "" && f.service:
		return &exitError{exitUsage, errors.New("--probe ends with its steps: run it without --service-file")}
	case f.probe != "" && !strings.HasPrefix(f.probe, probePrefix) || f.probe == probePrefix:
		return &exitError{exitUsage, fmt.Errorf("--probe %q: only memory is probed: write --probe memory=CONTAINER", f.probe)}
	case !cmd.Flags().Changed("interval"):
		f.interval = shortestRecorded
	case f.interval < shortestRecorded || f.interval > longestRecorded:
		return &exitError{exitUsage, fmt.Errorf("--interval %s: a recording has intervals from 1s to 1m",
			field.FormatDuration(f.interval))}
	}
	servers, err := f.servers()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if f.service {
		return f.printService(a)
	}
	var mu sync.Mutex // guards stderr: servers warn while the recording does
	warn := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable.Line(text))
	}
	recorder, err := watch.NewRecorder(watch.Options{Sockets: f.sockets, NoLatency: !f.follow, Servers: servers,
		Warn: warn}, f.interval)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	defer recorder.Close()
	w, err := segments.Open(f.record, recorder.Header(), segments.Options{Bytes: f.bytes, Warn: warn})
	if err != nil {
		return &exitError{codeOf(err), err}
	}
	fmt.Fprintf(a.stdout, "recording into %s each %s, up to %s, until interrupted\n", printable.Line(f.record),
		field.FormatDuration(f.interval), units.Bytes(uint64(f.bytes)))
	for _, unknown := range recorder.Header().Unknown {
		fmt.Fprintf(a.stdout, "Not known: %s.\n", printable.Line(unknown))
	}
	write, end := w.Add, func() error { return nil }
	if f.probe != "" {
		probe, closed, err := f.newProbe(cmd.Context(), a, recorder)
		if err != nil {
			return errors.Join(err, w.Close())
		}
		write, end = probe.With(cmd.Context(), w.Add), closed
	}
	err = errors.Join(recorder.Run(cmd.Context(), write), end(), w.Close())
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

// mostServers bounds the servers that are asked for their counters each interval.
const mostServers = 100

// servers returns the servers of --database, after seeing that their secrets can be read. Problems do not repeat what
// may be a secret.
func (f *watchFlags) servers() (servers []watch.Server, err error) {
	var wrong problem.List
	for i, text := range f.databases {
		container, address, _ := strings.Cut(text, "=")
		what := fmt.Sprintf("--database %d, of container %.100q", i+1, container)
		running, problems := database.ParseRunning(address)
		switch {
		case !strings.Contains(text, "=") || container == "" || strings.ContainsFunc(container, unicode.IsControl):
			problems = problem.List{{Kind: problem.Invalid, Why: "it names no container",
				Remedy: "write CONTAINER=postgresql,dsn=file:PATH"}}
			what = fmt.Sprintf("--database %d", i+1)
		case len(problems) > 0:
		case f.service && strings.HasPrefix(running.Address.Credentials, "env:"):
			problems = problem.List{{Kind: problem.Invalid, Why: "a unit of systemd has no such variable",
				Remedy: "write file:PATH"}}
		case !f.service:
			if err := client.CheckCounter(running); err != nil {
				problems = problem.List{{Kind: problem.Invalid, Why: err.Error()}}
			}
		}
		for _, p := range problems {
			p.What, p.Why = what, problem.Problem{What: p.What, Why: p.Why}.Text()
			wrong = append(wrong, p)
		}
		servers = append(servers, watch.Server{Container: container, Kind: running.Kind,
			Open: func(ctx context.Context) (database.Counter, error) { return client.DialCounter(ctx, running) }})
	}
	if len(servers) > mostServers {
		wrong = append(wrong, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("--database %d times", len(servers)),
			Why: fmt.Sprintf("up to %d servers are asked", mostServers)})
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return servers, nil
}

// probePrefix begins the value of --probe.
const probePrefix = "memory="

// newProbe returns a probe of the memory of a container, and what ends it.
func (f *watchFlags) newProbe(ctx context.Context, a *app, recorder *watch.Recorder) (probe *watch.Probe,
	end func() error, err error) {
	if os.Geteuid() != 0 {
		return nil, nil, &exitError{exitFailure, errors.New("--probe changes a limit of a container, which takes root: " +
			"run it with sudo")}
	}
	j, err := journal.Create(a.state, trial.NewID("probe", time.Now()))
	if err != nil {
		return nil, nil, &exitError{exitFailure, err}
	}
	probe = watch.NewProbe(strings.TrimPrefix(f.probe, probePrefix), recorder, j, func(text string) {
		fmt.Fprintf(a.stdout, "%s\n", printable.Line(text))
	})
	return probe, func() error {
		probe.Close(ctx)
		return j.Close()
	}, nil
}

// printService prints a unit that records from each boot on.
func (f *watchFlags) printService(a *app) error {
	program, err := os.Executable()
	if err != nil {
		program = "/usr/local/bin/plimsoll"
	}
	dir, err := filepath.Abs(f.record)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	if strings.ContainsFunc(dir+program, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return &exitError{exitUsage, fmt.Errorf("--record %q: a unit of systemd takes no such name", dir)}
	}
	quoted := func(text string) string {
		return `"` + strings.NewReplacer("%", "%%", "$", "$$").Replace(text) + `"`
	}
	options := ""
	for _, s := range f.sockets {
		options += " --socket " + quoted(s)
	}
	if f.follow {
		options += " --follow"
	}
	for _, d := range f.databases {
		if strings.ContainsFunc(d, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
			return &exitError{exitUsage,
				errors.New("--database: a unit of systemd takes no quotes, no backslash and no line ends")}
		}
		options += " --database " + quoted(d)
	}
	fmt.Fprintf(a.stdout, `# plimsoll watch --record %[1]s --service-file > /etc/systemd/system/plimsoll-recording.service
# systemctl enable --now plimsoll-recording
[Unit]
Description=Record what this host, its drives and its containers do
Documentation=man:plimsoll-watch(1) man:plimsoll-headroom(1)

[Service]
ExecStart=%[2]s watch --record %[3]s --interval %[4]s --bytes %[5]s%[6]s
Restart=always
RestartSec=10
Nice=10
IOSchedulingClass=idle
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
`, printable.Line(dir), quoted(program), quoted(dir), field.FormatDuration(f.interval), units.FormatSize(f.bytes),
		options)
	return nil
}
