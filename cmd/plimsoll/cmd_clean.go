package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	_ "plimsoll/internal/cli/kinds" // whatever any run can have changed
	"plimsoll/internal/printable"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

func newCleanCommand(a *app) *cobra.Command {
	var exports, all, dryRun bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Undo what crashed runs left behind",
		Long: `Undo every change to the host that a run made and could not take back, because it
crashed, was killed, or the host lost power. Such changes are loop devices, I/O
schedulers, file systems, mounts, Docker engines, containers, cgroups, NVMe-oF
connections, directories and files.

Each run keeps a journal of its changes below the state directory. clean goes
through the journals, newest change first, and touches nothing that is not in
them. Runs that are under way are left alone. Cleaning twice does no harm.

What "plimsoll target export" exports stays too, since it is meant to: --exports
takes it back as well. An export that a crash left half made is undone always.

--all takes back exports, and removes what is kept for later runs: the data of
servers and the images that they run from (plimsoll data list, plimsoll image list).
Results stay: plimsoll runs remove.

--dry-run prints what is in the journals of runs that are not under way, in the order
in which it would be undone, and changes nothing.

What sudo plimsoll did is in root's journals, which only root can read: without sudo,
clean says that it did not look there.

EXIT STATUS
  0  nothing of this user's is left to undo (runs under way and exports excepted);
     with --dry-run: printed
  1  something could not be undone; the reason is printed, clean again
  2  the command line is wrong`,
		Example: `  sudo plimsoll clean --dry-run
  sudo plimsoll clean
  sudo plimsoll clean --all --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			clean := journal.Clean
			switch {
			case dryRun:
				clean = func(_ context.Context, state string) ([]journal.Report, error) {
					return journal.Preview(state, exports || all)
				}
			case exports || all:
				clean = journal.CleanKept
			}
			reports, err := clean(cmd.Context(), a.state)
			if reports == nil {
				reports = []journal.Report{}
			}
			var kept []string
			if all {
				var wrong error
				kept, wrong = a.removeKept(dryRun)
				err = errors.Join(err, wrong)
			}
			if a.jsonOutput {
				err = errors.Join(err, a.document("", struct {
					Runs    []journal.Report `json:"runs"`
					Removed []string         `json:"removed,omitempty"` // of what was kept for later runs
				}{reports, kept}))
			} else {
				err = errors.Join(err, a.printClean(reports, kept, dryRun))
				a.noteRootsData("changes of runs that had root", "clean")
			}
			if err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be undone, and change nothing")
	cmd.Flags().BoolVar(&all, "all", false, "take back exports, and remove data and images kept for later runs, too")
	cmd.Flags().BoolVar(&exports, "exports", false, "take back what plimsoll target export exports, too")
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print what was done as JSON")
	return cmd
}

// noteRootsData prints, for a user without root, which of root's data was not examined, and the command for it. It
// goes to standard error, as it is no part of the answer.
func (a *app) noteRootsData(what string, args ...string) {
	if os.Geteuid() != 0 && !a.jsonOutput {
		fmt.Fprintf(
			a.stderr,
			"Not checked, since only root can: %s, in %s: %s\n",
			what,
			rootState,
			printable.AsRoot(args...),
		)
	}
}

// removeKept removes the data and the images that are kept for later runs, and returns their descriptions; with
// dryRun it removes nothing. It fails for what a run uses, which stays.
func (a *app) removeKept(dryRun bool) (removed []string, err error) {
	var problems []error
	remove := func(what string, do func() error) {
		if !dryRun {
			wrong := do()
			if wrong != nil {
				problems = append(problems, fmt.Errorf("%s: %w", what, wrong))
				return
			}
		}
		removed = append(removed, what)
	}
	data := a.dataStore(0)
	copies, _, err := data.List()
	problems = append(problems, err)
	for _, c := range copies {
		remove(fmt.Sprintf("data %s, %s", printable.Line(c.Content), units.Bytes(uint64(c.Bytes))),
			func() error { return data.Remove(c) })
	}
	images, _, err := a.images().List()
	problems = append(problems, err)
	for _, i := range images {
		remove(fmt.Sprintf("image %s, %s", printable.Line(i.Name), i.Digest), func() error { return a.images().Remove(i) })
	}
	return removed, errors.Join(problems...)
}

func (a *app) printClean(reports []journal.Report, kept []string, dryRun bool) error {
	var out strings.Builder
	verb := "removed"
	if dryRun {
		verb = "would be removed"
	}
	for _, what := range kept {
		fmt.Fprintf(&out, "%s: %s\n", what, verb)
	}
	if len(reports)+len(kept) == 0 {
		fmt.Fprintf(&out, "Nothing to clean in %s.\n", a.state)
	}
	for _, r := range reports {
		if r.Live {
			fmt.Fprintf(&out, "%s: under way, left alone\n", r.Run)
			continue
		}
		if r.Kept {
			fmt.Fprintf(&out, "%s: exports a device, left alone (plimsoll target list shows which; --exports takes "+
				"it back)\n", r.Run)
			continue
		}
		if dryRun && len(r.Failed) == 0 {
			fmt.Fprintf(&out, "%s: %s would be undone\n", r.Run, plural.Count(len(r.Left), "change"))
			for _, what := range r.Left {
				fmt.Fprintf(&out, "  %s\n", what)
			}
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
