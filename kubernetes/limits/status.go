package limits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Reasons for which containers are refused.
const (
	unreadable    = "annotation" // it cannot be read
	unknownDevice = "device"     // a volume is on no disk that is known
	notHeld       = "kernel"     // it does not hold the limits
)

// refusal is why a container is refused.
type refusal struct {
	reason string
	error
}

// status is what the plugin says of itself.
type status struct {
	mu      sync.Mutex
	socket  string // of the runtime that it answers; "" for none
	kept    map[string]kept
	refused map[string]int
	counted map[string]counted
}

// kept is a container that runs.
type kept struct {
	namespace, pod, container string
	holding                   *holding // nil for one without limits
	err                       error    // why it is not held
}

// connected notes the socket of the runtime that is answered from now on; "" for none.
func (s *status) connected(socket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket = socket
}

// keep notes a container that runs.
func (s *status) keep(pod *api.PodSandbox, c *api.Container, h *holding, err error) {
	if h == nil && err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string]kept{}
	}
	s.kept[c.GetId()] = kept{pod.GetNamespace(), pod.GetName(), c.GetName(), h, err}
}

func (s *status) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, id)
	delete(s.counted, id)
}

func (s *status) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.counted = nil, nil
}

// refuse counts a container that is refused.
func (s *status) refuse(err error) error {
	if why := (refusal{}); errors.As(err, &why) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.refused == nil {
			s.refused = map[string]int{}
		}
		s.refused[why.reason]++
	}
	return err
}

// unheld returns how many containers are held to limits, as the kernel has it now, and why others are not.
func (p *Plugin) unheld() (held int, unheld []error) {
	p.mu.Lock()
	all := maps.Clone(p.kept)
	p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		k := all[id]
		err := k.err
		if err == nil && k.holding.group != "" {
			err = p.readBack(k.holding)
			if errors.Is(err, os.ErrNotExist) {
				continue // it has just ended
			}
		}
		if err != nil {
			unheld = append(unheld, err)
			continue
		}
		held++
	}
	return held, unheld
}

// Ready returns why limits of this node do not count: no runtime asks, or what runs is not held. It is nil where they
// do.
func (p *Plugin) Ready() error {
	p.mu.Lock()
	socket := p.socket
	p.mu.Unlock()
	if socket == "" {
		return errors.New("no container runtime asks: NRI is off there, or its socket is another (containerd 2 has it on)")
	}
	if _, err := os.Stat(socket); err != nil {
		return fmt.Errorf("the socket of the container runtime is gone: %w", err)
	}
	_, unheld := p.unheld()
	return errors.Join(unheld...)
}

// Handler answers under /readyz and /metrics.
func (p *Plugin) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Serve answers until the context is done.
func (p *Plugin) Serve(ctx context.Context, l net.Listener) error {
	const longest = 10 * time.Second
	s := &http.Server{Handler: p.Handler(), ReadHeaderTimeout: longest, ReadTimeout: longest, WriteTimeout: longest}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// What the plugin counts.
var (
	readyMetric = prometheus.NewDesc("plimsoll_limits_ready",
		"Whether limits of this node count: 1 where the runtime asks and all that runs is held.", nil, nil)
	heldMetric = prometheus.NewDesc("plimsoll_limits_containers",
		"Containers that run, have limits on devices, and are held to them or not.", []string{"held"}, nil)
	refusedMetric = prometheus.NewDesc("plimsoll_limits_refused_total",
		"Containers that were refused, as their annotation cannot be read, nobody knows the device of a volume, or the "+
			"kernel does not hold the limits.", []string{"reason"}, nil)
)

// Describe describes what Collect collects.
func (p *Plugin) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, to) }

// Collect reads what the kernel holds and counts.
func (p *Plugin) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	held, unheld := p.unheld()
	ready := 0.0
	if p.Ready() == nil {
		ready = 1
	}
	gauge(readyMetric, ready)
	gauge(heldMetric, float64(held), "true")
	gauge(heldMetric, float64(len(unheld)), "false")
	p.collectIO(to)
	p.mu.Lock()
	refused := maps.Clone(p.refused)
	p.mu.Unlock()
	for _, reason := range []string{unreadable, unknownDevice, notHeld} {
		to <- prometheus.MustNewConstMetric(refusedMetric, prometheus.CounterValue, float64(refused[reason]), reason)
	}
}
