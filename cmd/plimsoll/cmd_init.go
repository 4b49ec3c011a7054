package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/hostinfo"
	"plimsoll/internal/owner"
	"plimsoll/internal/starter"
)

// defaultExperiment is the file that init writes when none is named.
const defaultExperiment = "experiment.yaml"

// densityExperiment is the one that init density writes.
const densityExperiment = "density.yaml"

func newInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [density] [FILE]",
		Short: "Write a commented experiment file for this host",
		Long: `Write an experiment file for this host, ` + defaultExperiment + ` unless FILE names another, or
to standard output when FILE is "-". It has the stacks that the host can make
today, as plimsoll doctor finds them, and names what it lacks for others. The
host's directories and block devices stand in it as comments, each device with
the --destroy that it would need. A file that is there is never overwritten.

With density, the file asks how many key-value servers this host carries: with as
many and as much data as are in proportion to its processors and its memory, in the
directory with most room. It is ` + densityExperiment + ` unless FILE names another.

It looks at the host for a second or two, and changes nothing.

EXIT STATUS
  0  written
  1  the file could not be written
  2  the command line is wrong, or there is such a file already`,
		Example: `  plimsoll init
  plimsoll init nightly.yaml && plimsoll validate nightly.yaml
  plimsoll init - | less
  plimsoll init density`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest := asksHowMany(args)
			return atMostOne("one file")(cmd, rest)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			standard, write := defaultExperiment, starter.Write
			host := hostinfo.New()
			host.State = a.state
			density, rest := asksHowMany(args)
			if density {
				standard = densityExperiment
				write = func(w io.Writer, h starter.Host) error { return starter.WriteDensity(w, h, host.Has()) }
			}
			file := standard
			if len(rest) > 0 {
				file = rest[0]
			}
			if _, err := os.Lstat(file); err == nil && file != standardInput {
				return &exitError{exitUsage, thereAlready(file)}
			}
			about := starter.Host{Report: host.Doctor(cmd.Context()), File: file}
			if file == standardInput {
				about.File = standard
			}
			about.Mounts, _ = host.Mounts() // without them, none is proposed
			var text bytes.Buffer
			if err := write(&text, about); err != nil {
				return &exitError{exitFailure, err}
			}
			if file == standardInput {
				if _, err := a.data().Write(text.Bytes()); err != nil {
					return &exitError{exitFailure, err}
				}
				return nil
			}
			return a.writeNew(file, text.Bytes())
		},
	}
}

// asksHowMany reports whether the file is to ask how many servers the host carries, and what else was given.
func asksHowMany(args []string) (density bool, rest []string) {
	if len(args) > 0 && args[0] == "density" {
		return true, args[1:]
	}
	return false, args
}

func thereAlready(file string) error {
	return fmt.Errorf("%s is there already, and is not overwritten: name another file", file)
}

// writeNew writes a file that must not exist.
func (a *app) writeNew(file string, text []byte) error {
	f, err := owner.New(file, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &exitError{exitUsage, thereAlready(file)}
	}
	if err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the experiment: %w", err)}
	}
	if _, err := f.Write(text); err != nil {
		return &exitError{exitFailure, errors.Join(fmt.Errorf("write the experiment: %w", err), f.Close(), os.Remove(file))}
	}
	if err := f.Close(); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the experiment: %w", err)}
	}
	fmt.Fprintf(a.stdout, "Wrote %s. What it would do here:\n  plimsoll validate %s\n", file, shellLine([]string{file}))
	return nil
}
