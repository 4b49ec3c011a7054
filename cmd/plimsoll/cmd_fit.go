package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/model"
	"plimsoll/internal/recording/segments"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// modelFile is the default name of fit's output.
const modelFile = "model.json"

func newFitCommand(a *app) *cobra.Command {
	out, page, check := modelFile, "", false
	var seed uint64 = 1
	cmd := &cobra.Command{
		Use:   "fit RUN|RECORDING... [-o model.json]",
		Short: "Fit a model to runs or recordings, to predict what was not measured",
		Long: `Fit to runs what an operation of each workload needs: reads of the device over the
memory that an instance has, writes, processor time, and the latency of one that
waits for nobody. From that and from what a host has, "plimsoll predict" says what
any number of instances would do there. Nothing is measured.

A workload takes at least ` + strconv.Itoa(model.FewestPoints) + ` points: other numbers of instances, other limits of the
host, or others beside it. Identical points of several runs are merged. It learns
from workloads whose clients wait for answers (a closed loop), alone and in mixes.
Runs of fio on drives ("plimsoll run devices") show what these can do; what else the
runs hold is left out, with the reason.

Each point is then left out in turn, with all that are like it, and the others say
what it would have done: so far is the model to be trusted. --check lists them all,
beside what a straight line between the points next to it would have said, and
Gunther's Universal Scalability Law. The first line says what a class is good for.
Instances, clients, memory, CPUs, IOPS and bandwidth are levels: along each, the law
that misses left-out levels least answers, and is named.

Each RUN is a run directory, or the id of a run below ./` + store.RunsDir + ` or its
beginning, or "last". docs/explanation/model.md has the equations.

RECORDING is a directory, or a file of one, that "plimsoll watch --record" or
"plimsoll import --record" wrote. Its levels are hours with different numbers of
instances of a container, or with different rates. Unless operations were counted, an
operation is a read or a write, and how memory changes their number is not known.
A drive is known up to what was seen of it; a run of devices of the same host, fitted
with the recording, shows what it can do. docs/how-to/headroom.md has the limits.

EXIT STATUS
  0  the model was written
  1  a run cannot be read, nothing in the runs can be fitted, or the file cannot be
     written
  2  the command line is wrong, or there is no such run or recording`,
		Example: `  plimsoll fit last
  plimsoll fit density-2026 --check
  plimsoll fit /var/lib/plimsoll-recording devices
  plimsoll fit monday tuesday -o cassandra.json`,
		Args: atLeastOne("runs or recordings to fit to"),
		RunE: func(_ *cobra.Command, args []string) error {
			runs, recordings, err := a.readFitted(args)
			if err != nil {
				return err
			}
			m, err := model.Fit(model.Options{Version: version, Seed: seed, Recordings: recordings}, runs...)
			if err != nil {
				return &exitError{exitFailure, err}
			}
			_, earlier := os.Lstat(out)
			if err := writeTo(a.data(), out, m.Write); err != nil {
				return &exitError{exitFailure, fmt.Errorf("write the model: %w", err)}
			}
			if earlier == nil {
				fmt.Fprintf(a.stderr, "replaced the model in %s\n", out)
			}
			if page != "" {
				if err := writePage(page, report.FittedPage(m)); err != nil {
					return err
				}
			}
			if out == standardOutput {
				return nil
			}
			if a.jsonOutput {
				return m.Write(a.data())
			}
			return a.printWithLine(func(w io.Writer) error { return report.Fitted(w, m, check, a.terminalOptions()) },
				fmt.Sprintf("The model is in %s. Ask it: plimsoll predict %s --mix %s --over n=1..16\n", out, out,
					m.Classes[0].Name))
		},
		ValidArgsFunction: completeRuns(64),
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", out, "`file` to write, or - for standard output")
	f.BoolVar(&check, "check", false, "list what was said of each point that was left out")
	f.StringVar(&page, "html", page, "`file` to write the checks of the model to, as a page with figures")
	f.Uint64Var(&seed, "seed", seed, "`seed` of the bootstrap, for the intervals")
	f.BoolVar(&a.jsonOutput, "json", false, "print the model")
	return cmd
}

// readFitted reads the runs and recordings that names are of. The error has all that cannot be read.
func (a *app) readFitted(names []string) (runs []*result.Run, recordings []model.Recorded, err error) {
	var problems []error
	var ofRuns []string
	for _, name := range names {
		if !segments.Has(name) {
			ofRuns = append(ofRuns, name)
			continue
		}
		r, err := segments.Read(name, time.Time{}, time.Time{})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		recordings = append(recordings, model.Recorded{Name: filepath.Clean(name), Recording: r})
	}
	code := exitUsage
	runs, err = a.readRuns(ofRuns)
	if err != nil {
		var exit *exitError
		if errors.As(err, &exit) {
			code, err = exit.code, exit.err
		}
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, nil, &exitError{code, errors.Join(problems...)}
	}
	return runs, recordings, nil
}

// printWithLine prints for people, followed by a line.
func (a *app) printWithLine(print func(io.Writer) error, behind string) error {
	if err := print(a.styled()); err != nil {
		return &exitError{exitFailure, err}
	}
	if _, err := io.WriteString(a.styled(), behind); err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}
