package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/examples"
	"plimsoll/internal/cli/glossary"
	"plimsoll/internal/field"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units/plural"
)

// commandName returns a command as it is typed behind plimsoll: "lab build".
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, but was given %s", commandName(cmd), plural.And(args))
	}
	return nil
}

// atMostOne refuses a second argument.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%s takes %s, but was given %s", commandName(cmd), what, plural.And(args))
		}
		return nil
	}
}

// exactly wants so many arguments; what says which they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == n:
			return nil
		case len(args) == 0:
			return fmt.Errorf("%s takes %s; %s --help shows how", commandName(cmd), what, cmd.CommandPath())
		}
		return fmt.Errorf("%s takes %s, but was given %s; %s --help shows how", commandName(cmd), what, plural.And(args),
			cmd.CommandPath())
	}
}

// atLeastOne requires arguments; what describes them.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s takes %s; %s --help shows how", commandName(cmd), what, cmd.CommandPath())
		}
		return nil
	}
}

// isGroup makes a command one of which only the commands below it do anything.
func isGroup(group *cobra.Command) {
	group.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				names = append(names, c.Name())
			}
		}
		if now := renamedTo(cmd, args[0]); now != "" {
			return errors.New(now)
		}
		remedy := "it has " + plural.And(names)
		if meant := meantCommand(cmd, args[0]); meant != "" {
			remedy = meant
		} else if near := suggest.Closest(args[0], names); near != "" {
			remedy = fmt.Sprintf("did you mean %q?", near)
		} else if len(names) > maxSuggestedCommands {
			remedy = cmd.CommandPath() + " --help lists them"
		}
		if !cmd.HasParent() {
			return fmt.Errorf("there is no command %q: %s", args[0], remedy)
		}
		return fmt.Errorf("%s has no command %q: %s", commandName(cmd), args[0], remedy)
	}
	group.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	group.Annotations = map[string]string{groupAnnotation: "yes"}
}

// otherCommands maps names of commands in other programs to the command here.
var otherCommands = map[string]string{
	"results": "runs", "ps": "runs", "history": "runs", "status": "runs", "experiments": "list",
	"html": "report", "view": "show", "start": "run", "bench": "run", "benchmark": "run", "measure": "run",
	"diff": "compare", "check": "validate", "lint": "validate", "cleanup": "clean", "undo": "clean",
	"glossary": "help words", "reproduce": "papers run",
}

// removing are names of a command that there is not: several remove something.
var removing = []string{"delete", "remove", "rm", "prune"}

// meantCommand returns the command likely meant by a name: that of a similar command of other programs, or an
// argument of run.
func meantCommand(parent *cobra.Command, name string) string {
	if parent.HasParent() {
		return ""
	}
	other := otherCommands[name]
	_, err := os.Stat(name)
	_, builtIn := examples.Find(name)
	switch {
	case other != "":
		return fmt.Sprintf("did you mean %q?", other)
	case slices.Contains(removing, name):
		return "plimsoll runs remove deletes runs; plimsoll data remove and plimsoll image remove delete " +
			"what is kept for runs, plimsoll clean undoes what a crash left behind"
	case builtIn, err == nil:
		return fmt.Sprintf("did you mean plimsoll run %s?", name)
	}
	if _, explained := glossary.Find(name); explained {
		return fmt.Sprintf("did you mean plimsoll help words %s?", name)
	}
	return ""
}

// renamed maps old spellings of commands and flags to those of today.
var renamed = map[string]string{
	"claims":                     "plimsoll papers claims",
	"guidelines":                 "plimsoll advise settings",
	"words":                      "plimsoll help words",
	"advise --as":                "plimsoll advise limits --as",
	"list --paper":               "plimsoll papers list",
	"run --figure":               "plimsoll papers run",
	"run --host-cpus":            "plimsoll run --host cpus=N",
	"run --host-cpuset":          "plimsoll run --host cpuset=LIST",
	"run --host-memory":          "plimsoll run --host memory=SIZE",
	"run --host-read-iops":       "plimsoll run --host read-iops=N",
	"run --host-write-iops":      "plimsoll run --host write-iops=N",
	"run --host-read-bandwidth":  "plimsoll run --host read-bandwidth=RATE",
	"run --host-write-bandwidth": "plimsoll run --host write-bandwidth=RATE",
}

// renamedTo returns the sentence that gives today's spelling of a word below a command; "" for a word that had no
// other.
func renamedTo(cmd *cobra.Command, word string) string {
	if cmd.HasParent() {
		word = commandName(cmd) + " " + word
	}
	if now := renamed[word]; now != "" {
		return fmt.Sprintf("%s is now %s", word, now)
	}
	return ""
}

// groupAnnotation marks groups of commands.
const groupAnnotation = "group"

// maxSuggestedCommands is how many commands an error lists.
const maxSuggestedCommands = 6

// mutuallyExclusive permits at most one of the flags.
func mutuallyExclusive(cmd *cobra.Command, flags ...string) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		var given []string
		for _, f := range flags {
			if cmd.Flags().Changed(f) {
				given = append(given, "--"+f)
			}
		}
		if len(given) > 1 {
			return fmt.Errorf("%s do not go together: give one of them", plural.And(given))
		}
		return nil
	}
}

// flagError rewords an error about a flag.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	why := err.Error()
	switch {
	case errors.As(err, &unknown):
		return errors.New(unknownFlag(cmd, unknown))
	case errors.As(err, &missing):
		why = fmt.Sprintf("%s takes a value", flagName(missing.GetFlag()))
	case errors.As(err, &invalid):
		what := "another value"
		var wrong *field.Error
		if errors.As(invalid.Unwrap(), &wrong) {
			return fmt.Errorf("%s takes %s, not %q: %s", flagName(invalid.GetFlag()), wrong.Takes, invalid.GetValue(),
				wrong.Remedy)
		}
		for _, t := range []struct{ of, what string }{
			{"uint16", "a number from 0 to 65535"},
			{"int", "a whole number"},
			{"bool", "no value, or true or false"},
		} {
			if invalid.GetFlag().Value.Type() == t.of {
				what = t.what
			}
		}
		why = fmt.Sprintf("%s takes %s, not %q", flagName(invalid.GetFlag()), what, invalid.GetValue())
	}
	return fmt.Errorf("%s; %s --help lists the flags", why, cmd.CommandPath())
}

func flagName(f *pflag.Flag) string { return "--" + f.Name }

// unknownFlag names a flag that there is not, and the one that may be meant.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) string {
	name := err.GetSpecifiedName()
	if shorts := err.GetSpecifiedShortnames(); shorts != "" {
		return fmt.Sprintf("%s has no flag -%s; %s --help lists the flags", commandName(cmd), name, cmd.CommandPath())
	}
	for _, word := range append(cmd.Flags().Args(), "--"+name) {
		if now := renamedTo(cmd, word); now != "" {
			return now
		}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := suggest.Closest(name, known); near != "" {
		return fmt.Sprintf("%s has no flag --%s: did you mean --%s?", commandName(cmd), name, near)
	}
	if !cmd.HasParent() {
		for _, sub := range cmd.Commands() {
			if sub.Flags().Lookup(name) != nil {
				return fmt.Sprintf("--%s is a flag of commands: write it behind one, as in %s --%s", name, sub.CommandPath(), name)
			}
		}
	}
	return fmt.Sprintf("%s has no flag --%s; %s --help lists the flags", commandName(cmd), name, cmd.CommandPath())
}
