package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/report"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/inputfile"
)

func newRunsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "runs [DIRECTORY]", Aliases: []string{"ls"},
		Short: "List runs, newest first, and remove them",
		Long: `List the runs in ./` + store.RunsDir + `, or in DIRECTORY, newest first, one line each.
It has the name by which other commands take it, when it started, how many stacks and
workloads it tried, how many of its trials are done, and how it ended:

  complete     every trial was tried
  under way    a process is writing it at this moment
  interrupted  by Ctrl-C, or its budget ended it; plimsoll run --resume goes on
  crashed      or lost power; plimsoll run --resume goes on
  imported     it was made of files of another program

What looks like a run and cannot be read is listed behind them, with its reason.
Columns that do not fit the terminal are left out.

EXIT STATUS
  0  listed, also when there is no run
  1  the list could not be read or printed
  2  the command line is wrong, or there is no such directory`,
		Example: `  plimsoll runs
  plimsoll runs /srv/benchmarks
  plimsoll runs --json | jq -r '.runs[] | select(.status == "crashed") | .dir'`,
		Args: atMostOne("one directory of runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			runs, root, err := a.listRuns(args)
			if err != nil {
				return err
			}
			if a.jsonOutput {
				err = a.jsonDocument("runs", func(w io.Writer) error { return report.RunsJSON(w, runs) })
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
	cmd.AddCommand(newRunsRemoveCommand(a))
	return cmd
}

func newRunsRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "remove RUN...", Aliases: []string{"rm"},
		Short: "Remove runs",
		Long: `Remove the directories of runs, with results, report and artifacts, and print them.
A run that is under way is refused, and so are a link and a directory that holds a
file that is no part of a run: nothing of it is removed then.

RUN is a run directory, or the id of a run below ./` + store.RunsDir + ` or the beginning
of one, or "last".

EXIT STATUS
  0  removed
  1  a run could not be removed; the reason is printed, and the others are removed
  2  the command line is wrong, or there is no such run; nothing was removed`,
		Example: `  plimsoll runs remove quick-2026
  plimsoll runs remove last`,
		Args: atLeastOne("the runs to remove"),
		RunE: func(_ *cobra.Command, args []string) error {
			var dirs []string
			var problems []error
			for _, name := range args {
				dir, err := store.Find(a.runs, name)
				problems = append(problems, err)
				dirs = append(dirs, dir)
			}
			if err := errors.Join(problems...); err != nil {
				return &exitError{exitUsage, err}
			}
			for _, dir := range dirs {
				err := store.Remove(dir)
				if err == nil {
					fmt.Fprintf(a.stdout, "removed %s\n", dir)
				}
				problems = append(problems, err)
			}
			if err := errors.Join(problems...); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
		ValidArgsFunction: completeRuns(1000),
	}
}

// listRuns finds the runs where they are kept, or in the directory that was
// named; a run directory is a list of its own.
func (a *app) listRuns(args []string) (runs []store.Summary, root string, err error) {
	root = a.runs
	if len(args) > 0 {
		root = args[0]
		info, err := os.Stat(root)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = inputfile.NotThere("directory", root)
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
