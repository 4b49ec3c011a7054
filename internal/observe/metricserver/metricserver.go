// Package metricserver is the one way in which Plimsoll answers on a port: requests are bounded in number, size and
// time, and what costs is read once a second, however many ask.
//
// Hazard. Any program that reaches the port may ask.
package metricserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Age is how long an answer is given again where it is read from many files.
const Age = time.Second

// Bounds of those who ask.
const (
	mostAsked  = 8   // that are answered at a time
	mostWait   = 256 // beside these
	longestAsk = 10 * time.Second
)

// Listen listens at addr.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w (choose another with --listen)", addr, err)
	}
	return l, nil
}

// Answer serves what a handler answers, until ctx ends. A few requests are answered at a time, some wait, and others
// are refused.
func Answer(ctx context.Context, l net.Listener, h http.Handler) error {
	queue, room := make(chan struct{}, mostAsked+mostWait), make(chan struct{}, mostAsked)
	bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case queue <- struct{}{}:
			defer func() { <-queue }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many ask at a time", http.StatusServiceUnavailable)
			return
		}
		select {
		case room <- struct{}{}:
			defer func() { <-room }()
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	server := &http.Server{Handler: bounded, ReadHeaderTimeout: longestAsk, ReadTimeout: longestAsk,
		WriteTimeout: longestAsk, IdleTimeout: longestAsk, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestAsk)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close() // what is left then is cut
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Metrics answers with what collectors have, in the format of Prometheus, and as OpenMetrics to those that ask for it.
// What was gathered for one request is given again for age: 0 has each request gather, for those that take differences.
func Metrics(age time.Duration, collectors ...prometheus.Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	read := Fresh(age, func() gathered {
		families, err := registry.Gather()
		return gathered{families, err}
	})
	return promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		g := read()
		return g.families, g.err
	}), promhttp.HandlerOpts{EnableOpenMetrics: true}), nil
}

// gathered is what a registry gathers.
type gathered struct {
	families []*dto.MetricFamily
	err      error
}

// Fresh returns a function that returns what read returned less than age ago. It calls read once at a time.
func Fresh[T any](age time.Duration, read func() T) func() T {
	var (
		mu    sync.Mutex
		until time.Time
		value T
	)
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().After(until) {
			value = read()
			until = time.Now().Add(age)
		}
		return value
	}
}

// Serve serves what collectors have at addr, at /metrics, until ctx ends. It calls ready with the address once it
// listens; age is as for Metrics. Each collector is called by one request at a time, beside the others.
func Serve(
	ctx context.Context, addr string, age time.Duration, ready func(net.Addr), collectors ...prometheus.Collector,
) error {
	metrics, err := Metrics(age, collectors...)
	if err != nil {
		return err
	}
	listener, err := Listen(ctx, addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	ready(listener.Addr())
	return Answer(ctx, listener, mux)
}
