package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/export"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// exportFormat is a format of export. A nil function means that the format lacks such data.
type exportFormat struct {
	name   string
	rows   func(io.Writer, *result.Run) error
	tables func(io.Writer, *result.Run) error
	series func(io.Writer, []export.TrialSeries) error
}

// exportFormats are the formats of export, in the order of its help.
var exportFormats = []exportFormat{
	{"ndjson", export.NDJSON, report.TablesNDJSON, export.SeriesNDJSON},
	{"csv", export.CSV, report.TablesCSV, export.SeriesCSV},
	{"openmetrics", nil, nil, export.SeriesOpenMetrics},
}

func newExportCommand(a *app) *cobra.Command {
	var out string
	format, series, tables := "ndjson", false, false
	cmd := &cobra.Command{
		Use:   "export [RUN] [--tables|--series] --format FORMAT",
		Short: "Write trials or samples of a run as NDJSON or CSV",
		Long: `Write one row per instance of a trial: run, stack, workload, status and reason,
IOPS and bandwidth, latency percentiles, what answered, and what each device
counted. With --series, write what was sampled while trials ran instead: one
value per second of each metric of instances, devices and the host. With --tables,
write the tables of "plimsoll show": one row per stack and workload, its medians
not rounded.

  ndjson       one JSON object per line; counters nested
  csv          a heading and one record per row or value; units are in
               the column names, with --series in a column;
               what was not measured is an empty field
  openmetrics  with --series only: metrics with timestamps, as
               Prometheus takes them (promtool tsdb
               create-blocks-from openmetrics)

docs/reference/results.md describes every field, docs/reference/metrics.md every
metric. On a terminal, what would fill more than a screen is printed only with
"-o -"; without it, the error says how much it is.

` + runArgument + `

EXIT STATUS
  0  the rows were written
  1  the run cannot be read, nothing was sampled in it, or the file cannot be
     written
  2  the command line is wrong, or there is no such run`,
		Example: `  plimsoll export --format csv -o quick.csv
  plimsoll export last --format ndjson | jq -r '[.stack, .measured.rate] | @tsv'
  plimsoll export --tables --format csv
  plimsoll export --series --format openmetrics -o series.om`,
		Args: atMostOne("one run"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := findFormat(format, series)
			if err != nil {
				return err
			}
			dir, run, err := a.readRun(args)
			if err != nil {
				return err
			}
			e := exportOutput{run: run, format: format, amount: plural.Count(len(export.Rows(run)), "row")}
			e.write = func(w io.Writer) error { return f.rows(w, run) }
			if tables {
				e.amount = "the tables"
				e.write = func(w io.Writer) error { return f.tables(w, run) }
			}
			if series {
				all, err := readAllSeries(dir, run)
				if err != nil {
					return &exitError{exitFailure, err}
				}
				e.amount = plural.Count(countValues(all), "value")
				e.write = func(w io.Writer) error { return f.series(w, all) }
			}
			if out == "" && isTerminal(a.stdout) {
				if err := e.tooLong(); err != nil {
					return err
				}
			}
			if err := writeTo(a.data(), out, e.write); err != nil {
				return &exitError{exitFailure, fmt.Errorf("export run %s: %w", run.ID, err)}
			}
			if out != "" && out != standardOutput && isTerminal(a.stderr) {
				fmt.Fprintf(a.stderr, "%s of run %s in %s\n", e.amount, run.ID, out)
			}
			return nil
		},
		ValidArgsFunction: completeRuns(1),
	}
	cmd.Flags().BoolVar(&series, "series", false, "write what was sampled while trials ran")
	cmd.Flags().BoolVar(&tables, "tables", false, "write one row per stack and workload")
	mutuallyExclusive(cmd, "series", "tables")
	cmd.Flags().StringVar(&format, "format", format, "`format` of the rows: ndjson or csv; with --series also openmetrics")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write, or - for standard output, which is the default")
	completeFlag(cmd, "format", completeWords(formatNames(true)...))
	return cmd
}

// formatNames returns the names of the formats that hold rows, or series.
func formatNames(series bool) []string {
	var names []string
	for _, f := range exportFormats {
		if series || f.rows != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// findFormat returns the format of that name.
func findFormat(name string, series bool) (exportFormat, error) {
	i := slices.IndexFunc(exportFormats, func(f exportFormat) bool { return f.name == name })
	switch {
	case i < 0:
		return exportFormat{}, &exitError{exitUsage,
			fmt.Errorf("there is no export format %q: --format takes %s", name, plural.Or(formatNames(series)))}
	case !series && exportFormats[i].rows == nil:
		return exportFormat{}, &exitError{exitUsage,
			fmt.Errorf("%s holds values over time, and no rows of trials: add --series, or take --format %s",
				name, plural.Or(formatNames(false)))}
	}
	return exportFormats[i], nil
}

// readAllSeries reads the series of all trials of a run, in their order.
func readAllSeries(dir string, run *result.Run) ([]export.TrialSeries, error) {
	var all []export.TrialSeries
	for _, t := range run.Trials {
		if t.Status == result.TrialPlanned {
			continue
		}
		series, err := store.ReadSeries(dir, t.Seq)
		if err != nil {
			return nil, err
		}
		if len(series) > 0 {
			all = append(all, export.TrialSeries{Trial: t.Seq, Series: series})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("run %s has no series: nothing was sampled while its trials ran; without --series its "+
			"trials are written", run.ID)
	}
	return all, nil
}

// countValues returns how many values there are in all series.
func countValues(all []export.TrialSeries) (n int) {
	for _, t := range all {
		for _, s := range t.Series {
			n += len(s.Values)
		}
	}
	return n
}

// exportOutput writes the data of an export.
type exportOutput struct {
	run    *result.Run
	format string
	amount string // "4 rows"
	write  func(io.Writer) error
}

// screenful is how many bytes of rows are printed to a terminal without asking.
const screenful = 80 * 20

// tooLong returns an error for output to a terminal that is long and meant for programs.
func (e exportOutput) tooLong() error {
	var n byteCounter
	if err := e.write(&n); err != nil {
		return &exitError{exitFailure, fmt.Errorf("export run %s: %w", e.run.ID, err)}
	}
	if n <= screenful {
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("this would print %s of %s, %s: name a file (-o %s.%s), or print them "+
		"all the same (-o -)",
		e.amount, e.format, units.Bytes(uint64(n)), e.run.Experiment.Name, e.format)}
}

// byteCounter counts the bytes written.
type byteCounter int

func (c *byteCounter) Write(text []byte) (int, error) {
	*c += byteCounter(len(text))
	return len(text), nil
}

// standardOutput is the name of standard output where a file is asked for.
const standardOutput = "-"

// writeTo fills the named file, or stdout when there is no name.
func writeTo(stdout io.Writer, name string, fill func(io.Writer) error) error {
	if name == "" || name == standardOutput {
		return fill(stdout)
	}
	f, err := sudouser.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
