package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/plural"
)

// listed is a built-in experiment as `plimsoll list --json` prints it.
type listed struct {
	Name      string   `json:"name"`
	Question  string   `json:"question"`
	Stacks    int      `json:"stacks"`
	Workloads int      `json:"workloads"`
	Mixes     int      `json:"mixes,omitempty"`  // of workloads, where they do not each run alone
	Scales    []string `json:"scales,omitempty"` // that it can be run at, but for the file as it is
	Trials    int      `json:"trials"`
	Seconds   float64  `json:"estimated_seconds"`
}

func newListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the experiments that are built in",
		Long: `List the experiments that are built in: the question that each answers, how
many stacks and workloads it tries, and how long that takes, about. "plimsoll
run NAME" runs one; "plimsoll run FILE" runs one of your own.

EXIT STATUS
  0  printed
  1  it could not be printed
  2  the command line is wrong`,
		Example: `  plimsoll list
  plimsoll list --json | jq -r '.[].name'`,
		Args: none,
		RunE: func(*cobra.Command, []string) error {
			if err := a.list(); err != nil {
				return &exitError{code: exitFailure, err: err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

func (a *app) list() error {
	var all []listed
	for _, name := range examples.List() {
		e, err := loadExperiment(name, "")
		if err != nil {
			return err
		}
		stacks := len(e.Stacks)
		experiment.AddControl(e) // which a run measures as well
		l := listed{
			Name: e.Name, Question: e.Question, Stacks: stacks, Workloads: len(e.Workloads),
			Trials: len(experiment.Trials(e, 0)), Seconds: experiment.Estimate(e).Seconds(),
		}
		l.Scales = e.Scales
		if e.Mixed() {
			l.Mixes = len(e.Mixes)
		}
		all = append(all, l)
	}
	if a.jsonOutput {
		out := json.NewEncoder(a.data())
		out.SetIndent("", "  ")
		return out.Encode(all)
	}
	var out strings.Builder
	for _, l := range all {
		about := time.Duration(l.Seconds * float64(time.Second)).Round(10 * time.Second)
		running := plural.Count(l.Workloads, "workload")
		if l.Mixes > 0 {
			running = plural.Count(l.Mixes, "mix")
		}
		scales := ""
		if len(l.Scales) > 0 {
			scales = "; --scale " + plural.Or(l.Scales)
		}
		fmt.Fprintf(&out, "%s: %s, %s, %s, about %s%s\n  %s\n", l.Name,
			plural.Count(l.Stacks, "stack"), running, plural.Count(l.Trials, "trial"), about, scales, l.Question)
	}
	_, err := io.WriteString(a.stdout, out.String())
	return err
}
