package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"plimsoll/kubernetes/iofit"
)

// Bounds of what a scheduler may ask an extender.
const (
	mostAsked   = 64 << 20 // bytes: the nodes of a cluster of 5,000, where it sends them whole
	longestWait = 30 * time.Second
)

// Extender answers a kube-scheduler that has no plugin: which nodes a pod may stand on,
// which is best, and binds it. It counts pods that it bound before the API server says so.
type Extender struct {
	kinds  *kinds
	client kubernetes.Interface
	nodes  listersv1.NodeLister
	pods   cache.Indexer
	events record.EventRecorder

	mu    sync.Mutex
	bound map[types.UID]*corev1.Pod // that the indexer does not show on their nodes yet
}

const byNode = "node"

// NewExtender returns an extender that knows all nodes, and the models of a namespace.
func NewExtender(ctx context.Context, client kubernetes.Interface, namespace string) (*Extender, error) {
	e := &Extender{client: client, bound: map[types.UID]*corev1.Pod{}}
	var err error
	if e.kinds, err = watchKinds(ctx, client, namespace, func() {}); err != nil {
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
	hasNodes := nodes.Informer().HasSynced
	factory.Start(ctx.Done())
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !cache.WaitForCacheSync(waited.Done(), pods.HasSynced, hasNodes) {
		return nil, errors.New("nodes and pods cannot be listed (the service account needs the ClusterRole that the " +
			"manifests have)")
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	e.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "plimsoll-extender"})
	return e, nil
}

// Serve answers until the context is done.
func (e *Extender) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: e.Handler(), ReadHeaderTimeout: longestWait, ReadTimeout: longestWait,
		WriteTimeout: longestWait}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestWait)
		defer cancel()
		_ = s.Shutdown(last) // what is left then is cut
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns what answers under filter, prioritize and bind, and metrics and healthz.
func (e *Extender) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", answers(e.filter))
	mux.HandleFunc("POST /prioritize", answers(e.prioritize))
	mux.HandleFunc("POST /bind", answers(e.bind))
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
	answer.FailedNodes = extender.FailedNodesMap{}
	fit, names := &corev1.NodeList{}, []string{}
	for i := range nodes {
		v := e.kinds.judge(&nodes[i], e.there(nodes[i].Name), d)
		if countNode(v); v.Broken != "" {
			answer.FailedNodes[nodes[i].Name] = v.Broken
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
	all := extender.HostPriorityList{}
	if ask.Pod == nil {
		return all
	}
	d, err := iofit.DemandOf(ask.Pod)
	nodes := e.asked(ask)
	for i := range nodes {
		score := int64(0)
		if err == nil && d != nil {
			score = raw(e.kinds.judge(&nodes[i], e.there(nodes[i].Name), d))
		}
		all = append(all, extender.HostPriority{Host: nodes[i].Name, Score: score})
	}
	if err == nil && d != nil {
		normalize(len(all), func(i int) *int64 { return &all[i].Score }, extender.MaxExtenderPriority)
	}
	return all
}

// there returns who stands on a node, or was bound to it.
func (e *Extender) there(node string) iofit.Standing {
	var all []*iofit.Demand
	e.mu.Lock()
	defer e.mu.Unlock()
	stand, err := e.pods.ByIndex(byNode, node)
	if err != nil {
		return iofit.Standing{} // there is such an index
	}
	for _, o := range stand {
		pod := o.(*corev1.Pod)
		delete(e.bound, pod.UID)
		all = appendDemand(all, pod)
	}
	for uid, pod := range e.bound {
		if _, exists, _ := e.pods.GetByKey(pod.Namespace + "/" + pod.Name); !exists {
			delete(e.bound, uid) // it is gone before it was seen there
		} else if pod.Spec.NodeName == node {
			all = appendDemand(all, pod)
		}
	}
	return iofit.Stand(all)
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
	var v iofit.Verdict
	if d != nil {
		if v = e.kinds.judge(node, e.there(ask.Node), d); v.Broken != "" {
			return fmt.Errorf("it no longer fits on %s: %s", ask.Node, v.Broken)
		}
		pod.Spec.NodeName = ask.Node
		e.mu.Lock()
		e.bound[pod.UID] = pod
		e.mu.Unlock()
	}
	err = e.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: ask.Node}}, metav1.CreateOptions{})
	if d == nil {
		return err
	}
	if err != nil {
		e.mu.Lock()
		delete(e.bound, pod.UID)
		e.mu.Unlock()
		return err
	}
	countPod(pod, v)
	e.events.Event(pod, corev1.EventTypeNormal, reason(v), says(ask.Node, v))
	return nil
}
