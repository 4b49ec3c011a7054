package scheduler

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	extender "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"plimsoll/internal/testkit/modeltest"
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
	m, err := iofit.ConfigMap(kind, file.Bytes(), host, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (c cluster) model(kind, host string) {
	_, err := c.CoreV1().ConfigMaps(iofit.Namespace).Create(c.Context(), modelOf(c.TB, kind, host),
		metav1.CreateOptions{})
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

// pod makes a pod for the default scheduler, of a node or of any.
func (c cluster) pod(name, node string, annotations ...string) {
	c.podOf("", name, node, annotations...)
}

// podOf makes a pod for a scheduler; "" for the default one.
func (c cluster) podOf(scheduler, name, node string, annotations ...string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{SchedulerName: scheduler, Containers: []corev1.Container{{Name: "c", Image: "none"}},
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

// until waits for something to become true.
func (c cluster) until(what string, is func() bool) {
	c.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("not after five minutes: %s", what)
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

// predicted checks that a pod says what is predicted of it, and what it said before.
func (c cluster) predicted(name string) {
	c.Helper()
	p, err := c.CoreV1().Pods("default").Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	said, err := iofit.ParsePrediction(p.Annotations[iofit.PredictedAnnotation])
	if err != nil || !(said.Operations > 0 && said.Writes > 0 && said.Least < said.Operations) ||
		p.Annotations[iofit.ClassAnnotation] == "" {
		c.Errorf("%s: %v, %v", name, p.Annotations, err)
	}
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
	c.namespace(iofit.Namespace)
	c.model("big", big)
	c.model("small", small)
	c.node("big-1", "big")
	c.node("small-1", "small")
	c.node("other-1", "other")
	stop := kubetest.Schedule(t, c.config, registry(), func(k *config.KubeSchedulerConfiguration) {
		k.Profiles[0].Plugins.Bind.Enabled = []config.Plugin{{Name: Name}} // as the manifests have it
	})

	t.Run("it goes where most is gained, and is shown what it is to do", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		c.pod("writer", "", "class", "writes", "least-throughput", "1500/s")
		if node := c.on("writer"); node != "big-1" {
			t.Errorf("it stands on %s", node)
		}
		c.contains(c.event("writer", "Predicted"), "On big-1 it is to do ", " operations a second", "99 of 100 within")
		c.predicted("writer")
	})
	t.Run("room that pods without a class leave wakes one that waits", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		c.node("room-1", "big")
		batch := aPod("batch", "room-1")
		batch.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("63Gi")}
		stand := []*corev1.Pod{batch}
		for i := range 4 {
			stand = append(stand, aPod(fmt.Sprint("reader-", i), "room-1", "class", "reads"))
		}
		for _, p := range stand {
			_, err := c.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
			c.must(err)
		}
		kind, err := iofit.ParseKind(aModel(t, "big", big))
		c.must(err)
		d, err := iofit.DemandOf(aPod("waits", "", "class", "reads"))
		c.must(err)
		node, err := c.CoreV1().Nodes().Get(t.Context(), "room-1", metav1.GetOptions{})
		c.must(err)
		does := func(pods []*corev1.Pod) float64 {
			return kind.Judge(iofit.OnNode(node, kind, slices.Values(pods), iofit.Claims{},
				func(string) bool { return true }), d).Rate
		}
		before, after := does(stand), does(stand[1:])
		if before >= 0.95*after {
			t.Fatalf("the batch takes nothing: %g and %g operations a second", before, after)
		}
		least := fmt.Sprintf("%.0f/s", (before+after)/2)
		c.pod("waits-for-room", "room-1", "class", "reads", "least-throughput", least)
		c.contains(c.waits("waits-for-room"), "that it is to do")
		c.must(c.CoreV1().Pods("default").Delete(t.Context(), "batch", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		// Without a reason, kube-scheduler looks at it again after five minutes.
		for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			p, err := c.CoreV1().Pods("default").Get(t.Context(), "waits-for-room", metav1.GetOptions{})
			c.must(err)
			if p.Spec.NodeName != "" {
				if p.Annotations[iofit.AdmittedAnnotation] != iofit.Admission(p.Annotations) {
					t.Errorf("it was admitted as %q", p.Annotations[iofit.AdmittedAnnotation])
				}
				break
			}
			if time.Now().After(end) {
				t.Fatal("nothing wakes it")
			}
		}
		for _, name := range []string{"waits-for-room", "reader-0", "reader-1", "reader-2", "reader-3"} {
			c.must(c.CoreV1().Pods("default").Delete(t.Context(), name,
				metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		}
		c.must(c.CoreV1().Nodes().Delete(t.Context(), "room-1", metav1.DeleteOptions{}))
	})
	t.Run("where it does not fit it waits, and is shown why", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		c.pod("too-much", "", "class", "writes", "least-throughput", "900000/s")
		// Nobody knows what a node of another kind carries: it goes there where it says that it does not mind, or where
		// it has no limit.
		c.contains(c.waits("too-much"), "no model of nodes of kind other", iofit.UnknownAnnotation+": Allow takes it there",
			"the pod would do ")
		c.pod("does-not-mind", "", "class", "writes", "least-throughput", "900000/s", "unknown", "Allow")
		c.pod("no-limit", "other-1", "class", "writes")
		for _, name := range []string{"does-not-mind", "no-limit"} {
			if node := c.on(name); node != "other-1" {
				t.Errorf("%s stands on %s", name, node)
			}
			c.contains(c.event(name, "NotPredicted"), "no model of nodes of kind other")
			p, err := c.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			c.must(err)
			if is, ok := p.Annotations[iofit.PredictedAnnotation]; ok {
				t.Errorf("nothing is predicted of %s, and it says %s", name, is)
			}
		}
		c.pod("minds", "other-1", "class", "writes", "unknown", "Deny")
		c.contains(c.waits("minds"), "no model of nodes of kind other")
		c.pod("typo", "", "class", "write")
		c.contains(c.waits("typo"), `no model knows a class "write"`, "writes")
		c.pod("far-too-much", "big-1", "class", "writes", "least-throughput", "900000/s")
		c.contains(c.waits("far-too-much"), "the pod would do ", "of the 900000 operations a second that it is to do")
		c.contains(c.event("far-too-much", "FailedScheduling"), "the pod would do ")
		c.pod("wrong", "", "class", "reads", "p99-limit", "soon", "limits", "{read-iops: many}")
		c.contains(c.waits("wrong"), iofit.P99Annotation, iofit.LimitAnnotation)
		// Its user mends it.
		_, err := c.CoreV1().Pods("default").Patch(
			t.Context(),
			"wrong",
			"application/merge-patch+json",
			[]byte(
				`{"metadata":{"annotations":{"`+iofit.P99Annotation+`":"10s","`+iofit.LimitAnnotation+`":null}}}`,
			),
			metav1.PatchOptions{},
		)
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
		_, err := c.CoreV1().ConfigMaps(iofit.Namespace).Update(t.Context(), modelOf(t, "small", big),
			metav1.UpdateOptions{})
		c.must(err)
		c.on("one-more")
		// One that cannot be read changes nothing.
		_, err = c.CoreV1().ConfigMaps(iofit.Namespace).Patch(t.Context(), "model-small", "application/merge-patch+json",
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
	t.Run("a role that is not bound is said, and other pods are placed", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		as := rest.CopyConfig(c.config)
		as.Impersonate.UserName = "system:kube-scheduler"
		stop := kubetest.Schedule(t, as, registry())
		defer stop()
		c.pod("without-models", "big-1", "class", "reads")
		c.on("without-models")
		c.contains(c.event("without-models", "NotPredicted"), `"plimsoll"`, "system:kube-scheduler", "Role")
		_, err := c.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reads-models"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "system:kube-scheduler"}},
		}, metav1.CreateOptions{})
		c.must(err)
		c.pod("with-models", "big-1", "class", "reads", "least-throughput", "1/s")
		c.on("with-models") // once the models may be read, where it is looked at before
		c.contains(c.event("with-models", "Predicted"), "On big-1")
	})
}

// roundTrip is a function that sends requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestArgs(t *testing.T) {
	for raw, wrong := range map[string]string{`{"namespac": "x"}`: "namespac", `{"namespace": 3}`: "namespace",
		`[`: "namespace", `{"unknown": "allow"}`: "Allow or Deny", `{"limitNamespaces": "x"}`: "limitNamespaces"} {
		_, err := New(t.Context(), &kruntime.Unknown{Raw: []byte(raw)}, nil)
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// Nobody is evicted for a pod that an empty node could not hold either, and a node that is gone is forgotten.
func TestFilterOfWhatNeverFits(t *testing.T) {
	m := modelOf(t, "big", big)
	kind, err := iofit.ParseKind(m)
	if err != nil {
		t.Fatal(err)
	}
	p := &IOFit{kinds: &kinds{synced: func() bool { return true }}, stand: map[string]standing{}}
	p.kinds.now.Store(&map[string]*iofit.Kind{"big": kind})
	pod := func(annotations ...string) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		for i := 0; i < len(annotations); i += 2 {
			made.Annotations[iofit.Prefix+annotations[i]] = annotations[i+1]
		}
		return made
	}
	d, err := iofit.DemandOf(pod("class", "writes"))
	if err != nil {
		t.Fatal(err)
	}
	alone := kind.Judge(iofit.Standing{}, d)
	fits := fmt.Sprintf("%.0f/s", alone.Rate*0.99)
	for _, c := range []struct {
		pod  *corev1.Pod
		kind string
		want fwk.Code
	}{
		{pod("class", "writes", "least-throughput", fits), "big", fwk.Unschedulable},
		{pod("class", "writes", "least-throughput", "900000/s"), "big", fwk.UnschedulableAndUnresolvable},
		{pod("class", "writes", "p99-limit", "1ns"), "big", fwk.UnschedulableAndUnresolvable},
		{pod("class", "writes", "p99-limit", "10s"), "other", fwk.UnschedulableAndUnresolvable},
		{pod("class", "writes"), "other", fwk.Success},
	} {
		node := framework.NewNodeInfo(slices.Repeat([]*corev1.Pod{pod("class", "writes")}, 40)...)
		node.SetNode(
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{iofit.KindLabel: c.kind}}},
		)
		state := framework.NewCycleState()
		if _, s := p.PreFilter(t.Context(), state, c.pod, nil); !s.IsSuccess() {
			t.Fatal(s)
		}
		if s := p.Filter(t.Context(), state, c.pod, node); s.Code() != c.want {
			t.Errorf("%v on %s: %v, not %v", c.pod.Annotations, c.kind, s, c.want)
		}
	}
	p.forget(cache.DeletedFinalStateUnknown{Key: "n"})
	if len(p.stand) > 0 {
		t.Errorf("%v is kept", p.stand)
	}
}

// A node with a drive that pods without a class keep busy is rejected for a pod with a limit, and accepted once they
// are quiet.
func TestFilterOfABusyDrive(t *testing.T) {
	client := fake.NewClientset()
	kind, err := iofit.ParseKind(aModel(t, "big", big))
	if err != nil {
		t.Fatal(err)
	}
	p := &IOFit{kinds: &kinds{synced: func() bool { return true }}, stand: map[string]standing{},
		claims: claimsOf(informers.NewSharedInformerFactory(client, 0))}
	p.kinds.now.Store(&map[string]*iofit.Kind{"big": kind})
	d, err := iofit.DemandOf(aPod("p", "", "class", "writes"))
	if err != nil {
		t.Fatal(err)
	}
	pod := aPod("p", "", "class", "writes", "least-throughput",
		fmt.Sprintf("%.0f/s", kind.Judge(iofit.Standing{}, d).Rate*0.9))
	holder := aPod("limits", "n")
	holder.Namespace, holder.Labels = iofit.LimitsNamespace, map[string]string{"app": iofit.LimitsNamespace}
	noisy, most := aPod("noisy", "n"), float64(kind.Host.Drives[0].Is.Write.IOPS)
	node := framework.NewNodeInfo(noisy, holder)
	node.SetNode(aNode("n", "big", "64Gi"))
	for _, c := range []struct {
		share float64
		want  fwk.Code
	}{{0, fwk.Success}, {0.9, fwk.Unschedulable}, {0.01, fwk.Success}} {
		measured := holder.DeepCopy()
		measured.Annotations[iofit.UndeclaredAnnotation] = iofit.FormatUndeclared(
			map[types.UID]iofit.Rates{noisy.UID: {0, c.share * most, 0, 0}})
		if err := node.RemovePod(klog.Background(), holder); err != nil {
			t.Fatal(err)
		}
		node.AddPod(measured)
		state := framework.NewCycleState()
		if _, s := p.PreFilter(t.Context(), state, pod, nil); !s.IsSuccess() {
			t.Fatal(s)
		}
		s := p.Filter(t.Context(), state, pod, node)
		if s.Code() != c.want ||
			c.want != fwk.Success && !strings.Contains(s.Message(), "pods without a class take 87%") {
			t.Errorf("where others take %g of the drive: %v, not %v", c.share, s, c.want)
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

// aWriter returns a pod that writes to a claim, on a node where one is named.
func aWriter(name, claim, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{
		iofit.ClassAnnotation: "writes", iofit.LeastAnnotation: "800/s"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "none"}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.
				PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}}}
}

// Pods count on the drives of their claims: those of bound ones, and of the StorageClass of others.
func TestDrives(t *testing.T) {
	c := start(t)
	c.namespace(iofit.Namespace)
	m := modelOf(t, "two", `{cpus: 8, memory: 32GiB, drives: {nvme: fast, sata: slow}}`)
	m.Data["drives.yaml"] = "{nvme: {paths: /mnt/nvme}, sata: {paths: /mnt/sata, storage-classes: slow}}"
	_, err := c.CoreV1().ConfigMaps(iofit.Namespace).Create(t.Context(), m, metav1.CreateOptions{})
	c.must(err)
	c.node("two-1", "two")
	for _, class := range []string{"slow", "network"} {
		_, err := c.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner",
			VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}, metav1.CreateOptions{})
		c.must(err)
	}
	stop := kubetest.Schedule(t, c.config, registry())
	defer stop()
	// volume creates a local volume at a path, and a claim, which is bound to it where it has no class.
	volume := func(name, class, path string) {
		has := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: has}}}
		on := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.
			NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: "In", Values: []string{"two-1"}}}}}}
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			Capacity: has, AccessModes: modes, StorageClassName: class,
			NodeAffinity:           &corev1.VolumeNodeAffinity{Required: on},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}}}
		if class == "" {
			claim.Spec.VolumeName = name
			claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		}
		made, err := c.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, metav1.CreateOptions{})
		c.must(err)
		if class == "" {
			v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name,
				UID: made.UID}
		}
		v, err = c.CoreV1().PersistentVolumes().Create(t.Context(), v, metav1.CreateOptions{})
		c.must(err)
		v.Status.Phase = corev1.VolumeAvailable // nothing else here says so
		_, err = c.CoreV1().PersistentVolumes().UpdateStatus(t.Context(), v, metav1.UpdateOptions{})
		c.must(err)
	}
	writer := func(name, claim, node string) {
		_, err := c.CoreV1().Pods("default").Create(t.Context(), aWriter(name, claim, node), metav1.CreateOptions{})
		c.must(err)
	}
	volume("static", "", "/mnt/sata/static")
	volume("fast", "", "/mnt/nvme/fast")
	volume("unknown", "", "/srv/unknown")
	writer("static", "static", "")
	c.on("static")
	c.contains(c.event("static", "Predicted"), "on drive sata")
	filled := 0
	for ; ; filled++ {
		name := fmt.Sprint("of-class-", filled)
		writer(name, "static", "")
		if node, why := c.settled(name); node == "" {
			c.contains(why, "operations a second that it is to do")
			break
		}
		if filled > 30 {
			t.Fatal("thirty writers fit on a slow drive")
		}
	}
	// What nobody binds yet waits for the same drive, which is full, and not for the first, which is free.
	volume("by-class", "slow", "/mnt/sata/by-class")
	writer("by-class", "by-class", "")
	c.until("it waits for the drive, and not for a volume that the scheduler sees later", func() bool {
		return strings.Contains(c.waits("by-class"), "operations a second that it is to do")
	})
	writer("fast", "fast", "")
	c.on("fast")
	c.contains(c.event("fast", "Predicted"), "on drive nvme")
	// A pod on both drives says how its I/O is split, and waits if one of them has no room for its share.
	both := func(name, split string) {
		p := aWriter(name, "fast", "")
		p.Spec.Volumes = append(p.Spec.Volumes, aWriter(name, "static", "").Spec.Volumes[0])
		p.Spec.Volumes[1].Name = "wal"
		if split != "" {
			p.Annotations[iofit.SplitAnnotation] = split
		}
		_, err := c.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
		c.must(err)
	}
	both("both", "")
	c.contains(c.waits("both"), "on nvme and sata", "is not known", iofit.SplitAnnotation)
	both("half", "wal: 50%, data: 50%")
	c.contains(c.waits("half"), "operations a second that it is to do")
	both("wrong", "wal: 50%, dat: 50%")
	c.contains(c.waits("wrong"), `no volume "dat"`, "wal")
	both("other", "data: 100%")
	c.on("other")
	c.contains(c.event("other", "Predicted"), "on drive nvme")
	// Of what nobody knows, the pod counts on the first drive, and is told so.
	writer("unknown", "unknown", "")
	c.on("unknown")
	c.contains(c.event("unknown", "Predicted"), "on drive nvme", "claim unknown is (path /srv/unknown)",
		"counts on the first, nvme")
	// One that goes makes room on its own drive.
	for i := range filled {
		c.must(c.CoreV1().Pods("default").Delete(t.Context(), fmt.Sprint("of-class-", i),
			metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	}
	c.on("half")
	c.contains(c.event("half", "Predicted"), "on drives nvme and sata")
	c.must(c.CoreV1().Pods("default").Delete(t.Context(), "half", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	c.until("the claim is to stand on the node", func() bool {
		p, err := c.CoreV1().PersistentVolumes().Get(t.Context(), "by-class", metav1.GetOptions{})
		c.must(err)
		return p.Spec.ClaimRef != nil && p.Spec.ClaimRef.Name == "by-class"
	})
	// An extender answers the same of a drive that is full, and of one that is not.
	e, err := NewExtender(t.Context(), c.Clientset, iofit.Namespace)
	c.must(err)
	for i := range filled {
		claim := fmt.Sprint("late-", i)
		volume(claim, "network", "/mnt/sata/"+claim)
		writer(claim, claim, "two-1")
	}
	filter := func(claim string) *extender.ExtenderFilterResult {
		return e.filter(t.Context(), &extender.ExtenderArgs{Pod: aWriter("asked", claim, ""), NodeNames: &[]string{"two-1"}})
	}
	writer("sata-1", "static", "")
	c.on("sata-1")
	// What waits is judged beside those whose claims nobody has bound yet, which are taken to be on the first drive.
	c.pod("probe", "two-1", "class", "writes", "least-throughput", "900000/s")
	c.waits("probe")
	c.until("the extender sees what stands, and the slow drive is free", func() bool {
		on, err := e.pods.ByIndex(byNode, "two-1")
		c.must(err)
		return len(on) >= filled && len(*filter("static").NodeNames) == 1
	})
	for i := range filled {
		claim := fmt.Sprint("late-", i)
		_, err := c.CoreV1().PersistentVolumeClaims("default").Patch(t.Context(), claim, "application/merge-patch+json",
			[]byte(`{"spec":{"volumeName":"`+claim+`"}}`), metav1.PatchOptions{})
		c.must(err)
	}
	c.until("they are on the slow drive", func() bool { return len(*filter("static").NodeNames) == 0 })
	c.contains(filter("static").FailedNodes["two-1"], "operations a second that it is to do")
	if why := filter("fast").FailedNodes["two-1"]; why != "" {
		t.Errorf("the other drive is full: %s", why)
	}
	// The plugin sees it as well, though nothing else of the node has changed.
	writer("sata-2", "static", "")
	c.contains(c.waits("sata-2"), "operations a second that it is to do")
}
