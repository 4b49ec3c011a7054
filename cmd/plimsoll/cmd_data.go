package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/datasets"
	"plimsoll/internal/units"
)

func newDataCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List and remove database contents kept for later runs",
		Long: `See and remove the data of servers that is kept for later runs: runs load it once,
and copy it from then on (plimsoll run --keep-data says how much is kept). What was
not used for longest goes first when room is short.

EXIT STATUS
  that of the command below it`,
		Example: `  plimsoll data list
  plimsoll data remove --all`,
	}
	isGroup(cmd)
	cmd.AddCommand(newDataListCommand(a), newDataRemoveCommand(a))
	return cmd
}

// dataStore returns the store of loaded data, with at most limit bytes.
func (a *app) dataStore(limit int64) *datasets.Store {
	return datasets.In(filepath.Join(a.state, "golden"), limit)
}

// keptLoads returns the data that earlier runs loaded and kept, the latest first. It only serves estimates, so that
// unreadable copies are left out.
func keptLoads(store *datasets.Store) (all []experiment.Loaded) {
	if store == nil {
		return nil
	}
	kept, _, err := store.List()
	if err != nil {
		return nil
	}
	for _, c := range kept {
		all = append(all, experiment.Loaded{Content: c.Content, Bytes: c.Bytes, Took: c.Loading})
	}
	return all
}

func newDataListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the data that is kept",
		Long: `List the data that is kept, what was used last first: what it is, how much it takes,
how long it took to load, when it was used last, and the beginning of its name.

EXIT STATUS
  0  listed, also when there is none
  1  the list could not be read or printed
  2  the command line is wrong`,
		Example: `  plimsoll data list
  plimsoll data list --json | jq '[.data[].bytes] | add'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			all, broken, err := a.dataStore(0).List()
			return printList(a, "data list", "data", all, broken, err, printCopies)
		},
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

func printCopies(w io.Writer, all []datasets.Copy) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No data is kept: runs that load some for servers keep it.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSIZE\tLOADED IN\tUSED\tDATA")
	sum := int64(0)
	for _, c := range all {
		sum += c.Bytes
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", c.Name[:shortDigest], units.Bytes(uint64(c.Bytes)),
			c.Loading.Round(100*time.Millisecond), c.Used.Format("2006-01-02 15:04"), printable.Line(c.Content))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s in all\n", units.Bytes(uint64(sum)))
	return err
}

func newDataRemoveCommand(a *app) *cobra.Command {
	var everything bool
	cmd := &cobra.Command{
		Use: "remove [NAME]", Aliases: []string{"rm"},
		Short: "Remove data that is kept",
		Long: `Remove data that is kept, by the beginning of its name, or all of it. What a run
copies at the moment stays.

EXIT STATUS
  0  it is gone
  1  it could not be removed; the reason is printed
  2  the command line is wrong, or nothing or several things have that name`,
		Example: `  plimsoll data remove 3f8a
  plimsoll data remove --all`,
		Args: atMostOne("one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if everything == (len(args) == 1) {
				return &exitError{exitUsage, errors.New("which data? name what plimsoll data list shows, or --all")}
			}
			store := a.dataStore(0)
			all, _, err := store.List()
			if err == nil && !everything {
				all, err = copyNamed(all, args[0])
			}
			for _, c := range all {
				if removed := store.Remove(c); removed != nil {
					err = errors.Join(err, removed)
					continue
				}
				fmt.Fprintf(a.stdout, "Removed %s, %s\n", printable.Line(c.Content), units.Bytes(uint64(c.Bytes)))
			}
			if err != nil {
				return &exitError{codeOf(err), err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "remove all of it")
	return cmd
}

// copyNamed returns the one copy whose name has the given beginning.
func copyNamed(all []datasets.Copy, beginning string) ([]datasets.Copy, error) {
	all = slices.DeleteFunc(all, func(c datasets.Copy) bool { return !strings.HasPrefix(c.Name, beginning) })
	switch len(all) {
	case 1:
		return all, nil
	case 0:
		return nil, problem.New(problem.Invalid, "there is no data "+printable.Line(beginning), "",
			"see plimsoll data list")
	}
	return nil, problem.New(problem.Invalid, "data "+printable.Line(beginning), "several names begin so",
		"write more of it")
}
