package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/plural"
	"plimsoll/internal/suggest"
)

// called is a command as it is typed behind plimsoll: "lab build".
func called(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// none refuses arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, but was given %s", called(cmd), plural.And(args))
	}
	return nil
}

// atMostOne refuses a second argument.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%s takes %s, but was given %s", called(cmd), what, plural.And(args))
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
			return fmt.Errorf("%s takes %s; %s --help shows how", called(cmd), what, cmd.CommandPath())
		}
		return fmt.Errorf("%s takes %s, but was given %s; %s --help shows how", called(cmd), what, plural.And(args),
			cmd.CommandPath())
	}
}

// atLeastOne wants arguments; what says what they are.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s takes %s; %s --help shows how", called(cmd), what, cmd.CommandPath())
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
		remedy := "it has " + plural.And(names)
		if near := suggest.Closest(args[0], names); near != "" {
			remedy = fmt.Sprintf("did you mean %q?", near)
		} else if len(names) > fewCommands {
			remedy = cmd.CommandPath() + " --help lists them"
		}
		if !cmd.HasParent() {
			return fmt.Errorf("there is no command %q: %s", args[0], remedy)
		}
		return fmt.Errorf("%s has no command %q: %s", called(cmd), args[0], remedy)
	}
	group.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	group.Annotations = map[string]string{groupAnnotation: "yes"}
}

// groupAnnotation marks groups of commands.
const groupAnnotation = "group"

// fewCommands is how many commands an error lists.
const fewCommands = 6

// excludes lets at most one of the flags be given.
func excludes(cmd *cobra.Command, flags ...string) {
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

// flagError says in words what is wrong with a flag.
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
		if invalid.GetFlag().Value.Type() == pebbleParamType {
			why := fmt.Sprintf("%s: %q cannot be used: %v", flagName(invalid.GetFlag()), invalid.GetValue(), invalid.Unwrap())
			return fmt.Errorf("%s; %s --help lists the flags", why, cmd.CommandPath())
		}
		for _, t := range []struct{ of, what string }{
			{"duration", "a time with its unit, such as 500ms, 10s or 2m30s"},
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
		return fmt.Sprintf("%s has no flag -%s; %s --help lists the flags", called(cmd), name, cmd.CommandPath())
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := suggest.Closest(name, known); near != "" {
		return fmt.Sprintf("%s has no flag --%s: did you mean --%s?", called(cmd), name, near)
	}
	return fmt.Sprintf("%s has no flag --%s; %s --help lists the flags", called(cmd), name, cmd.CommandPath())
}
