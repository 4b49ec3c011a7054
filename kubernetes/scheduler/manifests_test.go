package scheduler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

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
		if other, is := strings.CutPrefix(name, "../"); is {
			c.apply(other)
			continue
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
			c.must(err)
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

// The API server takes every manifest, and what they allow is enough to place a pod, and not much more.
func TestManifests(t *testing.T) {
	c := start(t)
	c.until("the API server has made kube-system", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		return err == nil
	})
	c.apply("extender")
	c.apply("scheduler")
	c.apply("fleet")
	c.apply("limits")
	c.model("big", big)
	c.node("big-1", "big")
	for _, account := range []string{"scheduler", "extender"} {
		a := c.as(Namespace, account)
		if !a.may("watch", "configmaps", Namespace) {
			t.Errorf("%s may not read models", account)
		}
		for _, no := range [][3]string{{"get", "secrets", Namespace}, {"get", "secrets", "default"},
			{"list", "configmaps", "default"}, {"update", "configmaps", Namespace}, {"create", "pods", "default"},
			{"update", "nodes", ""}, {"delete", "nodes", ""}} {
			if a.may(no[0], no[1], no[2]) {
				t.Errorf("%s may %s %s in %q", account, no[0], no[1], no[2])
			}
		}
	}
	const fleets = "plimsoll-fleet"
	a := c.as(fleets, "fleet")
	for _, yes := range [][2]string{{"create", "jobs"}, {"list", "pods"}, {"create", "configmaps"}} {
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
	if _, err := NewExtender(t.Context(), c.as(Namespace, "extender").Clientset, Namespace); err != nil {
		t.Error(err)
	}
	kubetest.Schedule(t, c.as(Namespace, "scheduler").config, registry())
	c.pod("writer", "", "class", "writes")
	c.on("writer")
	c.event("writer", "Predicted")
}
