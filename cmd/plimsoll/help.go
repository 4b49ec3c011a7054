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

// flagGroup is flags that the help shows together.
type flagGroup struct {
	title string
	flags []string
}

// runFlags are the flags of plimsoll run in the order of its help.
var runFlags = []flagGroup{
	{
		"What to run",
		[]string{"only", "figure", "scale", "instances", "objective", "precondition", "trace", "no-trace", "no-control",
			"resume"},
	},
	{"Where", []string{"on", "destroy", "remote", "clients-host", "size", "records", "jobs", "keep-data", "keep-free"}},
	{"How long", []string{"budget", "repeat", "trials", "runtime", "ramp", "fixed", "precision", "wait-for-quiet",
		"no-wait-for-quiet"}},
	{"Scaled-down host", []string{"host-cpus", "host-cpuset", "host-memory", "host-read-bandwidth",
		"host-write-bandwidth", "host-read-iops", "host-write-iops", "no-limits"}},
	{"Output", []string{"output", "json", "quiet", "dry-run", "verbose"}},
	{"Advanced", []string{"seed"}},
}

// flagGroups returns the groups of a command's own flags.
func flagGroups(c *cobra.Command) []flagGroup {
	if commandName(c) == "run" {
		return runFlags
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

// helpText returns the help of a command, its flags in lines of a width; with all of them, also those of all commands.
func helpText(c *cobra.Command, width int, all bool) string {
	var out strings.Builder
	description, codes, _ := strings.Cut(strings.TrimSpace(c.Long), exitStatus)
	usage := c.UseLine()
	if c.Annotations[groupAnnotation] != "" {
		usage = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(&out, "%s\n\nUsage: %s\n", description, usage)
	writeCommands(&out, c)
	for _, group := range flagGroups(c) {
		writeFlags(&out, c.Flags(), group, width)
	}
	if all && c.HasParent() {
		writeFlags(&out, c.InheritedFlags(), flagGroup{"Common flags", names(c.InheritedFlags())}, width)
	}
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
func writeFlags(out io.Writer, all *pflag.FlagSet, group flagGroup, width int) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	for _, name := range group.flags {
		if f := all.Lookup(name); f != nil {
			flags.AddFlag(f)
		}
	}
	if flags.HasAvailableFlags() {
		fmt.Fprintf(out, "\n%s:\n%s", group.title, flags.FlagUsagesWrapped(width))
	}
}

// printHelp prints the help of a command in lines that fit the terminal.
func printHelp(c *cobra.Command, _ []string) {
	fmt.Fprint(c.OutOrStdout(), helpText(c, max(60, min(columns(os.Stdout, 80), 100)), true))
}
