package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TargetCPU is the processor time of a storage target since it was started.
type TargetCPU struct {
	BusySeconds float64 // of all processors: neither idle, nor waiting for I/O, nor taken by a hypervisor
	CPUs        int
	At          time.Time // by this host's clock
}

// cpuMetric is the name under which Prometheus' node exporter tells the seconds
// that each processor spent in each mode; plimsoll target metrics does the same.
const cpuMetric = "node_cpu_seconds_total"

// targetPatience is how long a target may take to tell its processor time.
const targetPatience = 5 * time.Second

// ReadTargetCPU reads a target's processor time from url, where its metrics are
// in Prometheus' text format.
func ReadTargetCPU(ctx context.Context, url string) (cpu TargetCPU, err error) {
	ctx, cancel := context.WithTimeout(ctx, targetPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return cpu, err
	}
	answer, err := metricsClient.Do(request)
	if err != nil {
		return cpu, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return cpu, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return cpu, fmt.Errorf("%s: %w", url, err)
	}
	cpu.At = time.Now()
	cpus := map[string]bool{}
	for _, m := range families[cpuMetric].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		cpus[labels["cpu"]] = true
		switch labels["mode"] {
		case "idle", "iowait", "steal":
		default:
			// An untyped metric is what an exporter without type lines gives.
			cpu.BusySeconds += m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	if cpu.CPUs = len(cpus); cpu.CPUs == 0 {
		return cpu, errors.New(url + " has no " + cpuMetric)
	}
	return cpu, nil
}

// metricsClient asks targets, and none of the proxies that the environment may
// name: a target is on the storage network.
var metricsClient = &http.Client{Transport: &http.Transport{Proxy: nil}}
