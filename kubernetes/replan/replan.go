// Package replan reads what a cluster's nodes and annotated pods are as a fleet, so that a
// plan of it says which pods would better stand elsewhere. It moves nothing: package evict does.
package replan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	policyv1 "k8s.io/client-go/listers/policy/v1"
	storagev1 "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	volumehelper "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/iofit"
)

// State is what a cluster has. Nodes are all of them, as those that play no part count for the spread of pods.
type State struct {
	Nodes   []*corev1.Node
	Pods    []*corev1.Pod
	Claims  iofit.Claims
	Budgets policyv1.PodDisruptionBudgetLister

	Selector  labels.Selector // of nodes that a plan is of
	MoveLocal bool            // pods may leave volumes on drives of their nodes: their data is copied
	Evict     bool            // moves are made by evictions, so that pods stay that NotEvicted has a reason for

	// DeleteLocalData lets pods move whose data dies with them.
	DeleteLocalData bool
	// SchedulerConfig is the KubeSchedulerConfiguration of the schedulers that have IOFit; empty for that of the chart.
	SchedulerConfig []byte

	Kinds      map[string]*iofit.Kind // of which there are models
	Schedulers map[string]bool        // names of those that have IOFit; nil where nobody asked

	// Live lists the pods as they are now, until the context of Read ends.
	Live listersv1.PodLister
}

// Rules decide where a pod may stand, as the cluster's scheduler does, and follow moves.
type Rules interface {
	// Move moves a pod to a node, from where it stood in the last state. why is why it may not stand there, and then it
	// stays; "" where it may. No node is nowhere.
	Move(pod *corev1.Pod, node string) (why string)
}

// Schedulers are those of a cluster that have IOFit, and the rules by which they place pods.
type Schedulers struct {
	WithIOFit map[string]bool // by name
	Rules     func(*State) (Rules, error)
}

// NewRules returns the schedulers of a configuration, with more informers of the factory, which the caller starts.
type NewRules func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory,
	configuration []byte) (*Schedulers, error)

// Cluster has the nodes, pods and models that a plan of a cluster is made from.
type Cluster struct {
	Fleet *placement.Fleet
	Model *model.Model // whose classes are those that the models of all kinds know, and that knows nothing else
	Left  []string     // what plays no part in it, and why
	Stay  []string     // what does not move, or not to a node, and why

	stay    because
	state   *State
	rules   func(*State) (Rules, error)
	able    []*corev1.Node
	kinds   map[string]*iofit.Kind
	members map[group][]*corev1.Pod
	pods    map[string][]*corev1.Pod // by the name of the fleet's containers
}

// patience is how long a cluster may take to say what it has.
const patience = time.Minute

// Read reads nodes, pods, volumes and models of a cluster, into what the state does not have yet.
func Read(ctx context.Context, client kubernetes.Interface, namespace string, state State, rules NewRules) (
	*Cluster, error,
) {
	if len(state.SchedulerConfig) == 0 {
		var err error
		if state.SchedulerConfig, err = schedulerConfig(ctx, client, namespace); err != nil {
			return nil, err
		}
	}
	var schedulers *Schedulers
	kinds, err := state.Read(ctx, client, namespace, func(f informers.SharedInformerFactory) (err error) {
		schedulers, err = rules(ctx, client, f, state.SchedulerConfig)
		return err
	})
	if err != nil {
		return nil, err
	}
	state.Schedulers = schedulers.WithIOFit
	return Of(&state, kinds, schedulers.Rules)
}

// Where the manifests keep the configuration of the scheduler, in the namespace of the models.
const (
	schedulerConfigMap = "scheduler-config"
	schedulerConfigKey = "scheduler.yaml"
)

// schedulerConfig returns the configuration of the scheduler that the manifests install; empty where there is none.
func schedulerConfig(ctx context.Context, client kubernetes.Interface, namespace string) ([]byte, error) {
	c, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, schedulerConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the configuration of the scheduler (--scheduler-config FILE names one): %w", err)
	}
	return []byte(c.Data[schedulerConfigKey]), nil
}

// attributesOf returns the VolumeAttributesClasses of a cluster; nil where it has none, or whoever plans may not read
// them.
func attributesOf(ctx context.Context, client kubernetes.Interface) (storagev1.VolumeAttributesClassLister, error) {
	listed, err := client.StorageV1().VolumeAttributesClasses().List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read VolumeAttributesClasses: %w", err)
	}
	classes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for i := range listed.Items {
		if err := classes.Add(&listed.Items[i]); err != nil {
			return nil, err
		}
	}
	return storagev1.NewVolumeAttributesClassLister(classes), nil
}

// Read reads the nodes, pods and volumes of a cluster, and returns the kinds of nodes of which there are models. Others
// may ask the factory for more, which is read as well.
func (state *State) Read(ctx context.Context, client kubernetes.Interface, namespace string,
	prepare func(informers.SharedInformerFactory) error,
) (map[string]*iofit.Kind, error) {
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
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	nodes, pods := core.Nodes().Lister(), core.Pods().Lister()
	state.Claims = iofit.Claims{Claims: core.PersistentVolumeClaims().Lister(), Volumes: core.PersistentVolumes().Lister(),
		Classes: factory.Storage().V1().StorageClasses().Lister()}
	if state.Claims.Attributes, err = attributesOf(ctx, client); err != nil {
		return nil, err
	}
	state.Budgets = factory.Policy().V1().PodDisruptionBudgets().Lister()
	if err := prepare(factory); err != nil {
		return nil, err
	}
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	factory.Start(ctx.Done())
	for kind, read := range factory.WaitForCacheSync(waited.Done()) {
		if !read {
			return nil, fmt.Errorf("%v of the cluster cannot be listed within %s: who plans needs the right to list and watch "+
				"them (ClusterRole system:kube-scheduler has all but PodDisruptionBudgets)", kind, patience)
		}
	}
	if state.Nodes, err = nodes.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	state.Live = pods
	if state.Pods, err = pods.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("read pods: %w", err)
	}
	return kinds, nil
}

// group is equal pods: of one controller, with the same demand, that may stand on the same nodes.
type group struct {
	name   string
	demand *iofit.Demand
	rule   string // where they may stand, a character for each node, in the order of nodes: see rule
	apart  bool
}

// mostGroups is how many kinds of hosts a plan tells apart.
const mostGroups = 200

// because lists whom something is said of, by what is said.
type because map[string][]string

func (b because) add(why, of string) { b[why] = append(b[why], of) }

func (b because) lines() (all []string) {
	for _, why := range slices.Sorted(maps.Keys(b)) {
		slices.Sort(b[why])
		all = append(all, fmt.Sprintf("%s: %s", plural.And(first(b[why], 5)), why))
	}
	return all
}

// Of returns the cluster of a state. The error says why there is nothing to plan.
func Of(state *State, kinds map[string]*iofit.Kind, rules func(*State) (Rules, error)) (*Cluster, error) {
	state.Kinds = kinds
	c := &Cluster{state: state, kinds: kinds, rules: rules, stay: because{}, members: map[group][]*corev1.Pod{},
		Model: classes(kinds)}
	left := because{}
	byName := map[string]*corev1.Node{}
	for _, n := range state.Nodes {
		switch kind := iofit.KindOf(n); {
		case !state.Selector.Matches(labels.Set(n.Labels)):
		case kinds[kind] == nil:
			left.add(fmt.Sprintf("there is no model of nodes of kind %q", kind), "node "+n.Name)
		case n.Spec.Unschedulable:
			left.add("it is cordoned", "node "+n.Name)
		default:
			c.able = append(c.able, n)
			byName[n.Name] = n
		}
	}
	slices.SortFunc(c.able, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	knows := func(class string) bool {
		return slices.ContainsFunc(c.Model.Classes, func(f model.Fitted) bool { return f.Name == class })
	}
	holders := slices.DeleteFunc(slices.Clone(state.Pods), func(p *corev1.Pod) bool { return !iofit.IsHolder(p) })
	held := !slices.ContainsFunc(c.able, func(n *corev1.Node) bool { return !iofit.Holds(n, slices.Values(holders)) })
	users := usersOfClaims(state.Pods)
	for _, p := range state.Pods {
		d, err := iofit.DemandOf(p)
		why, name := "", "pod "+p.Namespace+"/"+p.Name
		switch {
		case err == nil && d == nil || hasEnded(p):
			continue
		case err != nil:
			why = err.Error()
		case !knows(d.Class):
			why = fmt.Sprintf("no model knows a class %q", d.Class)
		case p.Spec.NodeName != "" && byName[p.Spec.NodeName] == nil:
			why = "its node plays no part"
		case c.offDrives(p, d, byName):
			why = "its volumes are on none of its node's drives"
		}
		if why != "" {
			left.add(why, name)
			continue
		}
		stays := ""
		if on := byName[p.Spec.NodeName]; on != nil {
			stays = c.stays(p, on, users)
		}
		if stays != "" {
			c.stay.add(stays, name)
		}
		rule := c.rule(p, d, stays != "")
		d = d.On(held) // not everywhere, and the pod may go there
		c.put(group{name: p.Namespace + "/" + owner(p), demand: d, rule: rule, apart: apart(p)}, p)
	}
	c.Left, c.Stay = left.lines(), c.stay.lines()
	if len(c.able) == 0 || len(c.members) == 0 {
		return nil, fmt.Errorf("there are no pods or nodes to plan: %d nodes have a model, and %d kinds of pods "+
			"a class that is known%s", len(c.able), len(c.members), strings.Join(append([]string{""}, c.Left...), "\n  "))
	}
	return c, c.fill()
}

// offDrives reports whether a pod's volumes are on none of the drives of its node, or of the first where it has none.
func (c *Cluster) offDrives(p *corev1.Pod, d *iofit.Demand, byName map[string]*corev1.Node) bool {
	node := byName[p.Spec.NodeName]
	if node == nil && len(c.able) > 0 {
		node = c.able[0]
	}
	if node == nil {
		return false
	}
	volumes, _ := c.state.Claims.Of(p)
	return c.kinds[iofit.KindOf(node)].OffDrives(node, d, volumes)
}

// hasEnded reports whether a pod has ended, or is about to.
func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil
}

// put puts a pod into the group of its equals.
func (c *Cluster) put(g group, p *corev1.Pod) {
	for o := range c.members {
		if o.demand.Sign() == g.demand.Sign() {
			g.demand = o.demand // equal demands are one
			break
		}
	}
	c.members[g] = append(c.members[g], p)
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
func (c *Cluster) fill() error {
	c.Fleet, c.pods = &placement.Fleet{Objective: placement.Throughput}, map[string][]*corev1.Pod{}
	groups := slices.SortedFunc(maps.Keys(c.members), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(fmt.Sprint(*a.demand), fmt.Sprint(*b.demand)),
			cmp.Compare(a.rule, b.rule))
	})
	allowed, drives := make([]map[int]bool, len(groups)), make([]map[int]int, len(groups)) // by group, of hosts
	type key struct{ kind, rule, has string }
	hosts := map[key]int{}
	hostNumbers := map[string]int{} // host's number by the name of a node
	for i, n := range c.able {
		var rule strings.Builder
		for _, g := range groups {
			rule.WriteByte(g.rule[i])
		}
		is, has := c.kinds[iofit.KindOf(n)].HostBeside(c.standing(n))
		k := key{iofit.KindOf(n), rule.String(), has}
		h, ok := hosts[k]
		if !ok {
			h = len(c.Fleet.Hosts)
			hosts[k] = h
			kind := c.kinds[k.kind]
			name := k.kind
			if same := slices.ContainsFunc(c.Fleet.Hosts, func(o placement.Hosts) bool { return o.Name == name }); same {
				name = fmt.Sprintf("%s, as %s", k.kind, n.Name) // other pods may stand there
			}
			c.Fleet.Hosts = append(c.Fleet.Hosts, placement.Hosts{Name: name, Is: is, Model: kind.Model})
		}
		c.Fleet.Hosts[h].Count++
		c.Fleet.Hosts[h].Names = append(c.Fleet.Hosts[h].Names, n.Name)
		hostNumbers[n.Name] = h
		for j := range groups {
			switch on := rule.String()[j]; on {
			case nowhere:
				continue
			case anyDrive:
			default:
				drives[j] = withEntry(drives[j], h, int(on-firstDrive))
			}
			allowed[j] = withEntry(allowed[j], h, true)
		}
	}
	if len(c.Fleet.Hosts) > mostGroups {
		return fmt.Errorf(
			"pods name so many nodes by themselves (node selectors, taints, DaemonSets, local volumes) that %d "+
				"of %d nodes are unlike all others, and a plan shows %d kinds apart: plan for fewer with --nodes",
			len(c.Fleet.Hosts),
			len(c.able),
			mostGroups,
		)
	}
	names := map[string]int{}
	for j, g := range groups {
		name := g.name
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, names[name]) // a rollout has changed what they say, or they stay elsewhere
		}
		d := g.demand
		class := slices.IndexFunc(c.Model.Classes, func(f model.Fitted) bool { return f.Name == d.Class })
		c.pods[name] = c.members[g]
		c.Fleet.Containers = append(c.Fleet.Containers, placement.Containers{Name: name, Class: class,
			Count: len(c.members[g]), Limits: d.Limits, LeastRate: d.LeastRate, MostP99: d.MostP99, Data: d.Data,
			Apart: g.apart, On: slices.Sorted(maps.Keys(allowed[j])), Drives: drives[j]})
		stand := map[string]int{}
		for _, p := range c.members[g] {
			if p.Spec.NodeName != "" {
				stand[p.Spec.NodeName]++
			}
		}
		for _, node := range slices.Sorted(maps.Keys(stand)) {
			drive, known := drives[j][hostNumbers[node]]
			if !known {
				drive = min(0, len(c.Fleet.Hosts[hostNumbers[node]].Is.Drives)-1)
			}
			c.Fleet.Now = append(c.Fleet.Now, placement.Standing{Host: node, Containers: j, Drive: drive, Count: stand[node]})
		}
	}
	return nil
}

// standing returns who stands on a node.
func (c *Cluster) standing(n *corev1.Node) iofit.Standing {
	return iofit.OnNode(n, c.kinds[iofit.KindOf(n)], func(yield func(*corev1.Pod) bool) {
		for _, p := range c.state.Pods {
			if p.Spec.NodeName == n.Name && !yield(p) {
				return
			}
		}
	}, c.state.Claims, func(string) bool { return true })
}

// withEntry returns a map with one entry more.
func withEntry[V any](m map[int]V, key int, v V) map[int]V {
	if m == nil {
		m = map[int]V{}
	}
	m[key] = v
	return m
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

// Characters of rules, of a node: the pod may not stand there, or on any drive of it, or on one alone, by its number.
const (
	nowhere    = '-'
	anyDrive   = '*'
	firstDrive = '0'
)

// rule returns of each node whether a pod may stand there, by its selectors, tolerations and volumes, and on which
// drive. Where it stands already, it may; nowhere else where it stays.
func (c *Cluster) rule(p *corev1.Pod, d *iofit.Demand, stays bool) string {
	required := nodeaffinity.GetRequiredNodeAffinity(p)
	volumes, _ := c.state.Claims.Of(p)
	reaches := func(n *corev1.Node) bool {
		for i := range p.Spec.Volumes {
			v := c.state.Claims.Bound(p, &p.Spec.Volumes[i])
			if v != nil && (!c.state.MoveLocal || !iofit.Local(v)) && volumehelper.CheckNodeAffinity(v, n.Labels) != nil {
				return false
			}
		}
		return true
	}
	var text strings.Builder
	for _, n := range c.able {
		ok, err := required.Match(n)
		_, tainted := schedulingv1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations,
			func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
		place := byte(nowhere)
		if p.Spec.NodeName == n.Name || !stays && ok && err == nil && !tainted && reaches(n) {
			place = anyDrive
			if drive, known := c.kinds[iofit.KindOf(n)].DriveOn(n, d, volumes); known {
				place = firstDrive + byte(drive)
			}
		}
		text.WriteByte(place)
	}
	return text.String()
}

// NotEvicted returns why a pod is never evicted, whatever a plan says; "" where it may be.
func NotEvicted(p *corev1.Pod) string {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	o := metav1.GetControllerOf(p)
	switch {
	case static:
		return "it is a static pod of its node"
	case p.Namespace == metav1.NamespaceSystem:
		return "it belongs to the cluster itself, in namespace " + metav1.NamespaceSystem
	case p.Spec.Priority != nil && *p.Spec.Priority >= systemCritical,
		strings.HasPrefix(p.Spec.PriorityClassName, "system-"):
		return "its priority is that of the cluster's own pods"
	case o == nil:
		return "it has no controller: an eviction would end it, and no controller would start it again"
	case o.Kind == "DaemonSet":
		return "a DaemonSet runs it"
	case o.Kind == "Job":
		return "a Job runs it, and would begin again"
	}
	for _, mark := range marks {
		if value, ok := p.Annotations[mark.annotation]; ok && (mark.value == "" || mark.value == value) {
			return fmt.Sprintf("its annotation %s: %q forbids it", mark.annotation, value)
		}
	}
	return ""
}

// marks are annotations by which pods tell programs that move others not to evict them; no value is any.
var marks = []struct{ annotation, value string }{
	{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
	{"karpenter.sh/do-not-disrupt", "true"},
	{"descheduler.alpha.kubernetes.io/prefer-no-eviction", ""},
}

// localData returns what of a pod's data is lost where it leaves its node; "" for nothing that is known.
func localData(p *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumDefault:
		return "its emptyDir " + v.Name + " dies with it"
	case v.Ephemeral != nil:
		return "the claim of its volume " + v.Name + " dies with it"
	case v.HostPath != nil && written(p, v.Name) && (v.HostPath.Type == nil ||
		!slices.Contains([]corev1.HostPathType{corev1.HostPathSocket, corev1.HostPathCharDev}, *v.HostPath.Type)):
		return fmt.Sprintf("it writes to %s of its node", v.HostPath.Path)
	}
	return ""
}

// written reports whether a container of a pod may write to a volume.
func written(p *corev1.Pod, volume string) bool {
	return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == volume && !m.ReadOnly
		})
	})
}

// systemCritical is the least priority of system-cluster-critical and system-node-critical.
const systemCritical = 2_000_000_000

// usersOfClaims returns how many pods use a claim, by namespace and name.
func usersOfClaims(pods []*corev1.Pod) map[string]int {
	users := map[string]int{}
	for _, p := range pods {
		for i := range p.Spec.Volumes {
			if claim := iofit.ClaimName(p, &p.Spec.Volumes[i]); claim != "" && !hasEnded(p) {
				users[p.Namespace+"/"+claim]++
			}
		}
	}
	return users
}

// stays returns why a pod stays on the node where it stands; "" where it may leave.
func (c *Cluster) stays(p *corev1.Pod, on *corev1.Node, users map[string]int) string {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	switch o := metav1.GetControllerOf(p); {
	case static:
		return "it is a static pod of its node"
	case o != nil && o.Kind == "DaemonSet":
		return "a DaemonSet runs it"
	case len(p.Spec.ResourceClaims) > 0:
		return "it has devices of its node by resource claims"
	}
	if why := NotEvicted(p); why != "" && c.state.Evict {
		return why
	}
	if c.state.Evict && c.state.Schedulers != nil && !c.state.Schedulers[p.Spec.SchedulerName] {
		return fmt.Sprintf("its scheduler, %s, is not known to have IOFit, and would place it without the models "+
			"(--scheduler-config FILE names its configuration)", cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName))
	}
	budgets, _ := c.state.Budgets.GetPodPodDisruptionBudgets(p) // the error is that there are none
	for _, b := range budgets {
		switch {
		case len(budgets) > 1:
			return "it has several PodDisruptionBudgets, and is never evicted"
		case b.Status.DisruptionsAllowed < 1:
			return fmt.Sprintf("its PodDisruptionBudget %s allows no disruption now", b.Name)
		}
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if lost := localData(p, v); lost != "" && !c.state.DeleteLocalData && (v.HostPath == nil || !c.state.MoveLocal) {
			return lost + " (--delete-local-data moves it all the same)"
		}
		if path := v.HostPath; path != nil && !c.state.MoveLocal {
			if drive := c.kinds[iofit.KindOf(on)].DriveOfPath(on, path.Path); drive != "" {
				return "its data is on a drive of its node (--move-local moves it with its data)"
			}
		}
		bound := c.state.Claims.Bound(p, v)
		switch {
		case bound == nil:
		case iofit.Local(bound) && !c.state.MoveLocal:
			return "its data is on a drive of its node (--move-local moves it with its data)"
		case users[p.Namespace+"/"+iofit.ClaimName(p, v)] > 1 && !slices.ContainsFunc(bound.Spec.AccessModes,
			func(m corev1.PersistentVolumeAccessMode) bool {
				return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
			}):
			return fmt.Sprintf("it shares claim %s with others on its node", iofit.ClaimName(p, v))
		}
	}
	return ""
}

// Plan returns the best plan that the rules of the cluster's scheduler allow, step by step. Where they refuse a move,
// there is another plan without it. Moves that they still refuse when the search is to end say so.
func (c *Cluster) Plan(options placement.Options) (*placement.Plan, error) {
	asked := *c.Fleet
	for {
		c.Fleet.Objective, c.Fleet.MostMoves, c.Fleet.Headroom = asked.Objective, asked.MostMoves, asked.Headroom
		plan, err := placement.Best(c.Model, c.Fleet, options)
		if err != nil || plan.Moves == nil {
			return plan, err
		}
		refused, err := c.refused(plan.Moves.Steps)
		if err != nil || len(refused) == 0 {
			return plan, err
		}
		if options.Ended() {
			for step, r := range refused {
				plan.Moves.Steps[step].Breaks = "the scheduler would refuse it: " + r.why
			}
			return plan, nil
		}
		for _, r := range refused {
			c.forbid(r)
			c.stay.add(fmt.Sprintf("the scheduler would refuse it on %s: %s", r.node, r.why),
				"pod "+r.pod.Namespace+"/"+r.pod.Name)
		}
		c.Stay = c.stay.lines()
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// refusal is a move that rules refuse.
type refusal struct {
	pod  *corev1.Pod
	node string
	why  string
	came map[*corev1.Pod]bool // pods that may come to the node before it
}

// refused returns the steps that rules refuse, each after those before it, by their numbers.
func (c *Cluster) refused(steps []placement.Move) (map[int]refusal, error) {
	rules, err := c.rules(c.state)
	if err != nil {
		return nil, err
	}
	came, refusals := map[string]map[*corev1.Pod]bool{}, map[int]refusal{}
	c.walk(steps, func(i int, p *corev1.Pod, m placement.Move) bool {
		if why := rules.Move(p, m.To); why != "" {
			refusals[i] = refusal{p, m.To, why, maps.Clone(came[m.To])}
			return false
		}
		if came[m.To] == nil {
			came[m.To] = map[*corev1.Pod]bool{}
		}
		came[m.To][p] = true
		return true
	})
	return refusals, nil
}

// walk tells of each step which pod it moves. A pod whose step is not made is in no later one.
func (c *Cluster) walk(steps []placement.Move, made func(i int, p *corev1.Pod, m placement.Move) bool) {
	places := map[*corev1.Pod]string{}
	for _, pods := range c.pods {
		for _, p := range pods {
			places[p] = p.Spec.NodeName
		}
	}
	for i, m := range steps {
		if m.From == m.To {
			continue
		}
		j := slices.IndexFunc(c.pods[m.Containers], func(p *corev1.Pod) bool { return places[p] == m.From })
		if j < 0 {
			continue // it was refused on its way here
		}
		p := c.pods[m.Containers][j]
		places[p] = m.To
		if !made(i, p, m) {
			places[p] = "\x00" // no later step is of it
		}
	}
}

// PodMove is a step of a plan: a pod that goes from one node to another.
type PodMove struct {
	Pod *corev1.Pod // as the plan saw it
	placement.Move
}

// Moves returns the moves of pods from node to node, in the order of a plan. Pods that stand nowhere are the
// scheduler's to place, and those for which the plan has no place are nobody's to stop.
func (c *Cluster) Moves(plan *placement.Plan) (all []PodMove) {
	if plan.Moves == nil {
		return nil
	}
	c.walk(plan.Moves.Steps, func(_ int, p *corev1.Pod, m placement.Move) bool {
		if m.From != "" && m.To != "" {
			all = append(all, PodMove{p, m})
		}
		return true
	})
	return all
}

// State returns what the cluster was made from.
func (c *Cluster) State() *State { return c.state }

// SameOwner reports whether one controller made two pods, or two ReplicaSets of one Deployment did.
func SameOwner(a, b *corev1.Pod) bool {
	of, other := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return a.Namespace == b.Namespace && of != nil && other != nil && of.Kind == other.Kind && owner(a) == owner(b)
}

// forbid keeps the equals of a pod that was refused on a node from there, but for those that stand there or may come.
// A pod that may not even come back stays.
func (c *Cluster) forbid(r refusal) {
	i := slices.IndexFunc(c.able, func(n *corev1.Node) bool { return n.Name == r.node })
	var g group
	for candidate, pods := range c.members {
		if slices.Contains(pods, r.pod) {
			g = candidate
		}
	}
	pods := c.members[g]
	delete(c.members, g)
	for _, p := range pods {
		changed := g
		switch {
		case p == r.pod && p.Spec.NodeName == r.node:
			changed.rule = strings.Repeat(string(nowhere), i) + g.rule[i:i+1] + strings.Repeat(string(nowhere), len(c.able)-i-1)
		case p.Spec.NodeName != r.node && (!r.came[p] || p == r.pod):
			changed.rule = g.rule[:i] + string(nowhere) + g.rule[i+1:]
		}
		c.members[changed] = append(c.members[changed], p)
	}
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
