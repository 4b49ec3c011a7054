package scheduler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"plimsoll/internal/model/modeltest"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// cluster is a control plane with nodes of two kinds of which there is a model, and one of another.
type cluster struct {
	testing.TB
	*kubernetes.Clientset
	config *rest.Config
}

const (
	big   = `{cpus: 8, memory: 32GiB, drives: {nvme: fast}}`
	small = `{cpus: 4, memory: 8GiB, drives: {sata: slow}}`
)

func start(t testing.TB) cluster {
	t.Helper()
	c := kubetest.Start(t)
	return cluster{t, kubernetes.NewForConfigOrDie(c), c}
}

func (c cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c cluster) namespace(name string) {
	_, err := c.CoreV1().Namespaces().Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	c.must(err)
}

func modelOf(t testing.TB, kind, host string) *corev1.ConfigMap {
	t.Helper()
	var file bytes.Buffer
	err := modeltest.ThreeClasses().Write(&file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := iofit.ConfigMap(kind, file.Bytes(), host)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (c cluster) model(kind, host string) {
	_, err := c.CoreV1().ConfigMaps(Namespace).Create(c.Context(), modelOf(c.TB, kind, host), metav1.CreateOptions{})
	c.must(err)
}

func (c cluster) node(name, kind string) {
	has := corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("64Gi"),
		"pods": resource.MustParse("110")}
	_, err := c.CoreV1().Nodes().Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{iofit.KindLabel: kind, corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: has, Capacity: has}}, metav1.CreateOptions{})
	c.must(err)
}

// pod creates a pod with annotations, for a node where one is named.
func (c cluster) pod(name, node string, annotations ...string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}},
			// Nobody says that the nodes are ready.
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}
	if node != "" {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[iofit.Prefix+annotations[i]] = annotations[i+1]
	}
	_, err := c.CoreV1().Pods("default").Create(c.Context(), p, metav1.CreateOptions{})
	c.must(err)
}

// until waits for something to become true, half a minute at most.
func (c cluster) until(what string, is func() bool) {
	c.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("not after half a minute: %s", what)
		}
	}
}

// on waits until a pod is bound, and returns its node.
func (c cluster) on(name string) (node string) {
	c.Helper()
	c.until(name+" is bound", func() bool {
		p, err := c.CoreV1().Pods("default").Get(c.Context(), name, metav1.GetOptions{})
		c.must(err)
		node = p.Spec.NodeName
		return node != ""
	})
	return node
}

// waits waits until a pod is said not to be scheduled, and returns why.
func (c cluster) waits(name string) (why string) {
	c.Helper()
	c.until(name+" is unschedulable", func() bool {
		p, err := c.CoreV1().Pods("default").Get(c.Context(), name, metav1.GetOptions{})
		c.must(err)
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				why = condition.Message
			}
		}
		if p.Spec.NodeName != "" {
			c.Fatalf("%s stands on %s", name, p.Spec.NodeName)
		}
		return why != ""
	})
	return why
}

// settled waits until a pod is bound, or said not to be.
func (c cluster) settled(name string) (node, why string) {
	c.Helper()
	c.until(name+" is bound or waits", func() bool {
		p, err := c.CoreV1().Pods("default").Get(c.Context(), name, metav1.GetOptions{})
		c.must(err)
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				why = condition.Message
			}
		}
		node = p.Spec.NodeName
		return node != "" || why != ""
	})
	return node, why
}

// event waits for an event of a pod, and returns what it says.
func (c cluster) event(pod, reason string) (note string) {
	c.Helper()
	c.until(reason+" is said of "+pod, func() bool {
		all, err := c.EventsV1().Events("default").List(c.Context(), metav1.ListOptions{})
		c.must(err)
		for _, e := range all.Items {
			if e.Regarding.Name == pod && e.Reason == reason {
				note = e.Note
			}
		}
		return note != ""
	})
	return note
}

func (c cluster) contains(text string, words ...string) {
	c.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			c.Errorf("%q is not in %q", w, text)
		}
	}
}

func registry() runtime.Registry { return runtime.Registry{Name: New} }

func TestIOFit(t *testing.T) {
	c := start(t)
	c.namespace(Namespace)
	c.model("big", big)
	c.model("small", small)
	c.node("big-1", "big")
	c.node("small-1", "small")
	c.node("other-1", "other")
	stop := kubetest.Schedule(t, c.config, registry())

	t.Run("it goes where most is gained, and is told what it is to do", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		c.pod("writer", "", "class", "writes", "least-throughput", "1500/s")
		if node := c.on("writer"); node != "big-1" {
			t.Errorf("it stands on %s", node)
		}
		c.contains(c.event("writer", "Predicted"), "On big-1 it is to do ", " operations a second", "99 of 100 within")
	})
	t.Run("where it does not fit it waits, and is told why", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		c.pod("too-much", "", "class", "writes", "least-throughput", "900000/s")
		// Nobody knows what a node of another kind carries: it goes there.
		if node := c.on("too-much"); node != "other-1" {
			t.Errorf("it stands on %s", node)
		}
		c.contains(c.event("too-much", "NotPredicted"), "no model of nodes of kind other")
		c.pod("far-too-much", "big-1", "class", "writes", "least-throughput", "900000/s")
		c.contains(c.waits("far-too-much"), "the pod would do ", "of the 900000 operations a second that it is to do")
		c.contains(c.event("far-too-much", "FailedScheduling"), "the pod would do ")
		c.pod("wrong", "", "class", "reads", "p99-limit", "soon", "limits", "{read-iops: many}")
		c.contains(c.waits("wrong"), iofit.P99Annotation, iofit.LimitAnnotation)
		// Its user mends it.
		_, err := c.CoreV1().Pods("default").Patch(t.Context(), "wrong", "application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"`+iofit.P99Annotation+`":"10s","`+iofit.LimitAnnotation+`":null}}}`), metav1.PatchOptions{})
		c.must(err)
		c.on("wrong")
	})
	t.Run("a pod that goes makes room, and so does a new model", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		var stand []string
		for i := 0; ; i++ {
			name := fmt.Sprint("writer-", i)
			c.pod(name, "small-1", "class", "writes", "least-throughput", "800/s")
			node, why := c.settled(name)
			if node == "" {
				c.contains(why, "operations a second that it is to do")
				break
			}
			if stand = append(stand, name); len(stand) > 30 {
				t.Fatal("thirty writers fit on a slow drive")
			}
		}
		waiting := fmt.Sprint("writer-", len(stand))
		c.must(c.CoreV1().Pods("default").Delete(t.Context(), stand[0], metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		c.on(waiting)
		c.pod("one-more", "small-1", "class", "writes", "least-throughput", "800/s")
		c.waits("one-more")
		_, err := c.CoreV1().ConfigMaps(Namespace).Update(t.Context(), modelOf(t, "small", big), metav1.UpdateOptions{})
		c.must(err)
		c.on("one-more")
		// One that cannot be read changes nothing.
		_, err = c.CoreV1().ConfigMaps(Namespace).Patch(t.Context(), "model-small", "application/merge-patch+json",
			[]byte(`{"data":{"host.yaml":"{cpus: none}"}}`), metav1.PatchOptions{})
		c.must(err)
		c.pod("and-another", "small-1", "class", "reads")
		c.on("and-another")
		c.contains(c.event("and-another", "Predicted"), "On small-1")
	})
	stop()
	t.Run("pods without a class are left alone", func(t *testing.T) {
		p := &IOFit{}
		pod := &corev1.Pod{}
		if _, s := p.PreFilter(t.Context(), nil, pod, nil); !s.IsSkip() {
			t.Error(s)
		}
		if s := p.PreScore(t.Context(), nil, pod, nil); !s.IsSkip() {
			t.Error(s)
		}
	})
	t.Run("a role that is not bound is said", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		as := rest.CopyConfig(c.config)
		as.Impersonate.UserName = "nobody"
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("enough"))
		defer cancel()
		_, err := watchKinds(ctx, kubernetes.NewForConfigOrDie(as), Namespace, nil)
		if err == nil {
			t.Fatal("it was read by nobody")
		}
		c.contains(err.Error(), `"plimsoll"`, "nobody", "Role")
	})
}

func TestArgs(t *testing.T) {
	for raw, wrong := range map[string]string{`{"namespac": "x"}`: "namespac", `{"namespace": 3}`: "namespace",
		`[`: "namespace"} {
		_, err := New(t.Context(), &kruntime.Unknown{Raw: []byte(raw)}, nil)
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ gains, want []int64 }{
		{[]int64{1000, 500, 0, -5}, []int64{100, 50, 0, 0}},
		{[]int64{noScore, 10}, []int64{0, 100}},
		{[]int64{noScore, noScore}, []int64{0, 0}},
		{[]int64{-1000, -1500}, []int64{100, 50}},
		{[]int64{0, -1}, []int64{100, 0}},
	} {
		scores := make(fwk.NodeScoreList, len(c.gains))
		for i := range scores {
			scores[i] = fwk.NodeScore{Name: fmt.Sprint(i), Score: c.gains[i]}
		}
		(&IOFit{}).NormalizeScore(t.Context(), nil, nil, scores)
		for i := range scores {
			if scores[i].Score != c.want[i] {
				t.Errorf("%v: %v, want %v", c.gains, scores, c.want)
				break
			}
		}
	}
}
