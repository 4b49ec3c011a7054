package scheduler

import (
	"bytes"
	"context"
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

// patience is how long the first list of ConfigMaps may take.
const patience = time.Minute

// allMaps stands for all ConfigMaps where metrics have the name of one.
const allMaps = "*"

// kinds are the kinds of nodes that have a model.
type kinds struct {
	now       atomic.Pointer[map[string]*iofit.Kind]
	changed   func() // is called after each change
	namespace string

	synced func() bool // reports whether all that were there at the start were read

	mu     sync.Mutex             // guards byName and why
	byName map[string]*iofit.Kind // of ConfigMaps, the last that could be read
	why    error                  // that ConfigMaps could not be read the last time that failed; nil for never
}

// watchKinds returns the kinds that a namespace has models of, and keeps them as it has
// them until the context is done. They may still have to be read: see wait.
func watchKinds(ctx context.Context, client kubernetes.Interface, namespace string) (*kinds, error) {
	k := &kinds{byName: map[string]*iofit.Kind{}, changed: func() {}, namespace: namespace}
	k.now.Store(&map[string]*iofit.Kind{})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = iofit.KindLabel }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		k.mu.Lock()
		k.why = err
		k.mu.Unlock()
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return nil, err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { k.read(ctx, now.(*corev1.ConfigMap)) },
		UpdateFunc: func(before, now any) {
			if !alike(before.(*corev1.ConfigMap), now.(*corev1.ConfigMap)) {
				k.read(ctx, now.(*corev1.ConfigMap))
			}
		},
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
	k.synced = registered.HasSynced
	factory.Start(ctx.Done())
	return k, nil
}

// knownKinds returns kinds that stay as they are.
func knownKinds(all map[string]*iofit.Kind) *kinds {
	k := &kinds{changed: func() {}, synced: func() bool { return true }}
	k.now.Store(&all)
	return k
}

// wait waits until models could be read, or could not. The error says why not; they are read later where that ends.
// After it, each change is followed by a call.
func (k *kinds) wait(ctx context.Context, changed func()) error {
	defer func() {
		k.mu.Lock()
		k.changed = changed
		k.mu.Unlock()
	}()
	for end := time.Now().Add(patience); !k.synced(); {
		if err := k.unread(); err != nil {
			unreadable.WithLabelValues(allMaps).Set(1)
			go func() {
				cache.WaitForCacheSync(ctx.Done(), k.synced)
				unreadable.DeleteLabelValues(allMaps)
			}()
			return err
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("the models in namespace %q are not read within %s", k.namespace, patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// unread returns why models were not read yet; nil where they were, or nothing went wrong yet.
func (k *kinds) unread() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.why == nil || k.synced() {
		return nil
	}
	return fmt.Errorf("the ConfigMaps of models in namespace %q cannot be read: %w (the service account needs the Role "+
		"that the manifests have)", k.namespace, k.why)
}

// alike reports whether two versions of a ConfigMap have the same model: each new list shows all of them again.
func alike(a, b *corev1.ConfigMap) bool {
	return a.UID == b.UID && a.Annotations[iofit.MeasuredAnnotation] == b.Annotations[iofit.MeasuredAnnotation] &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Data, b.Data) &&
		maps.EqualFunc(a.BinaryData, b.BinaryData, bytes.Equal)
}

// read takes what a ConfigMap says. One that cannot be read changes nothing: the last
// model that could be stands.
func (k *kinds) read(ctx context.Context, c *corev1.ConfigMap) {
	kind, err := iofit.ParseKind(c)
	if err != nil {
		unreadable.WithLabelValues(c.Name).Set(1)
		klog.FromContext(ctx).Error(err, "A model cannot be read, and the last one that could be read is used", "configmap",
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
		model := k.byName[name]
		if _, twice := now[model.Name]; twice {
			klog.FromContext(ctx).Info("Two ConfigMaps have a model of the same nodes, and the first by its name counts", "kind",
				model.Name, "ignored", name)
			continue
		}
		now[model.Name] = model
	}
	k.now.Store(&now)
	modelled.Set(float64(len(now)))
	measured.Reset()
	for name, model := range now {
		if !model.Measured.IsZero() {
			measured.WithLabelValues(name).Set(float64(model.Measured.Unix()))
		}
	}
	k.changed()
}

// judge says what a pod with a demand would do on a node beside those that stand there.
func (k *kinds) judge(node *corev1.Node, standing func(*iofit.Kind) iofit.Standing, d demand) iofit.Verdict {
	name := iofit.KindOf(node)
	if name == "" {
		return iofit.Verdict{Unknown: "the node has no label " + iofit.KindLabel, Always: true}
	}
	kind := (*k.now.Load())[name]
	if kind == nil {
		if err := k.unread(); err != nil {
			return iofit.Verdict{Unknown: err.Error(), Always: true}
		}
		return iofit.Verdict{Unknown: fmt.Sprintf("there is no model of nodes of kind %s", name), Always: true}
	}
	return kind.JudgeOn(node, standing(kind), d.Demand, d.volumes)
}

// says tells a pod's user what is predicted of it on its node.
func says(node string, v iofit.Verdict) string {
	if v.Unknown != "" {
		return fmt.Sprintf("Placed on %s without a prediction: %s", node, v.Unknown)
	}
	return fmt.Sprintf("On %s it is to do %s", node, v)
}
