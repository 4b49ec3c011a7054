package limits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/containerd/nri/pkg/api"
	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/internal/observe/metricserver"
	"plimsoll/kubernetes/usage"
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
	mu      sync.Mutex // guards what follows: the runtime's calls write it, probes and Prometheus read it
	socket  string     // of the runtime that it answers; "" for none
	listed  bool       // the runtime has listed what runs
	unfit   error      // why the plugin answers no such runtime
	kept    map[string]kept
	refused map[string]int
	counted map[string]counted

	undeclared map[string]undeclared // containers of pods without a class
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
	s.listed = s.listed && socket != ""
}

// configured notes whether the plugin answers the runtime that it has reached.
func (s *status) configured(unfit error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfit = unfit
}

// synchronized notes that the runtime has listed what runs.
func (s *status) synchronized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = true
}

// holds reports whether a container is known to be held to its limits.
func (s *status) holds(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, known := s.kept[id]
	return known && k.holding != nil && k.err == nil
}

// known returns the containers that are kept, counted or measured.
func (s *status) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Keys(s.kept)), slices.Collect(maps.Keys(s.counted)),
		slices.Collect(maps.Keys(s.undeclared)))
}

// keep notes a container that runs.
func (s *status) keep(pod *api.PodSandbox, c *api.Container, h *holding, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil && err == nil {
		delete(s.kept, c.GetId())
		return
	}
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
	delete(s.undeclared, id)
}

func (s *status) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.counted, s.undeclared = nil, nil, nil
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
	kept := maps.Clone(p.kept)
	p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		k := kept[id]
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
	socket, listed, unfit := p.socket, p.listed, p.unfit
	p.mu.Unlock()
	if unfit != nil {
		return unfit
	}
	if socket == "" {
		return errors.New("no container runtime asks: NRI is off there, or its socket is another (containerd 2 has it on)")
	}
	if _, err := os.Stat(socket); err != nil {
		return fmt.Errorf("the socket of the container runtime is gone: %w", err)
	}
	if !listed {
		return errors.New("the container runtime has not listed what runs yet")
	}
	_, unheld := p.unheld()
	return unheldError(unheld).orNil()
}

// unheldError is why containers are not held. It has names of pods, which not all who ask may know.
type unheldError []error

func (e unheldError) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error says it of each.
func (e unheldError) Error() string { return errors.Join(e...).Error() }

// Unwrap returns why each is not held.
func (e unheldError) Unwrap() []error { return e }

// Port is where the pod of limits answers unless it is told otherwise, and PortName is how its manifest calls it.
const (
	Port     = 8788
	PortName = "status"
)

// Handler answers under /readyz and /metrics, and under /usage/UID what a pod of the node uses. What has names of pods
// goes to the log, once for each change.
func (p *Plugin) Handler() http.Handler {
	metrics, err := metricserver.Metrics(metricserver.Age, p)
	if err != nil {
		panic(err) // the plugin is the only collector
	}
	logged := ""
	ready := metricserver.Fresh(metricserver.Age, func() error {
		err := p.Ready()
		unheld := unheldError(nil)
		if !errors.As(err, &unheld) {
			logged = ""
			return err
		}
		if text := unheld.Error(); text != logged {
			p.log.Warn("containers are not held to their limits", "why", text)
			logged = text
		}
		return fmt.Errorf("%d containers are not held to their limits: the log of this pod names them", len(unheld))
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /usage/{uid}", func(w http.ResponseWriter, r *http.Request) {
		sample, err := usage.Read(p.roots, r.PathValue("uid"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(sample) // who asked has gone
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Serve answers until the context is done.
func (p *Plugin) Serve(ctx context.Context, l net.Listener) error {
	return metricserver.Answer(ctx, l, p.Handler())
}

// What the plugin counts.
var (
	readyMetric = prometheus.NewDesc("plimsoll_limits_ready",
		"Whether limits of this node count: 1 where the runtime asks and all that runs is held.", nil, nil)
	heldMetric = prometheus.NewDesc("plimsoll_limits_containers",
		"Containers that run, have limits on devices, and are held to them or not.", []string{"held"}, nil)
	refusedMetric = prometheus.NewDesc("plimsoll_limits_refused_total",
		"Containers that were refused, as their annotation cannot be read, the device of a volume is not known, or the "+
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
	p.collectUndeclared(to)
	p.mu.Lock()
	refused := maps.Clone(p.refused)
	p.mu.Unlock()
	for _, reason := range []string{unreadable, unknownDevice, notHeld} {
		to <- prometheus.MustNewConstMetric(refusedMetric, prometheus.CounterValue, float64(refused[reason]), reason)
	}
}
