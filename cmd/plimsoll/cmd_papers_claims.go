package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/published"
	"plimsoll/internal/report"
	"plimsoll/internal/result/store"
)

func newPapersClaimsCommand(a *app) *cobra.Command {
	page := ""
	cmd := &cobra.Command{
		Use:   "claims [DIRECTORY]",
		Short: "List published results, and whether runs of this host confirm them",
		Long: `List the results of three papers that this program tests again: what was published
and where, and which built-in experiment tests it, or why none can. Of the runs in
./` + store.RunsDir + `, or in DIRECTORY, the newest that decides says what holds here.

"confirmed here" and "contradicted here" take the paper's own database; what stands
in for it shows the same shape or another. docs/reference/results.md has the words.

EXIT STATUS
  0  listed
  1  the list could not be printed
  2  the command line is wrong, or there is no such directory`,
		Example: `  plimsoll papers claims
  plimsoll papers claims --json | jq -r '.claims[] | select(.experiment == "density") | .id'
  plimsoll papers claims --html claims.html`,
		Args: atMostOne("one directory of runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := a.claimsHere(args)
			if err != nil {
				return err
			}
			return a.answer(report.Answer{Kind: "published results",
				Title:   "What papers published, and what runs here said of it",
				Verdict: published.Summary(all), Sections: published.ListSections(all)},
				struct {
					Claims any `json:"claims"`
				}{all}, page)
		},
		ValidArgsFunction: completeDirectories,
	}
	cmd.Flags().StringVar(&page, "html", "", "`file` to write the list to, as a page")
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

// claimsHere returns the published results with the verdicts of this user's runs on them. Runs that cannot be read
// are ignored.
func (a *app) claimsHere(args []string) ([]published.Listed, error) {
	runs, _, err := a.listRuns(args)
	if err != nil && len(args) > 0 {
		return nil, err
	}
	all := published.List()
	at := map[string]int{}
	for i, l := range all {
		at[l.ID] = i
	}
	for _, r := range runs { // the newest first
		run, err := store.Read(r.Dir)
		if err != nil {
			continue
		}
		for _, f := range finding.All(run) {
			if f.Claim == nil {
				continue
			}
			i, known := at[f.Claim.ID]
			if !known {
				continue
			}
			about := fmt.Sprint(f.Stacks)
			if f.Workload != "" {
				about += " under " + f.Workload
			}
			all[i].Said = append(all[i].Said, published.Said{Run: cmp.Or(run.ID, r.Dir), Started: run.Started,
				Verdict:  f.Claim.Verdict,
				Measured: f.Claim.Measured, About: about, Why: f.Claim.Why})
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Said, func(a, b published.Said) int { return b.Started.Compare(a.Started) })
	}
	return all, nil
}
