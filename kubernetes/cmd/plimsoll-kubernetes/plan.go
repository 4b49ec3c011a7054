package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/owner"
	"plimsoll/internal/placement"
	"plimsoll/internal/plural"
	"plimsoll/internal/report"
	"plimsoll/kubernetes/replan"
	"plimsoll/kubernetes/scheduler"
)

// planFlags are those of plan.
type planFlags struct {
	cluster
	namespace, nodes, page, objective string
	moves                             int
	headroom                          float64
	longest                           time.Duration
}

func planCommand() *cobra.Command {
	f := &planFlags{}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Say which pods would better stand on other nodes",
		Long: `Read nodes, pods with a class and the models of their kinds, and plan where the pods had
better stand, as "plimsoll plan" does: what each would do, which limits are kept, and the
moves that lead there, in an order that breaks no limit on the way. Nothing is moved or
evicted: that is yours to do. Node selectors, required node affinity, taints and
anti-affinity between the same pods are kept; requests of CPU and memory are for the
scheduler to check.`,
		Example: `  plimsoll-kubernetes plan --moves 5
  plimsoll-kubernetes plan --nodes pool=databases --page plan.html`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	c.Flags().StringVar(&f.namespace, "namespace", scheduler.Namespace, "`namespace` of the models")
	c.Flags().StringVar(&f.nodes, "nodes", "", "`selector` of nodes, such as pool=databases; all without")
	c.Flags().StringVar(&f.objective, "objective", string(placement.Throughput), "`what` the plan is for: throughput, "+
		"hosts, p99 or fairness")
	c.Flags().IntVar(&f.moves, "moves", 0, "`most` pods that move; as many as it takes without")
	c.Flags().Float64Var(&f.headroom, "headroom", 0, "`share` of each node that is left free, such as 0.1")
	c.Flags().StringVar(&f.page, "page", "", "`file` to write the plan to, as a page")
	c.Flags().DurationVar(&f.longest, "time", 30*time.Second, "`longest` that the search may take")
	f.flags(c)
	return c
}

func (f *planFlags) run(c *cobra.Command, _ []string) error {
	if f.headroom < 0 || f.headroom >= 1 || f.moves < 0 {
		return fmt.Errorf("--headroom is a share from 0 to 1, and --moves a number from 0, not %v and %d", f.headroom,
			f.moves)
	}
	objective := placement.Objective("")
	var known []string
	for _, o := range placement.Objectives() {
		if known = append(known, o[0]); o[0] == f.objective {
			objective = placement.Objective(o[0])
		}
	}
	if objective == "" {
		return fmt.Errorf("--objective is one of %s, not %q", plural.And(known), f.objective)
	}
	client, err := f.client()
	if err != nil {
		return err
	}
	what, err := replan.Read(c.Context(), client, f.namespace, f.nodes)
	if err != nil {
		return err
	}
	what.Fleet.Objective, what.Fleet.MostMoves, what.Fleet.Headroom = objective, f.moves, f.headroom
	end := time.Now().Add(f.longest)
	plan, err := placement.Best(what.Model, what.Fleet, placement.Options{Seed: 1,
		Stop: func() bool { return time.Now().After(end) || c.Context().Err() != nil }})
	if err != nil {
		return err
	}
	answer := report.Answer{Kind: "plan of the cluster", Title: "Which pod on which node", Verdict: plan.Verdict(),
		Meta: append([]string{"predicted by models, not measured"}, what.Left...), Sections: plan.Sections()}
	if f.page != "" {
		page := func(w io.Writer) error { return report.AnswerHTML(w, answer, version) }
		if err := owner.Replace(f.page, page); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	for _, left := range what.Left {
		fmt.Fprintln(c.ErrOrStderr(), "Left out:", left)
	}
	return report.AnswerText(c.OutOrStdout(), answer, len(plan.Left) > 0, terminal(c))
}
