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
		for _, why := range []string{"pod shop/alone: it has no controller", "pod shop/j: a Job runs it",
			"pod kube-system/s: it belongs to the cluster itself", "pod shop/c and pod shop/n: its priority"} {
			if said := slices.ContainsFunc(c.Stay, func(l string) bool { return strings.Contains(l, why) }); said != evict {
				t.Errorf("with evictions %v, %q is said: %v, in %q", evict, why, said, c.Stay)
			}
		}
	}
}

// Pods stay whose data dies with them, that others marked, and that another scheduler places, and it is said why. Data
// that may be lost is asked for.
func TestEvictionsLoseNoData(t *testing.T) {
	kinds := kindsOf(t, map[string]string{"fast": `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`,
		"slow": `{cpus: 8, memory: 8GiB, drives: {sata: slow}}`})
	nodes := []corev1.Node{node("s1", "slow"), node("f1", "fast")}
	reader := func(name string, with ...func(*corev1.Pod)) corev1.Pod {
		p := pod(name+"-0", name, "s1", "class", "reads")
		p.Spec.SchedulerName = "plimsoll-scheduler"
		for _, f := range with {
			f(&p)
		}
		return p
	}
	volume := func(of corev1.VolumeSource, readOnly bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: of})
			p.Spec.Containers = []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "v", ReadOnly: readOnly}}}}
		}
	}
	note := func(name, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations[name] = value }
	}
	hostPath := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv/db"}}
	local := []string{"pod shop/cache-0: its emptyDir v dies with it", "pod shop/claim-0: the claim of its volume v dies",
		"pod shop/host-0: it writes to /srv/db of its node"}
	kept := []string{"pod shop/scaled-0: its annotation cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"",
		"pod shop/marked-0: its annotation karpenter.sh/do-not-disrupt", "pod shop/other-0: its scheduler, default-scheduler"}
	pods := []corev1.Pod{
		reader("cache", volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false)),
		reader("claim", volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}, false)),
		reader("host", volume(hostPath, false)),
		reader("scaled", note("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")),
		reader("marked", note("karpenter.sh/do-not-disrupt", "true")),
		reader("other", func(p *corev1.Pod) { p.Spec.SchedulerName = "" }),
		reader("shm", volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}, false)),
		reader("zone", volume(hostPath, true)),
		reader("may", note("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")),
	}
	for _, lose := range []bool{false, true} {
		c, err := planned(t, nodes, pods, kinds, allow, false)
		if err != nil {
			t.Fatal(err)
		}
		state := c.State()
		state.Evict, state.DeleteLocalData, state.Schedulers = true, lose, map[string]bool{"plimsoll-scheduler": true}
		if c, err = Of(state, kinds, func(*State) (Rules, error) { return allow(), nil }); err != nil {
			t.Fatal(err)
		}
		says := func(want string) bool {
			return slices.ContainsFunc(c.Stay, func(l string) bool { return strings.Contains(l, want) })
		}
		for _, want := range kept {
			if !says(want) {
				t.Errorf("%q is not in %q", want, c.Stay)
			}
		}
		for _, want := range local {
			if says(want) == lose {
				t.Errorf("with data lost %t, %q is in %q: %t", lose, want, c.Stay, !lose)
			}
		}
		for _, free := range []string{"shm", "zone", "may"} {
			if says("shop/" + free) {
				t.Errorf("%s stays: %q", free, c.Stay)
			}
		}
	}
}
