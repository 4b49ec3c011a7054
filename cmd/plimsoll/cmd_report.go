package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/browser"
	"plimsoll/internal/finding"
	"plimsoll/internal/printable"
	"plimsoll/internal/result/store"
)

func newReportCommand(a *app) *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use: "report [RUN]", Aliases: []string{"open"},
		Short: "Open the HTML report of a run in the browser",
		Long: `Open a run's report.html in the browser: the one that BROWSER names in the
environment, or else the desktop's (xdg-open). Under sudo it is the browser of the
user who called, and not root's. Where there is neither a display nor BROWSER, as
over ssh, it says how to get the report.

The path of the report is printed in any case, and nothing else on standard
output. A report that is missing, or older than the results, is written anew.

` + runArgument + `

EXIT STATUS
  0  the report was opened, or there is no browser and its path was printed
  1  the run cannot be read, the report cannot be written, or the browser failed
  2  the command line is wrong, or there is no such run`,
		Example: `  plimsoll report
  plimsoll report quick-2026
  BROWSER=w3m plimsoll report
  scp "$(ssh host plimsoll report --print)" .`,
		Args: atMostOne("one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := store.Last
			if len(args) > 0 {
				name = args[0]
			}
			dir, err := store.Find(a.runs, name)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			path, err := a.freshReport(dir)
			if err != nil {
				return &exitError{exitFailure, err}
			}
			fmt.Fprintln(a.stdout, path)
			if only {
				return nil
			}
			return a.openPage(cmd.Context(), path)
		},
		ValidArgsFunction: completeRuns(1),
	}
	cmd.Flags().BoolVar(&only, "print", false, "print the path of the report, and open nothing")
	return cmd
}

// freshReport returns the absolute path of a run's report, and writes it first
// where it is missing or older than the results.
func (a *app) freshReport(dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, store.ReportFile))
	if err != nil {
		return "", err
	}
	results, err := os.Stat(filepath.Join(dir, store.ResultsFile))
	if err != nil {
		return "", err
	}
	page, err := os.Lstat(path)
	there := err == nil && page.Mode().IsRegular() // a link, or a pipe, is no report
	if there && !page.ModTime().Before(results.ModTime()) {
		return path, nil
	}
	run, err := store.Read(dir)
	if err == nil {
		err = writeReport(path, run, finding.All(run))
	}
	if err != nil && there {
		fmt.Fprintf(a.stderr, "plimsoll: this report is older than the results, and there can be no new one: %v\n", err)
		return path, nil
	}
	return path, err
}

// fileOf is the file below a stream, so that a browser that draws on the
// terminal has it, and not a pipe.
func fileOf(w io.Writer) io.Writer {
	w = unfiltered(w)
	if s, ok := w.(stream); ok {
		return s.file
	}
	return w
}

// openPage opens a page in the browser, or prints how to get it.
func (a *app) openPage(ctx context.Context, path string) error {
	err := browser.Open(ctx, path, browser.Streams{In: os.Stdin, Out: fileOf(a.stdout), Errors: fileOf(a.stderr)})
	var none *browser.NoneError
	switch {
	case errors.As(err, &none):
		fmt.Fprintf(a.stderr, "%s.\n", none)
		if host, err := os.Hostname(); err == nil && os.Getenv("SSH_CONNECTION") != "" {
			fmt.Fprintf(a.stderr, "From your own machine: scp %s .\n", printable.Command(host+":"+path))
		} else {
			fmt.Fprintln(a.stderr, "Open the file above in a browser; it is one file, which needs no network.")
		}
		return nil
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case err != nil:
		return &exitError{exitFailure, fmt.Errorf("open the report: %w", err)}
	}
	return nil
}
