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
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	storagev1 "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	resourcehelper "k8s.io/component-helpers/resource"
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

	Policy
}

// Policy has the settings of a cluster's administrator.
type Policy struct {
	// Unknown decides on pods of which no prediction is possible, Allow or Deny, unless they say so themselves. Without
	// it, those that have a limit are denied.
	Unknown string `json:"unknown"`
	// LimitNamespaces are those whose pods keep others away that would break their limits; without, all are.
	LimitNamespaces []string `json:"limitNamespaces"`
}

// Check returns what is wrong with it.
func (p Policy) Check() error {
	if p.Unknown != "" && p.Unknown != iofit.Allow && p.Unknown != iofit.Deny {
		return fmt.Errorf("unknown is %s or %s, and not %q", iofit.Allow, iofit.Deny, p.Unknown)
	}
	return nil
}

// counts reports whether the limits of a namespace's pods keep others away.
func (p Policy) counts(namespace string) bool {
	return len(p.LimitNamespaces) == 0 || slices.Contains(p.LimitNamespaces, namespace)
}

// refuses returns why a pod with a demand is kept from where a verdict is of; "" where it is not.
func (p Policy) refuses(d *iofit.Demand, v iofit.Verdict) string {
	if v.Broken != "" || v.Unknown == "" {
		return v.Broken
	}
	switch cmp.Or(d.Unknown, p.Unknown) {
	case iofit.Deny:
		return "it is not known what the pod would do: " + v.Unknown
	case "":
		if d.Limited() {
			return fmt.Sprintf("it is not known whether the pod's limit would hold: %s (annotation %s: %s takes it there)",
				v.Unknown, iofit.UnknownAnnotation, iofit.Allow)
		}
	}
	return ""
}

// IOFit is the plugin.
type IOFit struct {
	kinds  *kinds
	handle fwk.Handle
	policy Policy
	claims iofit.Claims
	binds  atomic.Int64 // how often a claim was bound, or what it is bound to or limited by was seen

	mu    sync.RWMutex
	stand map[string]standing // by the name of the node
}

// standing is who stands on a node, as of a generation of what the scheduler knows of it, and of how often claims were
// bound.
type standing struct {
	generation, binds int64
	kind              *iofit.Kind
	pods              iofit.Standing
}

var (
	_ fwk.PreFilterPlugin   = &IOFit{}
	_ fwk.FilterPlugin      = &IOFit{}
	_ fwk.PreScorePlugin    = &IOFit{}
	_ fwk.ScorePlugin       = &IOFit{}
	_ fwk.ReservePlugin     = &IOFit{}
	_ fwk.BindPlugin        = &IOFit{}
	_ fwk.PostBindPlugin    = &IOFit{}
	_ fwk.SignPlugin        = &IOFit{}
	_ fwk.EnqueueExtensions = &IOFit{}
)

// New returns the plugin, once it has read the models that are there. Where it cannot, the scheduler starts without,
// and nothing is predicted until it can: other pods are to be placed.
func New(ctx context.Context, given runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
	p, args, err := plugin(given, h)
	if err != nil {
		return nil, err
	}
	if p.kinds, err = watchKinds(ctx, h.ClientSet(), args.Namespace); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if err := p.kinds.wait(ctx, func() { go p.wake(ctx) }); err != nil {
		klog.FromContext(ctx).Error(err, "There are no predictions until models can be read", "plugin", Name)
	}
	p.claims.Attributes = attributesOf(ctx, h.ClientSet(), func() { p.binds.Add(1) })
	core := h.SharedInformerFactory().Core().V1()
	_, err = core.Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: p.forget})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	for _, i := range []cache.SharedIndexInformer{core.PersistentVolumeClaims().Informer(),
		core.PersistentVolumes().Informer()} {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { p.binds.Add(1) },
			UpdateFunc: func(before, now any) {
				if boundTo(before) != boundTo(now) {
					p.binds.Add(1)
				}
			},
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Name, err)
		}
	}
	return p, nil
}

// plugin returns the plugin with its args, which knows no kinds of nodes yet.
func plugin(given runtime.Object, h fwk.Handle) (*IOFit, Args, error) {
	args := Args{Namespace: iofit.Namespace}
	if u, ok := given.(*runtime.Unknown); ok && len(u.Raw) > 0 {
		text, err := yaml.YAMLToJSON(u.Raw)
		if err == nil {
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			err = strict.Decode(&args)
		}
		if err == nil {
			err = args.Check()
		}
		if err != nil {
			return nil, args, fmt.Errorf("args of %s: %w (they have namespace, of the models' ConfigMaps, unknown, and "+
				"limitNamespaces)", Name, err)
		}
	}
	return &IOFit{handle: h, policy: args.Policy, stand: map[string]standing{},
		claims: claimsOf(h.SharedInformerFactory())}, args, nil
}

// claimsOf returns what is known of claims to those who share informers.
func claimsOf(all informers.SharedInformerFactory) iofit.Claims {
	core := all.Core().V1()
	return iofit.Claims{Claims: core.PersistentVolumeClaims().Lister(), Volumes: core.PersistentVolumes().Lister(),
		Classes: all.Storage().V1().StorageClasses().Lister()}
}

// boundTo returns the PersistentVolume of a claim, and the class of its attributes; nothing of all else.
func boundTo(o any) [2]string {
	if claim, ok := o.(*corev1.PersistentVolumeClaim); ok {
		return [2]string{claim.Spec.VolumeName, iofit.AttributesClass(claim)}
	}
	return [2]string{}
}

// attributesOf returns the VolumeAttributesClasses of a cluster, and has told called when one comes; nil where the API
// server has none, as before 1.34. They are watched apart from what a scheduler waits for, as its account may lack the
// right to them: then they limit nothing, and the log says so.
func attributesOf(ctx context.Context, client kubernetes.Interface, told func()) storagev1.VolumeAttributesClassLister {
	const version, resource = "storage.k8s.io/v1", "volumeattributesclasses"
	log := klog.FromContext(ctx)
	served, err := client.Discovery().ServerResourcesForGroupVersion(version)
	if err != nil || !slices.ContainsFunc(served.APIResources,
		func(r metav1.APIResource) bool { return r.Name == resource }) {
		log.Info("No VolumeAttributesClass limits a claim: the API server has none", "version", version, "error", err)
		return nil
	}
	if _, err := client.StorageV1().VolumeAttributesClasses().List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		log.Error(err, "No VolumeAttributesClass limits a claim: give the account the right to list and watch them, as "+
			"the manifests do, and start again")
		return nil
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	classes := factory.Storage().V1().VolumeAttributesClasses()
	_, err = classes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { told() }})
	if err != nil {
		log.Error(err, "VolumeAttributesClasses that come later are not seen")
	}
	lister := classes.Lister()
	factory.Start(ctx.Done())
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	factory.WaitForCacheSync(waited.Done())
	return lister
}

// forget forgets a node that is gone: names of nodes that come and go are without end.
func (p *IOFit) forget(gone any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(gone); err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.stand, key)
	}
}

// wake has pods looked at again that may have been rejected by another model.
func (p *IOFit) wake(ctx context.Context) {
	pods, err := p.handle.SharedInformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Pods that wait are not looked at again for the new model")
		return
	}
	waiting := map[string]*corev1.Pod{}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && pod.Annotations[iofit.ClassAnnotation] != "" {
			waiting[klog.KObj(pod).String()] = pod
		}
	}
	if len(waiting) == 0 {
		return
	}
	p.handle.Activate(klog.FromContext(ctx), waiting)
}

// Name returns the plugin's name.
func (*IOFit) Name() string { return Name }

// PreFilter rejects a pod whose annotations are wrong or whose class no model knows, and has nothing more to do with
// one without a class.
func (p *IOFit) PreFilter(_ context.Context, state fwk.CycleState, pod *corev1.Pod, _ []fwk.NodeInfo) (
	*fwk.PreFilterResult, *fwk.Status,
) {
	d, err := iofit.DemandOf(pod)
	switch {
	case err != nil:
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	case d == nil:
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if why := iofit.Unheard(d, *p.kinds.now.Load()); why != "" {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why)
	}
	volumes, _ := p.claims.Of(pod)
	state.Write(demandKey, demand{d, volumes})
	return nil, nil
}

// PreFilterExtensions returns nil: nothing of PreFilter depends on what stands on nodes.
func (*IOFit) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter rejects nodes on which a limit would break.
func (p *IOFit) Filter(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	v, status := p.judge(state, node)
	countNode(v)
	return status
}

// judge says what the pod of a cycle would do on a node, and whether it is kept from there.
func (p *IOFit) judge(state fwk.CycleState, node fwk.NodeInfo) (iofit.Verdict, *fwk.Status) {
	kept, err := state.Read(demandKey)
	if err != nil {
		return iofit.Verdict{Unknown: "it has no class"}, nil // PreFilter skipped it
	}
	d := kept.(demand)
	v := p.kinds.judge(node.Node(), func(kind *iofit.Kind) iofit.Standing { return p.standing(node, kind) }, d)
	why := p.policy.refuses(d.Demand, v)
	switch {
	case why == "":
		return v, nil
	case v.Always: // nobody is to be evicted for it in vain
		return v, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why)
	}
	return v, fwk.NewStatus(fwk.Unschedulable, why)
}

// standing returns the pods on a node of a kind. Claims whose volumes were not known are read again.
func (p *IOFit) standing(node fwk.NodeInfo, kind *iofit.Kind) iofit.Standing {
	name, generation, binds := node.Node().Name, node.GetGeneration(), p.binds.Load()
	p.mu.RLock()
	kept := p.stand[name]
	p.mu.RUnlock()
	if kept.generation == generation && kept.kind == kind && (kept.pods.Settled || kept.binds == binds) {
		return kept.pods
	}
	s := standing{generation, binds, kind, iofit.OnNode(node.Node(), kind, func(yield func(*corev1.Pod) bool) {
		for _, info := range node.GetPods() {
			if !yield(info.GetPod()) {
				return
			}
		}
	}, p.claims, p.policy.counts)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand[name] = s
	return s.pods
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
	v, _ := p.judge(state, node)
	return raw(v), nil
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

// normalize turns gains into scores from 0 to highest. A node without a prediction has 0.
func normalize(n int, score func(int) *int64, highest int64) {
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
		*s = int64(math.Round(float64(highest) * max(0, 1-lost)))
	}
}

// Where PreFilter leaves what the pod needs, and Reserve what was predicted of it.
const (
	demandKey  = fwk.StateKey(Name + "/demand")
	verdictKey = fwk.StateKey(Name + "/verdict")
)

type (
	demand struct {
		*iofit.Demand
		volumes []iofit.Volume
	}
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
	v, status := p.judge(state, node)
	if status != nil {
		return status
	}
	state.Write(verdictKey, verdict{v})
	return nil
}

// Unreserve forgets it.
func (*IOFit) Unreserve(_ context.Context, state fwk.CycleState, _ *corev1.Pod, _ string) {
	state.Delete(verdictKey)
}

// Bind binds a pod with what it says now, and what is predicted of it. Pods that say nothing are left to the next
// plugin.
func (p *IOFit) Bind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	v := iofit.Verdict{}
	kept, err := state.Read(verdictKey)
	switch {
	case err == nil:
		v = kept.(verdict).Verdict
	case iofit.Admission(pod.Annotations) == "":
		return fwk.NewStatus(fwk.Skip)
	}
	return fwk.AsStatus(bindTo(ctx, p.handle.ClientSet(), pod, node, v))
}

// bindTo binds a pod to a node. The API server adds a binding's annotations to the pod, so that nobody needs the right
// to change pods, and what was admitted and is predicted is there before the pod starts.
func bindTo(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, node string, v iofit.Verdict) error {
	b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	b.Annotations = map[string]string{}
	if said := iofit.Admission(pod.Annotations); said != "" {
		b.Annotations[iofit.AdmittedAnnotation] = said
	}
	if v.Unknown == "" && v.Rate > 0 {
		b.Annotations[iofit.PredictedAnnotation] = v.Prediction().String()
	}
	return client.CoreV1().Pods(pod.Namespace).Bind(ctx, b, metav1.CreateOptions{})
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
	case v.Broken != "":
		result = v.Limit
	case v.Unknown != "":
		result = "unknown"
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

// SignPod says that pods with the same demand, and volumes on the same, are alike to the plugin, so that what the
// scheduler found for one may serve the next.
func (p *IOFit) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	d, err := iofit.DemandOf(pod)
	if err != nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	if d == nil {
		return []fwk.SignFragment{{Key: Name, Value: ""}}, nil
	}
	volumes, _ := p.claims.Of(pod)
	return []fwk.SignFragment{{Key: Name, Value: d.Sign() + iofit.Sign(volumes)}}, nil
}

// EventsToRegister returns the events that may make room: a pod goes, asks for less or says something else, a claim is
// bound to another drive than it counted on, or has other attributes, a node comes, is of another kind, has more, or
// says what is on its drives.
func (*IOFit) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.Update}, QueueingHintFn: queue},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel |
			fwk.UpdateNodeAnnotation | fwk.UpdateNodeAllocatable}, QueueingHintFn: queueNode},
		{Event: fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Update}, QueueingHintFn: queueBound},
	}, nil
}

// queueBound has rejected pods looked at again where a claim is bound or has other
// attributes, be it of one of those that stand.
func queueBound(_ klog.Logger, _ *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	if boundTo(before) != boundTo(after) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// queueNode has rejected pods looked at again where a node comes, or what is read of it changes.
func queueNode(_ klog.Logger, _ *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	if was == nil || is == nil || iofit.KindOf(was) != iofit.KindOf(is) ||
		was.Labels[iofit.HeldLabel] != is.Labels[iofit.HeldLabel] ||
		was.Annotations[iofit.DrivesAnnotation] != is.Annotations[iofit.DrivesAnnotation] ||
		!equality.Semantic.DeepEqual(was.Status.Allocatable, is.Status.Allocatable) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// requestsOf returns what a pod takes of its node.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// queue has a rejected pod looked at again where another with a class goes or changes, or it does itself, and where one
// without a class leaves its node or takes another share of it.
func queue(_ klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	for _, o := range []any{before, after} {
		other, ok := o.(*corev1.Pod)
		if ok && (other.UID == pod.UID || other.Annotations[iofit.ClassAnnotation] != "") {
			return fwk.Queue, nil
		}
	}
	was, _ := before.(*corev1.Pod)
	is, _ := after.(*corev1.Pod)
	switch {
	case was == nil || was.Spec.NodeName == "":
	case is == nil:
		return fwk.Queue, nil
	case iofit.IsHolder(is) && iofit.Ready(was) != iofit.Ready(is):
		return fwk.Queue, nil // limits of its node count, or no longer
	case iofit.IsHolder(is) && was.Annotations[iofit.UndeclaredAnnotation] != is.Annotations[iofit.UndeclaredAnnotation]:
		return fwk.Queue, nil // pods without a class do more there, or less
	case !equality.Semantic.DeepEqual(requestsOf(was), requestsOf(is)):
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}
