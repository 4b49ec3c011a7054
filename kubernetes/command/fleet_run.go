package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"plimsoll/examples"
	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/experiment"
	"plimsoll/internal/printable"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/section"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/kinds"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/iofit"
)

// fleetRunFlags are those of fleet run.
type fleetRunFlags struct {
	Cluster
	nodes, image, namespace, out, resume string
	eachKind, parallel                   int
	cordon, disturb                      bool
	destroy                              []string
}

func fleetRunCommand() *cobra.Command { return (&fleetRunFlags{}).command() }

func (f *fleetRunFlags) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "run EXPERIMENT --nodes SELECTOR | --resume DIRECTORY",
		Short: "Measure nodes, and say what each kind carries and which node is slower",
		Long: `Measure nodes of the cluster as "plimsoll run" measures a host, one of each kind at a time,
each by a privileged Job in a namespace of its own. The Job of a node has its name: no node
is measured twice at once. Results come here as run directories, one for each node, and
report.html compares nodes of a kind.

Nodes are measured with their own tools: what "plimsoll doctor" asks for is to be
installed there. 15% of a file system stay free (--keep-free). --cordon keeps new pods from
a node meanwhile; those that run there are neighbors, which every trial measures. Nodes are
left out that are of the control plane, or have pods that keep data or have a class:
--disturb measures these, too.

EXPERIMENT is a built-in one by its name, or a file. Devices are named by their serials: a
path is another device on another node.

Ctrl-C and a crash of this command end nothing on the nodes: --resume goes on and takes
what there is. A node whose pod was killed goes on with its run. "fleet clean" ends it all.`,
		Example: `  plimsoll-kubernetes fleet run node --nodes pool=databases --each-kind 2 --budget 20m
  plimsoll-kubernetes fleet run nvme.yaml --nodes pool=databases --destroy S4EVNF0M123456 --cordon
  plimsoll-kubernetes fleet run --resume plimsoll-fleets/density-20261127-101500`,
		Args: cobra.MaximumNArgs(1),
		RunE: f.run,
	}
	flags := c.Flags()
	f.ofExperiment(c)
	flags.IntVar(&f.parallel, "parallel", 1, "so `many` nodes of each kind are measured at once")
	flags.BoolVar(&f.cordon, "cordon", false, "keep new pods from nodes while they are measured")
	flags.StringVarP(&f.out, "output", "o", "", "`directory` of the results (default: plimsoll-fleets/RUN-ID)")
	flags.StringVar(&f.resume, "resume", "", "`directory` of a run to go on with")
	return c
}

// ofExperiment gives a command the flags that say what is measured, and on which nodes.
func (f *fleetRunFlags) ofExperiment(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.nodes, "nodes", "", "`selector` of nodes, such as pool=databases")
	flags.IntVar(&f.eachKind, "each-kind", 0, "so `many` nodes of each kind, by their names; all without")
	flags.BoolVar(&f.disturb, "disturb", false, "measure nodes of control planes and databases, too")
	flags.StringVar(&f.image, "image", image(), "`image` of this program, with plimsoll in it")
	flags.StringVar(&f.namespace, "namespace", fleet.Namespace, "`namespace` of the Jobs")
	flags.StringArrayVar(&f.destroy, "destroy", nil, "`serial` of a device that may be overwritten; repeatable")
	for _, s := range experiment.Flags() {
		switch {
		case s.Repeats:
			flags.StringArray(s.Flag, nil, s.Help)
		case s.IsSwitch() && s.Flag != "":
			flags.Bool(s.Flag, false, s.Help)
		case s.Flag != "":
			flags.String(s.Flag, "", s.Help)
		}
		if s.Without != "" {
			flags.Bool(s.Without, false, s.Off)
		}
	}
	f.Flags(c)
}

func (f *fleetRunFlags) run(c *cobra.Command, args []string) error {
	r, dir, err := f.record(c, args)
	if err != nil {
		return err
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { Say(c.ErrOrStderr(), format, args...) }
	if f.resume == "" {
		client, err := f.Client()
		if err != nil {
			return err
		}
		if err := f.choose(c.Context(), client, r, say); err != nil {
			return err
		}
		if _, err := sudouser.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := r.Write(dir); err != nil {
			return err
		}
		say("%s on %d nodes; results go to %s", r.Experiment, len(r.Nodes), dir)
	}
	collector, err := fleet.NewCollector(r, dir, config, say)
	if err != nil {
		return err
	}
	if err := collector.Run(c.Context()); err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("stopped here, and not on the nodes: go on with fleet run --resume %s, or end it with "+
				"fleet clean --run %s", dir, r.ID)
		}
		return fmt.Errorf("%w\nWhat was started goes on: fleet run --resume %s, or fleet clean --run %s", err, dir, r.ID)
	}
	return tellFleet(c, r, dir)
}

// choose gives a run its nodes, and the priority of its pods where the cluster has it.
func (f *fleetRunFlags) choose(ctx context.Context, client kubernetes.Interface, r *fleet.Record,
	say func(format string, args ...any),
) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	var busy map[string]string
	if !f.disturb {
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("read pods, so that none is disturbed that keeps data: %w (--disturb does not look)", err)
		}
		busy = fleet.Busy(nodes.Items, pods.Items)
	}
	_, err = client.SchedulingV1().PriorityClasses().Get(ctx, fleet.PriorityClass, metav1.GetOptions{})
	if err == nil {
		r.Priority = fleet.PriorityClass
	} else {
		say("Pods that measure have the cluster's usual priority, and may evict others: %v (kubectl apply -k "+
			"kubernetes/manifests/fleet)", err)
	}
	var left []string
	r.Nodes, left, err = fleet.Choose(nodes.Items, busy, f.nodes, f.eachKind)
	for _, l := range left {
		say("Left out: %s", l)
	}
	var unlabelled []string
	for _, n := range r.Nodes {
		if n.Kind == "" {
			unlabelled = append(unlabelled, n.Name)
		}
	}
	if len(unlabelled) > 0 {
		say("Without a kind, so they count as one: %s. Label them before fleet fit: kubectl label node NAME %s=KIND",
			plural.And(unlabelled), iofit.KindLabel)
	}
	return err
}

// record returns what is to be run, or what a directory says of a run that goes on.
func (f *fleetRunFlags) record(c *cobra.Command, args []string) (*fleet.Record, string, error) {
	given := f.arguments(c)
	if f.resume != "" {
		if len(args) > 0 || f.nodes != "" || f.out != "" || len(given) > 0 {
			return nil, "", errors.New("--resume goes on with a run as it was started: give no other flag")
		}
		r, err := fleet.ReadOwn(f.resume)
		return r, f.resume, err
	}
	if len(args) == 0 || f.nodes == "" {
		return nil, "", errors.New("which experiment, on which nodes? fleet run EXPERIMENT --nodes SELECTOR: see --help")
	}
	if f.eachKind < 0 {
		return nil, "", fmt.Errorf("--each-kind %d: it is a number of nodes", f.eachKind)
	}
	if f.parallel < 1 {
		return nil, "", fmt.Errorf("--parallel %d: it is a number of nodes, from 1", f.parallel)
	}
	if !c.Flags().Changed("keep-free") { // the kubelet evicts pods, and removes images, of a node that is nearly full
		given = append(given, "--keep-free=15%")
	}
	r := &fleet.Record{
		ID: fleet.NewID(args[0], time.Now()), Started: time.Now().UTC(), Experiment: args[0], Args: given,
		Image: f.image, Namespace: f.namespace, Cordon: f.cordon, Disturb: f.disturb,
		Parallel: f.parallel,
	}
	text, builtin := examples.Find(args[0])
	if !builtin {
		var err error
		if text, err = inputfile.Read(args[0], fleet.MostExperiment); err != nil {
			return nil, "", fmt.Errorf("read the experiment: %w", err)
		}
		r.File, r.Text = filepath.Base(args[0]), string(text)
	}
	scale, _ := c.Flags().GetString("scale")
	e, err := experiment.Parse(args[0], text, experiment.Options{
		Catalog: stack.Catalog(), Kinds: kinds.All(), Scale: scale,
		Open: func(name string) ([]byte, error) {
			return nil, fmt.Errorf("%s is not taken along to nodes: write what it says into the experiment", name)
		},
	})
	if err != nil {
		return nil, "", err
	}
	if err := f.requests(c, r, e); err != nil {
		return nil, "", err
	}
	if f.out == "" {
		f.out = filepath.Join("plimsoll-fleets", r.ID)
	}
	if _, err := os.Stat(f.out); err == nil {
		return nil, "", fmt.Errorf("%s is there already: --resume goes on with a run", f.out)
	}
	return r, f.out, fleet.CheckArgs(given)
}

// requests has a run's pods request what its scaled-down host has: of the experiment, or of the command line.
func (f *fleetRunFlags) requests(c *cobra.Command, r *fleet.Record, e *experiment.Experiment) error {
	var asked result.HostOverrides
	if text := c.Flags().Lookup("host").Value.String(); text != "" {
		var err error
		if asked, err = experiment.ParseHost(text); err != nil {
			return fmt.Errorf("--host %s: %w", text, err)
		}
	}
	asked.None, _ = c.Flags().GetBool("no-limits")
	host := experiment.HostWith(e.Host, asked)
	if host != nil {
		r.HostCPUs, r.HostMemory = host.CPUs, host.MemoryBytes
	}
	return nil
}

// image returns the image of this version, which nodes have, or a registry that they ask.
func image() string { return "plimsoll-kubernetes:" + buildinfo.Number() }

// arguments returns what plimsoll run is given on the nodes: settings of an experiment, and nothing else.
func (f *fleetRunFlags) arguments(c *cobra.Command) (all []string) {
	for _, name := range fleet.Settings() {
		flag := c.Flags().Lookup(name)
		if !flag.Changed {
			continue
		}
		if values, err := c.Flags().GetStringArray(name); err == nil {
			for _, v := range values {
				all = append(all, "--"+name+"="+v)
			}
			continue
		}
		all = append(all, "--"+name+"="+flag.Value.String())
	}
	return all
}

// tellFleet tells what a run found, and writes its page.
func tellFleet(c *cobra.Command, r *fleet.Record, dir string) error {
	kinds, err := fleet.Kinds(r, dir)
	if err != nil {
		return err
	}
	a := fleet.Answer(r, kinds)
	page := filepath.Join(dir, store.ReportFile)
	err = sudouser.Replace(page, func(w io.Writer) error { return report.AnswerHTML(w, a, c.Root().Version) })
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := report.AnswerText(c.OutOrStdout(), a, false, terminal(c)); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Page: %s. Of one node: plimsoll show %s\n", page, filepath.Join(dir, "NODE"))
	if slices.ContainsFunc(r.Nodes, func(n fleet.Node) bool { return n.State == fleet.Failed }) {
		return fmt.Errorf("some nodes have no results; fleet clean --run %s tidies them", r.ID)
	}
	return nil
}

// terminal says how answers are printed.
func terminal(c *cobra.Command) report.TerminalOptions {
	options := report.TerminalOptions{Width: 120}
	if out, ok := c.OutOrStdout().(*os.File); ok && term.IsTerminal(int(out.Fd())) {
		options.Color = os.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(out.Fd())); err == nil {
			options.Width = width
		}
	}
	return options
}

// fleetFlags are those of fleet status and fleet clean.
type fleetFlags struct {
	Cluster
	namespace, run, nodes, image string
}

func (f *fleetFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.namespace, "namespace", fleet.Namespace, "`namespace` of the Jobs")
	c.Flags().StringVar(&f.run, "run", "", "`id` of a run; all without")
	f.Flags(c)
}

func fleetStatusCommand() *cobra.Command {
	f := &fleetFlags{}
	c := &cobra.Command{
		Use: "status", Short: "Which nodes are measured now", Args: cobra.NoArgs,
		Long: `List the nodes that are measured, or were and still keep their results, whatever program started that.`,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := f.Client()
			if err != nil {
				return err
			}
			jobs, err := fleet.Jobs(c.Context(), client, f.namespace, f.run)
			if err != nil {
				return err
			}
			nodes, err := client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("read nodes: %w", err)
			}
			left := fleet.Cordoned(nodes.Items, jobs)
			for _, name := range slices.Sorted(maps.Keys(left)) {
				Say(c.ErrOrStderr(), "Node %s is still cordoned by run %s, which measures it no more: fleet clean --run %s", name,
					left[name], left[name])
			}
			if len(jobs) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "No node is measured.")
				return nil
			}
			slices.SortFunc(jobs, func(a, b fleet.Job) int { return strings.Compare(a.Run+" "+a.Name, b.Run+" "+b.Name) })
			t := section.Table{}
			for _, head := range []string{"run", "node", "since (UTC)", "state", "why"} {
				t.Columns = append(t.Columns, section.Column{Head: head, Text: true})
			}
			for _, j := range jobs {
				t.Rows = append(t.Rows, section.Row{Warn: j.State == fleet.Failed, Cells: []section.Cell{
					section.Text(printable.Line(j.Run)), section.Text(printable.Line(j.Name)),
					section.Text(j.Since.UTC().Format("2006-01-02 15:04")), section.Text(string(j.State)),
					section.Text(printable.Line(j.Reason)),
				}})
			}
			a := report.Answer{
				Verdict:  plural.Count(len(jobs), "node") + " of fleets.",
				Sections: []*section.Section{{Title: "Jobs", Tables: []section.Table{t}}},
			}
			return report.AnswerText(c.OutOrStdout(), a, false, terminal(c))
		},
	}
	f.add(c)
	return c
}

func fleetCleanCommand() *cobra.Command {
	f, allRuns := &fleetFlags{}, false
	c := &cobra.Command{
		Use: "clean", Short: "End runs, and remove their files from nodes", Args: cobra.NoArgs,
		Long: `End what is measured, have each node undo what runs left there ("plimsoll clean"), and
remove what fleets have on nodes and in the cluster: Jobs, experiments, cordons. Results
that were not taken are lost. Cleaning twice does no harm.

Nodes are those that have a Job of a fleet; --nodes names more, such as those whose Jobs
someone deleted. A node that is not ready is left as it is, and named.`,
		Example: `  plimsoll-kubernetes fleet clean --run density-20261127-101500
  plimsoll-kubernetes fleet clean --all --nodes pool=databases`,
		RunE: func(c *cobra.Command, _ []string) error {
			if allRuns == (f.run != "") {
				return errors.New("which runs? fleet clean --run ID ends one of those that fleet status names, and --all ends " +
					"everyone's")
			}
			client, err := f.Client()
			if err != nil {
				return err
			}
			var named []string
			if f.nodes != "" {
				nodes, err := client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{LabelSelector: f.nodes})
				if err != nil {
					return fmt.Errorf("read nodes: %w", err)
				}
				for i := range nodes.Items {
					named = append(named, nodes.Items[i].Name)
				}
			}
			err = fleet.Clean(c.Context(), client, f.namespace, f.run, f.image, named, func(format string, args ...any) {
				Say(c.OutOrStdout(), format, args...)
			})
			if err == nil {
				fmt.Fprintln(c.OutOrStdout(), "No fleet has left files or objects.")
			}
			return err
		},
	}
	c.Flags().StringVar(&f.nodes, "nodes", "", "`selector` of more nodes to clean")
	c.Flags().BoolVar(&allRuns, "all", false, "end all runs, of other users too")
	c.Flags().StringVar(&f.image, "image", image(), "`image` for those")
	f.add(c)
	return c
}
