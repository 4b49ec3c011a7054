package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newHelpCommand(a *app) *cobra.Command {
	every := false
	cmd := &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Print the help of a command, or explain words of reports",
		Long: `Print the help of a command, as its flag --help does; --all adds the flags that
the short help of run leaves out. After "make install", "man plimsoll-run" shows
the whole text, too. "plimsoll help words" explains the words of reports.

EXIT STATUS
  0  printed
  2  there is no such command`,
		Example: `  plimsoll help
  plimsoll help lab run
  plimsoll help run --all
  plimsoll help words p99`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 && found.HasSubCommands() {
				err = found.ValidateArgs(rest) // it says which commands there are
			}
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return fmt.Errorf("%s has no commands: %s --help prints its help", commandName(found), found.CommandPath())
			}
			if every && briefFlags(found) == nil {
				return fmt.Errorf("%s --help shows all of its flags: leave out --all", found.CommandPath())
			}
			if every {
				return writeHelp(found, false)
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range found.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return withPrefix(names, begun), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&every, allFlag, false, "show every flag of a command whose help is short")
	cmd.AddCommand(endsSoon(newHelpWordsCommand)(a))
	return cmd
}
