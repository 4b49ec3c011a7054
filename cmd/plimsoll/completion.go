package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/examples"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/result/store"
)

// completion proposes what may stand in the place of an argument or a value.
type completion = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// withPrefix returns the words that begin with begun.
func withPrefix(words []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, begun) })
}

// completeRuns proposes runs for the first n arguments; any directory may be one.
func completeRuns(n int) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids, err := store.IDs(cmd.Flag(runsFlag).Value.String())
		if err == nil && len(ids) > 0 {
			ids = append([]string{store.Last}, ids...)
		}
		found := withPrefix(ids, begun)
		if len(found) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeExperiments completes built-in experiments, and files.
func completeExperiments(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeFiles(nil, nil, begun)
}

// completeFigures proposes the figures of papers that an experiment repeats.
func completeFigures(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, f := range claims.Figures() {
		if f.Experiment != "" && len(args) == 0 {
			ids = append(ids, f.ID)
		}
	}
	return withPrefix(ids, begun), cobra.ShellCompDirectiveNoFileComp
}

// completeFiles proposes experiments for any argument.
func completeFiles(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	found := withPrefix(examples.List(), begun)
	if len(found) == 0 {
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func completeDirectories(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeDevices proposes the whole disks of this host, by path and serial.
func completeDevices(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return withPrefix(hostinfo.New().DeviceNames(), begun), cobra.ShellCompDirectiveNoFileComp
}

// completeDevice proposes one.
func completeDevice(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeDevices(cmd, args, begun)
}

// completeWords proposes a few words.
func completeWords(words ...string) completion {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return withPrefix(words, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag registers the completion of a flag's values.
func completeFlag(cmd *cobra.Command, flag string, c completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, c); err != nil {
		panic(err) // there is no such flag
	}
}
