package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitStatus is the heading of a help text under which exit codes stand. The help prints that section last, since
// people look for usage and flags first.
const exitStatus = "\n\nEXIT STATUS\n"

// details is the heading of the part of a help text that the short help leaves out.
const details = "\n\nDETAILS\n"

// flagGroup is flags that the help shows together.
type flagGroup struct {
	title string
	flags []string
}

// runFlags are the flags of plimsoll run in the order of its help.
var runFlags = []flagGroup{
	{
		"What to run",
		[]string{"only", "scale", "instances", "objective", "precondition", "trace", "no-trace", "no-control",
			"resume"},
	},
	{"Where", []string{"on", "destroy", "remote", "clients-host", "size", "records", "jobs", "data", "keep-data",
		"keep-free"}},
	{"How long", []string{"budget", "repeat", "trials", "runtime", "operations", "ramp", "fixed", "precision",
		"margin",
		"wait-for-quiet", "no-wait-for-quiet"}},
	{"Scaled-down host", []string{"host", "no-limits"}},
	{"Output", []string{"output", "json", "quiet", "dry-run", "verbose"}},
	{"Advanced", []string{"seed", allFlag}},
}

// runBrief are the flags of plimsoll run that its short help shows.
var runBrief = []flagGroup{
	{"What to run", []string{"only", "resume"}},
	{"Where", []string{"on", "destroy", "size", "no-limits"}},
	{"How long", []string{"budget", "repeat", "runtime"}},
	{"Output", []string{"output", "json", "dry-run"}},
}

// papersRunBrief are the flags that the help of plimsoll papers run shows.
var papersRunBrief = append([]flagGroup{{"Size", []string{"scale"}}}, runBrief...)

// briefFlags returns the groups of flags that a command's short help shows; nil for a command whose help shows all.
func briefFlags(c *cobra.Command) []flagGroup {
	switch commandName(c) {
	case "run":
		return runBrief
	case "papers run":
		return papersRunBrief
	}
	return nil
}

// flagGroups returns the groups of a command's own flags.
func flagGroups(c *cobra.Command) []flagGroup {
	switch commandName(c) {
	case "run":
		return runFlags
	case "papers run":
		return papersRunBrief
	}
	return []flagGroup{{"Flags", names(ownFlags(c))}}
}

// names returns the names of flags.
func names(flags *pflag.FlagSet) (all []string) {
	flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// ownFlags returns the flags of a command that not every command has.
func ownFlags(c *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && (c.Root() == c || c.InheritedFlags().Lookup(f.Name) == nil) {
			own.AddFlag(f)
		}
	})
	return own
}

// helpText returns the help of a command, its flags in lines of a width; with common, also those of all commands.
func helpText(c *cobra.Command, width int, common bool) string {
	groups := flagGroups(c)
	if common && c.HasParent() {
		groups = append(slices.Clone(groups), flagGroup{"Common flags", names(c.InheritedFlags())})
	}
	return helpOf(c, width, strings.Replace(c.Long, details, "\n\n", 1), groups, "")
}

// briefHelp returns the short help of a command: without the details of its text, and with some of its flags.
func briefHelp(c *cobra.Command, width int) string {
	text, codes, _ := strings.Cut(c.Long, exitStatus)
	text, _, _ = strings.Cut(text, details)
	groups, shown := briefFlags(c), 0
	for _, g := range groups {
		shown += len(g.flags)
	}
	note := fmt.Sprintf("\n%d of %d flags. All: %s run --help --all\n", shown, len(names(ownFlags(c))), c.Root().Name())
	return helpOf(c, width, text+exitStatus+codes, groups, note)
}

// helpOf returns a help with the groups of flags, and a note below them.
func helpOf(c *cobra.Command, width int, long string, groups []flagGroup, note string) string {
	var out strings.Builder
	description, codes, _ := strings.Cut(strings.TrimSpace(long), exitStatus)
	usage := c.UseLine()
	if c.Annotations[groupAnnotation] != "" {
		usage = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(&out, "%s\n\nUsage: %s\n", description, usage)
	writeCommands(&out, c)
	for _, group := range groups {
		writeFlags(&out, c, group, width)
	}
	out.WriteString(note)
	if c.Example != "" {
		fmt.Fprintf(&out, "\nExamples:\n%s\n", c.Example)
	}
	if codes != "" {
		fmt.Fprintf(&out, "\nExit status:\n%s\n", codes)
	}
	return out.String()
}

// writeCommands writes the commands below a command, in their groups.
func writeCommands(out io.Writer, c *cobra.Command) {
	title, width := "", 0
	shown := slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool {
		return !sub.IsAvailableCommand() && sub.Name() != "help"
	})
	for _, sub := range shown {
		width = max(width, len(sub.Name()))
	}
	for _, sub := range shown {
		group := cmp.Or(sub.GroupID, "Commands")
		if group != title {
			title = group
			fmt.Fprintf(out, "\n%s:\n", title)
		}
		fmt.Fprintf(out, "  %-*s  %s\n", width, sub.Name(), sub.Short)
	}
}

// writeFlags writes the flags of a group that the help shows.
func writeFlags(out io.Writer, c *cobra.Command, group flagGroup, width int) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	for _, name := range group.flags {
		if f := c.Flag(name); f != nil {
			flags.AddFlag(f)
		}
	}
	if flags.HasAvailableFlags() {
		fmt.Fprintf(out, "\n%s:\n%s", group.title, flags.FlagUsagesWrapped(width))
	}
}

// allFlag has the help of a command show every flag.
const allFlag = "all"

// printHelp prints the help of a command: the short one, if it has one and --all is not given.
func printHelp(c *cobra.Command, _ []string) {
	every, _ := c.Flags().GetBool(allFlag)
	_ = writeHelp(c, briefFlags(c) != nil && !every) // as cobra, which has no way to return it
}

// writeHelp prints the help of a command in lines that fit the terminal.
func writeHelp(c *cobra.Command, brief bool) error {
	width := max(60, min(columns(os.Stdout, 80), 100))
	text := helpText(c, width, true)
	if brief {
		text = briefHelp(c, width)
	}
	_, err := fmt.Fprint(c.OutOrStdout(), text)
	return err
}
