package main

import "github.com/spf13/cobra"

func newTraceCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "See where block requests spend their time",
		Long: `Follow block requests from the system call to the device and back, and tell how
long each step of them takes: by device, operation, size, and process or
container.`,
	}
	cmd.AddCommand(newTraceRecordCommand(a), newTraceAnalyzeCommand(a))
	return cmd
}
