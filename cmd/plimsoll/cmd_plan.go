package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/export"
	"plimsoll/internal/inputfile"
	"plimsoll/internal/model"
	"plimsoll/internal/owner"
	"plimsoll/internal/placement"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
)

// mostFleet is more than any fleet's file has.
const mostFleet = 32 << 20

// planFlags are the flags of plan.
type planFlags struct {
	out, page, mps string
	seed           uint64
	time           time.Duration
}

func newPlanCommand(a *app) *cobra.Command {
	flags := planFlags{seed: 1}
	cmd := &cobra.Command{
		Use:   "plan FLEET.yaml [-o plan.json]",
		Short: "Plan which container stands on which host and drive, by a model of runs",
		Long: `Say which container is to stand on which host and drive, local or remote, so that all
limits are kept and all do as much as they can together: what each would do there
and its p99, with intervals of 90%, what fills each host, what would help most, and
why each stands where it does. Nothing is measured, and nothing is moved.

A fleet names a model, hosts and containers: docs/plan.md has all its keys, and
"plimsoll init fleet" writes one. Its objective is ` + objectives() + `

Small fleets have the best plan there is, by the model. Of larger ones it says how
far the best may be from what was found. Where the fleet says where containers
stand now, the moves from there to the plan are listed, in an order that breaks no
limit on the way, and "moves: 5" takes at most so many. The same fleet has the same
plan, unless --time ends the search.

EXIT STATUS
  0  every container has its place
  1  some container has none, the model knows nothing of what is asked, or a file
     cannot be read or written
  2  the command line is wrong, or there is no such file`,
		Example: `  plimsoll plan fleet.yaml
  plimsoll plan fleet.yaml -o plan.json --page plan.html
  plimsoll plan fleet.yaml --json | jq '.plan.hosts[].containers'`,
		Args: exactly(1, "a fleet's file"),
		RunE: func(_ *cobra.Command, args []string) error { return flags.plan(a, args[0]) },

		ValidArgsFunction: completeFiles,
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "output", "o", "", "`file` to write the plan to, as JSON")
	f.StringVar(&flags.mps, "mps", "", "`file` to write the linear program of the bound to, for other solvers")
	f.StringVar(&flags.page, "page", "", "`file` to write the plan to, as a page")
	f.Uint64Var(&flags.seed, "seed", flags.seed, "seed of the search")
	f.DurationVar(&flags.time, "time", 0, "`longest` that the search may take, such as 30s; without it, as long as "+
		"it finds better plans, some seconds")
	f.BoolVar(&a.jsonOutput, "json", false, "print everything as JSON")
	return cmd
}

// objectives lists what a plan may be for.
func objectives() string {
	text := ""
	for _, o := range placement.Objectives() {
		text += "\n  " + fmt.Sprintf("%-11s", o[0]) + o[1]
	}
	return text
}

func (f *planFlags) plan(a *app, file string) error {
	text, err := inputfile.Read(file, mostFleet)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	made := placement.Document{Fleet: result.NewInputFile(file, text), Version: version, Seed: f.seed}
	made.Fleet.Text = string(text)
	open := func(name string) (*model.Model, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		text, err := inputfile.Read(name, mostModel)
		if err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("the model of %s: %w", file, err)}
		}
		made.Model = result.NewInputFile(name, text)
		m, err := model.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return m, nil
	}
	fleet, m, err := placement.Parse(file, text, open)
	if err != nil {
		return err
	}
	if f.mps != "" {
		program := func(w io.Writer) error { return placement.WriteMPS(w, m, fleet) }
		if err := writeTo(a.data(), f.mps, program); err != nil {
			return &exitError{exitFailure, fmt.Errorf("write the linear program: %w", err)}
		}
	}
	options := placement.Options{Seed: f.seed}
	if f.time > 0 {
		end := time.Now().Add(f.time)
		options.Stop = func() bool { return time.Now().After(end) }
	}
	plan, err := placement.Best(m, fleet, options)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	made.Plan = plan
	if f.out != "" {
		if err := writeTo(a.data(), f.out, made.Write); err != nil {
			return &exitError{exitFailure, fmt.Errorf("write the plan: %w", err)}
		}
	}
	answer := report.Answer{Kind: "plan of " + filepath.Base(file), Title: "Which container on which host: " +
		filepath.Base(file), Verdict: plan.Verdict(), Meta: []string{"predicted by a model, not measured"},
		Sections: plan.Sections()}
	if f.page != "" {
		if err := writePage(f.page, answer); err != nil {
			return err
		}
	}
	switch {
	case f.out == standardOutput:
	case a.jsonOutput:
		err = made.Write(a.data())
	default:
		err = report.AnswerText(a.styled(), answer, len(plan.Left) > 0, a.terminalOptions())
	}
	if err == nil && len(plan.Left) > 0 {
		err = fmt.Errorf("%s: not every container has a place", file)
	}
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

// answer prints an answer, or its data as JSON, and writes it to a page where one is asked for.
func (a *app) answer(told report.Answer, data any, page string) (err error) {
	if page != "" {
		if err := writePage(page, told); err != nil {
			return err
		}
	}
	if a.jsonOutput {
		err = export.Indented(a.data(), data)
	} else {
		err = report.AnswerText(a.styled(), told, false, a.terminalOptions())
	}
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

// writePage writes an answer as a page, in the place of one that is there.
func writePage(path string, page report.Answer) error {
	if err := owner.Replace(path, func(w io.Writer) error { return report.AnswerHTML(w, page, version) }); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the page of the %s: %w", page.Kind, err)}
	}
	return nil
}
