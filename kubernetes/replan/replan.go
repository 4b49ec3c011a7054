// Package replan reads what a cluster's nodes and annotated pods are as a fleet, so that a
// plan of it says which pods would better stand elsewhere. It moves nothing.
package replan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/plural"
	"plimsoll/kubernetes/iofit"
)

// Cluster is what a plan of a cluster is made from.
type Cluster struct {
	Fleet *placement.Fleet
	Model *model.Model // whose classes are those that the models of all kinds know, and that knows nothing else
	Left  []string     // what plays no part in it, and why
}

// Read reads nodes, pods and models of a cluster, nodes by a label selector.
func Read(ctx context.Context, client kubernetes.Interface, namespace, selector string) (*Cluster, error) {
	models, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: iofit.KindLabel})
	if err != nil {
		return nil, fmt.Errorf("read the models in namespace %s: %w", namespace, err)
	}
	kinds := map[string]*iofit.Kind{}
	for i := range models.Items {
		k, err := iofit.ParseKind(&models.Items[i])
		if err != nil {
			return nil, err
		}
		kinds[k.Name] = k
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("namespace %s has no model: plimsoll-kubernetes fleet fit writes one", namespace)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read pods: %w", err)
	}
	return Of(nodes.Items, pods.Items, kinds)
}

// group is equal pods: of one controller, with the same demand, that may stand on the same nodes.
type group struct {
	name   string
	demand *iofit.Demand
	rule   string // which nodes they may stand on, in the order of nodes: "110"
	apart  bool
}

// mostGroups is how many kinds of hosts a plan tells apart.
const mostGroups = 200

// Of returns the cluster of some nodes and pods. The error says why there is nothing to plan.
func Of(nodes []corev1.Node, pods []corev1.Pod, kinds map[string]*iofit.Kind) (*Cluster, error) {
	c := &Cluster{Fleet: &placement.Fleet{Objective: placement.Throughput}}
	left := map[string][]string{} // reason: of whom
	var able []corev1.Node
	for _, n := range nodes {
		switch kind := iofit.KindOf(&n); {
		case kinds[kind] == nil:
			left[fmt.Sprintf("there is no model of nodes of kind %q", kind)] = append(left[fmt.Sprintf(
				"there is no model of nodes of kind %q", kind)], "node "+n.Name)
		case n.Spec.Unschedulable:
			left["it is cordoned"] = append(left["it is cordoned"], "node "+n.Name)
		default:
			able = append(able, n)
		}
	}
	slices.SortFunc(able, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	c.Model = classes(kinds)
	knows := func(class string) bool {
		return slices.ContainsFunc(c.Model.Classes, func(f model.Fitted) bool { return f.Name == class })
	}
	at := map[string]bool{}
	for _, n := range able {
		at[n.Name] = true
	}
	members := map[group][]*corev1.Pod{}
	for i := range pods {
		p := &pods[i]
		d, err := iofit.DemandOf(p)
		over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil
		why := ""
		switch {
		case err == nil && d == nil || over:
			continue
		case err != nil:
			why = err.Error()
		case !knows(d.Class):
			why = fmt.Sprintf("no model knows a class %q", d.Class)
		case p.Spec.NodeName != "" && !at[p.Spec.NodeName]:
			why = "its node plays no part"
		default:
			g := group{name: p.Namespace + "/" + owner(p), demand: d, rule: rule(p, able), apart: apart(p)}
			members[g] = append(members[g], p)
			continue
		}
		left[why] = append(left[why], "pod "+p.Namespace+"/"+p.Name)
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		c.Left = append(c.Left, fmt.Sprintf("%s: %s", plural.And(first(left[why], 5)), why))
	}
	if len(able) == 0 || len(members) == 0 {
		return nil, fmt.Errorf("there is nothing to plan: %d nodes have a model, and %d kinds of pods a class that is "+
			"known%s", len(able), len(members), strings.Join(append([]string{""}, c.Left...), "\n  "))
	}
	return c, c.fill(able, members, kinds)
}

// first returns the first so many, and how many more there are.
func first(all []string, n int) []string {
	if len(all) <= n+1 {
		return all
	}
	return append(slices.Clone(all[:n]), fmt.Sprintf("%d more", len(all)-n))
}

// classes returns a model that knows the names of all classes, in one order.
func classes(kinds map[string]*iofit.Kind) *model.Model {
	m, known := &model.Model{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for _, f := range kinds[name].Model.Classes {
			if !known[f.Name] {
				known[f.Name] = true
				m.Classes = append(m.Classes, f)
			}
		}
	}
	return m
}

// fill makes hosts of nodes, those that the same pods may stand on and that are of one kind
// together, and containers of pods.
func (c *Cluster) fill(nodes []corev1.Node, members map[group][]*corev1.Pod, kinds map[string]*iofit.Kind) error {
	groups := slices.SortedFunc(maps.Keys(members), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(fmt.Sprint(*a.demand), fmt.Sprint(*b.demand)),
			cmp.Compare(a.rule, b.rule))
	})
	allowed := make([]map[int]bool, len(groups)) // hosts, by group
	type key struct{ kind, who string }
	hosts := map[key]int{}
	of := map[string]int{} // host's number by the name of a node
	for i, n := range nodes {
		var who strings.Builder
		for _, g := range groups {
			who.WriteByte(g.rule[i])
		}
		k := key{iofit.KindOf(&n), who.String()}
		h, ok := hosts[k]
		if !ok {
			h = len(c.Fleet.Hosts)
			hosts[k] = h
			kind := kinds[k.kind]
			name := k.kind
			if same := slices.ContainsFunc(c.Fleet.Hosts, func(o placement.Hosts) bool { return o.Name == name }); same {
				name = fmt.Sprintf("%s, as %s", k.kind, n.Name) // other pods may stand there
			}
			c.Fleet.Hosts = append(c.Fleet.Hosts, placement.Hosts{Name: name, Is: kind.Host, Model: kind.Model})
		}
		c.Fleet.Hosts[h].Count++
		c.Fleet.Hosts[h].Names = append(c.Fleet.Hosts[h].Names, n.Name)
		of[n.Name] = h
		for j := range groups {
			if who.String()[j] == '1' {
				if allowed[j] == nil {
					allowed[j] = map[int]bool{}
				}
				allowed[j][h] = true
			}
		}
	}
	if len(c.Fleet.Hosts) > mostGroups {
		return fmt.Errorf("pods name so many nodes by themselves (node selectors, taints, DaemonSets) that %d of %d nodes "+
			"are unlike all others, and a plan tells %d kinds apart: plan for fewer with --nodes", len(c.Fleet.Hosts),
			len(nodes), mostGroups)
	}
	names := map[string]int{}
	for j, g := range groups {
		name := g.name
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, names[name]) // a rollout has changed what they say
		}
		d := g.demand
		class := slices.IndexFunc(c.Model.Classes, func(f model.Fitted) bool { return f.Name == d.Class })
		c.Fleet.Containers = append(c.Fleet.Containers, placement.Containers{Name: name, Class: class,
			Count: len(members[g]), Limits: d.Limits, LeastRate: d.LeastRate, MostP99: d.MostP99, Data: d.Data, Apart: g.apart,
			On: slices.Sorted(maps.Keys(allowed[j]))})
		stand := map[string]int{}
		for _, p := range members[g] {
			if p.Spec.NodeName != "" {
				stand[p.Spec.NodeName]++
			}
		}
		for _, node := range slices.Sorted(maps.Keys(stand)) {
			drives := c.Fleet.Hosts[of[node]].Is.Drives
			drive := min(0, len(drives)-1)
			if d.Drive != "" {
				drive = max(drive, slices.IndexFunc(drives, func(h model.HostDrive) bool { return h.Name == d.Drive }))
			}
			c.Fleet.Now = append(c.Fleet.Now, placement.Standing{Host: node, Containers: j, Drive: drive, Count: stand[node]})
		}
	}
	return nil
}

// owner returns who made a pod: the controller, of a Deployment's ReplicaSet without its hash; its own name otherwise.
func owner(p *corev1.Pod) string {
	o := metav1.GetControllerOf(p)
	if o == nil {
		return p.Name
	}
	if hash := p.Labels["pod-template-hash"]; o.Kind == "ReplicaSet" && hash != "" {
		return strings.TrimSuffix(o.Name, "-"+hash)
	}
	return o.Name
}

// rule says of each node whether a pod may stand there, by its selectors and tolerations: "10".
// Where it stands already, it may.
func rule(p *corev1.Pod, nodes []corev1.Node) string {
	required := nodeaffinity.GetRequiredNodeAffinity(p)
	var text strings.Builder
	for i := range nodes {
		n := &nodes[i]
		ok, err := required.Match(n)
		_, tainted := schedulingv1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations,
			func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
		if (ok && err == nil && !tainted) || p.Spec.NodeName == n.Name {
			text.WriteByte('1')
		} else {
			text.WriteByte('0')
		}
	}
	return text.String()
}

// apart reports whether no two such pods may stand on one node, by their own anti-affinity.
func apart(p *corev1.Pod) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	for _, t := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err == nil && t.TopologyKey == corev1.LabelHostname && s.Matches(labels.Set(p.Labels)) {
			return true
		}
	}
	return false
}
