package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/apply"
	"plimsoll/internal/printable"
	"plimsoll/internal/state/inputfile"
)

// mostPlan is more than any plan's file has.
const mostPlan = 64 << 20

type applyFlags struct {
	dryRun, undo, remove bool
	keep                 keepFlags
}

func newApplyCommand(a *app) *cobra.Command {
	flags := applyFlags{keep: newKeepFlags()}
	cmd := &cobra.Command{
		Use:   "apply plan.json",
		Short: "Make Docker engines run what a plan places on them",
		Long: `Make the containers of a plan stand as it places them, on the Docker engines that it
names. "plimsoll plan --compose" writes such a plan. What stands already as it should
is left as it is. Others are created, with their limits, which are read back, and
started. Containers of the project that are not in the plan are stopped, and removed
once everything else stands. Containers of others are never touched, nor are volumes.

Each step is in a journal before it is made. After an error, an interruption or a
crash, the same command goes on, and --undo takes back what was made. So does
"plimsoll clean". Once a plan is applied, apply another one to change it.

--watch keeps it so until interrupted. A container with a plimsoll.p99-limit, whose
block I/O breaks it for --broken-for, is moved to an engine that has room by the
model. It is not moved again within --cooldown, nor back within a day, and no more
than --budget containers are moved in an hour. Each decision with its reason is in
--log. "plimsoll apply replay" decides again from it.

EXIT STATUS
  0    every container is as planned, or was taken back; or --watch was interrupted
  1    a step failed, or an engine gives no answer
  2    the command line is wrong, or the file is no plan of a Compose file
  3    an engine lacks something: an image, a limit
  4    a container there is protected; no change was made
  130  interrupted; the same command goes on`,
		Example: `  plimsoll apply plan.json --dry-run
  plimsoll apply plan.json
  plimsoll apply plan.json --undo
  sudo plimsoll apply plan.json --watch --log decisions.jsonl`,
		Args: exactly(1, "a plan's file"),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.apply(cmd.Context(), a, args[0]) },

		ValidArgsFunction: completeFiles,
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.dryRun, "dry-run", "n", false, "print the steps, and make none")
	f.BoolVar(&flags.undo, "undo", false, "take back the steps of an apply that did not end")
	f.BoolVar(&flags.remove, "remove", false, "remove all containers of the plan's project; volumes stay")
	f.BoolVar(&a.jsonOutput, "json", false, "print the steps as JSON")
	flags.keep.add(cmd)
	cmd.AddCommand(newReplayCommand(a))
	cmd.MarkFlagsMutuallyExclusive("undo", "remove")
	cmd.MarkFlagsMutuallyExclusive("undo", "dry-run")
	for _, other := range []string{"undo", "remove", "dry-run", "json"} {
		cmd.MarkFlagsMutuallyExclusive("watch", other)
	}
	return cmd
}

func (f *applyFlags) apply(ctx context.Context, a *app, file string) error {
	text, err := inputfile.Read(file, mostPlan)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	t, err := apply.ReadPlan(text)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("%s: %w", file, err)}
	}
	if f.remove {
		t = t.Nothing()
	}
	if f.keep.watch {
		return f.keep.run(ctx, a, t, text)
	}
	steps := []apply.Step{}
	show := func(s apply.Step) {
		steps = append(steps, s)
		if a.jsonOutput {
			return
		}
		a.showStep(s)
	}
	last := "every container is where the plan has it"
	switch {
	case f.undo:
		var n int
		n, err = apply.Undo(ctx, t, a.state, func(what string, err error) {
			if err == nil {
				show(apply.Step{Do: "undone", Name: what})
			}
		})
		if last = fmt.Sprintf("%d taken back", n); n == 0 {
			last = "no step to take back: no apply of project " + t.Project + " ended early; --remove removes its containers"
		}
	case f.dryRun:
		var planned []apply.Step
		planned, err = apply.Steps(ctx, t)
		for _, s := range planned {
			show(s)
		}
		if last = "nothing is to do"; len(planned) > 0 {
			last = fmt.Sprintf("%d to do; no change was made", len(planned))
		}
	default:
		err = apply.Apply(ctx, t, a.state, show)
	}
	if err != nil {
		return &exitError{codeOf(err), err}
	}
	if a.jsonOutput {
		return a.document("steps", steps)
	}
	fmt.Fprintln(a.stdout, last)
	return nil
}

func (a *app) showStep(s apply.Step) {
	line := fmt.Sprintf("%-9s  %s", s.Do, s.Name)
	if s.Engine != "" {
		line += " on engine " + s.Engine
	}
	if s.Why != "" {
		line += ": " + s.Why
	}
	fmt.Fprintln(a.stdout, printable.Line(line))
}
