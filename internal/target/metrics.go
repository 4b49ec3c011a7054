package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/procfs"

	"plimsoll/internal/iotrace/capture"
)

// ServeMetrics tells at addr, at /metrics, how much time this host's processors
// spent in each mode, under the name and with the labels of Prometheus' node
// exporter, and how much the devices of exported namespaces did, until ctx
// ends. It calls ready with the address once it listens. With trace, it records
// the target's requests meanwhile, and tells of them, too; where that cannot be
// done, the error is problem.Unsupported.
func (t *Targets) ServeMetrics(ctx context.Context, addr string, trace bool, ready func(net.Addr)) error {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if err := errors.Join(registry.Register(processors{fs}), registry.Register(namespaces{t})); err != nil {
		return err
	}
	if trace {
		recorder, err := capture.StartTarget()
		if err != nil {
			return err
		}
		defer func() { _ = recorder.Close() }() // the kernel takes it back in any case
		if err := registry.Register(requests{t, recorder}); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // what Serve then says is what is meant
	defer stop()
	ready(listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// processors collects the time of a host's processors.
type processors struct{ fs procfs.FS }

var processorSeconds = prometheus.NewDesc("node_cpu_seconds_total", "Seconds the CPUs spent in each mode.",
	[]string{"cpu", "mode"}, nil)

// Describe sends what Collect sends metrics of.
func (processors) Describe(to chan<- *prometheus.Desc) { to <- processorSeconds }

// Collect reads /proc/stat. The time of guests is in user and nice already.
func (p processors) Collect(to chan<- prometheus.Metric) {
	stat, err := p.fs.Stat()
	if err != nil {
		to <- prometheus.NewInvalidMetric(processorSeconds, err)
		return
	}
	for id, cpu := range stat.CPU {
		for _, m := range []struct {
			mode    string
			seconds float64
		}{
			{"user", cpu.User}, {"nice", cpu.Nice}, {"system", cpu.System}, {"idle", cpu.Idle},
			{"iowait", cpu.Iowait}, {"irq", cpu.IRQ}, {"softirq", cpu.SoftIRQ}, {"steal", cpu.Steal},
		} {
			to <- prometheus.MustNewConstMetric(processorSeconds, prometheus.CounterValue, m.seconds,
				strconv.FormatInt(id, 10), m.mode)
		}
	}
}
