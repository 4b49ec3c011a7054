package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/database/loader"
)

// newImageProgramCommand returns the command that load-image starts in place of each program of an image.
func newImageProgramCommand() *cobra.Command {
	return &cobra.Command{
		Use: loader.InsideCommand + " JSON", Hidden: true, Args: exactly(1, "which program to become"),
		Short: "Become a program of an image, with no more rights than it needs",
		Long: `Become a program of an image, in its root file system and in namespaces of its own,
as another user. load-image starts it; docs/contributing/threat-model.md explains it.

EXIT STATUS
  that of the program, or
  1  it could not be started
  2  the command line is wrong`,
		Example: `  plimsoll become-image-program '{"Root": "/tmp/root", "Account": {"UID": 999, "GID": 999},
    "Argv": ["initdb"]}'`,
		RunE: func(_ *cobra.Command, args []string) error { return failure(loader.Inside(args[0])) },
	}
}
