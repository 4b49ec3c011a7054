package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/workload/kinds"
)

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files",
		Long: `Print the JSON Schema of experiment files. Editors that know it complete keys,
show what they mean, and mark mistakes. With a YAML language server, write it
to a file and name that in the first line of an experiment:

  # yaml-language-server: $schema=experiment.schema.json

EXIT STATUS
  0  printed
  1  it could not be printed
  2  the command line is wrong`,
		Example: `  plimsoll schema > experiment.schema.json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := experiment.Schema(kinds.All())
			if err != nil {
				return &exitError{code: exitFailure, err: err}
			}
			if _, err = a.data().Write(text); err != nil {
				return &exitError{code: exitFailure, err: err}
			}
			return nil
		},
	}
}
