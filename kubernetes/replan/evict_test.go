package replan

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/placement"
)

// Where moves are made by evictions, pods stay that an eviction would end for good or that are the cluster's own, and
// the moves of the others are of pods that stand on nodes. Without evictions they may all move.
func TestEvictionsLeavePods(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`,
		"slow": `{cpus: 8, memory: 8GiB, drives: {sata: slow}}`})
	nodes := []corev1.Node{node("s1", "slow"), node("f1", "fast")}
	alone, job, system, critical, named := pod("alone", "", "s1", "class", "reads"), pod("j", "j", "s1", "class", "reads"),
		pod("s", "s", "s1", "class", "reads"), pod("c", "c", "s1", "class", "reads"), pod("n", "n", "s1", "class", "reads")
	alone.OwnerReferences = nil
	job.OwnerReferences[0].Kind = "Job"
	system.Namespace = "kube-system"
	critical.Spec.Priority = new(int32(systemCritical))
	named.Spec.PriorityClassName = "system-node-critical"
	pods := []corev1.Pod{alone, job, system, critical, named, pod("orders-0", "orders", "s1", "class", "reads"),
		pod("new", "new", "", "class", "reads")}
	for _, evict := range []bool{false, true} {
		c, err := planned(t, nodes, pods, kinds, allow, false)
		if err != nil {
			t.Fatal(err)
		}
		c.State().Evict = evict
		c, err = Of(c.State(), kinds, func(*State) (Rules, error) { return allow(), nil })
		if err != nil {
			t.Fatal(err)
		}
		plan, err := c.Plan(placement.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var moved []string
		for _, m := range c.Moves(plan) {
			if moved = append(moved, m.Pod.Name); m.From != "s1" || m.To != "f1" || m.Pod.Spec.NodeName != "s1" {
				t.Errorf("%+v", m)
			}
		}
		if evict && !slices.Equal(moved, []string{"orders-0"}) || !evict && len(moved) < 2 {
			t.Errorf("with evictions %v, %q move; %q stay", evict, moved, c.Stay)
		}
		for _, why := range []string{"pod shop/alone: it has no controller", "pod shop/j: it is of a Job",
			"pod kube-system/s: it is of the cluster itself", "pod shop/c and pod shop/n: its priority"} {
			if said := slices.ContainsFunc(c.Stay, func(l string) bool { return strings.Contains(l, why) }); said != evict {
				t.Errorf("with evictions %v, %q is said: %v, in %q", evict, why, said, c.Stay)
			}
		}
	}
}
