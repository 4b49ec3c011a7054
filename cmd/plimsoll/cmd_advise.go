package main

import "github.com/spf13/cobra"

func newAdviseCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Recommend settings from runs, and print limits for containers to paste",
		Long: `Recommend settings for this host from its runs, or print limits for containers
as lines to paste, each with its cost. Nothing is set.

EXIT STATUS
  that of the command below it`,
		Example: `  plimsoll advise settings
  plimsoll advise limits --as docker model.json --mix 'C: 4' --device /dev/nvme0n1`,
	}
	cmd.AddCommand(newAdviseSettingsCommand(a), newAdviseLimitsCommand(a))
	isGroup(cmd)
	return cmd
}
