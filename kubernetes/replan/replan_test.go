package replan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/model/modeltest"
	"plimsoll/internal/placement"
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
		c, err := iofit.ConfigMap(name, file.Bytes(), host)
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
	c, err := Of(nodes, pods, kinds)
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
	plan, err := placement.Best(c.Model, c.Fleet, placement.Options{Seed: 1})
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
	c, err := Of([]corev1.Node{node("n1", "fast"), node("n2", "fast")}, pods, kinds)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Fleet.Containers
	if len(got) != 2 || got[0].Name != "shop/db" || got[1].Name != "shop/db (2)" || !got[0].Apart || got[0].Count != 2 ||
		len(c.Fleet.Hosts) != 1 || !slices.Equal(c.Fleet.Hosts[0].Names, []string{"n1", "n2"}) {
		t.Errorf("%+v of %+v", got, c.Fleet.Hosts)
	}
	if _, err := Of(nil, pods, kinds); err == nil || !strings.Contains(err.Error(), "0 nodes have a model") {
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
	if _, err := Of(nodes, pods, kinds); err == nil || !strings.Contains(err.Error(), "DaemonSets") {
		t.Error(err)
	}
	c, err := Of(nodes[:3], pods[:3], kinds)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := placement.Best(c.Model, c.Fleet, placement.Options{Seed: 1})
	if err != nil || len(plan.Moves.Steps) != 0 {
		t.Errorf("%v: %+v", err, plan.Moves)
	}
}
