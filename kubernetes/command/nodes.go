package command

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"

	"plimsoll/internal/model"
	"plimsoll/internal/printable"
	"plimsoll/internal/report"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
)

func nodesCommand() *cobra.Command {
	var cluster Cluster
	var namespace, nodes string
	c := &cobra.Command{
		Use:   "nodes",
		Short: "Show how much of each node and drive is free",
		Long: `Read nodes, pods with a class and the models of their kinds. It prints what those on each node do
together, and which share of its processors and of each drive they leave free.
All is by the model: nothing is measured.`,
		Example: `  plimsoll-kubernetes nodes --nodes pool=databases`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			selector, err := labels.Parse(nodes)
			if err != nil {
				return fmt.Errorf("--nodes %q: %w", nodes, err)
			}
			client, err := cluster.Client()
			if err != nil {
				return err
			}
			var state replan.State
			kinds, err := state.Read(c.Context(), client, namespace,
				func(informers.SharedInformerFactory) error { return nil })
			if err != nil {
				return err
			}
			state.Nodes = slices.DeleteFunc(state.Nodes, func(n *corev1.Node) bool {
				return !selector.Matches(labels.Set(n.Labels))
			})
			return report.AnswerText(c.OutOrStdout(), headroom(&state, kinds), false, terminal(c))
		},
	}
	c.Flags().StringVar(&namespace, "namespace", iofit.Namespace, "`namespace` of the models")
	c.Flags().StringVar(&nodes, "nodes", "", "`selector` of nodes, such as pool=databases; all without")
	cluster.Flags(c)
	return c
}

// headroom returns what is free on nodes, a row for each drive.
func headroom(state *replan.State, kinds map[string]*iofit.Kind) report.Answer {
	t := section.Table{Columns: []section.Column{{Head: "node", Text: true}, {Head: "kind", Text: true},
		{Head: "pods", Means: "with a class that the model knows"},
		{Head: "ops/s", Means: "operations a second of all of them, predicted"},
		{Head: "processors free"}, {Head: "drive", Text: true}, {Head: "drive free"},
		{Head: "limits on devices", Text: true, Means: "whether they are held, and count"}}}
	pods := map[string][]*corev1.Pod{}
	for _, p := range state.Pods {
		if p.Spec.NodeName != "" {
			pods[p.Spec.NodeName] = append(pods[p.Spec.NodeName], p)
		}
	}
	slices.SortFunc(state.Nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	unsaid := 0
	for _, n := range state.Nodes {
		name, of := printable.Line(n.Name), printable.Line(iofit.KindOf(n))
		kind := kinds[iofit.KindOf(n)]
		if kind == nil {
			unsaid++
			t.Rows = append(t.Rows, unknown("there is no model of its kind", section.Text(name), section.Text(cmp.Or(of, "-")),
				section.Cell{}))
			continue
		}
		there := iofit.OnNode(n, kind, slices.Values(pods[n.Name]), state.Claims, func(string) bool { return true })
		count, rate, uses, err := kind.Uses(there)
		cells := []section.Cell{section.Text(name), section.Text(of), section.Count.Cell(float64(count))}
		held := section.Text("not held")
		if iofit.Holds(n, slices.Values(pods[n.Name])) {
			held.Text = "held"
		}
		if err != nil {
			unsaid++
			t.Rows = append(t.Rows, unknown(err.Error(), cells...))
			continue
		}
		free := func(is func(model.Use) bool) float64 {
			most := 0.0
			for _, u := range uses {
				if is(u) {
					most = max(most, float64(u.Share))
				}
			}
			return max(0, 1-most)
		}
		cells = append(cells, section.Count.Cell(rate),
			share(free(func(u model.Use) bool { return u.Resource == model.Processors })))
		for _, d := range kind.Host.Drives {
			left := free(func(u model.Use) bool { return u.Name == d.Name })
			t.Rows = append(t.Rows, section.Row{Warn: left == 0, Cells: append(slices.Clone(cells), section.Text(d.Name),
				share(left), held)})
		}
		if len(kind.Host.Drives) == 0 {
			t.Rows = append(t.Rows, section.Row{Cells: append(cells, section.Text("-"), section.Cell{}, held)})
		}
	}
	a := report.Answer{Verdict: plural.Count(len(state.Nodes), "node") + ".", Sections: []*section.Section{{
		Title: "What is free, by the model", Tables: []section.Table{t}}}}
	if unsaid > 0 {
		a.Verdict = fmt.Sprintf("%s, of which nobody can say it of %d.", plural.Count(len(state.Nodes), "node"), unsaid)
	}
	return a
}

// unknown is the row of a node of which nobody can say what is free, of its first three columns and why.
func unknown(why string, first ...section.Cell) section.Row {
	return section.Row{Warn: true, Cells: append(first, section.Cell{}, section.Cell{}, section.Text("-"), section.Cell{},
		section.Text(why))}
}

func share(of float64) section.Cell { return section.Text(fmt.Sprintf("%.0f%%", 100*of)) }
