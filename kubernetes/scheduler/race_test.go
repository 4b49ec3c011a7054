package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	extender "k8s.io/kube-scheduler/extender/v1"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"plimsoll/internal/placement"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
)

// aModel is the ConfigMap of a kind of nodes.
func aModel(t testing.TB, kind, host string) *corev1.ConfigMap {
	t.Helper()
	var file bytes.Buffer
	err := modeltest.ThreeClasses().Write(&file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := iofit.ConfigMap(kind, file.Bytes(), host, "")
	if err != nil {
		t.Fatal(err)
	}
	c.Namespace = iofit.Namespace
	return c
}

func aNode(name, kind, memory string) *corev1.Node {
	has := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse(memory),
		"pods": resource.MustParse("110")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{iofit.KindLabel: kind,
		corev1.LabelHostname: name}}, Status: corev1.NodeStatus{Allocatable: has, Capacity: has}}
}

func aPod(name, node string, annotations ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name),
		Annotations: map[string]string{}}, Spec: corev1.PodSpec{NodeName: node, SchedulerName: "plimsoll-scheduler",
		Containers: []corev1.Container{{Name: "c", Image: "none"}}}}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[iofit.Prefix+annotations[i]] = annotations[i+1]
	}
	return p
}

// Of pods that are bound to the last room at the same time, none is bound past it.
func TestBindsToTheLastRoom(t *testing.T) {
	const asks = 8
	objects := []runtime.Object{aModel(t, "small", small), aNode("n", "small", "64Gi")}
	limit := []string{"class", "writes", "least-throughput", "800/s"}
	for i := range asks {
		objects = append(objects, aPod(fmt.Sprint("p-", i), "", limit...))
	}
	client := fake.NewClientset(objects...)
	e, err := NewExtender(t.Context(), client, iofit.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	d, err := iofit.DemandOf(aPod("p", "", limit...))
	if err != nil {
		t.Fatal(err)
	}
	// Another of the kind, so that the extender has judged nothing yet: all wait for the first solution.
	k, err := iofit.ParseKind(aModel(t, "small", small))
	if err != nil {
		t.Fatal(err)
	}
	fit, there := 0, []*iofit.Demand{}
	for k.Judge(iofit.Stand(there), d).Broken == "" && fit <= asks {
		there = append(there, d)
		fit++
	}
	if fit < 1 || fit >= asks {
		t.Fatalf("%d fit", fit)
	}
	var group sync.WaitGroup
	begin, answers := make(chan struct{}), make([]string, asks)
	for i := range asks {
		group.Go(func() {
			<-begin
			name := fmt.Sprint("p-", i)
			answers[i] = e.bind(t.Context(), &extender.ExtenderBindingArgs{PodName: name, PodNamespace: "default",
				PodUID: types.UID(name), Node: "n"}).Error
		})
	}
	close(begin)
	group.Wait()
	bound := 0
	for _, why := range answers {
		switch {
		case why == "":
			bound++
		case !strings.Contains(why, "no longer fits"):
			t.Error(why)
		}
	}
	if bound != fit {
		t.Errorf("%d were bound, and %d fit: %q", bound, fit, answers)
	}
}

// Each pod that a plan would evict is one that IOFit takes on its new node, as the cluster is by then: beside pods
// without a class, with the scheduler's own settings.
func TestEvictedPodsAreTaken(t *testing.T) {
	const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: plimsoll-scheduler
    plugins: {multiPoint: {enabled: [{name: IOFit, weight: 10}]}}
    pluginConfig: [{name: IOFit, args: {limitNamespaces: [default]}}]
`
	kind, err := iofit.ParseKind(aModel(t, "fast", `{cpus: 8, memory: 64GiB, drives: {nvme: fast}}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := iofit.DemandOf(aPod("p", "", "class", "reads"))
	if err != nil {
		t.Fatal(err)
	}
	does := func(memory string) float64 {
		readers := slices.Repeat([]*corev1.Pod{aPod("reader", "", "class", "reads")}, 4)
		return kind.Judge(iofit.OnNode(aNode("n", "fast", memory), kind, slices.Values(readers), iofit.Claims{},
			func(string) bool { return true }), d).Rate
	}
	between := fmt.Sprintf("%.0f/s", (does("64Gi")+does("1Gi"))/2)
	moved := 0
	for seed := range uint64(24) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // of a test
		one := func(of ...string) string { return of[random.IntN(len(of))] }
		objects := []runtime.Object{aModel(t, "fast", `{cpus: 8, memory: 64GiB, drives: {nvme: fast}}`),
			aModel(t, "slow", `{cpus: 8, memory: 64GiB, drives: {sata: slow}}`), aNode("s1", "slow", "64Gi"),
			aNode("f1", "fast", "64Gi"), aNode("f2", "fast", "64Gi")}
		pods := map[types.UID]*corev1.Pod{}
		add := func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: p.Name,
				UID: p.UID, Controller: new(true)}}
			objects, pods[p.UID] = append(objects, p), p
		}
		for i := range 1 + random.IntN(6) {
			p := aPod(fmt.Sprint("p-", i), one("s1", "s1", "f1"), "class",
				one("reads", "writes"))
			if least := one("", "100/s", "900/s", "1500/s"); least != "" {
				p.Annotations[iofit.LeastAnnotation] = least
			}
			add(p)
		}
		if seed%2 == 0 { // a pod that fits beside these readers, and not where the memory is gone
			for i := range 4 {
				add(aPod(fmt.Sprint("reader-", i), "f1", "class", "reads"))
			}
			add(aPod("limited", "s1", "class", "reads", "least-throughput", between))
		}
		for i, node := range []string{"f1", "f2"} {
			p := aPod(fmt.Sprint("batch-", i), node)
			memory := one("1Gi", "40Gi", "63Gi")
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse(memory)}
			add(p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(objects...)
		c, err := replan.Read(ctx, client, iofit.Namespace, replan.State{Selector: labels.Everything(), Evict: true,
			SchedulerConfig: []byte(configuration)}, NewRules)
		if err != nil {
			t.Fatal(err)
		}
		// A longer search finds no other kind of move.
		plan, err := c.Plan(placement.Options{Seed: 1, Spent: placement.Within(7 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		p := IOFit{kinds: knownKinds(c.State().Kinds), stand: map[string]standing{},
			claims: claimsOf(informers.NewSharedInformerFactory(client, 0)),
			policy: Policy{LimitNamespaces: []string{"default"}}}
		for _, m := range c.Moves(plan) {
			if m.Breaks != "" {
				continue // it is not made
			}
			moved++
			next := m.Pod.DeepCopy()
			delete(pods, m.Pod.UID)
			next.Spec.NodeName = ""
			var stand []*corev1.Pod
			for _, p := range pods {
				stand = append(stand, p)
			}
			info, err := internalcache.NewSnapshot(stand, c.State().Nodes).NodeInfos().Get(m.To)
			if err != nil {
				t.Fatal(err)
			}
			state := framework.NewCycleState()
			_, status := p.PreFilter(ctx, state, next, nil)
			if status.IsSuccess() {
				status = p.Filter(ctx, state, next, info)
			}
			if !status.IsSuccess() {
				t.Fatalf("%s would be evicted from %s, and on %s: %s", m.Pod.Name, m.From, m.To, status.Message())
			}
			next.Spec.NodeName = m.To
			pods[next.UID] = next
		}
		cancel()
	}
	if moved == 0 {
		t.Error("no plan moves anything")
	}
}

// Pods without a class that leave their node, or ask for less of it, wake those that wait; other changes do not.
func TestRoomWakes(t *testing.T) {
	waiting, on := aPod("waits", "", "class", "writes"), aPod("batch", "n")
	on.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("40Gi")}
	smaller, labelled := on.DeepCopy(), on.DeepCopy()
	smaller.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("1Gi")
	labelled.Labels = map[string]string{"a": "b"}
	for name, c := range map[string]struct {
		before, after any
		want          string
	}{
		"gone": {on, nil, "Queue"}, "smaller": {on, smaller, "Queue"}, "labelled": {on, labelled, "QueueSkip"},
		"never placed": {aPod("b", ""), nil, "QueueSkip"},
	} {
		if hint, err := queue(klog.Background(), waiting, c.before, c.after); err != nil || hint.String() != c.want {
			t.Errorf("%s: %v, %v", name, hint, err)
		}
	}
	holder := aPod("limits", "n", "undeclared", "{}")
	holder.Namespace, holder.Labels = iofit.LimitsNamespace, map[string]string{"app": iofit.LimitsNamespace}
	measured, forged := holder.DeepCopy(), holder.DeepCopy()
	measured.Annotations[iofit.UndeclaredAnnotation] = `{"batch":[100,0,0,0]}`
	forged.Annotations[iofit.UndeclaredAnnotation], forged.Namespace = `{"batch":[100,0,0,0]}`, "default"
	for name, c := range map[string]struct {
		after *corev1.Pod
		want  string
	}{"measured anew": {measured, "Queue"}, "the same": {holder, "QueueSkip"}, "of a tenant": {forged, "QueueSkip"}} {
		if hint, err := queue(klog.Background(), waiting, holder, c.after); err != nil || hint.String() != c.want {
			t.Errorf("%s: %v, %v", name, hint, err)
		}
	}
	node := aNode("n", "small", "64Gi")
	larger, noted, kind := aNode("n", "small", "65Gi"), node.DeepCopy(), aNode("n", "big", "64Gi")
	noted.Annotations = map[string]string{"capacity.topolvm.io/00default": "1"}
	drives := node.DeepCopy()
	drives.Annotations = map[string]string{iofit.DrivesAnnotation: "nvme: {paths: /mnt}"}
	for name, c := range map[string]struct {
		before, after any
		want          string
	}{"new": {nil, node, "Queue"}, "larger": {node, larger, "Queue"}, "noted": {node, noted, "QueueSkip"},
		"of another kind": {node, kind, "Queue"}, "with other drives": {node, drives, "Queue"}} {
		if hint, err := queueNode(klog.Background(), waiting, c.before, c.after); err != nil || hint.String() != c.want {
			t.Errorf("%s: %v, %v", name, hint, err)
		}
	}
}

// A move is refused where IOFit would reject the pod.
func TestRulesAskIOFit(t *testing.T) {
	host := `{cpus: 8, memory: 64GiB, drives: {nvme: fast}}`
	kind, err := iofit.ParseKind(aModel(t, "fast", host))
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	schedulers, err := NewRules(t.Context(), client, factory, nil)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	pod := aPod("p", "s1", "class", "reads", "least-throughput", "900000/s")
	state := &replan.State{Nodes: []*corev1.Node{aNode("s1", "fast", "64Gi"), aNode("f1", "fast", "64Gi")},
		Pods: []*corev1.Pod{pod}, Kinds: map[string]*iofit.Kind{"fast": kind}, Claims: claimsOf(factory)}
	rules, err := schedulers.Rules(state)
	if err != nil {
		t.Fatal(err)
	}
	if why := rules.Move(pod, "f1"); !strings.Contains(why, "that it is to do") {
		t.Errorf("it may come to f1: %q", why)
	}
	pod.Annotations[iofit.LeastAnnotation] = "1/s"
	if why := rules.Move(pod, "f1"); why != "" {
		t.Error(why)
	}
}
