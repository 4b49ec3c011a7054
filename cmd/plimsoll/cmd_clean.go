package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/journal"
	_ "plimsoll/internal/journal/kinds" // whatever any run can have changed
)

func newCleanCommand(a *app) *cobra.Command {
	var exports bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Undo what crashed runs left behind",
		Long: `Undo every change to the host that a run made and could not take back, because
it crashed, was killed, or the host lost power: loop devices, I/O schedulers, file
systems, mounts, Docker engines, containers, cgroups, NVMe-oF connections,
directories and files.

Each run keeps a journal of its changes below the state directory. clean goes
through the journals, newest change first, and touches nothing that is not in
them. Runs that are under way are left alone. Cleaning twice does no harm.

What "plimsoll target export" exports stays too, since it is meant to: --exports
takes it back as well. An export that a crash left half made is undone always.

EXIT STATUS
  0  nothing is left to undo (runs under way and exports excepted)
  1  something could not be undone; the reason is printed, clean again
  2  the command line is wrong`,
		Example: `  sudo plimsoll clean`,
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			clean := journal.Clean
			if exports {
				clean = journal.CleanKept
			}
			reports, err := clean(cmd.Context(), a.state)
			if a.jsonOutput {
				if reports == nil {
					reports = []journal.Report{}
				}
				out := json.NewEncoder(a.data())
				out.SetIndent("", "  ")
				err = errors.Join(err, out.Encode(reports))
			} else {
				err = errors.Join(err, a.printClean(reports))
			}
			if err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&exports, "exports", false, "take back what plimsoll target export exports, too")
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print what was done as JSON")
	return cmd
}

func (a *app) printClean(reports []journal.Report) error {
	var out strings.Builder
	if len(reports) == 0 {
		fmt.Fprintf(&out, "Nothing to clean in %s.\n", a.state)
	}
	for _, r := range reports {
		if r.Live {
			fmt.Fprintf(&out, "%s: under way, left alone\n", r.Run)
			continue
		}
		if r.Kept {
			fmt.Fprintf(&out, "%s: exports a device, left alone (plimsoll target list tells which; --exports takes "+
				"it back)\n", r.Run)
			continue
		}
		fmt.Fprintf(&out, "%s: %d undone, %d failed\n", r.Run, len(r.Undone), len(r.Failed))
		for _, what := range r.Undone {
			fmt.Fprintf(&out, "  undone  %s\n", what)
		}
		for _, what := range r.Failed {
			fmt.Fprintf(&out, "  FAILED  %s\n", what)
		}
	}
	_, err := io.WriteString(a.stdout, out.String())
	return err
}
