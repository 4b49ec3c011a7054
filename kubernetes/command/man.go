package command

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/manpage"
	"plimsoll/internal/state/sudouser"
)

// manCommand is for whoever packages plimsoll-kubernetes.
func manCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the manual pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := sudouser.MkdirAll(args[0], 0o755)
			if err != nil {
				return err
			}
			for _, p := range manpage.Pages(cmd.Root(), version) {
				write := func(w io.Writer) error { _, err := io.WriteString(w, p.Text); return err }
				if err := sudouser.Replace(filepath.Join(args[0], p.Name), write); err != nil {
					return fmt.Errorf("write the manual page %s: %w", p.Name, err)
				}
			}
			return nil
		},
	}
}
