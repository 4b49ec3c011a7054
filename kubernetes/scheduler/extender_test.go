package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extender "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// A scheduler without the plugin places as the plugin does, whether it sends nodes or their names.
func TestExtender(t *testing.T) {
	c := start(t)
	c.namespace(iofit.Namespace)
	c.model("big", big)
	c.model("small", small)
	c.node("big-1", "big")
	c.node("small-1", "small")
	e, err := NewExtender(t.Context(), c.Clientset, iofit.Namespace)
	c.must(err)
	e.Binds = true
	l, err := net.Listen("tcp", "127.0.0.1:0")
	c.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	for _, byName := range []bool{true, false} {
		t.Run(fmt.Sprintf("names %t", byName), func(t *testing.T) {
			c, name := cluster{t, c.Clientset, c.config}, fmt.Sprint(byName)
			stop := kubetest.Schedule(t, c.config, nil, func(k *config.KubeSchedulerConfiguration) {
				k.Extenders = []config.Extender{{URLPrefix: url, FilterVerb: "filter", PrioritizeVerb: "prioritize",
					BindVerb: "bind", Weight: 100, NodeCacheCapable: byName,
					HTTPTimeout: metav1.Duration{Duration: 5 * time.Minute}}}
			})
			defer stop()
			// Of scores from 0 to 10, both nodes would have 10 for a reader.
			c.pod("writer-"+name, "", "class", "writes", "least-throughput", "1000/s")
			if node := c.on("writer-" + name); node != "big-1" {
				t.Errorf("it stands on %s", node)
			}
			c.contains(c.event("writer-"+name, "Predicted"), "On big-1 it is to do ")
			c.predicted("writer-" + name)
			c.pod("too-much-"+name, "", "class", "writes", "least-throughput", "900000/s")
			c.contains(c.waits("too-much-"+name), "of the 900000 operations a second that it is to do")
			c.pod("wrong-"+name, "", "class", "writes", "p99-limit", "soon")
			c.contains(c.waits("wrong-"+name), iofit.P99Annotation)
			c.pod("plain-"+name, "")
			c.on("plain-" + name)
			for _, pod := range []string{"too-much-", "wrong-", "writer-"} {
				c.must(c.CoreV1().Pods("default").Delete(t.Context(), pod+name,
					metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			}
			c.until("the writer is seen to be gone", func() bool {
				_, exists, _ := e.pods.GetByKey("default/writer-" + name)
				return !exists
			})
		})
	}
	t.Run("many at once are counted before they are seen", func(t *testing.T) {
		c := cluster{t, c.Clientset, c.config}
		d, err := iofit.DemandOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{iofit.ClassAnnotation: "writes", iofit.LeastAnnotation: "800/s"}}})
		c.must(err)
		fit := 0
		for k := (*e.kinds.now.Load())["small"]; ; fit++ { // as many as the model says, one after the other
			all := make([]*iofit.Demand, fit)
			for i := range all {
				all[i] = d
			}
			if k.Judge(iofit.Stand(all), d).Broken != "" {
				break
			}
		}
		if fit < 2 {
			t.Fatalf("%d fit", fit)
		}
		var asks []*extender.ExtenderBindingArgs
		for i := range fit + 2 {
			name := fmt.Sprint("burst-", i)
			c.pod(name, "small-1", "class", "writes", "least-throughput", "800/s")
			p, err := c.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			c.must(err)
			asks = append(asks, &extender.ExtenderBindingArgs{PodName: name, PodNamespace: "default", PodUID: p.UID,
				Node: "small-1"})
		}
		c.until("all are seen", func() bool {
			_, seen, _ := e.pods.GetByKey("default/" + asks[len(asks)-1].PodName)
			return seen
		})
		refused := 0
		for _, ask := range asks {
			if why := e.bind(t.Context(), ask).Error; why != "" {
				c.contains(why, "no longer fits on small-1")
				refused++
			}
		}
		if refused != 2 {
			t.Errorf("%d of %d were refused, and %d fit", refused, len(asks), fit)
		}
		c.until("what was bound is forgotten once it is seen, whoever is asked about", func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.bound) == 0
		})
		stale := *asks[0]
		stale.PodUID = "another"
		c.contains(e.bind(t.Context(), &stale).Error, "not known")
	})
	t.Run("what no scheduler asks", func(t *testing.T) {
		for path, body := range map[string]string{"/filter": "[", "/prioritize": `{"Pod": 3}`, "/bind": "\x00",
			"/filter?x": `{"Nodes": {"items": 7}}`} {
			r, err := http.Post(url+path, "application/json", strings.NewReader(body))
			c.must(err)
			c.must(r.Body.Close())
			if r.StatusCode != http.StatusBadRequest {
				t.Errorf("%s %q: %s", path, body, r.Status)
			}
		}
		for _, path := range []string{"/filter", "/prioritize"} { // about nothing
			r, err := http.Post(url+path, "application/json", strings.NewReader("{}"))
			c.must(err)
			var answer any
			c.must(json.NewDecoder(r.Body).Decode(&answer))
			c.must(r.Body.Close())
		}
	})
	r, err := http.Get(url + "/metrics")
	c.must(err)
	text, err := io.ReadAll(r.Body)
	c.must(err)
	c.must(r.Body.Close())
	c.contains(string(text), "plimsoll_models 2", `plimsoll_nodes_judged_total{result="fits"}`,
		`plimsoll_pods_placed_total{predicted="true"}`, `plimsoll_predicted_gain_total{class="writes"}`)
	cancel()
	c.must(<-served)
}
