package main

import (
	"sync"

	"github.com/spf13/cobra"

	"plimsoll/internal/finding/published"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
)

func newPapersCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "papers",
		Short: "Repeat figures of papers, and check what papers published",
		Long: `Repeat figures of three papers with built-in experiments, and check the results
that the papers published against runs of this host.

EXIT STATUS
  that of the command below it`,
		Example: `  plimsoll papers list
  sudo plimsoll papers run ipccc16-6 --budget 10m
  plimsoll papers claims`,
	}
	cmd.AddCommand(newPapersListCommand(a), newPapersRunCommand(a), newPapersClaimsCommand(a))
	isGroup(cmd)
	return cmd
}

func newPapersListCommand(a *app) *cobra.Command {
	page := ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the figures of papers, and the experiments that repeat them",
		Long: `List the figures of three papers: which built-in experiment repeats each figure,
how the experiment differs from the paper, and what runs of this host showed. A
figure is repeated as printed if the experiment at --scale paper has each parameter
that the paper gives. Set-ups of the papers are compared with this host.

EXIT STATUS
  0  listed
  1  the list could not be printed
  2  the command line is wrong`,
		Example: `  plimsoll papers list
  plimsoll papers list --html figures.html
  plimsoll papers list --json | jq -r '.figures[] | select(.repeats == "whole") | .command'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			results, err := a.claimsHere(nil)
			if err != nil {
				return err
			}
			host := sync.OnceValue(func() result.Environment { return hostinfo.New().Environment(cmd.Context()) })
			figures, err := published.ListFigures(results, func(f claims.Figure) ([]claims.Compared, error) {
				return compareFigure(f, host)
			})
			if err != nil {
				return err
			}
			return a.answer(report.Answer{Kind: "figures of papers", Title: "Figures of papers, and what repeats them",
				Verdict: published.FigureSummary(figures), Sections: published.FigureSections(figures)},
				struct {
					Figures any `json:"figures"`
				}{figures}, page)
		},
	}
	cmd.Flags().StringVar(&page, "html", "", "`file` to write the list to, as a page")
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}
