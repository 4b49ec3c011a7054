package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"plimsoll/internal/field"
	"plimsoll/internal/placement"
	"plimsoll/internal/report"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/evict"
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
	moveLocal, deleteLocalData        bool
	schedulerConfig                   string
	rules                             replan.NewRules

	evict   bool
	evictor evict.Evictor // what flags say of it
}

func planCommand(rules replan.NewRules) *cobra.Command {
	f := &planFlags{rules: rules}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show which pods would do better on other nodes",
		Long: `Read nodes, pods with a class and the models of their kinds, and plan on which node each
pod had better run, as "plimsoll plan" does. It prints what each would do, which limits are
kept, and the moves that lead there, in an order that breaks no limit on the way. Nothing is moved or
evicted without --evict.

Each move is one that the pod's scheduler would make: requests, affinity, taints, topology spread,
volumes and IOFit are kept. Pods with data on their node stay, on emptyDir, too, and so do those
that a PodDisruptionBudget keeps.

With --evict it makes the moves by the Eviction API, so that PodDisruptionBudgets hold. It evicts
a pod, waits until the pod that its controller makes instead is Ready, says on which node the
scheduler put that, and goes on. Pods without a controller, of Jobs and of the cluster itself
stay, and those that another scheduler places than one with IOFit. It stops when the cluster is
no longer what the plan is of; an interrupt ends it, and it says what was moved and what was not.
It fails unless all moves are made.

It also fails where a pod has no node in the plan, or breaks a limit on it.`,
		Example: `  plimsoll-kubernetes plan --moves 5
  plimsoll-kubernetes plan --nodes pool=databases --html plan.html
  plimsoll-kubernetes plan --moves 5 --evict --dry-run
  plimsoll-kubernetes plan --moves 5 --evict`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	c.Flags().StringVar(&f.namespace, "namespace", iofit.Namespace, "`namespace` of the models")
	c.Flags().StringVar(&f.nodes, "nodes", "", "`selector` of nodes, such as pool=databases; all without")
	c.Flags().BoolVar(&f.moveLocal, "move-local", false, "move pods with data on a drive of their node, too: the data is "+
		"yours to copy")
	c.Flags().BoolVar(&f.deleteLocalData, "delete-local-data", false, "move pods, too, whose data on emptyDir, ephemeral "+
		"claims or hostPath is lost by that")
	c.Flags().StringVar(&f.schedulerConfig, "scheduler-config", "", "`file` of the schedulers that have IOFit, as "+
		"kube-scheduler --config has it; that of the chart without")
	c.Flags().StringVar(&f.objective, "objective", string(placement.Throughput), "`what` the plan is for: throughput, "+
		"hosts, p99 or fairness")
	c.Flags().Var(field.Flag(field.Count(0, math.MaxInt), &f.moves), "moves",
		"`most` pods that move; as many as it takes without")
	c.Flags().Var(field.Flag(placement.Headroom, &f.headroom), "headroom",
		"`share` of each node that is left free, such as 10%")
	c.Flags().StringVar(&f.page, "html", "", "`file` to write the plan to, as a page")
	f.longest = 30 * time.Second
	c.Flags().Var(field.Flag(field.Duration(1, math.MaxInt64), &f.longest), "budget", "`longest` that the search may take")
	c.Flags().BoolVar(&f.evict, "evict", false, "make the moves: evict the pods, within their PodDisruptionBudgets")
	c.Flags().BoolVar(&f.evictor.DryRun, "dry-run", false, "with --evict, have the API server answer as it would "+
		"and evict nothing")
	f.evictor.AtOnce = 1
	c.Flags().Var(field.Flag(field.Count(1, math.MaxInt), &f.evictor.AtOnce), "evict-at-once",
		"`most` pods that move at the same time, never two of one controller")
	f.evictor.Retry = time.Minute
	c.Flags().Var(field.Flag(field.Duration(0, math.MaxInt64), &f.evictor.Retry), "evict-retry",
		"`longest` that an eviction is tried again that a PodDisruptionBudget refuses")
	f.evictor.Ready = 10 * time.Minute
	c.Flags().Var(field.Flag(field.Duration(1, math.MaxInt64), &f.evictor.Ready), "evict-ready",
		"`longest` that a new pod may take until it is Ready")
	f.Flags(c)
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
	for _, name := range []string{"dry-run", "evict-at-once", "evict-retry", "evict-ready"} {
		if c.Flags().Changed(name) && !f.evict {
			return fmt.Errorf("--%s works with --evict only", name)
		}
	}
	if f.evict && f.moveLocal {
		return errors.New("--evict copies no data, and --move-local moves pods whose data is on their node: make " +
			"these moves by hand, with their data")
	}
	nodes, err := labels.Parse(f.nodes)
	if err != nil {
		return fmt.Errorf("--nodes %q: %w", f.nodes, err)
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	state := replan.State{Selector: nodes, MoveLocal: f.moveLocal, Evict: f.evict, DeleteLocalData: f.deleteLocalData}
	if f.schedulerConfig != "" {
		if state.SchedulerConfig, err = os.ReadFile(f.schedulerConfig); err != nil {
			return fmt.Errorf("--scheduler-config: %w", err)
		}
	}
	cluster, err := replan.Read(c.Context(), client, f.namespace, state, f.rules)
	if err != nil {
		return err
	}
	cluster.Fleet.Objective, cluster.Fleet.MostMoves, cluster.Fleet.Headroom = objective, f.moves, f.headroom
	spent := placement.Within(f.longest)
	plan, err := cluster.Plan(placement.Options{Seed: 1, Spent: func() float64 {
		if c.Context().Err() != nil {
			return 1
		}
		return spent()
	}})
	if err != nil {
		return err
	}
	answer := report.Answer{Kind: "plan of the cluster", Title: "Which pod on which node", Verdict: plan.Verdict(),
		Meta:     slices.Concat([]string{"predicted by models, not measured"}, cluster.Left, cluster.Stay),
		Sections: plan.Sections()}
	if f.page != "" {
		page := func(w io.Writer) error { return report.AnswerHTML(w, answer, c.Root().Version) }
		if err := sudouser.Replace(f.page, page); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	for _, left := range cluster.Left {
		Say(c.ErrOrStderr(), "Left out: %s", left)
	}
	for _, stay := range cluster.Stay {
		Say(c.ErrOrStderr(), "Stays: %s", stay)
	}
	if err := report.AnswerText(c.OutOrStdout(), answer, !plan.Complete(), terminal(c)); err != nil {
		return err
	}
	var moves error
	if f.evict {
		f.evictor.Client, f.evictor.Pods, f.evictor.Budgets = client, cluster.State().Live, cluster.State().Budgets
		moves = evictAll(c.Context(), c.OutOrStdout(), &f.evictor, cluster.Moves(plan))
	}
	return errors.Join(moves, incomplete(plan))
}

// incomplete says what pods of a plan lack where it leads; nil for nothing.
func incomplete(p *placement.Plan) error {
	switch {
	case len(p.Left) > 0:
		return errors.New("not every pod has a node in the plan")
	case !p.Complete():
		return errors.New("not every pod keeps its limits in the plan")
	}
	return nil
}

// evictAll makes moves, and says of each how it ended. The error says how many are not made.
func evictAll(ctx context.Context, out io.Writer, e *evict.Evictor, moves []replan.PodMove) error {
	if err := e.Allowed(ctx, moves); err != nil {
		return err
	}
	fmt.Fprintln(out)
	e.Say = func(o evict.Outcome) { Say(out, "%s", o) }
	made, done := 0, evict.Moved
	if e.DryRun {
		done = evict.WouldMove
	}
	for _, o := range e.Run(ctx, moves) {
		if o.Verdict == done || o.Verdict == evict.OtherNode {
			made++
		}
	}
	switch {
	case len(moves) == 0:
		Say(out, "No pod to evict: the plan moves none to another node.")
	case made < len(moves):
		return fmt.Errorf("%d of %s %s not made", len(moves)-made, plural.Count(len(moves), "move"),
			plural.Choose(len(moves)-made, "is", "are"))
	case e.DryRun:
		Say(out, "The API server would evict %s. Nothing was evicted.", plural.Count(made, "pod"))
	default:
		Say(out, "%s %s made.", plural.Count(made, "move"), plural.Choose(made, "is", "are"))
	}
	return nil
}
