package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/buildinfo"
)

// version is the version that runs, models and pages state.
var version = buildinfo.This().Version

func newVersionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Show the version of plimsoll, its commit and day, the Go that built it, and
its platform. Between releases it is the next version with
"-dev" and the commit behind it. A run stores the version that measured it.

EXIT STATUS
  0  shown
  1  it could not be printed
  2  the command line is wrong`,
		Example: `  plimsoll version
  plimsoll version --json | jq -r .commit`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := buildinfo.This()
			var err error
			if a.jsonOutput {
				err = a.document("", b)
			} else {
				_, err = fmt.Fprintln(a.stdout, b.Line("plimsoll"))
			}
			if err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}
