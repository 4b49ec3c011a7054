// Package scheduler has IOFit, a plugin of kube-scheduler that knows what drives carry, and
// the same as an extender, for clusters whose scheduler cannot be replaced.
//
// A pod with a class (annotation plimsoll.dev/class) is kept from nodes on which its
// limits, or those of a pod there, would break by what the model of the node's kind
// predicts, and goes where all together gain most. Nodes of which there is no model, and
// pods without a class, are left to the other plugins, and events say so.
package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"sigs.k8s.io/yaml"

	"plimsoll/kubernetes/iofit"
)

// Name is the plugin's, as profiles of kube-scheduler have it.
const Name = "IOFit"

// Args are those of pluginConfig.
type Args struct {
	Namespace string `json:"namespace"` // of the models' ConfigMaps; plimsoll without
}

// IOFit is the plugin.
type IOFit struct {
	kinds  *kinds
	handle fwk.Handle

	mu    sync.RWMutex
	stand map[string]standing // by the name of the node
}

// standing is who stands on a node, as of a generation of what the scheduler knows of it.
type standing struct {
	generation int64
	there      iofit.Standing
}

var (
	_ fwk.PreFilterPlugin   = &IOFit{}
	_ fwk.FilterPlugin      = &IOFit{}
	_ fwk.PreScorePlugin    = &IOFit{}
	_ fwk.ScorePlugin       = &IOFit{}
	_ fwk.ReservePlugin     = &IOFit{}
	_ fwk.PostBindPlugin    = &IOFit{}
	_ fwk.SignPlugin        = &IOFit{}
	_ fwk.EnqueueExtensions = &IOFit{}
)

// New returns the plugin, once it has read the models that are there.
func New(ctx context.Context, given runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
	args := Args{Namespace: Namespace}
	if u, ok := given.(*runtime.Unknown); ok && len(u.Raw) > 0 {
		text, err := yaml.YAMLToJSON(u.Raw)
		if err == nil {
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			err = strict.Decode(&args)
		}
		if err != nil {
			return nil, fmt.Errorf("args of %s: %w (they have namespace, of the models' ConfigMaps)", Name, err)
		}
	}
	p := &IOFit{handle: h, stand: map[string]standing{}}
	var err error
	if p.kinds, err = watchKinds(ctx, h.ClientSet(), args.Namespace, func() { go p.wake(ctx) }); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return p, nil
}

// wake has pods looked at again that may have been rejected by another model.
func (p *IOFit) wake(ctx context.Context) {
	all, err := p.handle.SharedInformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Pods that wait are not looked at again for the new model")
		return
	}
	waiting := map[string]*corev1.Pod{}
	for _, pod := range all {
		if pod.Spec.NodeName == "" && pod.Annotations[iofit.ClassAnnotation] != "" {
			waiting[klog.KObj(pod).String()] = pod
		}
	}
	p.handle.Activate(klog.FromContext(ctx), waiting)
}

// Name returns the plugin's name.
func (*IOFit) Name() string { return Name }

// PreFilter rejects a pod whose annotations are wrong, and has nothing more to do with one without a class.
func (*IOFit) PreFilter(_ context.Context, state fwk.CycleState, pod *corev1.Pod, _ []fwk.NodeInfo) (
	*fwk.PreFilterResult, *fwk.Status,
) {
	d, err := iofit.DemandOf(pod)
	switch {
	case err != nil:
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	case d == nil:
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(demandKey, demand{d})
	return nil, nil
}

// PreFilterExtensions returns nil: nothing of PreFilter depends on what stands on nodes.
func (*IOFit) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter rejects nodes on which a limit would break.
func (p *IOFit) Filter(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	v := p.judge(state, node)
	countNode(v)
	if v.Broken != "" {
		return fwk.NewStatus(fwk.Unschedulable, v.Broken)
	}
	return nil
}

// judge says what the pod of a cycle would do on a node.
func (p *IOFit) judge(state fwk.CycleState, node fwk.NodeInfo) iofit.Verdict {
	d, err := state.Read(demandKey)
	if err != nil {
		return iofit.Verdict{Unknown: "it has no class"} // PreFilter skipped it
	}
	return p.kinds.judge(node.Node(), p.there(node), d.(demand).Demand)
}

// there returns who stands on a node.
func (p *IOFit) there(node fwk.NodeInfo) iofit.Standing {
	name, generation := node.Node().Name, node.GetGeneration()
	p.mu.RLock()
	kept := p.stand[name]
	p.mu.RUnlock()
	if kept.generation == generation {
		return kept.there
	}
	var all []*iofit.Demand
	for _, info := range node.GetPods() {
		all = appendDemand(all, info.GetPod())
	}
	s := standing{generation, iofit.Stand(all)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand[name] = s
	return s.there
}

// appendDemand appends what a pod that runs needs; nothing of one that is done, or says nothing that can be read.
func appendDemand(to []*iofit.Demand, pod *corev1.Pod) []*iofit.Demand {
	d, err := iofit.DemandOf(pod)
	if err != nil || d == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return to
	}
	return append(to, d)
}

// PreScore skips pods without a class.
func (*IOFit) PreScore(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if pod.Annotations[iofit.ClassAnnotation] == "" {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// noScore is the score of a node of which nobody knows anything, until scores are normalized.
const noScore = math.MinInt64

// Score returns by how many thousandths of an operation a second all on the node would do more.
func (p *IOFit) Score(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return raw(p.judge(state, node)), nil
}

func raw(v iofit.Verdict) int64 {
	if v.Unknown != "" || math.IsNaN(v.Gain) {
		return noScore
	}
	return int64(math.Round(1000 * min(max(v.Gain, -1e12), 1e12)))
}

// ScoreExtensions returns the plugin: gains become shares of the best.
func (p *IOFit) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore scales scores to the best gain: a node where half of it is gained has half of the points.
func (*IOFit) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	normalize(len(scores), func(i int) *int64 { return &scores[i].Score }, fwk.MaxNodeScore)
	return nil
}

// normalize turns gains into scores from 0 to most. A node of which nobody knows anything has 0.
func normalize(n int, score func(int) *int64, most int64) {
	best := int64(noScore)
	for i := range n {
		best = max(best, *score(i))
	}
	for i := range n {
		s := score(i)
		if *s == noScore {
			*s = 0
			continue
		}
		lost := float64(best-*s) / math.Max(math.Abs(float64(best)), 1)
		*s = int64(math.Round(float64(most) * max(0, 1-lost)))
	}
}

// Where PreFilter leaves what the pod needs, and Reserve what was predicted of it.
const (
	demandKey  = fwk.StateKey(Name + "/demand")
	verdictKey = fwk.StateKey(Name + "/verdict")
)

type (
	demand  struct{ *iofit.Demand }
	verdict struct{ iofit.Verdict }
)

// Clone returns the same: nothing of it changes.
func (d demand) Clone() fwk.StateData { return d }

// Clone returns the same: nothing of it changes.
func (v verdict) Clone() fwk.StateData { return v }

// Reserve looks once more, as a model may have changed, and keeps what is predicted.
func (p *IOFit) Reserve(_ context.Context, state fwk.CycleState, _ *corev1.Pod, name string) *fwk.Status {
	if _, err := state.Read(demandKey); err != nil {
		return nil // it has no class
	}
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return fwk.AsStatus(err)
	}
	v := p.judge(state, node)
	if v.Broken != "" {
		return fwk.NewStatus(fwk.Unschedulable, v.Broken)
	}
	state.Write(verdictKey, verdict{v})
	return nil
}

// Unreserve forgets it.
func (*IOFit) Unreserve(_ context.Context, state fwk.CycleState, _ *corev1.Pod, _ string) {
	state.Delete(verdictKey)
}

// PostBind says in an event what is predicted, or that nobody knows.
func (p *IOFit) PostBind(_ context.Context, state fwk.CycleState, pod *corev1.Pod, node string) {
	kept, err := state.Read(verdictKey)
	if err != nil {
		return // it has no class
	}
	v := kept.(verdict).Verdict
	countPod(pod, v)
	p.handle.EventRecorder().Eventf(pod, nil, corev1.EventTypeNormal, reason(v), "Scheduling", "%s", says(node, v))
}

// reason is that of an event.
func reason(v iofit.Verdict) string {
	if v.Unknown != "" {
		return "NotPredicted"
	}
	return "Predicted"
}

// countNode counts a node that was judged.
func countNode(v iofit.Verdict) {
	result := "fits"
	switch {
	case v.Unknown != "":
		result = "unknown"
	case v.Broken != "":
		result = v.Limit
	}
	judged.WithLabelValues(result).Inc()
}

// countPod counts a pod that was placed.
func countPod(pod *corev1.Pod, v iofit.Verdict) {
	placedPods.WithLabelValues(fmt.Sprint(v.Unknown == "")).Inc()
	if v.Unknown == "" && v.Gain > 0 {
		promised.WithLabelValues(pod.Annotations[iofit.ClassAnnotation]).Add(v.Gain)
	}
}

// SignPod says that pods with the same demand are alike to the plugin, so that what the
// scheduler found for one may serve the next.
func (*IOFit) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	d, err := iofit.DemandOf(pod)
	if err != nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	return []fwk.SignFragment{{Key: Name, Value: fmt.Sprint(d)}}, nil
}

// EventsToRegister are what may make room: a pod with a class goes or says something else, a node comes, or is of
// another kind.
func (*IOFit) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.Update}, QueueingHintFn: queue},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}},
	}, nil
}

// queue has a rejected pod looked at again where another with a class goes or changes, or it does itself.
func queue(_ klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	for _, o := range []any{before, after} {
		other, ok := o.(*corev1.Pod)
		if ok && (other.UID == pod.UID || other.Annotations[iofit.ClassAnnotation] != "") {
			return fwk.Queue, nil
		}
	}
	return fwk.QueueSkip, nil
}
