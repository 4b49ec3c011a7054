// Package metrics is what both ends of a target's metrics know: the names under which `plimsoll target metrics` tells
// them, and how a host that uses the target reads them.
//
// It is apart from package target, which makes targets out of stacks: stacks over NVMe-oF read metrics.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Target holds the counters of a storage target since its start.
type Target struct {
	BusySeconds float64 // of all processors: neither idle, nor waiting for I/O, nor taken by a hypervisor
	CPUs        int
	At          time.Time // by this host's clock

	Namespaces []Namespace // nil where only processor time is told
	Lost       float64     // requests that it could not record
}

// Namespace holds the counters of a namespace's device.
type Namespace struct {
	NQN, UUID                 string
	Reads, Writes             float64 // completed
	ReadSeconds, WriteSeconds float64 // of all of them together

	// What the target recorded of its own requests; nil where it does not record.
	Read, Write *Requests
}

// Requests are requests for a namespace that the target completed, and
// what all of them together took there.
type Requests struct {
	Count, Seconds             float64 // from where their command arrived
	DeviceCount, DeviceSeconds float64 // at the device behind the namespace
	OwnCount, OwnSeconds       float64 // in the target's software before that, of those that had no data to be fetched
}

// Since returns the counts since then.
func (r Requests) Since(then Requests) Requests {
	return Requests{
		r.Count - then.Count, r.Seconds - then.Seconds, r.DeviceCount - then.DeviceCount,
		r.DeviceSeconds - then.DeviceSeconds,
		r.OwnCount - then.OwnCount, r.OwnSeconds - then.OwnSeconds,
	}
}

// Namespace finds a namespace; zero where the target tells of none such.
func (t Target) Namespace(nqn, uuid string) Namespace {
	for _, ns := range t.Namespaces {
		if ns.NQN == nqn && strings.EqualFold(ns.UUID, uuid) {
			return ns
		}
	}
	return Namespace{}
}

// What plimsoll target metrics tells of each namespace, with the labels nqn and
// uuid.
const (
	NamespaceReads        = "plimsoll_namespace_reads_completed_total"
	NamespaceReadSeconds  = "plimsoll_namespace_read_time_seconds_total"
	NamespaceWrites       = "plimsoll_namespace_writes_completed_total"
	NamespaceWriteSeconds = "plimsoll_namespace_write_time_seconds_total"
)

// What it tells with --trace: histograms with the labels nqn, uuid and op, and
// what it lost.
const (
	RequestSeconds = "plimsoll_target_request_seconds"
	OwnSeconds     = "plimsoll_target_software_seconds"
	FetchSeconds   = "plimsoll_target_fetch_seconds"
	DeviceSeconds  = "plimsoll_target_device_seconds"
	RequestsLost   = "plimsoll_target_requests_lost_total"
)

// cpuMetric is the name under which Prometheus' node exporter tells the seconds
// that each processor spent in each mode; plimsoll target metrics does the same.
const cpuMetric = "node_cpu_seconds_total"

// targetPatience is how long a target may take to tell its processor time.
const targetPatience = 5 * time.Second

// Read reads what a target did from url, where its metrics are in
// Prometheus' text format.
func Read(ctx context.Context, url string) (cpu Target, err error) {
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
	families, err := parser.TextToMetricFamilies(http.MaxBytesReader(nil, answer.Body, mostAnswered))
	if err != nil {
		return cpu, fmt.Errorf("%s: %w", url, err)
	}
	cpu.At = time.Now()
	cpus := map[string]bool{}
	for _, m := range families[cpuMetric].GetMetric() {
		labels := labelsOf(m)
		cpus[labels["cpu"]] = true
		switch labels["mode"] {
		case "idle", "iowait", "steal":
		default:
			cpu.BusySeconds += valueOf(m)
		}
	}
	cpu.namespaces(families)
	if cpu.CPUs = len(cpus); cpu.CPUs == 0 {
		return cpu, errors.New(url + " has no " + cpuMetric)
	}
	return cpu, nil
}

// metricsClient asks targets, and none of the proxies that the environment may
// name: a target is on the storage network. It goes nowhere else that one says.
var metricsClient = &http.Client{
	Transport:     &http.Transport{Proxy: nil},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// mostAnswered is far more than a target with a thousand processors and namespaces tells.
const mostAnswered = 16 << 20

// namespaces takes what is told of namespaces.
func (t *Target) namespaces(families map[string]*dto.MetricFamily) {
	for _, f := range []struct {
		name  string
		field func(*Namespace) *float64
	}{
		{NamespaceReads, func(n *Namespace) *float64 { return &n.Reads }},
		{NamespaceReadSeconds, func(n *Namespace) *float64 { return &n.ReadSeconds }},
		{NamespaceWrites, func(n *Namespace) *float64 { return &n.Writes }},
		{NamespaceWriteSeconds, func(n *Namespace) *float64 { return &n.WriteSeconds }},
	} {
		for _, m := range families[f.name].GetMetric() {
			*f.field(t.namespace(m)) = valueOf(m)
		}
	}
	for _, f := range []struct {
		name string
		set  func(*Requests, *dto.Histogram)
	}{
		{RequestSeconds, func(r *Requests, h *dto.Histogram) {
			r.Count, r.Seconds = float64(h.GetSampleCount()), h.GetSampleSum()
		}},
		{OwnSeconds, func(r *Requests, h *dto.Histogram) {
			r.OwnCount, r.OwnSeconds = float64(h.GetSampleCount()), h.GetSampleSum()
		}},
		{DeviceSeconds, func(r *Requests, h *dto.Histogram) {
			r.DeviceCount, r.DeviceSeconds = float64(h.GetSampleCount()), h.GetSampleSum()
		}},
	} {
		for _, m := range families[f.name].GetMetric() {
			if request := t.namespace(m).requests(labelsOf(m)["op"]); request != nil {
				if *request == nil {
					*request = new(Requests)
				}
				f.set(*request, m.GetHistogram())
			}
		}
	}
	for _, m := range families[RequestsLost].GetMetric() {
		t.Lost += valueOf(m)
	}
}

// namespace finds the namespace that a metric is of, or begins it.
func (t *Target) namespace(m *dto.Metric) *Namespace {
	labels := labelsOf(m)
	i := slices.IndexFunc(t.Namespaces,
		func(n Namespace) bool { return n.NQN == labels["nqn"] && n.UUID == labels["uuid"] })
	if i < 0 {
		i = len(t.Namespaces)
		t.Namespaces = append(t.Namespaces, Namespace{NQN: labels["nqn"], UUID: labels["uuid"]})
	}
	return &t.Namespaces[i]
}

// requests is where those of an operation are; nil for one that nobody asks for.
func (n *Namespace) requests(op string) **Requests {
	switch op {
	case "read":
		return &n.Read
	case "write":
		return &n.Write
	}
	return nil
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// valueOf is that of a counter; an untyped metric is what an exporter without
// type lines gives.
func valueOf(m *dto.Metric) float64 { return m.GetCounter().GetValue() + m.GetUntyped().GetValue() }
