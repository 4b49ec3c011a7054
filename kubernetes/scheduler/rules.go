package scheduler

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
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

// rules are the filters of each pod's scheduler, on a copy of a cluster in which pods move.
type rules struct {
	context.Context

	profiles *profiles
	state    *replan.State
	copies   map[*corev1.Pod]*corev1.Pod // as the copy has a pod that stands: where it stood, or has moved
}

// snapshot is the copy as it is now.
type snapshot struct{ fwk.SharedLister }

// profiles are schedulers with IOFit, by name. Pods of others are judged by the default profile with IOFit.
type profiles struct {
	byName   map[string]framework.Framework
	fallback framework.Framework
	lister   *snapshot
	plugins  []*IOFit
}

// NewRules returns the rules of a cluster's schedulers, and which of them have IOFit, by the configuration that they
// have: a KubeSchedulerConfiguration, empty where none is known.
func NewRules(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory,
	configuration []byte,
) (*replan.Schedulers, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	registered := &profiles{byName: map[string]framework.Framework{}, lister: &snapshot{internalcache.NewEmptySnapshot()}}
	metrics.InitMetrics()
	schedulers := &replan.Schedulers{WithIOFit: map[string]bool{}}
	if len(configuration) > 0 {
		o, _, err := scheme.Codecs.UniversalDecoder().Decode(configuration, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("the configuration of the scheduler: %w", err)
		}
		decoded, ok := o.(*config.KubeSchedulerConfiguration)
		if !ok {
			return nil, fmt.Errorf("the configuration of the scheduler: it is a %T, and no KubeSchedulerConfiguration", o)
		}
		for i := range decoded.Profiles {
			profile := &decoded.Profiles[i]
			if !hasIOFit(profile) {
				continue
			}
			if registered.byName[profile.SchedulerName], err = registered.framework(ctx, profile, client, factory); err != nil {
				return nil, err
			}
			schedulers.WithIOFit[profile.SchedulerName] = true
		}
	}
	profile := &defaults.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: Name})
	if registered.fallback, err = registered.framework(ctx, profile, client, factory); err != nil {
		return nil, err
	}
	schedulers.Rules = func(state *replan.State) (replan.Rules, error) {
		for _, p := range registered.plugins {
			p.kinds = knownKinds(state.Kinds)
		}
		r := &rules{ctx, registered, state, map[*corev1.Pod]*corev1.Pod{}}
		known := map[string]bool{}
		for _, n := range state.Nodes {
			known[n.Name] = true
		}
		for _, p := range state.Pods {
			ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
			if known[p.Spec.NodeName] && !ended {
				r.copies[p] = p
			}
		}
		return r, nil
	}
	return schedulers, nil
}

// hasIOFit reports whether a profile filters by IOFit.
func hasIOFit(profile *config.KubeSchedulerProfile) bool {
	is := func(p config.Plugin) bool { return p.Name == Name }
	return profile.Plugins != nil && !slices.ContainsFunc(profile.Plugins.Filter.Disabled, is) &&
		(slices.ContainsFunc(profile.Plugins.MultiPoint.Enabled, is) ||
			slices.ContainsFunc(profile.Plugins.Filter.Enabled, is))
}

// framework returns what filters by a profile.
func (known *profiles) framework(ctx context.Context, profile *config.KubeSchedulerProfile, client kubernetes.Interface,
	factory informers.SharedInformerFactory,
) (framework.Framework, error) {
	// Pods with resource claims stay where they are.
	enabled := &profile.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(p config.Plugin) bool { return p.Name == names.DynamicResources })
	registry := plugins.NewInTreeRegistry()
	registry[Name] = func(_ context.Context, given apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
		p, _, err := plugin(given, h)
		if err != nil {
			return nil, err
		}
		known.plugins = append(known.plugins, p)
		return p, nil
	}
	f, err := runtime.NewFramework(ctx, registry, profile, runtime.WithClientSet(client),
		runtime.WithInformerFactory(factory), runtime.WithSnapshotSharedLister(known.lister),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())))
	if err != nil {
		return nil, fmt.Errorf("rules of scheduler %s: %w", profile.SchedulerName, err)
	}
	return f, nil
}

// profileOf returns the profile of a pod's scheduler, or the default one.
func (known *profiles) profileOf(p *corev1.Pod) framework.Framework {
	if f := known.byName[p.Spec.SchedulerName]; f != nil {
		return f
	}
	return known.fallback
}

// Move moves a pod as replan.Rules has it.
func (r *rules) Move(pod *corev1.Pod, node string) (why string) {
	before, stood := r.copies[pod]
	delete(r.copies, pod)
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
		r.copies[pod] = p
	case stood:
		r.copies[pod] = before
	}
	return why
}

// refuses returns why a pod may not come to a node; "" where it may.
func (r *rules) refuses(p *corev1.Pod, node string) string {
	var stand []*corev1.Pod
	for _, p := range r.copies {
		stand = append(stand, p)
	}
	r.profiles.lister.SharedLister = internalcache.NewSnapshot(stand, r.state.Nodes)
	info, err := r.profiles.lister.NodeInfos().Get(node)
	if err != nil {
		return err.Error()
	}
	state := framework.NewCycleState()
	filters := r.profiles.profileOf(p)
	result, status, _ := filters.RunPreFilterPlugins(r, state, p)
	if status.IsSuccess() && !result.AllNodes() && !result.NodeNames.Has(node) {
		return "its affinity names other nodes"
	}
	if status.IsSuccess() {
		status = filters.RunFilterPlugins(r, state, p, info)
	}
	if status.IsSuccess() {
		return ""
	}
	return status.Message()
}
