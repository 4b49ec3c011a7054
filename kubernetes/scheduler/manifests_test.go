package scheduler

import (
	"os"
	"path/filepath"
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
func (c cluster) as(account string) cluster {
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = "system:serviceaccount:" + Namespace + ":" + account
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	return cluster{c.TB, kubernetes.NewForConfigOrDie(config), config}
}

// may reports whether an account may do something.
func (c cluster) may(verb, resource, namespace string) bool {
	c.Helper()
	group := ""
	if resource == "leases" {
		group = "coordination.k8s.io"
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
	c.model("big", big)
	c.node("big-1", "big")
	for _, account := range []string{"scheduler", "extender"} {
		a := c.as(account)
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
	if _, err := NewExtender(t.Context(), c.as("extender").Clientset, Namespace); err != nil {
		t.Error(err)
	}
	kubetest.Schedule(t, c.as("scheduler").config, registry())
	c.pod("writer", "", "class", "writes")
	c.on("writer")
	c.event("writer", "Predicted")
}
