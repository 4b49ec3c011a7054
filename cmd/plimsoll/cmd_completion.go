package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/units/plural"
)

// shells are the shells with completions.
var shells = []struct {
	name  string
	write func(*cobra.Command, io.Writer) error
}{
	{"bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
}

func newCompletionCommand(a *app) *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for a shell",
		Long: `Print a script with which bash, zsh or fish completes commands, flags, runs,
experiments and devices. "make install" puts the scripts where shells look for
them; they do nothing but ask plimsoll itself.

EXIT STATUS
  0  printed
  1  it could not be printed
  2  the command line is wrong, or there is no script for that shell`,
		Example: `  source <(plimsoll completion bash)
  plimsoll completion zsh > "${fpath[1]}/_plimsoll"
  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`,
		Args:      exactly(1, "the name of a shell, "+plural.Or(names)),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := slices.Index(names, args[0])
			if at < 0 {
				return fmt.Errorf("there is no completion for %q: known shells are %s", args[0], plural.And(names))
			}
			if err := shells[at].write(cmd.Root(), a.data()); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
}
