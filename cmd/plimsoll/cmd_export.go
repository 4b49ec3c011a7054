package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/export"
	"plimsoll/internal/owner"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// exportFormats are the formats of export, in the order of its help.
var exportFormats = []struct {
	name  string
	write func(io.Writer, *result.Run) error
}{
	{"ndjson", export.NDJSON},
	{"csv", export.CSV},
}

func newExportCommand(a *app) *cobra.Command {
	var format, out string
	var names []string
	for _, f := range exportFormats {
		names = append(names, f.name)
	}
	cmd := &cobra.Command{
		Use:   "export [RUN] --format ndjson|csv",
		Short: "Write a run's trials for other programs",
		Long: `Write one row per trial: run, stack, workload, status and reason, IOPS and
bandwidth, latency percentiles, what answered, and what each device counted.

  ndjson  one JSON object per line; counters nested
  csv     a heading and one record per trial; units are in the column names,
          and what was not measured is an empty field

docs/results.md describes every field. On a terminal, rows that would fill more
than a screen are printed only with "-o -"; without it, the error says how many
they are.

` + runArgument + `

EXIT STATUS
  0  the rows were written
  1  the run cannot be read, or the rows cannot be written
  2  the command line is wrong, or there is no such run`,
		Example: `  plimsoll export --format csv -o quick.csv
  plimsoll export last --format ndjson | jq -r '[.stack, .measured.iops] | @tsv'`,
		Args: atMostOne("one run"),
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.Index(names, format)
			if i < 0 {
				return &exitError{exitUsage, fmt.Errorf("there is no export format %q: --format takes %s", format, plural.Or(names))}
			}
			_, run, err := readRun(args)
			if err != nil {
				return err
			}
			write := func(w io.Writer) error { return exportFormats[i].write(w, run) }
			if out == "" && isTerminal(a.stdout) {
				if err := tooLong(run, format, write); err != nil {
					return err
				}
			}
			if err := writeTo(a.data(), out, write); err != nil {
				return &exitError{exitFailure, fmt.Errorf("export run %s: %w", run.ID, err)}
			}
			if out != "" && out != standardOutput && isTerminal(a.stderr) {
				fmt.Fprintf(a.stderr, "%s of run %s in %s\n", plural.Count(len(run.Trials), "row"), run.ID, out)
			}
			return nil
		},
		ValidArgsFunction: completeRuns(1),
	}
	cmd.Flags().StringVar(&format, "format", "ndjson", "format of the rows: ndjson or csv")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write, or - for standard output, which is the default")
	completes(cmd, "format", completeWords(names...))
	return cmd
}

// screenful is how many bytes of rows a terminal may be given without asking.
const screenful = 80 * 25

// tooLong keeps a terminal from being filled with what is meant for programs.
func tooLong(run *result.Run, format string, write func(io.Writer) error) error {
	var n counter
	if err := write(&n); err != nil {
		return &exitError{exitFailure, fmt.Errorf("export run %s: %w", run.ID, err)}
	}
	if n <= screenful {
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("this would print %s of %s, %s: name a file (-o %s.%s), or print them all the same (-o -)",
		plural.Count(len(run.Trials), "row"), format, units.Bytes(uint64(n)), run.Experiment.Name, format)}
}

// counter counts what is written.
type counter int

func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

// standardOutput is its name where a file is asked for.
const standardOutput = "-"

// writeTo fills the named file, or stdout when there is no name.
func writeTo(stdout io.Writer, name string, fill func(io.Writer) error) error {
	if name == "" || name == standardOutput {
		return fill(stdout)
	}
	f, err := owner.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
