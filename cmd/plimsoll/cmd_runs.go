package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/report"
	"plimsoll/internal/result/store"
)

func newRunsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs [DIRECTORY]",
		Short: "List the runs that are kept, newest first",
		Long: `List the runs in ./` + store.RunsDir + `, or in DIRECTORY, newest first, one line each: the
name by which other commands take it, when it started, how many stacks and
workloads it tried, how many of its trials are done, and how it ended:

  complete     every trial was tried
  under way    a process is writing it at this moment
  interrupted  by Ctrl-C, or its budget ended it; plimsoll run --resume goes on
  broken off   by a crash or a power loss; plimsoll run --resume goes on
  imported     it was made of files of another program

What looks like a run and cannot be read is listed behind them, with its reason.
Columns that do not fit the terminal are left out.

EXIT STATUS
  0  listed, also when there is no run
  1  the list could not be read or printed
  2  the command line is wrong, or there is no such directory`,
		Example: `  plimsoll runs
  plimsoll runs /srv/benchmarks
  plimsoll runs --json | jq -r '.[] | select(.status == "broken off") | .dir'`,
		Args: atMostOne("one directory of runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			runs, root, err := listRuns(args)
			if err != nil {
				return err
			}
			if a.jsonOutput {
				err = report.RunsJSON(a.data(), runs)
			} else {
				opt := a.terminalOptions()
				if !isTerminal(a.stdout) {
					opt.Width = math.MaxInt // whoever reads it cuts its columns apart
				}
				err = report.Runs(a.styled(), root, runs, opt)
			}
			if err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
		ValidArgsFunction: completeDirectories,
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

// listRuns finds the runs where they are kept, or in the directory that was
// named; a run directory is a list of its own.
func listRuns(args []string) (runs []store.Summary, root string, err error) {
	root = store.RunsDir
	if len(args) > 0 {
		root = args[0]
		info, err := os.Stat(root)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("there is no directory %s", root)
		case err == nil && !info.IsDir():
			err = fmt.Errorf("%s is no directory: runs are kept in one each", root)
		}
		if err != nil {
			return nil, root, &exitError{exitUsage, err}
		}
		if store.IsRun(root) {
			return []store.Summary{store.Summarize(root)}, root, nil
		}
	}
	runs, err = store.List(root)
	if err != nil {
		return nil, root, &exitError{exitFailure, err}
	}
	return runs, root, nil
}
