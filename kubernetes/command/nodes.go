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
All numbers are predictions of the model.`,
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
	table := section.Table{Columns: []section.Column{{Head: "node", Text: true}, {Head: "kind", Text: true},
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
	for _, node := range state.Nodes {
		name, kindName := printable.Line(node.Name), printable.Line(iofit.KindOf(node))
		kind := kinds[iofit.KindOf(node)]
		if kind == nil {
			unsaid++
			table.Rows = append(table.Rows, unknown("there is no model of its kind", section.Text(name),
				section.Text(cmp.Or(kindName, "-")), section.Cell{}))
			continue
		}
		standing := iofit.OnNode(node, kind, slices.Values(pods[node.Name]), state.Claims, func(string) bool { return true })
		count, rate, uses, err := kind.Uses(standing)
		cells := []section.Cell{section.Text(name), section.Text(kindName), section.Count.Cell(float64(count))}
		held := section.Text("not held")
		if iofit.Holds(node, slices.Values(pods[node.Name])) {
			held.Text = "held"
		}
		if err != nil {
			unsaid++
			table.Rows = append(table.Rows, unknown(err.Error(), cells...))
			continue
		}
		free := func(is func(model.Use) bool) float64 {
			largest := 0.0
			for _, u := range uses {
				if is(u) {
					largest = max(largest, float64(u.Share))
				}
			}
			return max(0, 1-largest)
		}
		cells = append(cells, section.Count.Cell(rate),
			share(free(func(u model.Use) bool { return u.Resource == model.Processors })))
		for _, d := range kind.Host.Drives {
			left := free(func(u model.Use) bool { return u.Name == d.Name })
			table.Rows = append(table.Rows, section.Row{Warn: left == 0, Cells: append(slices.Clone(cells), section.Text(d.Name),
				share(left), held)})
		}
		if len(kind.Host.Drives) == 0 {
			table.Rows = append(table.Rows, section.Row{Cells: append(cells, section.Text("-"), section.Cell{}, held)})
		}
	}
	a := report.Answer{Verdict: plural.Count(len(state.Nodes), "node") + ".", Sections: []*section.Section{{
		Title: "What is free, by the model", Tables: []section.Table{table}}}}
	if unsaid > 0 {
		a.Verdict = fmt.Sprintf("%s; for %d of them it is not known.", plural.Count(len(state.Nodes), "node"), unsaid)
	}
	return a
}

// unknown is the row of a node of which nobody can say what is free, of its first three columns and why.
func unknown(why string, first ...section.Cell) section.Row {
	return section.Row{Warn: true, Cells: append(first, section.Cell{}, section.Cell{}, section.Text("-"), section.Cell{},
		section.Text(why))}
}

func share(of float64) section.Cell { return section.Text(fmt.Sprintf("%.0f%%", 100*of)) }
