// Package budget measures studies with a budget of time each, and prints what it went on, one row for each run.
package budget

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/spending"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/units"
)

// studies are the built-in experiments that are measured.
var studies = []string{"density", "postgresql-scaling", "cassandra-scaling", "heterogeneous"}

// Run measures the studies for $BUDGET each (15m), and prints their rows; or the rows of the directories that args
// name. Runs that exist are not measured again: one that was interrupted goes on with `plimsoll run --resume`.
func Run(args []string) error {
	if len(args) == 0 {
		for _, name := range studies {
			dir := filepath.Join("bin/budget", name)
			args = append(args, dir)
			if _, err := os.Stat(dir); err == nil {
				continue
			}
			cmd := exec.Command("./plimsoll", "run", name, "--budget", cmp.Or(os.Getenv("BUDGET"), "15m"), "-o", dir)
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // the table alone is output
			err := cmd.Run()
			if err != nil {
				return fmt.Errorf("plimsoll run %s: %w", name, err)
			}
		}
	}
	fmt.Print("| run | time | trials |")
	for _, name := range result.PhaseNames {
		fmt.Printf(" %s |", name)
	}
	fmt.Printf(" verdict |\n|---|--:|--:|%s---|\n", strings.Repeat("--:|", len(result.PhaseNames)))
	for _, dir := range args {
		err := row(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// row prints the shares of a run's time, and what came of it.
func row(dir string) error {
	run, err := store.Read(dir)
	if err != nil {
		return err
	}
	found := finding.All(run)
	verdict := ""
	for _, f := range found {
		if f.Recommendation != nil {
			verdict = f.Title
		}
	}
	for _, f := range found {
		spent, ok := f.Facts.(*spending.Facts)
		if !ok {
			continue
		}
		fmt.Printf("| %s | %s | %d |", run.Experiment.Name, units.Elapsed(spent.Seconds), spent.Trials)
		for _, name := range result.PhaseNames {
			fmt.Printf(" %s |", units.Percent(result.SecondsOf(spent.Phases, name)/spent.Seconds))
		}
		fmt.Printf(" %s |\n", verdict)
		return nil
	}
	return fmt.Errorf("no trial of the run has the times of its phases")
}
