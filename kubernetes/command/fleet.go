package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/iofit"
)

// Bounds of files that a command reads.
const (
	mostModelBytes = 64 << 20
	mostHostBytes  = 1 << 20
)

func fleetCommand() *cobra.Command {
	c := &cobra.Command{Use: "fleet", Short: "Measure the cluster's nodes, and say what each kind carries"}
	c.AddCommand(fleetDoctorCommand(), fleetRunCommand(), fleetPlaceCommand(), fleetStatusCommand(), fleetCleanCommand(),
		fitCommand())
	return c
}

// fitFlags are those of fleet fit.
type fitFlags struct {
	Cluster
	kind, model, host, drives, namespace string
	dryRun, publishIO                    bool
}

func fitCommand() *cobra.Command {
	f := &fitFlags{}
	c := &cobra.Command{
		Use:   "fit DIRECTORY... | --kind KIND DIRECTORY|RUN... | --kind KIND --model model.json",
		Short: "Give nodes of each kind a model",
		Long: `Fit a model to what "fleet run" measured of each kind of nodes, in each DIRECTORY; or to
runs of plimsoll; or take one that "plimsoll fit" made. Write it into the ConfigMap from
which the scheduler knows what nodes of the kind carry. Nodes are of the kind that their
label plimsoll.dev/kind says now, or node.kubernetes.io/instance-type. With --kind, all
nodes in a DIRECTORY are of that kind.

--host names a file of what a node has, as "plimsoll predict --host-file" reads it: cpus,
memory, drives. Without it, a node has what the host of the runs had. That is refused where
the host was scaled down, as that of the experiment density is: no node is so small.

--drives names a file of what stands on each drive, such as
{nvme: {storage-classes: [local-fast], paths: [/mnt/nvme]}, sata: {volume-groups: [data]}}.
Pods then count on the drives of their claims. Without it, they count on the first that a
node has, or that they name.

--publish-io writes plimsoll.dev/io into the status of the kind's nodes, 1000 for each
drive. Quotas of namespaces and autoscalers count it; the scheduler does not need it.

Each RUN is a run directory, or the id of a run below ./` + store.RunsDir + `, or "last".`,
		Example: `  plimsoll-kubernetes fleet fit plimsoll-fleets/node-2026
  plimsoll-kubernetes fleet fit plimsoll-fleets/density-2026 plimsoll-fleets/devices-2026 --host node.yaml
  plimsoll-kubernetes fleet fit --kind i4i.large density-2026 last
  plimsoll-kubernetes fleet fit --kind storage --model model.json --host host.yaml
  plimsoll-kubernetes fleet fit --kind storage last --dry-run > model-storage.yaml`,
		RunE: f.run,
	}
	c.Flags().StringVar(&f.kind, "kind", "", "`kind` of the nodes")
	c.Flags().StringVar(&f.model, "model", "", "`file` of a model, in the place of runs")
	c.Flags().StringVar(&f.host, "host", "", "`file` of what a node has")
	c.Flags().StringVar(&f.drives, "drives", "", "`file` that says which claims are on which drives")
	c.Flags().StringVar(&f.namespace, "namespace", iofit.Namespace, "`namespace` of the models")
	c.Flags().BoolVar(&f.publishIO, "publish-io", false, "write plimsoll.dev/io into the status of the kind's nodes")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the ConfigMap, and ask no cluster")
	f.Flags(c)
	return c
}

func (f *fitFlags) run(c *cobra.Command, runs []string) error {
	if len(runs) > 0 && f.kind == "" && f.model == "" {
		return f.fleets(c, runs)
	}
	if f.kind == "" || (f.model == "") == (len(runs) == 0) {
		return errors.New("fleet fit takes --kind, and runs or --model; or directories of fleets' runs: see --help")
	}
	var all []string
	for _, name := range runs {
		if !fleet.IsRun(name) {
			all = append(all, name)
			continue
		}
		r, err := fleet.Read(name)
		if err != nil {
			return err
		}
		results := r.Results(name)
		for _, node := range slices.Sorted(maps.Keys(results)) {
			all = append(all, results[node])
		}
	}
	if len(runs) > 0 && len(all) == 0 {
		return fmt.Errorf("%s: there are no results of any node", strings.Join(runs, ", "))
	}
	return f.fit(c, f.kind, all)
}

// fleets fits a model to each kind of which fleets have results.
func (f *fitFlags) fleets(c *cobra.Command, dirs []string) error {
	now := map[string]string{} // kinds of nodes: they may have been labelled since they were measured
	if !f.dryRun {
		client, err := f.Client()
		if err != nil {
			return err
		}
		nodes, err := client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("read the kinds of nodes: %w", err)
		}
		for i := range nodes.Items {
			now[nodes.Items[i].Name] = iofit.KindOf(&nodes.Items[i])
		}
	}
	runs := map[string][]string{}
	var unlabelled []string
	for _, dir := range dirs {
		r, err := fleet.Read(dir)
		if err != nil {
			return fmt.Errorf("%w: the kind of the nodes is not known: give --kind", err)
		}
		results := r.Results(dir)
		for _, n := range r.Nodes {
			kind := cmp.Or(now[n.Name], n.Kind)
			switch {
			case results[n.Name] == "":
			case kind == "":
				unlabelled = append(unlabelled, n.Name)
			default:
				runs[kind] = append(runs[kind], results[n.Name])
			}
		}
	}
	if len(runs)+len(unlabelled) == 0 {
		return fmt.Errorf("%s: there are no results of any node", strings.Join(dirs, ", "))
	}
	var problems []error
	if len(unlabelled) > 0 {
		problems = append(problems, fmt.Errorf("%s have no kind, and so no model: kubectl label node %s %s=KIND, and fit "+
			"again; or fleet fit --kind KIND %s", plural.And(unlabelled), strings.Join(unlabelled, " "), iofit.KindLabel,
			strings.Join(dirs, " ")))
	}
	for _, kind := range slices.Sorted(maps.Keys(runs)) {
		if err := f.fit(c, kind, runs[kind]); err != nil {
			problems = append(problems, fmt.Errorf("kind %q: %w", kind, err))
		}
	}
	return errors.Join(problems...)
}

// fit gives a kind the model of runs, or that of the file.
func (f *fitFlags) fit(c *cobra.Command, kind string, runs []string) error {
	text, machine, last, err := f.text(runs)
	if err != nil {
		return err
	}
	var texts [2]string
	for i, file := range []string{f.host, f.drives} {
		if file == "" {
			continue
		}
		read, err := inputfile.Read(file, mostHostBytes)
		if err != nil {
			return err
		}
		texts[i] = string(read)
	}
	host, drives := texts[0], texts[1]
	m, err := iofit.ConfigMap(kind, text, host, drives)
	if err != nil {
		return err
	}
	m.Namespace = f.namespace
	if !last.IsZero() {
		m.Annotations = map[string]string{iofit.MeasuredAnnotation: last.UTC().Format(time.RFC3339)}
	}
	k, err := iofit.ParseKind(m)
	if err != nil {
		return err
	}
	if err := isNode(k, machine, host != ""); err != nil {
		return err
	}
	describe(c.ErrOrStderr(), k)
	if f.dryRun {
		m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		out, err := yaml.Marshal(m)
		if err == nil {
			_, err = fmt.Fprintf(c.OutOrStdout(), "---\n%s", out)
		}
		return err
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	apply := applyv1.ConfigMap(m.Name, m.Namespace).WithLabels(m.Labels).WithAnnotations(m.Annotations).WithData(m.Data).
		WithBinaryData(m.BinaryData)
	_, err = client.CoreV1().ConfigMaps(m.Namespace).Apply(c.Context(), apply,
		metav1.ApplyOptions{FieldManager: "plimsoll", Force: true})
	if err != nil {
		return fmt.Errorf("write the model into ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	nodes, err := client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the model is written; read nodes: %w", err)
	}
	fmt.Fprintf(c.OutOrStdout(), "Nodes of kind %s have a model: ConfigMap %s/%s, %d nodes.\n", kind, m.Namespace,
		m.Name, count(nodes.Items, kind))
	if !f.publishIO {
		return nil
	}
	n, err := publishIO(c.Context(), client, k, nodes.Items)
	fmt.Fprintf(c.OutOrStdout(), "%d of these nodes have %d of %s.\n", n, k.IO(), iofit.IOResource)
	return err
}

// isNode reports that a kind has less than the machine of its runs, whose host was scaled down. Of a model's file,
// nothing is known of that machine but what its host says.
func isNode(k *iofit.Kind, machine model.Host, given bool) error {
	has := k.Host.Host
	limited := has.Read != (result.Rate{}) || has.Write != (result.Rate{}) || has.IO != (result.Rate{})
	less := has.CPUs < machine.CPUs || has.CPUs < has.Machine ||
		float64(has.MemoryBytes) < 0.95*float64(machine.MemoryBytes)
	if given || !limited && !less {
		return nil
	}
	write := fmt.Sprintf("cpus: %g, memory: %s", max(machine.CPUs, has.CPUs, has.Machine),
		units.FormatSize(max(machine.MemoryBytes, has.MemoryBytes)))
	var drives []string
	for i := range k.Model.Drives {
		drives = append(drives, fmt.Sprintf("drive%d: %s", i+1, k.Model.Drives[i].Name))
	}
	if len(drives) > 0 {
		write += ", drives: {" + strings.Join(drives, ", ") + "}"
	}
	return fmt.Errorf("the runs had a scaled-down host (%s), and nodes of kind %s have more: say what a node has by "+
		"--host FILE, such as {%s}", has.Describe(), k.Name, write)
}

// describe says by which annotations pods ask for what a kind knows: lines to paste, with what is to be had.
func describe(w io.Writer, k *iofit.Kind) {
	Say(w, "Kind %s: a node has %s. Annotate pods with one of:", k.Name, k.Host.Host.Describe())
	for _, name := range k.Classes() {
		does := ""
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{iofit.ClassAnnotation: name}}}
		if d, err := iofit.DemandOf(&p); err != nil { // a name that no annotation can have
			does = "no pod can say it: " + err.Error()
		} else if v := k.Judge(iofit.Standing{}, d); v.Unknown != "" {
			does = v.Unknown
		} else {
			does = "alone, " + v.String()
			if n, err := k.IOOf(d); err == nil {
				does += fmt.Sprintf("; %s: %d", iofit.IOResource, n)
			}
		}
		Say(w, "    %s: %s  # %s", iofit.ClassAnnotation, name, does)
	}
	if len(k.Host.Drives) == 0 {
		Say(w, "It has no drive, so it cannot predict how pods share one: run the experiment devices on the nodes as "+
			"well, and fit both.")
		return
	}
	Say(w, "and with the drive that their data is on:")
	for _, d := range k.Host.Drives {
		device := ""
		if d.Is.On != "" {
			device = d.Is.On + ", "
		}
		Say(w, "    %s: %s  # %s%s reads/s, %s writes/s", iofit.DriveAnnotation, d.Name, device,
			units.Compact(float64(d.Is.Read.IOPS)), units.Compact(float64(d.Is.Write.IOPS)))
	}
}

// text returns the model's file, and what all machines of its runs have, and when the last of them started, as far as
// that is known.
func (f *fitFlags) text(names []string) (text []byte, machine model.Host, last time.Time, err error) {
	if f.model != "" {
		text, err = inputfile.Read(f.model, mostModelBytes)
		return text, machine, last, err
	}
	var runs []*result.Run
	for _, name := range names {
		dir, err := store.Find(store.RunsDir, name)
		if err != nil {
			return nil, machine, last, err
		}
		run, err := store.Read(dir)
		if err != nil {
			return nil, machine, last, err
		}
		runs = append(runs, run)
		if run.Started.After(last) {
			last = run.Started
		}
		has := model.Host{CPUs: float64(run.Environment.CPUs), MemoryBytes: int64(run.Environment.MemoryBytes)}
		if len(runs) == 1 {
			machine = has
		}
		machine.CPUs = min(machine.CPUs, has.CPUs)
		machine.MemoryBytes = min(machine.MemoryBytes, has.MemoryBytes)
	}
	m, err := model.Fit(model.Options{Version: f.command.Root().Version, Seed: 1}, runs...)
	if err != nil {
		return nil, machine, last, err
	}
	var out bytes.Buffer
	err = m.Write(&out)
	return out.Bytes(), machine, last, err
}

// count returns how many nodes are of a kind.
func count(nodes []corev1.Node, kind string) (n int) {
	for i := range nodes {
		if iofit.KindOf(&nodes[i]) == kind {
			n++
		}
	}
	return n
}
