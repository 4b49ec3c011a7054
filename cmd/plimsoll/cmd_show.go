package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
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
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Print the results of a run",
		Long: `Print what a run found: the verdict, what to use, what to avoid, what to check next,
and the first two tables. --full prints everything: a table per workload or mix, what
the verdict was drawn from, comparisons, the environment, and where the files are.
Nothing is measured again, and the run may still be under way.

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
  plimsoll show last --json | jq '.findings[].title'
  plimsoll show quick-2026 --report`,
		Args: atMostOne("one run"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, run, err := a.readRun(args)
			if err != nil {
				return err
			}
			if err := setObjective(run, objective); err != nil {
				return &exitError{exitUsage, err}
			}
			findings := finding.All(run)
			if rewrite {
				path := filepath.Join(dir, store.ReportFile)
				if err := writeReport(path, run, findings); err != nil {
					return &exitError{exitFailure, err}
				}
				fmt.Fprintln(a.stdout, path)
				return nil
			}
			if err := a.printRun(run, findings, dir); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
		ValidArgsFunction: completeRuns(1),
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print results and findings as JSON, as run --json does")
	cmd.Flags().BoolVar(&rewrite, "report", false, "write the run's report.html anew and print its path")
	cmd.Flags().StringVar(&objective, "objective", "",
		"say how many instances the host carries for another objective than the run's, such as `p99=10ms,standalone=50%`; "+
			"the stored run stays as it is")
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
	if !slices.ContainsFunc(finding.All(run), func(f fact.Finding) bool { return f.Rule == "scaling" }) {
		return fmt.Errorf("--objective %s would change nothing: no workload of run %s ran in different numbers of instances",
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
