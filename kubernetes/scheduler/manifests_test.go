package scheduler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// apply creates what a folder of manifests has, as strictly as the API server can look at it.
func (c cluster) apply(folder string) {
	c.Helper()
	groups, err := restmapper.GetAPIGroupResources(c.Discovery())
	c.must(err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client := dynamic.NewForConfigOrDie(c.config)
	text, err := os.ReadFile(filepath.Join("..", "manifests", folder, "kustomization.yaml"))
	c.must(err)
	var k struct{ Resources []string }
	c.must(utilyaml.Unmarshal(text, &k))
	for _, name := range k.Resources {
		if folder != "models" && name != "namespace.yaml" {
			c.outlives(folder, name)
		}
		f, err := os.Open(filepath.Join("..", "manifests", folder, name))
		c.must(err)
		docs := utilyaml.NewYAMLOrJSONDecoder(f, 4096)
		for {
			var o unstructured.Unstructured
			if docs.Decode(&o) != nil {
				break
			}
			m, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
			if meta.IsNoMatchError(err) { // an older server has an older version of it
				m, err = mapper.RESTMapping(o.GroupVersionKind().GroupKind())
			}
			c.must(err)
			o.SetGroupVersionKind(m.GroupVersionKind)
			var to dynamic.ResourceInterface = client.Resource(m.Resource)
			if m.Scope.Name() == meta.RESTScopeNameNamespace {
				to = client.Resource(m.Resource).Namespace(o.GetNamespace())
			}
			_, err = to.Apply(c.Context(), o.GetName(), &o, metav1.ApplyOptions{FieldManager: "test"})
			if err != nil {
				c.Errorf("%s/%s: %s %s: %v", folder, name, o.GetKind(), o.GetName(), err)
			}
		}
		c.must(f.Close())
	}
}

// outlives checks that a file has no namespace: models would be deleted with it.
func (c cluster) outlives(folder, name string) {
	c.Helper()
	text, err := os.ReadFile(filepath.Join("..", "manifests", folder, name))
	c.must(err)
	if strings.HasPrefix(name, "..") || strings.Contains(string(text), "kind: Namespace") {
		c.Errorf("kubectl delete -k %s deletes a namespace, of %s", folder, name)
	}
}

// as returns the cluster as a service account of the manifests sees it.
func (c cluster) as(namespace, account string) cluster {
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + account
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	return cluster{c.TB, kubernetes.NewForConfigOrDie(config), config}
}

// may reports whether an account may do something.
func (c cluster) may(verb, resource, namespace string) bool {
	c.Helper()
	group := ""
	switch resource {
	case "leases":
		group = "coordination.k8s.io"
	case "jobs":
		group = "batch"
	}
	r, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(c.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Resource: resource, Group: group, Namespace: namespace}}}, metav1.CreateOptions{})
	c.must(err)
	return r.Status.Allowed
}

// guarded checks what the policy refuses: limits where nobody allowed them, of pods that name their node, and changes
// of what was admitted. All else of a pod that was placed may change, and does not count.
func (c cluster) guarded() {
	c.Helper()
	c.namespace("tenant")
	create := func(namespace, node string) (*corev1.Pod, error) {
		return c.CoreV1().Pods(namespace).Create(c.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: map[string]string{
				iofit.ClassAnnotation: "writes", iofit.P99Annotation: "1ns"}},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "none"}},
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
		}, metav1.CreateOptions{})
	}
	var err error
	c.until("the policy is in force", func() bool { _, err = create("tenant", ""); return err != nil })
	c.contains(err.Error(), "plimsoll.dev/limits=allowed")
	label := []byte(`{"metadata":{"labels":{"plimsoll.dev/limits":"allowed"}}}`)
	_, err = c.CoreV1().Namespaces().Patch(c.Context(), "tenant", types.MergePatchType, label, metav1.PatchOptions{})
	c.must(err)
	var p *corev1.Pod
	c.until("limits are allowed", func() bool { p, err = create("tenant", ""); return err == nil })
	if _, err := create("tenant", "big-1"); err == nil {
		c.Error("a pod that names its node has a limit")
	}
	annotate := func(value string) error {
		_, err := c.CoreV1().Pods("tenant").Patch(c.Context(), p.Name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+iofit.P99Annotation+`":`+value+`}}}`), metav1.PatchOptions{})
		return err
	}
	c.must(annotate(`"2ns"`))
	patch := func(text string, subresources ...string) error {
		_, err := c.CoreV1().Pods("tenant").Patch(c.Context(), p.Name, types.MergePatchType, []byte(text),
			metav1.PatchOptions{}, subresources...)
		return err
	}
	forge := func(value string) {
		c.Helper()
		for _, subresource := range []string{"", "status"} {
			err := patch(`{"metadata":{"annotations":{"`+iofit.AdmittedAnnotation+`":`+value+`}}}`, subresource)
			if err == nil || !strings.Contains(err.Error(), "written by the binding") {
				c.Errorf("%q of a pod says that it was admitted as %s: %v", subresource, value, err)
			}
		}
	}
	forge(`"{}"`)
	p, err = c.CoreV1().Pods("tenant").Get(c.Context(), p.Name, metav1.GetOptions{})
	c.must(err)
	c.must(bindTo(c.Context(), c.Clientset, p, "big-1", iofit.Verdict{}))
	forge(`"{}"`)
	forge("null")
	// As an operator of databases updates a pod that runs: labels and all annotations that pods inherit, in one patch.
	c.must(patch(`{"metadata":{"labels":{"role":"primary"},"annotations":{"` + iofit.P99Annotation +
		`":"9ms","` + iofit.ClassAnnotation + `":"reads","other.example/x":"y"}}}`))
	p, err = c.CoreV1().Pods("tenant").Get(c.Context(), p.Name, metav1.GetOptions{})
	c.must(err)
	d, err := iofit.DemandOf(p)
	c.must(err)
	if d.Class != "writes" || d.MostP99 > 1e-6 {
		c.Errorf("it counts as it says now, and not as it was admitted: %+v", d)
	}
}

// publishes checks that a pod of limits may write what it measured into its own annotation, and nothing else.
func (c cluster) publishes() {
	c.Helper()
	pods := c.CoreV1().Pods(iofit.LimitsNamespace)
	for _, name := range []string{"limits-a", "limits-b"} {
		_, err := pods.Create(c.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "none"}}}}, metav1.CreateOptions{})
		c.must(err)
	}
	limits := c.as(iofit.LimitsNamespace, "limits")
	limits.config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/pod-name": {"limits-a"}}
	limits.Clientset = kubernetes.NewForConfigOrDie(limits.config)
	patch := func(namespace, name, text string, subresources ...string) error {
		_, err := limits.CoreV1().Pods(namespace).Patch(c.Context(), name, types.MergePatchType, []byte(text),
			metav1.PatchOptions{}, subresources...)
		return err
	}
	annotation := `{"metadata":{"annotations":{"` + iofit.UndeclaredAnnotation + `":"{}"}}`
	const image = `,"spec":{"containers":[{"name":"c","image":"other"}]}}`
	c.must(patch(iofit.LimitsNamespace, "limits-a", annotation+image, "status"))
	p, err := pods.Get(c.Context(), "limits-a", metav1.GetOptions{})
	c.must(err)
	if p.Annotations[iofit.UndeclaredAnnotation] != "{}" || p.Spec.Containers[0].Image != "none" {
		c.Errorf("after a patch of its status, the pod is %v", p)
	}
	if err := patch(iofit.LimitsNamespace, "limits-b", annotation+"}", "status"); err == nil ||
		!strings.Contains(err.Error(), "of itself alone") {
		c.Errorf("a pod of limits writes what another measured: %v", err)
	}
	for _, refused := range []error{patch(iofit.LimitsNamespace, "limits-a", annotation+image),
		patch("default", "writer", annotation+"}", "status")} {
		if !apierrors.IsForbidden(refused) {
			c.Errorf("a pod of limits changes pods: %v", refused)
		}
	}
	for _, no := range [][2]string{{"get", "pods"}, {"list", "pods"}, {"delete", "pods"}, {"create", "pods"},
		{"get", "secrets"}} {
		if limits.may(no[0], no[1], iofit.LimitsNamespace) {
			c.Errorf("a pod of limits may %s %s", no[0], no[1])
		}
	}
}

// The API server takes every manifest, and what they allow is enough to place a pod, and not much more.
func TestManifests(t *testing.T) {
	c := start(t)
	c.until("the API server has made kube-system", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		return err == nil
	})
	c.apply("models")
	c.apply("extender")
	c.apply("scheduler")
	c.apply("fleet")
	c.apply("limits")
	c.apply("policy")
	c.model("big", big)
	c.node("big-1", "big")
	for _, account := range []string{"scheduler", "extender"} {
		a := c.as(iofit.Namespace, account)
		if !a.may("watch", "configmaps", iofit.Namespace) {
			t.Errorf("%s may not read models", account)
		}
		for _, no := range [][3]string{{"get", "secrets", iofit.Namespace}, {"get", "secrets", "default"},
			{"list", "configmaps", "default"}, {"update", "configmaps", iofit.Namespace}, {"create", "pods", "default"},
			{"update", "nodes", ""}, {"delete", "nodes", ""}} {
			if a.may(no[0], no[1], no[2]) {
				t.Errorf("%s may %s %s in %q", account, no[0], no[1], no[2])
			}
		}
	}
	const fleets = "plimsoll-fleet"
	a := c.as(fleets, "fleet")
	for _, yes := range [][2]string{{"create", "jobs"}, {"delete", "jobs"}, {"create", "configmaps"}} {
		if !a.may(yes[0], yes[1], fleets) || a.may(yes[0], yes[1], "default") {
			t.Errorf("who measures fleets may not %s %s, or may everywhere", yes[0], yes[1])
		}
	}
	if a.may("create", "pods", fleets) || a.may("get", "secrets", fleets) || a.may("delete", "nodes", "") {
		t.Error("who measures fleets may more than that takes")
	}
	if c.as(fleets, "default").may("list", "pods", fleets) {
		t.Error("pods of fleets may ask the API server")
	}
	if _, err := NewExtender(t.Context(), c.as(iofit.Namespace, "extender").Clientset, iofit.Namespace); err != nil {
		t.Error(err)
	}
	c.guarded()
	c.publishes()
	kubetest.Schedule(t, c.as(iofit.Namespace, "scheduler").config, registry())
	c.pod("writer", "", "class", "writes")
	c.on("writer")
	c.event("writer", "Predicted")
}
