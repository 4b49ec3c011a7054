package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/manpage"
)

// manCommand is for whoever packages plimsoll-kubernetes.
func manCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the manual pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := os.MkdirAll(args[0], 0o755)
			if err != nil {
				return err
			}
			for _, p := range manpage.Pages(cmd.Root(), version) {
				err := os.WriteFile(filepath.Join(args[0], p.Name), []byte(p.Text), 0o644)
				if err != nil {
					return fmt.Errorf("write the manual page %s: %w", p.Name, err)
				}
			}
			return nil
		},
	}
}
