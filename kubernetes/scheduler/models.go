package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"plimsoll/kubernetes/iofit"
)

// Namespace is where ConfigMaps of kinds are looked for, and nowhere else.
const Namespace = "plimsoll"

// patience is how long the first list of ConfigMaps may take.
const patience = 20 * time.Second

// kinds are the kinds of nodes that have a model.
type kinds struct {
	now     atomic.Pointer[map[string]*iofit.Kind]
	changed func() // is called after each change

	mu     sync.Mutex
	byName map[string]*iofit.Kind // of ConfigMaps, the last that could be read
}

// watchKinds returns the kinds that a namespace has models of, and keeps them as it has
// them until the context is done. The error says why there can be none.
func watchKinds(ctx context.Context, client kubernetes.Interface, namespace string, changed func()) (*kinds, error) {
	k := &kinds{byName: map[string]*iofit.Kind{}, changed: func() {}}
	k.now.Store(&map[string]*iofit.Kind{})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = iofit.KindLabel }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var last atomic.Value
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		last.Store(err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return nil, err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { k.read(ctx, now.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, now any) { k.read(ctx, now.(*corev1.ConfigMap)) },
		DeleteFunc: func(gone any) {
			if unknown, ok := gone.(cache.DeletedFinalStateUnknown); ok {
				gone = unknown.Obj
			}
			if c, ok := gone.(*corev1.ConfigMap); ok {
				k.set(ctx, c.Name, nil)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !cache.WaitForCacheSync(waited.Done(), registered.HasSynced) {
		why, _ := last.Load().(error)
		why = cmp.Or(why, errors.New("no answer within "+patience.String()))
		return nil, fmt.Errorf("the ConfigMaps of models in namespace %q cannot be read: %w (the scheduler's service "+
			"account needs the Role that the manifests have)", namespace, why)
	}
	k.mu.Lock()
	k.changed = changed
	k.mu.Unlock()
	return k, nil
}

// read takes what a ConfigMap says. One that cannot be read changes nothing: the last
// model that could be stands.
func (k *kinds) read(ctx context.Context, c *corev1.ConfigMap) {
	kind, err := iofit.ParseKind(c)
	if err != nil {
		unreadable.WithLabelValues(c.Name).Set(1)
		klog.FromContext(ctx).Error(err, "A model cannot be read, and the last one that could be stands", "configmap",
			klog.KObj(c))
		return
	}
	unreadable.DeleteLabelValues(c.Name)
	k.set(ctx, c.Name, kind)
}

func (k *kinds) set(ctx context.Context, name string, kind *iofit.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind == nil {
		delete(k.byName, name)
		unreadable.DeleteLabelValues(name)
	} else {
		k.byName[name] = kind
	}
	now := map[string]*iofit.Kind{}
	for _, name := range slices.Sorted(maps.Keys(k.byName)) {
		one := k.byName[name]
		if _, twice := now[one.Name]; twice {
			klog.FromContext(ctx).Info("Two ConfigMaps have a model of the same nodes, and the first by its name counts", "kind",
				one.Name, "ignored", name)
			continue
		}
		now[one.Name] = one
	}
	k.now.Store(&now)
	modelled.Set(float64(len(now)))
	k.changed()
}

// judge says what a pod with a demand would do on a node beside those that stand there.
func (k *kinds) judge(node *corev1.Node, there iofit.Standing, d *iofit.Demand) iofit.Verdict {
	name := iofit.KindOf(node)
	if name == "" {
		return iofit.Verdict{Unknown: "the node has no label " + iofit.KindLabel}
	}
	kind := (*k.now.Load())[name]
	if kind == nil {
		return iofit.Verdict{Unknown: fmt.Sprintf("there is no model of nodes of kind %s", name)}
	}
	return kind.Judge(there, d)
}

// says tells a pod's user what is predicted of it on its node.
func says(node string, v iofit.Verdict) string {
	if v.Unknown != "" {
		return fmt.Sprintf("Placed on %s without a prediction: %s", node, v.Unknown)
	}
	return fmt.Sprintf("On %s it is to do %s", node, v)
}
