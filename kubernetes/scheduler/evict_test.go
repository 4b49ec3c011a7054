package scheduler

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"plimsoll/internal/placement"
	"plimsoll/kubernetes/evict"
	"plimsoll/kubernetes/replan"
)

// What a real API server answers to evictions is understood: rights, budgets, pods made anew, dry runs.
func TestEvictionsOfARealServer(t *testing.T) {
	c := start(t)
	c.node("s1", "small")
	pods, budgets := c.CoreV1().Pods("default"), c.PolicyV1().PodDisruptionBudgets("default")
	p := aWriter("orders-0", "", "s1")
	p.Spec.Volumes, p.Labels = nil, map[string]string{"app": "orders"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "orders", UID: "1",
		Controller: new(true)}}
	p, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
	c.must(err)
	p.Status.Phase = corev1.PodRunning // a budget does not count pods that do not run yet
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p, err = pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	c.must(err)
	budget, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: p.Labels}}},
		metav1.CreateOptions{})
	c.must(err)
	allow := func(n int32) {
		budget.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: n, ObservedGeneration: budget.Generation,
			CurrentHealthy: 1, DesiredHealthy: 1 - n, ExpectedPods: 1}
		budget, err = budgets.UpdateStatus(t.Context(), budget, metav1.UpdateOptions{})
		c.must(err)
	}
	allow(0)

	// One who may do nothing, until a role says what the page says.
	as := rest.CopyConfig(c.config)
	as.Impersonate.UserName, as.Impersonate.Groups = "mover", []string{"system:authenticated"}
	client := kubernetes.NewForConfigOrDie(as)
	factory := informers.NewSharedInformerFactory(c.Clientset, 0)
	e := &evict.Evictor{Client: client, Pods: factory.Core().V1().Pods().Lister(),
		Budgets: factory.Policy().V1().PodDisruptionBudgets().Lister(), Ready: time.Millisecond}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	seen := func(p *corev1.Pod) []replan.PodMove {
		return []replan.PodMove{{Pod: p, Move: placement.Move{Containers: "default/orders", From: "s1", To: "b1"}}}
	}
	err = e.Allowed(t.Context(), seen(p))
	if err == nil || !strings.Contains(err.Error(), "you may not evict pods in namespace default") {
		t.Error(err)
	}
	c.grant("mover", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"},
		Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}})
	c.until("the role counts", func() bool { return e.Allowed(t.Context(), seen(p)) == nil })

	ends := func(p *corev1.Pod, want evict.Verdict, why string) {
		t.Helper()
		all := e.Run(t.Context(), seen(p))
		if len(all) != 1 || all[0].Verdict != want || !strings.Contains(all[0].String(), why) {
			t.Errorf("%s, and not %s: %s", all, want, why)
		}
		now, err := pods.Get(t.Context(), p.Name, metav1.GetOptions{})
		c.must(err)
		if ended := now.DeletionTimestamp != nil; ended != (want == evict.NotReady) {
			t.Errorf("the pod ends: %v, after %s", ended, all)
		}
	}
	ends(p, evict.Refused, "PodDisruptionBudget kept allows no eviction now")
	e.DryRun = true
	ends(p, evict.Refused, "PodDisruptionBudget kept allows no eviction now")
	allow(1)
	ends(p, evict.WouldMove, "pod default/orders-0 of s1")
	e.DryRun = false
	other := p.DeepCopy()
	other.UID = "of-another-pod"
	ends(other, evict.Changed, "gone since the plan was made")
	budget, err = budgets.Get(t.Context(), budget.Name, metav1.GetOptions{})
	c.must(err)
	allow(1)
	ends(p, evict.NotReady, "it was evicted") // nothing here ends pods and makes others
}

// grant gives a user rights in all namespaces.
func (c cluster) grant(user string, rules ...rbacv1.PolicyRule) {
	c.Helper()
	_, err := c.RbacV1().ClusterRoles().Create(c.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: rules}, metav1.CreateOptions{})
	c.must(err)
	_, err = c.RbacV1().ClusterRoleBindings().Create(c.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
			Name: user}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}},
		metav1.CreateOptions{})
	c.must(err)
}
