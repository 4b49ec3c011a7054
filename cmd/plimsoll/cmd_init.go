package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/examples"
	"plimsoll/internal/cli/starter"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/workload/fio"

	"plimsoll/internal/printable"
)

// defaultExperiment is the file that init writes when none is named.
const defaultExperiment = "experiment.yaml"

// defaultFleet is the file that init fleet writes.
const defaultFleet = "fleet.yaml"

// densityExperiment is the one that init density writes.
const densityExperiment = "density.yaml"

func newInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		ValidArgsFunction: completeExperiments,

		Use:   "init [NAME|density|fleet|JOB.fio|COMPOSE.yaml] [FILE]",
		Short: "Write a commented experiment file, for this host or a built-in one",
		Long: `Write an experiment file for this host, ` + defaultExperiment + ` unless FILE names another, or
to standard output when FILE is "-". It has the stacks that the host can make
today, as plimsoll doctor finds them, and names what is missing for others. The
host's directories and block devices stand in it as comments, each device with
the --destroy that it would need. A file that is there is never overwritten.

With density, the file asks how many key-value servers this host carries: with as
many and as much data as are in proportion to its processors and its memory, in the
directory with most room. It is ` + densityExperiment + ` unless FILE names another.

With NAME, a built-in experiment (plimsoll list), it is that experiment's own file,
to change and run. It is NAME.yaml unless FILE names another.

With JOB.fio, a job file of fio, the experiment runs that on the same stacks. What
the job file says of its target is replaced by what each stack is, and comments say
so. ${NAME} in it has the value of the environment's NAME.

With COMPOSE.yaml, a Compose file, it writes two files. COMPOSE.plimsoll.yaml is
a copy in which each service has a class: a guess by the image's name which
built-in workload is nearest. ` + classesExperiment + `, unless FILE names another, measures
them. The commands that lead from there to a plan are printed.

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
  plimsoll init cassandra-scaling my-cassandra.yaml
  plimsoll init oltp.fio oltp.yaml
  SIZE=4g plimsoll init random.fio
  plimsoll init compose.yaml
  plimsoll init fleet && plimsoll plan fleet.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			what, rest := requestedTemplate(args)
			if what == "" && len(rest) > 0 && !strings.ContainsAny(rest[0], "./") {
				meant := suggest.Closest(rest[0], append(examples.List(), "fleet"))
				if meant != "" {
					return fmt.Errorf(
						"init makes no %s: did you mean plimsoll init %s? A file of that name is ./%s",
						rest[0],
						meant,
						rest[0],
					)
				}
			}
			return atMostOne("one file")(cmd, rest)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			standard, write := defaultExperiment, starter.Write
			host := hostinfo.New()
			host.State = a.state
			what, rest := requestedTemplate(args)
			if isComposeFile(what) {
				experiment := classesExperiment
				if len(rest) > 0 {
					experiment = rest[0]
				}
				return a.initCompose(cmd.Context(), what, experiment)
			}
			switch what {
			case "density":
				standard = densityExperiment
				write = func(w io.Writer, h starter.Host) error { return starter.WriteDensity(w, h, host.Capacity()) }
			case "fleet":
				m, err := readModel(modelFile)
				if err != nil {
					return &exitError{exitUsage,
						fmt.Errorf("a fleet is planned by a model: make one with plimsoll fit RUN...: %w", err)}
				}
				standard = defaultFleet
				write = func(w io.Writer, h starter.Host) error {
					return starter.WriteFleet(w, h, host.Capacity(), modelFile, m)
				}
			default:
				text, builtIn := examples.Find(what)
				if builtIn {
					standard = what + ".yaml"
					write = func(w io.Writer, _ starter.Host) error { _, err := w.Write(text); return err }
				}
			}
			file := standard
			if len(rest) > 0 {
				file = rest[0]
			}
			var job *starter.Job
			if isJobFile(what) {
				var err error
				job, err = jobOf(what, file)
				if err != nil {
					return &exitError{exitUsage, err}
				}
			}
			if _, err := os.Lstat(file); err == nil && file != standardInput {
				return &exitError{exitUsage, thereAlready(file)}
			}
			about := starter.Host{Report: host.Doctor(cmd.Context(), stack.FileSystems()), File: file, Job: job}
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

// requestedTemplate returns the kind of file asked for: a built-in experiment, "fleet", fio's job file or a Compose
// file; "" for an experiment about stacks. rest are the other arguments.
func requestedTemplate(args []string) (what string, rest []string) {
	if len(args) > 0 {
		_, builtIn := examples.Find(args[0])
		if builtIn || args[0] == "fleet" || isJobFile(args[0]) || isComposeFile(args[0]) {
			return args[0], args[1:]
		}
	}
	return "", args
}

// isJobFile reports whether a file is named as job files of fio are.
func isJobFile(name string) bool {
	return slices.Contains([]string{".fio", ".job", ".ini"}, filepath.Ext(name))
}

// jobOf reads a job file that an experiment in a file is to run.
func jobOf(name, file string) (*starter.Job, error) {
	from, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(from, full)
	if err != nil {
		return nil, err
	}
	open := func(name string) ([]byte, error) { return openBeside(file, name) }
	text, err := open(relative)
	if err != nil {
		return nil, fmt.Errorf("read the job file: %w", err)
	}
	job := &starter.Job{File: relative, Env: map[string]string{}}
	for _, v := range fio.Variables(text) {
		if value, set := os.LookupEnv(v); set {
			job.Env[v] = value
		}
	}
	described, mistakes := fio.Describe(relative, text, job.Env, open)
	for i := range mistakes {
		mistakes[i].At.In = name
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	job.Described = described
	return job, nil
}

func thereAlready(file string) error {
	return fmt.Errorf("%s is there already, and is not overwritten: name another file", file)
}

// newFile writes a file that must not exist.
func newFile(file string, text []byte) error {
	f, err := sudouser.New(file, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &exitError{exitUsage, thereAlready(file)}
	}
	if err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the file: %w", err)}
	}
	if _, err := f.Write(text); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the file: %w", errors.Join(err, f.Close(), sudouser.Remove(file)))}
	}
	if err := f.Close(); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the file: %w", err)}
	}
	return nil
}

// writeNew writes a file that must not exist, and prints what comes next.
func (a *app) writeNew(file string, text []byte, what string) error {
	if err := newFile(file, text); err != nil {
		return err
	}
	if what == "fleet" {
		fmt.Fprintf(a.stdout, "Wrote %s. Say in it which hosts and containers there are, and then:\n  %s\n",
			file, printable.Plimsoll("plan", file))
		return nil
	}
	fmt.Fprintf(a.stdout, "Wrote %s. What it would do here:\n  %s\n", file, printable.Plimsoll("validate", file))
	return nil
}
