package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics/legacyregistry"
	extender "k8s.io/kube-scheduler/extender/v1"

	"plimsoll/internal/observe/metricserver"
	"plimsoll/kubernetes/iofit"
)

// mostAsked bounds what a scheduler may ask an extender.
const mostAsked = 64 << 20 // bytes: the nodes of a cluster of 5,000, where it sends them whole

// Extender answers a kube-scheduler that has no plugin: which nodes a pod may stand on,
// which is best, and binds it. It counts pods that it bound before the API server says so.
type Extender struct {
	// Binds lets whoever reaches it bind any pod that waits to any node, past taints and affinity.
	Binds bool
	// Policy is as the plugin has it in its args.
	Policy Policy

	kinds  *kinds
	client kubernetes.Interface
	nodes  listersv1.NodeLister
	pods   cache.Indexer
	claims iofit.Claims
	events record.EventRecorder

	binding sync.Mutex // held from the last look at a node until the pod is recorded there

	mu    sync.Mutex
	bound map[string]map[types.UID]*corev1.Pod // by node: those that the indexer does not show there yet
}

const byNode = "node"

// NewExtender returns an extender that knows all nodes, and the models of a namespace.
func NewExtender(ctx context.Context, client kubernetes.Interface, namespace string) (*Extender, error) {
	e := &Extender{client: client, bound: map[string]map[types.UID]*corev1.Pod{}}
	var err error
	if e.kinds, err = watchKinds(ctx, client, namespace); err != nil {
		return nil, err
	}
	if err := e.kinds.wait(ctx, func() {}); err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes, pods := factory.Core().V1().Nodes(), factory.Core().V1().Pods().Informer()
	e.nodes, e.pods = nodes.Lister(), pods.GetIndexer()
	err = pods.AddIndexers(cache.Indexers{byNode: func(o any) ([]string, error) {
		return []string{o.(*corev1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return nil, err
	}
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    e.seen,
		UpdateFunc: func(_, now any) { e.seen(now) },
		DeleteFunc: func(gone any) {
			if unknown, ok := gone.(cache.DeletedFinalStateUnknown); ok {
				gone = unknown.Obj
			}
			if pod, ok := gone.(*corev1.Pod); ok {
				e.unbind(pod.UID)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	e.claims = claimsOf(factory)
	e.claims.Attributes = attributesOf(ctx, client, func() {})
	hasNodes := nodes.Informer().HasSynced
	factory.Start(ctx.Done())
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	core := factory.Core().V1()
	if !cache.WaitForCacheSync(waited.Done(), pods.HasSynced, hasNodes, core.PersistentVolumeClaims().Informer().HasSynced,
		core.PersistentVolumes().Informer().HasSynced, factory.Storage().V1().StorageClasses().Informer().HasSynced) {
		return nil, errors.New("nodes, pods, claims, volumes and storage classes cannot be listed (the service account " +
			"needs the ClusterRole that the manifests have)")
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	e.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "plimsoll-extender"})
	return e, nil
}

// Serve answers until the context is done.
func (e *Extender) Serve(ctx context.Context, l net.Listener) error {
	return metricserver.Answer(ctx, l, e.Handler())
}

// Handler returns what answers under filter and prioritize, under bind if it binds, and metrics and healthz.
func (e *Extender) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", answers(e.filter))
	mux.HandleFunc("POST /prioritize", answers(e.prioritize))
	if e.Binds {
		mux.HandleFunc("POST /bind", answers(e.bind))
	}
	mux.Handle("GET /metrics", legacyregistry.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return mux
}

// answers reads what is asked and writes the answer, both as JSON.
func answers[Ask, Answer any](f func(context.Context, *Ask) Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ask := new(Ask)
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAsked)).Decode(ask)
		if err != nil {
			http.Error(w, fmt.Sprintf("this is not what a scheduler asks: %v", err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(f(r.Context(), ask)) // who asked is gone otherwise
	}
}

// filter says which of the nodes a pod may stand on.
func (e *Extender) filter(_ context.Context, ask *extender.ExtenderArgs) *extender.ExtenderFilterResult {
	answer := &extender.ExtenderFilterResult{Nodes: ask.Nodes, NodeNames: ask.NodeNames}
	if ask.Pod == nil {
		answer.Error = "no pod is asked about"
		return answer
	}
	d, err := iofit.DemandOf(ask.Pod)
	nodes := e.asked(ask)
	switch {
	case err != nil:
		answer.Nodes, answer.NodeNames = &corev1.NodeList{}, &[]string{}
		answer.FailedAndUnresolvableNodes = extender.FailedNodesMap{}
		for _, n := range nodes {
			answer.FailedAndUnresolvableNodes[n.Name] = err.Error()
		}
		return answer
	case d == nil:
		return answer
	}
	answer.FailedNodes, answer.FailedAndUnresolvableNodes = extender.FailedNodesMap{}, extender.FailedNodesMap{}
	unheard, asks := iofit.Unheard(d, *e.kinds.now.Load()), e.demand(ask.Pod, d)
	fit, names := &corev1.NodeList{}, []string{}
	for i := range nodes {
		v := iofit.Verdict{Unknown: unheard, Always: true}
		why := unheard
		if why == "" {
			v = e.judge(&nodes[i], asks)
			why = e.Policy.refuses(d, v)
		}
		countNode(v)
		if why != "" {
			failed := answer.FailedNodes
			if v.Always {
				failed = answer.FailedAndUnresolvableNodes
			}
			failed[nodes[i].Name] = why
			continue
		}
		fit.Items, names = append(fit.Items, nodes[i]), append(names, nodes[i].Name)
	}
	if ask.Nodes != nil {
		answer.Nodes = fit
	} else {
		answer.NodeNames = &names
	}
	return answer
}

// asked returns the nodes that a scheduler asks about; of those that it only names, the ones that are known.
func (e *Extender) asked(ask *extender.ExtenderArgs) (all []corev1.Node) {
	if ask.Nodes != nil {
		return ask.Nodes.Items
	}
	if ask.NodeNames == nil {
		return nil
	}
	for _, name := range *ask.NodeNames {
		if n, err := e.nodes.Get(name); err == nil {
			all = append(all, *n)
		}
	}
	return all
}

// prioritize scores nodes as the plugin does.
func (e *Extender) prioritize(_ context.Context, ask *extender.ExtenderArgs) extender.HostPriorityList {
	scores := extender.HostPriorityList{}
	if ask.Pod == nil {
		return scores
	}
	d, err := iofit.DemandOf(ask.Pod)
	nodes := e.asked(ask)
	for i := range nodes {
		score := int64(0)
		if err == nil && d != nil {
			score = raw(e.judge(&nodes[i], e.demand(ask.Pod, d)))
		}
		scores = append(scores, extender.HostPriority{Host: nodes[i].Name, Score: score})
	}
	if err == nil && d != nil {
		normalize(len(scores), func(i int) *int64 { return &scores[i].Score }, extender.MaxExtenderPriority)
	}
	return scores
}

// demand returns what a pod needs, and what its volumes stand on.
func (e *Extender) demand(pod *corev1.Pod, d *iofit.Demand) demand {
	volumes, _ := e.claims.Of(pod)
	return demand{d, volumes}
}

// judge says what a pod would do on a node.
func (e *Extender) judge(node *corev1.Node, d demand) iofit.Verdict {
	return e.kinds.judge(node, func(kind *iofit.Kind) iofit.Standing { return e.standing(node, kind) }, d)
}

// standing returns the pods on a node of a kind, and those that were bound to it.
func (e *Extender) standing(node *corev1.Node, kind *iofit.Kind) iofit.Standing {
	e.mu.Lock()
	pods := maps.Clone(e.bound[node.Name])
	e.mu.Unlock()
	if pods == nil {
		pods = map[types.UID]*corev1.Pod{}
	}
	stand, err := e.pods.ByIndex(byNode, node.Name)
	if err != nil {
		return iofit.Standing{} // there is such an index
	}
	for _, o := range stand {
		pods[o.(*corev1.Pod).UID] = o.(*corev1.Pod)
	}
	return iofit.OnNode(node, kind, maps.Values(pods), e.claims, e.Policy.counts)
}

// seen forgets that a pod was bound, which the indexer now shows on its node.
func (e *Extender) seen(o any) {
	if pod := o.(*corev1.Pod); pod.Spec.NodeName != "" {
		e.unbind(pod.UID)
	}
}

// unbind forgets that a pod was bound.
func (e *Extender) unbind(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for node, pods := range e.bound { // few: each is seen at once
		delete(pods, uid)
		if len(pods) == 0 {
			delete(e.bound, node)
		}
	}
}

// reserve judges a pod on a node, and counts it there. Of two pods at the same time one is judged beside the other.
func (e *Extender) reserve(pod *corev1.Pod, node *corev1.Node, d *iofit.Demand) (iofit.Verdict, error) {
	e.binding.Lock()
	defer e.binding.Unlock()
	v := e.judge(node, e.demand(pod, d))
	if why := e.Policy.refuses(d, v); why != "" {
		return v, fmt.Errorf("it no longer fits on %s: %s", node.Name, why)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bound[node.Name] == nil {
		e.bound[node.Name] = map[types.UID]*corev1.Pod{}
	}
	on := pod.DeepCopy()
	on.Spec.NodeName = node.Name
	e.bound[node.Name][pod.UID] = on
	return v, nil
}

// bind binds a pod, unless what stands there has changed so that it no longer fits.
func (e *Extender) bind(ctx context.Context, ask *extender.ExtenderBindingArgs) *extender.ExtenderBindingResult {
	err := e.bindPod(ctx, ask)
	if err != nil {
		return &extender.ExtenderBindingResult{Error: err.Error()}
	}
	return &extender.ExtenderBindingResult{}
}

func (e *Extender) bindPod(ctx context.Context, ask *extender.ExtenderBindingArgs) error {
	o, exists, _ := e.pods.GetByKey(ask.PodNamespace + "/" + ask.PodName)
	if !exists || o.(*corev1.Pod).UID != ask.PodUID {
		return fmt.Errorf("pod %s/%s is not known, or another now", ask.PodNamespace, ask.PodName)
	}
	pod := o.(*corev1.Pod).DeepCopy()
	node, err := e.nodes.Get(ask.Node)
	if err != nil {
		return err
	}
	d, err := iofit.DemandOf(pod)
	if err != nil {
		return err
	}
	if d == nil {
		return bindTo(ctx, e.client, pod, ask.Node, iofit.Verdict{})
	}
	v, err := e.reserve(pod, node, d)
	if err != nil {
		return err
	}
	if err := bindTo(ctx, e.client, pod, ask.Node, v); err != nil {
		e.unbind(pod.UID)
		return err
	}
	countPod(pod, v)
	e.events.Event(pod, corev1.EventTypeNormal, reason(v), says(ask.Node, v))
	return nil
}
