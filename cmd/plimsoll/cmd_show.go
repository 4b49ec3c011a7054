package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/repeats"
	"plimsoll/internal/result/store"
)

// runArgument explains RUN in the help of every command that takes it.
const runArgument = `RUN is a run directory, or the id of a run below ./` + store.RunsDir + ` or the beginning
of one, or "last": the newest run there, which is also taken when RUN is left
out. --runs-dir names another directory of runs. A run that --output put in another
place is named by its directory.`

func newShowCommand(a *app) *cobra.Command {
	var rewrite bool
	var objective string
	var margin marginFlag
	cmd := &cobra.Command{
		Use:   "show [RUN...]",
		Short: "Print the results of a run, or of several runs of one experiment",
		Long: `Print what a run found: the verdict, what to use, what to avoid, what to check next,
and the first two tables. --full prints everything: a table per workload or mix, what
the verdict was drawn from, comparisons, the environment, and where the files are.
Nothing is measured again, and the run may still be under way.

Several runs of one experiment on one host are pooled: the verdict is from the
rounds of all of them, and its intervals hold for the next run, too. They have to be
the same in all but how often and how long they were repeated: else what differs is
named.

` + runArgument + `

Colours are left out when the output is no terminal, or NO_COLOR is set; letters
beyond ASCII when the locale has none (LC_ALL=C).

EXIT STATUS
  0  the run was printed
  1  the run cannot be read: damaged, or of another version
  2  the command line is wrong, or there is no such run`,
		Example: `  plimsoll show
  plimsoll show --full
  plimsoll show --objective p99=10ms
  plimsoll show --margin 2%
  plimsoll show last --json | jq '.findings[].title'
  plimsoll show quick-2026 --report
  plimsoll show quick-20260512 quick-20260513 quick-20260514`,
		RunE: func(_ *cobra.Command, args []string) error {
			if rewrite && len(args) > 1 {
				return &exitError{exitUsage, errors.New("--report writes the page of one run: name one, or leave --report out")}
			}
			dir, run, err := a.readPooled(args)
			if err != nil {
				return err
			}
			margin.apply(run)
			if err := setObjective(run, objective); err != nil {
				return &exitError{exitUsage, err}
			}
			if rewrite {
				findings := finding.All(run)
				path := filepath.Join(dir, store.ReportFile)
				if err := writeReport(path, run, findings); err != nil {
					return &exitError{exitFailure, err}
				}
				fmt.Fprintln(a.stdout, path)
				return nil
			}
			if err := a.printRun(run, a.findingsOf(run), dir); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
		ValidArgsFunction: completeRuns(1000),
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print results and findings as JSON, as run --json does")
	cmd.Flags().BoolVar(&rewrite, "report", false, "write the run's report.html again and print its path")
	cmd.Flags().StringVar(&objective, "objective", "",
		"say how many instances the host carries for another objective than the run's, such as `p99=10ms,standalone=50%`; "+
			"the stored run stays as it is")
	addMargin(cmd.Flags(), &margin)
	cmd.Flags().BoolVar(&a.full, "full", false, "print everything that the run found")
	mutuallyExclusive(cmd, "json", "report")
	return cmd
}

// setObjective replaces the objective of a run that was read; "" keeps its own.
func setObjective(run *result.Run, text string) error {
	if text == "" {
		return nil
	}
	o, wrong := experiment.ParseObjective(text)
	if wrong != nil {
		return fmt.Errorf("--objective takes %s, not %q: %s", wrong.Takes, text, wrong.Remedy)
	}
	run.Experiment.Objective = o
	if !slices.ContainsFunc(finding.Measured(run), func(f fact.Finding) bool { return f.Rule == "scaling" }) {
		return fmt.Errorf("--objective %s has no effect: no workload of run %s ran in different numbers of instances",
			text, run.ID)
	}
	return nil
}

// readRun finds and reads the run that the arguments name.
func (a *app) readRun(args []string) (dir string, run *result.Run, err error) {
	name := store.Last
	if len(args) > 0 {
		name = args[0]
	}
	if dir, err = store.Find(a.runs, name); err != nil {
		return "", nil, &exitError{exitUsage, err}
	}
	if run, err = store.Read(dir); err != nil {
		return "", nil, &exitError{exitFailure, err}
	}
	return dir, run, nil
}

// readRuns finds and reads runs. The error has all that cannot be read.
func (a *app) readRuns(names []string) (runs []*result.Run, err error) {
	var problems []error
	code := exitOK
	for _, name := range names {
		_, run, err := a.readRun([]string{name})
		var exit *exitError
		if errors.As(err, &exit) {
			problems, code = append(problems, exit.err), max(code, exit.code)
			continue
		}
		runs = append(runs, run)
	}
	if len(problems) > 0 {
		return nil, &exitError{code, errors.Join(problems...)}
	}
	return runs, nil
}

// readPooled reads the run that the arguments name, or several as one; dir is "" for these.
func (a *app) readPooled(names []string) (dir string, run *result.Run, err error) {
	if len(names) < 2 {
		return a.readRun(names)
	}
	runs, err := a.readRuns(names)
	if err != nil {
		return "", nil, err
	}
	if run, err = repeats.Pool(runs); err != nil {
		return "", nil, &exitError{exitUsage, err}
	}
	return "", run, nil
}

// findingsOf returns the findings that printRun shows.
func (a *app) findingsOf(run *result.Run) []fact.Finding {
	if a.jsonOutput || a.full {
		return finding.All(run)
	}
	return finding.Measured(run)
}

// printRun prints a run as JSON or for people.
func (a *app) printRun(run *result.Run, findings []fact.Finding, dir string) error {
	if a.jsonOutput {
		return a.jsonDocument("", func(w io.Writer) error { return report.JSON(w, run, findings) })
	}
	opt := a.terminalOptions()
	opt.Dir, opt.Short = dir, !a.full
	return report.Terminal(a.styled(), run, findings, opt)
}

// terminalOptions returns the capabilities of standard output.
func (a *app) terminalOptions() report.TerminalOptions {
	return report.TerminalOptions{Width: columns(a.stdout, 120), Color: wantsColor(a.stdout), ASCII: wantsASCII(os.Getenv)}
}

// wantsASCII reports whether the locale has no letters but those of ASCII, as C has. Where no
// locale is set, the terminal is taken for one of today.
func wantsASCII(getenv func(string) string) bool {
	locale := strings.ToUpper(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale != "" && !strings.Contains(strings.ReplaceAll(locale, "-", ""), "UTF8")
}
