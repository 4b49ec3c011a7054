package nvmetarget

import (
	"context"
	"net"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"

	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/observe/metricserver"
)

// ServeMetrics serves metrics for Prometheus at addr, at /metrics, until ctx ends: the time of this host's processors
// in each mode, under the name and with the labels of the node exporter, and counters of the exported namespaces'
// devices. It calls ready with the address once it listens. With trace, it also records the target's requests; where
// that is impossible, the error is problem.Unsupported.
func (t *Targets) ServeMetrics(ctx context.Context, addr string, trace bool, ready func(net.Addr)) error {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	collectors := []prometheus.Collector{processors{fs}, namespaces{t}}
	if trace {
		recorder, err := capture.StartTarget()
		if err != nil {
			return err
		}
		defer func() { _ = recorder.Close() }() // the kernel takes it back in any case
		collectors = append(collectors, requests{t, recorder})
	}
	return metricserver.Serve(ctx, addr, 0, ready, collectors...)
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
