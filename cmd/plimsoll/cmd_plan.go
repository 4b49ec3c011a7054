package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
)

// mostFleet is more than any fleet's file has.
const mostFleet = 32 << 20

// planFlags are the flags of plan.
type planFlags struct {
	out, page, mps string
	seed           uint64
	time           time.Duration
	compose        composeFlags
}

func newPlanCommand(a *app) *cobra.Command {
	flags := planFlags{seed: 1}
	cmd := &cobra.Command{
		Use:   "plan {FLEET.yaml | --compose FILE} [-o plan.json]",
		Short: "Plan which container runs on which host and drive",
		Long: `Plan which container runs on which host and drive, local or remote. All limits are
kept, and all containers do as much as they can together. Of each it prints what it
would do there and its p99, with intervals of 90%, and why it stands there. Of each
host it prints what fills it, and what would help most. Nothing is measured, and
nothing is moved.

With --compose, the containers are the services of a Compose file, and the hosts are
those of Docker engines. "plimsoll apply plan.json" then makes them stand so:
docs/how-to/apply-a-plan.md.

A fleet names a model, hosts and containers: docs/reference/plan.md has all its
keys, and "plimsoll init fleet" writes one. Its objective is ` + objectives() + `

Small fleets have the best plan there is, by the model. Of larger ones it says how
far the best may be from what was found. Where the fleet says where containers
stand now, the moves from there to the plan are listed, in an order that breaks no
limit on the way, and "moves: 5" takes at most so many. The same fleet has the same
plan, unless --budget ends the search.

EXIT STATUS
  0  every container has its place, and keeps its limits there
  1  some container has none or breaks a limit, the model knows nothing of what is
     asked, or a file cannot be read or written
  2  the command line is wrong, or there is no such file`,
		Example: `  plimsoll plan fleet.yaml
  plimsoll plan fleet.yaml -o plan.json --html plan.html
  plimsoll plan fleet.yaml --json | jq '.plan.hosts[].containers'
  plimsoll plan --compose compose.yaml --contexts east,west --model model.json -o plan.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.compose.file != "" && len(args) == 0 {
				return flags.compose.check()
			}
			return exactly(1, "a fleet's file, or --compose")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.compose.file == "" {
				return flags.planFleet(a, args[0])
			}
			return flags.planCompose(cmd.Context(), a)
		},

		ValidArgsFunction: completeFiles,
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "output", "o", "", "`file` to write the plan to, as JSON")
	f.StringVar(&flags.mps, "mps", "", "`file` to write the linear program of the bound to, for other solvers")
	f.StringVar(&flags.page, "html", "", "`file` to write the plan to, as a page")
	f.Uint64Var(&flags.seed, "seed", flags.seed, "`number` that fixes the search")
	f.Var(
		field.Flag(field.Duration(1, math.MaxInt64), &flags.time),
		"budget",
		"`longest` that the search may take, such as 30s; without it, as long as "+
			"it finds better plans, some seconds",
	)
	flags.compose.add(cmd)
	f.BoolVar(&a.jsonOutput, "json", false, "print everything as JSON")
	return cmd
}

// objectives lists the objectives of plans.
func objectives() string {
	text := ""
	for _, o := range placement.Objectives() {
		text += "\n  " + fmt.Sprintf("%-11s", o[0]) + o[1]
	}
	return text
}

func (f *planFlags) planFleet(a *app, file string) error {
	text, err := inputfile.Read(file, mostFleet)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return f.plan(a, file, text, nil)
}

// plan plans a fleet. deployment is what apply needs besides; nil for nothing.
func (f *planFlags) plan(a *app, file string, text []byte, deployment any) error {
	made := placement.Document{Fleet: result.NewInputFile(file, text), Version: version, Seed: f.seed,
		Deployment: deployment}
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
		options.Spent = placement.Within(f.time)
	}
	plan, err := placement.Best(m, fleet, options)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	made.Plan = plan
	if f.out != "" {
		write := writeTo
		if deployment != nil {
			write = writePrivate
		}
		if err := write(a.data(), f.out, made.Write); err != nil {
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
		made.Deployment = nil
		err = made.Write(a.data())
	default:
		err = report.AnswerText(a.styled(), answer, !plan.Complete(), a.terminalOptions())
	}
	switch {
	case err != nil:
	case len(plan.Left) > 0:
		err = fmt.Errorf("%s: not every container has a place", file)
	case !plan.Complete():
		err = fmt.Errorf("%s: not every container keeps its limits", file)
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
		err = a.document("", data)
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
	if err := sudouser.Replace(path, func(w io.Writer) error { return report.AnswerHTML(w, page, version) }); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the page of the %s: %w", page.Kind, err)}
	}
	return nil
}
