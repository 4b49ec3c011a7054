package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/inputfile"
	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/scheduler"
)

// Bounds of files that a command reads.
const (
	mostModelBytes = 64 << 20
	mostHostBytes  = 1 << 20
)

func fleetCommand() *cobra.Command {
	c := &cobra.Command{Use: "fleet", Short: "Measure the cluster's nodes, and say what each kind carries"}
	c.AddCommand(fleetRunCommand(), fleetStatusCommand(), fleetCleanCommand(), fitCommand())
	return c
}

// fitFlags are those of fleet fit.
type fitFlags struct {
	cluster
	kind, model, host, namespace string
	dryRun                       bool
}

func fitCommand() *cobra.Command {
	f := &fitFlags{}
	c := &cobra.Command{
		Use:   "fit DIRECTORY | --kind KIND RUN... | --kind KIND --model model.json",
		Short: "Give nodes of each kind a model",
		Long: `Fit a model to what "fleet run" measured of each kind of nodes, in DIRECTORY; or to runs of
plimsoll; or take one that "plimsoll fit" made. Write it into the ConfigMap from which the
scheduler knows what nodes of the kind carry. Nodes are of the kind that their label
plimsoll.dev/kind says, or node.kubernetes.io/instance-type.

Without --host, a node has what the host of the runs had. --host names a file of what it
has in its place, as "plimsoll predict --host" reads it: cpus, memory, drives.

Each RUN is a run directory, or the id of a run below ./` + store.RunsDir + `, or "last".`,
		Example: `  plimsoll-kubernetes fleet fit plimsoll-fleets/density-20261127-101500
  plimsoll-kubernetes fleet fit --kind i4i.large density-2026 last
  plimsoll-kubernetes fleet fit --kind storage --model model.json --host host.yaml
  plimsoll-kubernetes fleet fit --kind storage last --dry-run > model-storage.yaml`,
		RunE: f.run,
	}
	c.Flags().StringVar(&f.kind, "kind", "", "`kind` of the nodes")
	c.Flags().StringVar(&f.model, "model", "", "`file` of a model, in the place of runs")
	c.Flags().StringVar(&f.host, "host", "", "`file` of what a node has")
	c.Flags().StringVar(&f.namespace, "namespace", scheduler.Namespace, "`namespace` of the models")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the ConfigMap, and ask no cluster")
	f.flags(c)
	return c
}

func (f *fitFlags) run(c *cobra.Command, runs []string) error {
	if len(runs) == 1 && f.kind == "" && f.model == "" {
		return f.fleet(c, runs[0])
	}
	if f.kind == "" || (f.model == "") == (len(runs) == 0) {
		return errors.New("fleet fit takes --kind, and runs or --model; or the directory of a fleet's run: see --help")
	}
	return f.fit(c, f.kind, runs)
}

// fleet fits a model to each kind of which a fleet has results.
func (f *fitFlags) fleet(c *cobra.Command, dir string) error {
	r, err := fleet.Read(dir)
	if err != nil {
		return fmt.Errorf("%w: of which kind are the nodes? --kind says it of runs", err)
	}
	runs := map[string][]string{}
	for _, n := range r.Nodes {
		if n.State == fleet.Done {
			runs[n.Kind] = append(runs[n.Kind], filepath.Join(dir, n.Name))
		}
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s has no results of any node", dir)
	}
	var problems []error
	for _, kind := range slices.Sorted(maps.Keys(runs)) {
		if kind == "" {
			err = fmt.Errorf("nodes without a kind have no model: label them %s", iofit.KindLabel)
		} else {
			err = f.fit(c, kind, runs[kind])
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("kind %q: %w", kind, err))
		}
	}
	return errors.Join(problems...)
}

// fit gives a kind the model of runs, or that of the file.
func (f *fitFlags) fit(c *cobra.Command, kind string, runs []string) error {
	text, err := f.text(runs)
	if err != nil {
		return err
	}
	host := ""
	if f.host != "" {
		read, err := inputfile.Read(f.host, mostHostBytes)
		if err != nil {
			return err
		}
		host = string(read)
	}
	m, err := iofit.ConfigMap(kind, text, host)
	if err != nil {
		return err
	}
	m.Namespace = f.namespace
	if f.dryRun {
		m.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		out, err := yaml.Marshal(m)
		if err == nil {
			_, err = fmt.Fprintf(c.OutOrStdout(), "---\n%s", out)
		}
		return err
	}
	client, err := f.client()
	if err != nil {
		return err
	}
	apply := applyv1.ConfigMap(m.Name, m.Namespace).WithLabels(m.Labels).WithData(m.Data).
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
	return nil
}

// text returns the model's file.
func (f *fitFlags) text(names []string) ([]byte, error) {
	if f.model != "" {
		return inputfile.Read(f.model, mostModelBytes)
	}
	var runs []*result.Run
	for _, name := range names {
		dir, err := store.Find(store.RunsDir, name)
		if err != nil {
			return nil, err
		}
		run, err := store.Read(dir)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	m, err := model.Fit(model.Options{Version: version, Seed: 1}, runs...)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = m.Write(&text)
	return text.Bytes(), err
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
