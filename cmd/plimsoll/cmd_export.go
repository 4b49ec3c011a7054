package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/result"
	"plimsoll/internal/result/export"
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
	cmd := &cobra.Command{
		Use:   "export [RUN] --format ndjson|csv",
		Short: "Write a run's trials for other programs",
		Long: `Write one row per trial: run, stack, workload, status and reason, IOPS and
bandwidth, latency percentiles, what answered, and what each device counted.

  ndjson  one JSON object per line; counters nested
  csv     a heading and one record per trial; units are in the column names,
          and what was not measured is an empty field

docs/results.md describes every field.

` + runArgument + `

EXIT STATUS
  0  the rows were written
  1  the run cannot be read, or the rows cannot be written
  2  the command line is wrong, or there is no such run`,
		Example: `  plimsoll export --format csv -o quick.csv
  plimsoll export last --format ndjson | jq -r '[.stack, .measured.iops] | @tsv'`,
		Args: atMostOne("one run"),
		RunE: func(_ *cobra.Command, args []string) error {
			var names []string
			for _, f := range exportFormats {
				names = append(names, f.name)
			}
			i := slices.Index(names, format)
			if i < 0 {
				return &exitError{exitUsage, fmt.Errorf("there is no export format %q: --format takes %s", format, strings.Join(names, " or "))}
			}
			_, run, err := readRun(args)
			if err != nil {
				return err
			}
			if err := writeTo(a.stdout, out, func(w io.Writer) error { return exportFormats[i].write(w, run) }); err != nil {
				return &exitError{exitFailure, fmt.Errorf("export run %s: %w", run.ID, err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "ndjson", "format of the rows: ndjson or csv")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: standard output)")
	return cmd
}

// writeTo fills the named file, or stdout when there is no name.
func writeTo(stdout io.Writer, name string, fill func(io.Writer) error) error {
	if name == "" || name == "-" {
		return fill(stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}
