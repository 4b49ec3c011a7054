package scheduler

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"plimsoll/internal/placement"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
)

// A plan of a cluster makes no move that kube-scheduler would refuse: of two pods one fits beside what others ask for,
// one that is spread stays apart, and so do those whose data or budget keeps them.
func TestPlanKeepsTheRulesOfTheScheduler(t *testing.T) {
	c := start(t)
	c.namespace(iofit.Namespace)
	c.model("big", big)
	c.model("small", small)
	c.node("small-1", "small")
	c.node("big-1", "big")
	claim := func(name, on string, of corev1.PersistentVolumeSource) {
		has := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		made, err := c.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: new(string), VolumeName: name,
				Resources: corev1.VolumeResourceRequirements{Requests: has}}}, metav1.CreateOptions{})
		c.must(err)
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			Capacity: has, AccessModes: modes, PersistentVolumeSource: of, ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", Namespace: "default", Name: name, UID: made.UID}}}
		if on != "" {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.
				NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname,
				Operator: "In", Values: []string{on}}}}}}}
		}
		_, err = c.CoreV1().PersistentVolumes().Create(t.Context(), v, metav1.CreateOptions{})
		c.must(err)
	}
	claim("local", "small-1", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/sata"}})
	claim("network", "", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com",
		VolumeHandle: "vol-1"}})
	stands := func(name, node, of string, change func(*corev1.PodSpec)) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": of},
			Annotations: map[string]string{iofit.ClassAnnotation: "writes"}, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "StatefulSet", Name: of, UID: "1", Controller: new(true)}}},
			Spec: aWriter("", "", node).Spec}
		p.Spec.Volumes = nil
		if change != nil {
			change(&p.Spec)
		}
		_, err := c.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
		c.must(err)
	}
	of := func(claim string) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) { s.Volumes = aWriter("", claim, "").Spec.Volumes }
	}
	cpus := func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("20")}
	}
	spread := func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
			WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"app": "spread"}}}}
	}
	stands("local", "small-1", "local", of("local"))
	stands("network", "small-1", "network", of("network"))
	stands("large-0", "small-1", "large", cpus)
	stands("large-1", "small-1", "large", cpus)
	stands("spread-0", "small-1", "spread", spread)
	stands("spread-1", "big-1", "spread", spread)
	stands("kept", "small-1", "kept", nil)
	budget, err := c.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app": "kept"}}}}, metav1.CreateOptions{})
	c.must(err)
	moves := func(local bool) (map[string]int, []string) {
		plan, err := replan.Read(t.Context(), c.Clientset, iofit.Namespace, replan.State{Selector: labels.Everything(),
			MoveLocal: local}, NewRules)
		c.must(err)
		best, err := plan.Plan(placement.Options{Seed: 1})
		c.must(err)
		got := map[string]int{}
		for _, m := range best.Moves.Steps {
			if m.From == "small-1" && m.To == "big-1" {
				got[m.Containers]++
			} else {
				t.Errorf("%+v", m)
			}
		}
		return got, plan.Stay
	}
	got, stay := moves(false)
	if want := map[string]int{"default/network": 1, "default/large": 1}; !maps.Equal(got, want) {
		t.Errorf("%v move, and not %v; %q stay", got, want, stay)
	}
	budget.Status.DisruptionsAllowed = 1
	_, err = c.PolicyV1().PodDisruptionBudgets("default").UpdateStatus(t.Context(), budget, metav1.UpdateOptions{})
	c.must(err)
	got, stay = moves(true)
	want := map[string]int{"default/network": 1, "default/large": 1, "default/local": 1, "default/kept": 1}
	if !maps.Equal(got, want) {
		t.Errorf("%v move, and not %v; %q stay", got, want, stay)
	}
}
