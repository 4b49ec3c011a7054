package command

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"plimsoll/internal/field"
	"plimsoll/internal/placement"
	"plimsoll/internal/report"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
)

// planFlags are those of plan.
type planFlags struct {
	Cluster
	namespace, nodes, page, objective string
	moves                             int
	headroom                          float64
	longest                           time.Duration
	moveLocal                         bool
	rules                             replan.NewRules
}

func planCommand(rules replan.NewRules) *cobra.Command {
	f := &planFlags{rules: rules}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Say which pods would better stand on other nodes",
		Long: `Read nodes, pods with a class and the models of their kinds, and plan on which node each
pod had better run, as "plimsoll plan" does. It prints what each would do, which limits are
kept, and the moves that lead there, in an order that breaks no limit on the way. Nothing is moved or
evicted: that is yours to do.

Each move is one that kube-scheduler would make: requests, affinity, taints, topology spread and
volumes are kept. Pods with data on a drive of their node stay, and so do those that a
PodDisruptionBudget keeps.`,
		Example: `  plimsoll-kubernetes plan --moves 5
  plimsoll-kubernetes plan --nodes pool=databases --html plan.html`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	c.Flags().StringVar(&f.namespace, "namespace", iofit.Namespace, "`namespace` of the models")
	c.Flags().StringVar(&f.nodes, "nodes", "", "`selector` of nodes, such as pool=databases; all without")
	c.Flags().BoolVar(&f.moveLocal, "move-local", false, "move pods with data on a drive of their node, too: the data is "+
		"yours to copy")
	c.Flags().StringVar(&f.objective, "objective", string(placement.Throughput), "`what` the plan is for: throughput, "+
		"hosts, p99 or fairness")
	c.Flags().Var(field.Flag(field.Count(0, math.MaxInt), &f.moves), "moves",
		"`most` pods that move; as many as it takes without")
	c.Flags().Var(field.Flag(placement.Headroom, &f.headroom), "headroom",
		"`share` of each node that is left free, such as 10%")
	c.Flags().StringVar(&f.page, "html", "", "`file` to write the plan to, as a page")
	f.longest = 30 * time.Second
	c.Flags().Var(field.Flag(field.Duration(1, math.MaxInt64), &f.longest), "budget", "`longest` that the search may take")
	f.Flags(c)
	takeOldFlags(c, map[string]string{"page": "html", "time": "budget"})
	return c
}

func (f *planFlags) run(c *cobra.Command, _ []string) error {
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
	nodes, err := labels.Parse(f.nodes)
	if err != nil {
		return fmt.Errorf("--nodes %q: %w", f.nodes, err)
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	what, err := replan.Read(c.Context(), client, f.namespace, replan.State{Selector: nodes, MoveLocal: f.moveLocal},
		f.rules)
	if err != nil {
		return err
	}
	what.Fleet.Objective, what.Fleet.MostMoves, what.Fleet.Headroom = objective, f.moves, f.headroom
	end := time.Now().Add(f.longest)
	plan, err := what.Plan(placement.Options{Seed: 1,
		Stop: func() bool { return time.Now().After(end) || c.Context().Err() != nil }})
	if err != nil {
		return err
	}
	answer := report.Answer{Kind: "plan of the cluster", Title: "Which pod on which node", Verdict: plan.Verdict(),
		Meta: slices.Concat([]string{"predicted by models, not measured"}, what.Left, what.Stay), Sections: plan.Sections()}
	if f.page != "" {
		page := func(w io.Writer) error { return report.AnswerHTML(w, answer, c.Root().Version) }
		if err := sudouser.Replace(f.page, page); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	for _, left := range what.Left {
		Say(c.ErrOrStderr(), "Left out: %s", left)
	}
	for _, stay := range what.Stay {
		Say(c.ErrOrStderr(), "Stays: %s", stay)
	}
	return report.AnswerText(c.OutOrStdout(), answer, len(plan.Left) > 0, terminal(c))
}
