package scheduler

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
)

// rules are the filters of kube-scheduler's default profile, on a copy of a cluster in which pods move.
type rules struct {
	context.Context

	framework framework.Framework
	lister    *snapshot
	state     *replan.State
	at        map[*corev1.Pod]*corev1.Pod // as the copy has a pod that stands: where it stood, or has moved
}

// snapshot is the copy as it is now.
type snapshot struct{ fwk.SharedLister }

// NewRules returns how rules of a state are made.
func NewRules(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (
	func(*replan.State) (replan.Rules, error), error,
) {
	with, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := &with.Profiles[0]
	// Pods with resource claims stay where they are.
	enabled := &profile.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(p config.Plugin) bool { return p.Name == names.DynamicResources })
	metrics.InitMetrics()
	lister := &snapshot{internalcache.NewEmptySnapshot()}
	f, err := runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile, runtime.WithClientSet(client),
		runtime.WithInformerFactory(factory), runtime.WithSnapshotSharedLister(lister),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())))
	if err != nil {
		return nil, fmt.Errorf("rules of the scheduler: %w", err)
	}
	return func(state *replan.State) (replan.Rules, error) {
		r := &rules{ctx, f, lister, state, map[*corev1.Pod]*corev1.Pod{}}
		known := map[string]bool{}
		for _, n := range state.Nodes {
			known[n.Name] = true
		}
		for _, p := range state.Pods {
			ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
			if known[p.Spec.NodeName] && !ended {
				r.at[p] = p
			}
		}
		return r, nil
	}, nil
}

// Move moves a pod as replan.Rules has it.
func (r *rules) Move(pod *corev1.Pod, node string) (why string) {
	before, stood := r.at[pod]
	delete(r.at, pod)
	if node == "" {
		return ""
	}
	p := pod.DeepCopy()
	p.Spec.NodeName = ""
	if r.state.MoveLocal { // such volumes come along
		p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			bound := r.state.Claims.Bound(pod, &v)
			return bound != nil && iofit.Local(bound)
		})
	}
	why = r.refuses(p, node)
	switch {
	case why == "":
		p.Spec.NodeName = node
		r.at[pod] = p
	case stood:
		r.at[pod] = before
	}
	return why
}

// refuses returns why a pod may not come to a node; "" where it may.
func (r *rules) refuses(p *corev1.Pod, node string) string {
	var stand []*corev1.Pod
	for _, p := range r.at {
		stand = append(stand, p)
	}
	r.lister.SharedLister = internalcache.NewSnapshot(stand, r.state.Nodes)
	info, err := r.lister.NodeInfos().Get(node)
	if err != nil {
		return err.Error()
	}
	state := framework.NewCycleState()
	result, status, _ := r.framework.RunPreFilterPlugins(r, state, p)
	if status.IsSuccess() && !result.AllNodes() && !result.NodeNames.Has(node) {
		return "its affinity names other nodes"
	}
	if status.IsSuccess() {
		status = r.framework.RunFilterPlugins(r, state, p, info)
	}
	if status.IsSuccess() {
		return ""
	}
	return status.Message()
}
