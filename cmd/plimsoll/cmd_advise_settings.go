package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/finding/guidelines"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/units/plural"
)

func newAdviseSettingsCommand(a *app) *cobra.Command {
	page := ""
	var margin marginFlag
	cmd := &cobra.Command{
		Use:   "settings [RUN...]",
		Short: "Recommend settings for this host, from its runs",
		Long: `Recommend settings from runs, in the form in which papers do: what to put beside
what, how many instances to run, and which limits to set. They also say when more
memory, a faster drive or another host helps. Each sentence has its evidence, and
what papers advise that it agrees or disagrees with.

RUN is a run as plimsoll runs names it, or a run directory. Without any, all runs in
./` + store.RunsDir + ` count that were measured on the host of the newest. Runs of one
experiment that differ in nothing are pooled. Of several others that report the same
the newest counts that shows it.

EXIT STATUS
  0  shown, also where nothing is known yet
  1  the guidelines could not be printed
  2  the command line is wrong, or there is no such run`,
		Example: `  plimsoll advise settings
  plimsoll advise settings --html guidelines.html
  plimsoll advise settings --json | jq -r '.guidelines[] | select(.open | not) | .text'`,
		RunE: func(_ *cobra.Command, args []string) error {
			runs, meta, err := a.runsToAdvise(args)
			if err != nil {
				return err
			}
			margin.apply(runs...)
			given := guidelines.Find(runs)
			return a.answer(report.Answer{Kind: "guidelines", Title: "What to do on this host, by what runs measured",
				Verdict: given.Summary(), Meta: meta, Sections: given.Sections()}, given, page)
		},
		ValidArgsFunction: completeRuns(1000),
	}
	cmd.Flags().StringVar(&page, "html", "", "`file` to write the guidelines to, as a page")
	addMargin(cmd.Flags(), &margin)
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

// runsToAdvise reads the runs that are named, or all that are kept of the host of the newest one.
func (a *app) runsToAdvise(names []string) (runs []*result.Run, meta []string, err error) {
	if len(names) > 0 {
		runs, err = a.readRuns(names)
		return runs, []string{plural.Count(len(runs), "run")}, err
	}
	kept, _, err := a.listRuns(nil)
	if err != nil {
		return nil, nil, err
	}
	host, others := "", 0
	for _, k := range kept { // the newest first
		if k.Problem != nil || k.Imported {
			continue
		}
		if host == "" {
			host = k.Host
		}
		if k.Host != host {
			others++
			continue
		}
		if run, err := store.Read(k.Dir); err == nil {
			runs = append(runs, run)
		}
	}
	if host != "" {
		meta = []string{fmt.Sprintf("%s on %s", plural.Count(len(runs), "run"), host)}
	}
	if others > 0 {
		meta = append(meta, fmt.Sprintf("%s on other hosts left out", plural.Count(others, "run")))
	}
	return runs, meta, nil
}
