package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/report"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/fleet"
)

func fleetDoctorCommand() *cobra.Command {
	f, longest := &fleetRunFlags{}, time.Duration(0)
	c := &cobra.Command{
		Use:   "doctor [EXPERIMENT] --nodes SELECTOR",
		Short: "Look whether nodes can be measured, before anything is",
		Long: `Have each node look whether it can run an experiment, which is "node" unless you name
another: its tools, its disk, and how long it would take. "plimsoll run --dry-run" and
"plimsoll doctor" answer there, in a Job of a moment. Nothing is measured and nothing is
changed. The settings are those of fleet run.

EXIT STATUS
  0  all nodes can run it
  1  a node cannot, or did not answer`,
		Example: `  plimsoll-kubernetes fleet doctor --nodes pool=databases
  plimsoll-kubernetes fleet doctor nvme.yaml --nodes pool=databases --destroy S4EVNF0M123456`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"node"}
			}
			f.parallel = 1
			r, _, err := f.record(c, args)
			if err != nil {
				return err
			}
			r.ID = fleet.NewID("doctor", time.Now())
			client, err := f.Client()
			if err != nil {
				return err
			}
			say := func(format string, args ...any) { Say(c.ErrOrStderr(), format, args...) }
			if err := f.choose(c.Context(), client, r, say); err != nil {
				return err
			}
			checkups, err := fleet.Doctor(c.Context(), client, r, longest)
			if err != nil {
				return err
			}
			return tellCheckups(c, r.Experiment, checkups)
		},
	}
	f.ofExperiment(c)
	c.Flags().DurationVar(&longest, "timeout", time.Minute, "how long nodes have to answer")
	return c
}

// tellCheckups prints what each node can, and then all that is missing.
func tellCheckups(c *cobra.Command, experiment string, checkups []fleet.Checkup) error {
	t := section.Table{}
	for _, head := range []string{"node", "kind", "can run", "takes"} {
		t.Columns = append(t.Columns, section.Column{Head: head, Text: true})
	}
	missing, notes := 0, section.Section{Title: "Nodes", Tables: []section.Table{t}}
	rows := &notes.Tables[0].Rows
	var problems []string
	for i := range checkups {
		k := &checkups[i]
		can, takes := "yes", k.Takes()
		if err := k.Missing(); err != nil {
			can, takes = "no", ""
			missing++
			problems = append(problems, fmt.Sprintf("%s: %v", k.Name, err))
		}
		if k.Err != nil {
			can = "not known"
		}
		*rows = append(*rows, section.Row{Warn: can != "yes", Cells: []section.Cell{
			section.Text(k.Name), section.Text(k.Kind), section.Text(can), section.Text(takes),
		}})
		for _, w := range k.Answer.Warnings {
			problems = append(problems, fmt.Sprintf("%s: %v", k.Name, &w))
		}
	}
	a := report.Answer{
		Verdict:  fmt.Sprintf("%d of %s can run %s.", len(checkups)-missing, plural.Count(len(checkups), "node"), experiment),
		Sections: []*section.Section{&notes},
	}
	if err := report.AnswerText(c.OutOrStdout(), a, false, terminal(c)); err != nil {
		return err
	}
	for _, p := range problems {
		Say(c.OutOrStdout(), "%s", p)
	}
	if missing > 0 {
		return errors.New("install what is missing on these nodes, or leave them out: plimsoll " + buildinfo.Number() +
			" measures with the node's own tools")
	}
	return nil
}
