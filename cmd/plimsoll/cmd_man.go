package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/manpage"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
)

// newManCommand returns the command that writes manual pages, for packagers. The pages belong to the user, also under
// sudo.
func newManCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "man DIRECTORY", Hidden: true, Args: exactly(1, "the directory to write manual pages into"),
		Short: "Write the manual pages",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if _, err := sudouser.MkdirAll(dir, 0o755); err != nil {
				return &exitError{exitFailure, err}
			}
			pages := manpage.Pages(cmd.Root(), version)
			for _, p := range pages {
				write := func(w io.Writer) error { _, err := io.WriteString(w, p.Text); return err }
				if err := sudouser.Replace(filepath.Join(dir, p.Name), write); err != nil {
					return &exitError{exitFailure, fmt.Errorf("write the manual page %s: %w", p.Name, err)}
				}
			}
			fmt.Fprintf(a.stdout, "%s in %s\n", plural.Count(len(pages), "manual page"), dir)
			return nil
		},
	}
}
