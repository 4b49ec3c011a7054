package main

import "github.com/spf13/cobra"

func newTraceCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Show where block requests spend their time",
		Long: `Follow block requests from the system call to the device and back, and show how
long each step of them takes: by device, operation, size, and process or
container.

EXIT STATUS
  that of the command below it`,
		Example: `  sudo plimsoll trace record --device nvme0n1 --duration 10s
  plimsoll trace analyze sda`,
	}
	cmd.AddCommand(newTraceRecordCommand(a), newTraceAnalyzeCommand(a))
	isGroup(cmd)
	return cmd
}
