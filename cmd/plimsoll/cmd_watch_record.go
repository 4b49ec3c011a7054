package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/printable"
	"plimsoll/internal/recording/segments"
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
	case f.record == "":
		return &exitError{exitUsage, errors.New("--service-file is of a recording: add --record DIR")}
	case !cmd.Flags().Changed("interval"):
		f.interval = shortestRecorded
	case f.interval < shortestRecorded || f.interval > longestRecorded:
		return &exitError{exitUsage, fmt.Errorf("--interval %s: a recording has intervals from 1s to 1m",
			field.FormatDuration(f.interval))}
	}
	if f.service {
		return f.printService(a)
	}
	recorder, err := watch.NewRecorder(watch.Options{Sockets: f.sockets, NoLatency: !f.follow}, f.interval)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	defer recorder.Close()
	warn := func(text string) { fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable.Line(text)) }
	w, err := segments.Open(f.record, recorder.Header(), segments.Options{Bytes: f.bytes, Warn: warn})
	if err != nil {
		return &exitError{codeOf(err), err}
	}
	fmt.Fprintf(a.stdout, "recording into %s each %s, up to %s, until interrupted\n", printable.Line(f.record),
		field.FormatDuration(f.interval), units.Bytes(uint64(f.bytes)))
	for _, unknown := range recorder.Header().Unknown {
		fmt.Fprintf(a.stdout, "Not known: %s.\n", printable.Line(unknown))
	}
	err = errors.Join(recorder.Run(cmd.Context(), w.Add), w.Close())
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
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
	sockets := ""
	for _, s := range f.sockets {
		sockets += " --socket " + quoted(s)
	}
	if f.follow {
		sockets += " --follow"
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
		sockets)
	return nil
}
