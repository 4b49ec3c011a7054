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

// defaultFleet is the file that init fleet writes.
const defaultFleet = "fleet.yaml"

// densityExperiment is the one that init density writes.
const densityExperiment = "density.yaml"

func newInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [density|fleet] [FILE]",
		Short: "Write a commented experiment file for this host, or a fleet to plan for",
		Long: `Write an experiment file for this host, ` + defaultExperiment + ` unless FILE names another, or
to standard output when FILE is "-". It has the stacks that the host can make
today, as plimsoll doctor finds them, and names what it lacks for others. The
host's directories and block devices stand in it as comments, each device with
the --destroy that it would need. A file that is there is never overwritten.

With density, the file asks how many key-value servers this host carries: with as
many and as much data as are in proportion to its processors and its memory, in the
directory with most room. It is ` + densityExperiment + ` unless FILE names another.

With fleet, it is a fleet for plimsoll plan: hosts such as this one, and the classes
of ` + modelFile + `, which plimsoll fit wrote here. It is ` + defaultFleet + ` unless FILE
names another.

It looks at the host for a second or two, and changes nothing.

EXIT STATUS
  0  written
  1  the file could not be written
  2  the command line is wrong, or there is such a file already`,
		Example: `  plimsoll init
  plimsoll init nightly.yaml && plimsoll validate nightly.yaml
  plimsoll init - | less
  plimsoll init density
  plimsoll init fleet && plimsoll plan fleet.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest := asksHowMany(args)
			return atMostOne("one file")(cmd, rest)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			standard, write := defaultExperiment, starter.Write
			host := hostinfo.New()
			host.State = a.state
			what, rest := asksHowMany(args)
			switch what {
			case "density":
				standard = densityExperiment
				write = func(w io.Writer, h starter.Host) error { return starter.WriteDensity(w, h, host.Has()) }
			case "fleet":
				m, err := readModel(modelFile)
				if err != nil {
					return &exitError{exitUsage,
						fmt.Errorf("a fleet is planned by a model: make one with plimsoll fit RUN...: %w", err)}
				}
				standard = defaultFleet
				write = func(w io.Writer, h starter.Host) error {
					return starter.WriteFleet(w, h, host.Has(), modelFile, m)
				}
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
			return a.writeNew(file, text.Bytes(), what)
		},
	}
}

// asksHowMany returns what the file is to be, "density" or "fleet" where it is no experiment about stacks, and what
// else was given.
func asksHowMany(args []string) (what string, rest []string) {
	if len(args) > 0 && (args[0] == "density" || args[0] == "fleet") {
		return args[0], args[1:]
	}
	return "", args
}

func thereAlready(file string) error {
	return fmt.Errorf("%s is there already, and is not overwritten: name another file", file)
}

// writeNew writes a file that must not exist.
func (a *app) writeNew(file string, text []byte, what string) error {
	f, err := owner.New(file, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &exitError{exitUsage, thereAlready(file)}
	}
	if err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the file: %w", err)}
	}
	if _, err := f.Write(text); err != nil {
		return &exitError{exitFailure, errors.Join(fmt.Errorf("write the file: %w", err), f.Close(), os.Remove(file))}
	}
	if err := f.Close(); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the file: %w", err)}
	}
	if what == "fleet" {
		fmt.Fprintf(a.stdout, "Wrote %s. Say in it which hosts and containers there are, and then:\n  plimsoll plan %s\n",
			file,
			shellLine([]string{file}))
		return nil
	}
	fmt.Fprintf(a.stdout, "Wrote %s. What it would do here:\n  plimsoll validate %s\n", file, shellLine([]string{file}))
	return nil
}
