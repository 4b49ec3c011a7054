package nodetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"plimsoll/internal/placement"
	"plimsoll/kubernetes/evict"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
	"plimsoll/kubernetes/scheduler"
)

// cordon says whether a node takes pods, and waits until its taint says so, too.
func (k *cluster) cordon(node string, is bool) {
	k.t.Helper()
	_, err := k.client.CoreV1().Nodes().Patch(k.t.Context(), node, types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, is), metav1.PatchOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	until(k.t, fmt.Sprintf("node %s is cordoned: %t", node, is), func() error {
		n, err := k.client.CoreV1().Nodes().Get(k.t.Context(), node, metav1.GetOptions{})
		if err == nil && is != slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeUnschedulable
		}) {
			err = fmt.Errorf("%v", n.Spec.Taints)
		}
		return err
	})
}

// ready waits until so many pods of the namespace default are Ready and no other is there, and returns their nodes.
func (k *cluster) ready(want int) map[types.UID]string {
	k.t.Helper()
	var on map[types.UID]string
	until(k.t, fmt.Sprintf("%d pods are Ready", want), func() error {
		all, err := k.client.CoreV1().Pods("default").List(k.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		on = map[types.UID]string{}
		for i := range all.Items {
			p := &all.Items[i]
			if p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				return fmt.Errorf("%s is %s: %v", p.Name, p.Status.Phase, p.Status.Conditions)
			}
			on[p.UID] = p.Spec.NodeName
		}
		if len(on) != want {
			return fmt.Errorf("%d pods", len(on))
		}
		return nil
	})
	return on
}

// allows waits until the disruption controller says how many disruptions a budget allows.
func (k *cluster) allows(budget string, want int32) {
	k.t.Helper()
	until(k.t, fmt.Sprintf("%s allows %d disruptions", budget, want), func() error {
		b, err := k.client.PolicyV1().PodDisruptionBudgets("default").Get(k.t.Context(), budget, metav1.GetOptions{})
		if err == nil && (b.Status.ObservedGeneration != b.Generation || b.Status.DisruptionsAllowed != want ||
			b.Status.CurrentHealthy != 2) {
			err = fmt.Errorf("%+v", b.Status)
		}
		return err
	})
}

// schedulerConfig is of the scheduler of tests, which is the cluster's own.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: IOFit, weight: 10}]}}}]
`

// plan runs plimsoll-kubernetes plan --evict, and returns what it prints.
func (k *cluster) plan(args ...string) (string, error) {
	k.t.Helper()
	file := filepath.Join(k.t.TempDir(), "scheduler.yaml")
	if err := os.WriteFile(file, []byte(schedulerConfig), 0o600); err != nil {
		k.t.Fatal(err)
	}
	c := exec.CommandContext(k.t.Context(), k.program("plimsoll-kubernetes"), //nolint:gosec // ours
		append([]string{"plan", "--budget", "3s", "--evict", "--scheduler-config", file, "--kubeconfig", k.kubeconfig},
			args...)...)
	text, err := c.CombinedOutput()
	k.t.Logf("plan --evict %v: %v\n%s", args, err, text)
	return string(text), err
}

// Pods of a Deployment on the node with the slow drive stay while their PodDisruptionBudget allows no disruption,
// whether the plan knows it or the API server alone. When it allows one, they move one after the other, as planned.
func TestEvictionsKeepBudgets(t *testing.T) {
	k := start(t)
	pause := k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause")
	big, small := k.add(0, "big", pause).name, k.add(1, "small", pause).name
	k.placesByModels()
	k.cordon(big, true)
	of := map[string]string{"app": "orders"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "orders"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: of}}}
	d.Spec.Template.Labels = of
	d.Spec.Template.Annotations = map[string]string{iofit.ClassAnnotation: "writes", iofit.LeastAnnotation: "200/s"}
	d.Spec.Template.Spec = corev1.PodSpec{HostNetwork: true, TerminationGracePeriodSeconds: new(int64(1)),
		Containers: []corev1.Container{{Name: "c", Image: "test.invalid/pause:1",
			ImagePullPolicy: corev1.PullIfNotPresent}}}
	if _, err := k.client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := k.ready(2)
	for _, node := range before {
		if node != small {
			t.Fatalf("a pod runs on a node that is cordoned: %v", before)
		}
	}
	k.cordon(big, false)
	what, err := replan.Read(t.Context(), k.client, iofit.Namespace,
		replan.State{Selector: labels.Everything(), Evict: true, SchedulerConfig: []byte(schedulerConfig)},
		scheduler.NewRules)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := what.Plan(placement.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	moves := what.Moves(plan)
	if len(moves) == 0 {
		t.Fatalf("the plan moves nothing: %s; %q stay; %q are left out", plan.Verdict(), what.Stay, what.Left)
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "keeps-orders"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: d.Spec.Selector, MinAvailable: new(intstr.FromInt32(2))}}
	budgets := k.client.PolicyV1().PodDisruptionBudgets("default")
	budget, err = budgets.Create(t.Context(), budget, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k.allows(budget.Name, 0)
	stay := func() {
		t.Helper()
		if now := k.ready(2); !maps.Equal(now, before) {
			t.Fatalf("pods are %v, and were %v", now, before)
		}
	}
	// The plan was made before there was a budget.
	e := &evict.Evictor{Client: k.client, Pods: what.State().Live, Budgets: what.State().Budgets,
		Retry: 6 * time.Second, Ready: longest}
	for _, o := range e.Run(t.Context(), moves) {
		t.Log(o)
		if o.Verdict != evict.Refused || !strings.Contains(o.String(), "PodDisruptionBudget keeps-orders") {
			t.Errorf("it is not refused by its budget: %s", o)
		}
	}
	stay()
	// A plan that knows the budget has no such move.
	text, err := k.plan()
	if err != nil || !strings.Contains(text, "its PodDisruptionBudget keeps-orders allows no disruption now") {
		t.Error(errors.Join(err, errors.New("the plan does not name the budget")))
	}
	stay()
	relaxed := []byte(`{"spec": {"minAvailable": 1}}`)
	_, err = budgets.Patch(t.Context(), budget.Name, types.MergePatchType, relaxed, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k.allows(budget.Name, 1)
	if text, err = k.plan("--dry-run"); err != nil || !strings.Contains(text, "Would be evicted: pod default/orders-") {
		t.Error(err)
	}
	stay()
	if text, err = k.plan(); err != nil {
		t.Error(err)
	}
	left := 0
	for _, node := range k.ready(2) {
		if node == small {
			left++
		}
	}
	if moved := strings.Count(text, "Moved: pod default/orders-"); moved != len(moves) || left != 2-moved {
		t.Errorf("%d moved of %d, and %d stand where they stood", moved, len(moves), left)
	}
}
