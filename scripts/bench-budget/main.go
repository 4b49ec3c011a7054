// Command bench-budget prints what the budgets of runs went on, one row for each run:
//
//	go run ./scripts/bench-budget RUN...
//
// make bench-budget measures the runs before that.
package main

import (
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/spending"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/units"
)

func main() {
	fmt.Print("| run | time | trials |")
	for _, name := range result.PhaseNames {
		fmt.Printf(" %s |", name)
	}
	fmt.Printf(" verdict |\n|---|--:|--:|%s---|\n", strings.Repeat("--:|", len(result.PhaseNames)))
	for _, dir := range os.Args[1:] {
		if err := row(dir); err != nil {
			fmt.Fprintf(os.Stderr, "bench-budget: %s: %v\n", dir, err)
			os.Exit(1)
		}
	}
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
	return fmt.Errorf("no trial tells what its time went on")
}
