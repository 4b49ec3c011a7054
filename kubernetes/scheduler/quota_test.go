package scheduler

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// A namespace's quota and its default for the extended resource hold, and a pod that waits for it fits a new node of
// the kind, by the rule with which autoscalers try nodes of a group: the scheduler's own of resources. No autoscaler
// runs here.
func TestQuotaOfIO(t *testing.T) {
	c := start(t)
	c.namespace(iofit.Namespace)
	c.namespace("tenant")
	c.model("big", big)
	c.node("big-1", "big")
	node, err := c.CoreV1().Nodes().Get(t.Context(), "big-1", metav1.GetOptions{})
	c.must(err)
	group := node.DeepCopy() // a node that an autoscaler would add
	for _, n := range []*corev1.Node{node, group} {
		n.Status.Capacity[iofit.IOResource], n.Status.Allocatable[iofit.IOResource] = resource.MustParse("1000"),
			resource.MustParse("1000")
	}
	_, err = c.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	c.must(err)
	_, err = c.CoreV1().LimitRanges("tenant").Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "io"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
			Default: corev1.ResourceList{iofit.IOResource: resource.MustParse("400")}}}}}, metav1.CreateOptions{})
	c.must(err)
	const requests = "requests." + iofit.IOResource
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "io"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{requests: resource.MustParse("1200")}}}
	quota, err = c.CoreV1().ResourceQuotas("tenant").Create(t.Context(), quota, metav1.CreateOptions{})
	c.must(err)
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard,
		Used: corev1.ResourceList{requests: resource.MustParse("0")}} // as the controller of quotas writes it
	_, err = c.CoreV1().ResourceQuotas("tenant").UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
	c.must(err)
	kubetest.Schedule(t, c.config, registry())
	create := func(name string) (*corev1.Pod, error) {
		return c.CoreV1().Pods("tenant").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{iofit.ClassAnnotation: "writes"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}},
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}, metav1.CreateOptions{})
	}
	var last *corev1.Pod
	c.until("the default and the quota are in force", func() bool { // what admission reads of them comes by a watch
		p, err := create("first")
		if err != nil {
			return false
		}
		asks := p.Spec.Containers[0].Resources.Requests[iofit.IOResource]
		now, err := c.CoreV1().ResourceQuotas("tenant").Get(t.Context(), "io", metav1.GetOptions{})
		c.must(err)
		used := now.Status.Used[requests]
		if asks.Value() == 400 && used.Value() == 400 {
			return true
		}
		c.must(c.CoreV1().Pods("tenant").Delete(t.Context(), "first", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		return false
	})
	for _, name := range []string{"second", "third"} {
		last, err = create(name)
		c.must(err)
	}
	if _, err := create("fourth"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") ||
		!strings.Contains(err.Error(), string(iofit.IOResource)) {
		t.Errorf("1,600 of a quota of 1,200: %v", err)
	}
	c.until("one of three waits for the resource", func() bool {
		pods, err := c.CoreV1().Pods("tenant").List(t.Context(), metav1.ListOptions{})
		c.must(err)
		bound, waits := 0, false
		for _, p := range pods.Items {
			if p.Spec.NodeName != "" {
				bound++
			}
			for _, condition := range p.Status.Conditions {
				waits = waits || strings.Contains(condition.Message, "Insufficient "+string(iofit.IOResource))
			}
		}
		return bound == 2 && waits
	})
	added := framework.NewNodeInfo()
	added.SetNode(group)
	if missing := noderesources.Fits(last, added, nil, noderesources.ResourceRequestsOptions{}); len(missing) > 0 {
		t.Errorf("an empty node of the group lacks %v", missing)
	}
	delete(group.Status.Allocatable, iofit.IOResource)
	added.SetNode(group)
	if missing := noderesources.Fits(last, added, nil, noderesources.ResourceRequestsOptions{}); len(missing) != 1 ||
		missing[0].ResourceName != iofit.IOResource {
		t.Errorf("a group that does not publish the resource lacks %v", missing)
	}
}
