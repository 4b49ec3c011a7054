package replan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"

	"plimsoll/internal/placement"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
)

func kindsOf(t *testing.T, hosts map[string]string) map[string]*iofit.Kind {
	t.Helper()
	all := map[string]*iofit.Kind{}
	for name, host := range hosts {
		var file bytes.Buffer
		err := modeltest.ThreeClasses().Write(&file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := iofit.ConfigMap(name, file.Bytes(), host, "")
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = iofit.ParseKind(c); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func node(name, kind string, with ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{iofit.KindLabel: kind,
		corev1.LabelHostname: name}}}
	for _, f := range with {
		f(&n)
	}
	return n
}

func pod(name, of, on string, with ...string) corev1.Pod {
	yes := true
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: of, Controller: &yes}}}}
	p.Spec.NodeName = on
	for i := 0; i < len(with); i += 2 {
		p.Annotations[iofit.Prefix+with[i]] = with[i+1]
	}
	return p
}

// always are rules that refuse a move where a function says why.
type always func(p *corev1.Pod, node string) string

func (f always) Move(p *corev1.Pod, node string) string {
	if f == nil {
		return ""
	}
	return f(p, node)
}

func allow() always { return nil }

// planned returns the cluster of nodes and pods, and of objects that tell more of them, by rules that are made anew for
// each look.
func planned(t *testing.T, nodes []corev1.Node, pods []corev1.Pod, kinds map[string]*iofit.Kind, rules func() always,
	moveLocal bool, more ...runtime.Object,
) (*Cluster, error) {
	t.Helper()
	all := informers.NewSharedInformerFactory(nil, 0)
	core := all.Core().V1()
	claims, volumes, budgets := core.PersistentVolumeClaims(), core.PersistentVolumes(),
		all.Policy().V1().PodDisruptionBudgets()
	state := &State{
		Selector:  labels.Everything(),
		MoveLocal: moveLocal,
		Budgets:   budgets.Lister(),
		Claims: iofit.Claims{Claims: claims.Lister(),
			Volumes: volumes.Lister(), Classes: all.Storage().V1().StorageClasses().Lister()},
	}
	for _, o := range more {
		into := budgets.Informer()
		switch o.(type) {
		case *corev1.PersistentVolumeClaim:
			into = claims.Informer()
		case *corev1.PersistentVolume:
			into = volumes.Informer()
		}
		if err := into.GetIndexer().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		state.Nodes = append(state.Nodes, &nodes[i])
	}
	for i := range pods {
		state.Pods = append(state.Pods, &pods[i])
	}
	return Of(state, kinds, func(*State) (Rules, error) { return rules(), nil })
}

// Readers that crowd on a slow drive beside an idle fast one move there; what may not, stays.
func TestPlanOfACluster(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`,
		"slow": `{cpus: 8, memory: 8GiB, drives: {sata: slow}}`})
	nodes := []corev1.Node{node("s1", "slow"), node("f1", "fast"), node("unknown", "other"),
		node("cordoned", "fast", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		node("tainted", "fast", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		})}
	var pods []corev1.Pod
	for i := range 4 {
		pods = append(pods, pod(fmt.Sprint("orders-", i), "orders", "s1", "class", "reads"))
	}
	pinned := pod("pinned-0", "pinned", "s1", "class", "reads")
	pinned.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "s1"}
	finished := pod("done", "job", "s1", "class", "reads")
	finished.Status.Phase = corev1.PodSucceeded
	pods = append(pods, pinned, finished, pod("plain", "web", "s1"), pod("typo", "typo", "s1", "class", "raeds"),
		pod("away", "away", "unknown", "class", "reads"), pod("wrong", "wrong", "s1", "class", "reads", "p99-limit", "x"),
		pod("new", "new", "", "class", "writes", "least-throughput", "100/s"))
	c, err := planned(t, nodes, pods, kinds, allow, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range []string{"node unknown: there is no model", "node cordoned: it is cordoned",
		"pod shop/typo: no model knows",
		"pod shop/away: its node plays no part", "pod shop/wrong: annotation"} {
		if !slices.ContainsFunc(c.Left, func(l string) bool { return strings.Contains(l, why) }) {
			t.Errorf("%q is not said: %q", why, c.Left)
		}
	}
	plan, err := c.Plan(placement.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Left) > 0 || plan.Moves == nil || plan.Placed != 6 {
		t.Fatalf("%+v", plan)
	}
	moved := map[string]int{}
	for _, m := range plan.Moves.Steps {
		moved[m.Containers+" "+m.From+" "+m.To]++
		if m.Containers == "shop/pinned" || m.To == "tainted" || m.To == "cordoned" {
			t.Errorf("%+v", m)
		}
	}
	if moved["shop/orders s1 f1"] < 3 || moved["shop/new  f1"]+moved["shop/new  s1"] != 1 {
		t.Errorf("moves: %v", moved)
	}
}

// Replicas that keep apart by their own anti-affinity do in plans, and those of a rollout's two versions have one name.
func TestPodsOfControllers(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`})
	var pods []corev1.Pod
	for i, hash := range []string{"a1", "a1", "b2"} {
		p := pod(fmt.Sprint("db-", i), "db-"+hash, "", "class", "reads", "least-throughput", map[string]string{"a1": "10/s",
			"b2": "20/s"}[hash])
		p.OwnerReferences[0].Kind = "ReplicaSet"
		p.Labels = map[string]string{"pod-template-hash": hash, "app": "db"}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}}}}
		pods = append(pods, p)
	}
	c, err := planned(t, []corev1.Node{node("n1", "fast"), node("n2", "fast")}, pods, kinds, allow, false)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Fleet.Containers
	if len(got) != 2 || got[0].Name != "shop/db" || got[1].Name != "shop/db (2)" || !got[0].Apart || got[0].Count != 2 ||
		len(c.Fleet.Hosts) != 1 || !slices.Equal(c.Fleet.Hosts[0].Names, []string{"n1", "n2"}) {
		t.Errorf("%+v of %+v", got, c.Fleet.Hosts)
	}
	if _, err := planned(
		t,
		nil,
		pods,
		kinds,
		allow,
		false,
	); err == nil ||
		!strings.Contains(err.Error(), "0 nodes have a model") {
		t.Error(err)
	}
}

// A DaemonSet's pods each name their node: of many, there is no plan, and it is said why.
func TestPodsThatNameTheirNodes(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": ""})
	var nodes []corev1.Node
	var pods []corev1.Pod
	for i := range mostGroups + 1 {
		name := fmt.Sprint("n", i)
		nodes = append(nodes, node(name, "fast"))
		p := pod("agent-"+name, "agent", name, "class", "reads")
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: name}
		pods = append(pods, p)
	}
	if _, err := planned(t, nodes, pods, kinds, allow, false); err == nil || !strings.Contains(err.Error(), "DaemonSets") {
		t.Error(err)
	}
	c, err := planned(t, nodes[:3], pods[:3], kinds, allow, false)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan(placement.Options{Seed: 1})
	if err != nil || len(plan.Moves.Steps) != 0 {
		t.Errorf("%v: %+v", err, plan.Moves)
	}
}

// bound returns a claim of the shop, and the volume that it is bound to, on a node where one is named.
func bound(name string, of corev1.PersistentVolumeSource, on string) []runtime.Object {
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: of, AccessModes: modes}}
	if on != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.
			NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: "In",
			Values: []string{on}}}}}}}
	}
	return []runtime.Object{v, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: modes}}}
}

func claiming(p corev1.Pod, claim string) corev1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	return p
}

// Of eight readers that crowd on a slow drive, those move that can: data on a drive of a node stays, and so does what
// budgets keep; volumes of the network follow. A pod with a claim counts on the claim's drive, and moves to no other.
func TestWhatStays(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`,
		"both": `{cpus: 8, memory: 8GiB, drives: {nvme: fast, sata: slow}}`})
	sata := func(n *corev1.Node) {
		n.Annotations = map[string]string{iofit.DrivesAnnotation: `{sata: {paths: /mnt/sata}}`}
	}
	local := corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/sata/x"}}
	network := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}
	var more []runtime.Object
	var pods []corev1.Pod
	add := func(name string, change func(*corev1.Pod)) {
		p := pod(name, name, "s1", "class", "reads")
		p.Labels = map[string]string{"app": name}
		if change != nil {
			change(&p)
		}
		pods = append(pods, p)
	}
	on := func(claims ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, claim := range claims {
				*p = claiming(*p, claim)
			}
			p.Annotations[iofit.DriveAnnotation] = "sata"
		}
	}
	more = append(more, bound("local", local, "s1")...)
	more = append(more, bound("network", network, "")...)
	more = append(more, bound("zonal", network, "s1")...)
	more = append(more, bound("shared", network, "")...)
	budget := func(name, app string, allowed int32) {
		more = append(more, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		})
	}
	budget("none", "kept", 0)
	budget("one", "evictable", 1)
	budget("twice-1", "twice", 1)
	budget("twice-2", "twice", 1)
	add("local", on("local"))
	add("path", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/mnt/sata/y"}}}}
	})
	add("zonal", on("zonal"))
	add("sharer", on("shared"))
	add("sharer-too", on("shared"))
	add("kept", on())
	add("twice", on())
	add("agent", func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet"; on()(p) })
	add("static", func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x"; on()(p) })
	add("device", func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}; on()(p) })
	add("network", on("network"))
	add("evictable", on())
	add("free", on())
	for _, moveLocal := range []bool{false, true} {
		nodes := []corev1.Node{node("s1", "both", sata), node("f1", "fast"), node("f2", "fast")}
		c, err := planned(t, nodes, pods, kinds, allow, moveLocal, more...)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := c.Plan(placement.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		moved := map[string]bool{}
		for _, m := range plan.Moves.Steps {
			if m.From == m.To {
				t.Errorf("it moves to another drive of its node: %+v", m)
			}
			moved[strings.TrimPrefix(m.Containers, "shop/")] = true
		}
		for name, may := range map[string]bool{"local": moveLocal, "path": moveLocal, "zonal": false, "sharer": false,
			"sharer-too": false, "kept": false, "twice": false, "agent": false, "static": false, "device": false,
			"network": true, "evictable": true, "free": true} {
			said := strings.Contains(strings.Join(c.Stay, "\n")+"\n", "pod shop/"+name)
			if moved[name] && !may || !moved[name] && may || said == may && name != "zonal" {
				t.Errorf("local ones move: %t: %s moves: %t, and is said to stay: %t", moveLocal, name, moved[name], said)
			}
		}
		for _, st := range c.Fleet.Now {
			if st.Host == "s1" && st.Drive != 1 {
				t.Errorf("it counts on another drive than its data is on: %+v", st)
			}
		}
	}
}

// A move that the scheduler refuses is in no plan: as many of equal pods come to a node as it takes.
func TestRefusedMoves(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`,
		"slow": `{cpus: 8, memory: 8GiB, drives: {sata: slow}}`})
	nodes := []corev1.Node{node("s1", "slow"), node("f1", "fast"), node("f2", "fast")}
	var pods []corev1.Pod
	for i := range 6 {
		pods = append(pods, pod(fmt.Sprint("orders-", i), "orders", "s1", "class", "reads"))
	}
	room := map[string]int{"f1": 1, "f2": 2}
	narrow := func() always {
		came := map[string]int{}
		return func(_ *corev1.Pod, node string) string {
			if came[node] == room[node] {
				return "Insufficient cpu"
			}
			came[node]++
			return ""
		}
	}
	c, err := planned(t, nodes, pods, kinds, narrow, false)
	if err != nil {
		t.Fatal(err)
	}
	to := func(p *placement.Plan) map[string]int {
		n := map[string]int{}
		for _, m := range p.Moves.Steps {
			n[m.To]++
		}
		return n
	}
	plan, err := c.Plan(placement.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(c.Stay, "\n"); !strings.Contains(all, "refuse it on f2: Insufficient cpu") {
		t.Errorf("it is not said what is refused: %s", all)
	}
	if got := to(plan); got["f1"] != 1 || got["f2"] != 2 || got["s1"] != 0 {
		t.Errorf("%v", got)
	}
	// Where there is no time for another plan, the moves that are refused say so.
	if c, err = planned(t, nodes, pods, kinds, narrow, false); err != nil {
		t.Fatal(err)
	}
	best, err := placement.Best(c.Model, c.Fleet, placement.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err = c.Plan(placement.Options{Seed: 1, Spent: func() float64 { return 1 }}); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, m := range plan.Moves.Steps {
		if strings.Contains(m.Breaks, "Insufficient cpu") {
			refused++
		}
	}
	if refused == 0 || len(best.Moves.Steps) < 4 {
		t.Errorf("%+v: %d are refused", plan.Moves.Steps, refused)
	}
}

// A pod with all volumes on storage of the network is in no plan of drives, and is named.
func TestPodsOffDrives(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`})
	shares := func(n *corev1.Node) {
		n.Annotations = map[string]string{iofit.DrivesAnnotation: `{none: {paths: /mnt/nfs}, nvme: {paths: /mnt/nvme}}`}
	}
	nodes := []corev1.Node{node("n1", "fast", shares), node("n2", "fast", shares)}
	at := func(path string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}
	}
	more := append(bound("net", at("/mnt/nfs/1"), ""), bound("disk", at("/mnt/nvme/1"), "")...)
	pods := []corev1.Pod{claiming(pod("net", "net", "n1", "class", "reads"), "net"),
		claiming(pod("new", "new", "", "class", "reads"), "net"),
		claiming(pod("disk", "disk", "n1", "class", "reads"), "disk")}
	c, err := planned(t, nodes, pods, kinds, allow, false, more...)
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Join(c.Left, "\n")
	if !strings.Contains(left, "pod shop/net") || !strings.Contains(left, "pod shop/new") ||
		!strings.Contains(left, "none of its node's drives") || strings.Contains(left, "disk") || len(c.pods) != 1 {
		t.Errorf("%s; %d groups are planned", left, len(c.pods))
	}
}
