// Package metricserver serves metrics to Prometheus.
//
// Hazard. Any program that reaches the port may ask. At most a few answers are made at a time.
package metricserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of those who ask.
const (
	mostAsked  = 8 // at a time
	longestAsk = 10 * time.Second
)

// Serve serves what collectors have at addr, at /metrics, until ctx ends: in the format of Prometheus, and as
// OpenMetrics to those that ask for it. It calls ready with the address once it listens.
func Serve(ctx context.Context, addr string, ready func(net.Addr), collectors ...prometheus.Collector) error {
	registry := prometheus.NewRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry,
		promhttp.HandlerOpts{MaxRequestsInFlight: mostAsked, EnableOpenMetrics: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: longestAsk, ReadTimeout: longestAsk,
		WriteTimeout: longestAsk, IdleTimeout: longestAsk, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // what Serve then says is what is meant
	defer stop()
	ready(listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
