package limits

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/nri/pkg/api"
	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/model"
	"plimsoll/kubernetes/iofit"
)

// mostCounted bounds the containers whose I/O is exported: each takes some ten time series. A node has some 110 pods.
const mostCounted = 500

// counted is a container of which I/O is exported.
type counted struct {
	labels     []string          // namespace, pod and container
	devices    map[string]string // names by MAJ:MIN
	read       func() (devices map[string]cgroup.IO, waited map[string]int64, err error)
	prediction *iofit.Prediction // nil for none
}

// count has the I/O of a container exported whose pod has a class or limits, on the devices below its volumes.
func (p *Plugin) count(mounts blockdev.Mounts, pod *api.PodSandbox, c *api.Container) {
	notes, err := iofit.Admitted(pod.GetAnnotations())
	if err != nil {
		p.log.Warn("The I/O of a container is not counted", "pod", name(pod), "container", c.GetName(), "error", err)
		return
	}
	if notes[iofit.ClassAnnotation] == "" && notes[iofit.LimitAnnotation] == "" {
		return
	}
	disks, _ := p.devices(mounts, pod, c) // those that are known
	if len(disks) == 0 {
		return
	}
	n := counted{labels: []string{label(pod.GetNamespace()), label(pod.GetName()), label(c.GetName())},
		devices: map[string]string{}}
	for _, d := range disks {
		n.devices[d] = d
		if at, err := os.Readlink(p.roots.InSys("dev/block/" + d)); err == nil {
			n.devices[d] = label(filepath.Base(at))
		}
	}
	if text := pod.GetAnnotations()[iofit.PredictedAnnotation]; text != "" {
		prediction, err := iofit.ParsePrediction(text)
		if err != nil {
			p.log.Warn("What is predicted of a pod cannot be read", "pod", name(pod), "error", err)
		} else {
			n.prediction = &prediction
		}
	}
	if p.unified != "" {
		group := filepath.Join(p.unified, groupPath(c.GetLinux().GetCgroupsPath()))
		n.read = func() (map[string]cgroup.IO, map[string]int64, error) { return cgroup.IOAt(group) }
	} else {
		g, err := cgroup.Of(int(c.GetPid()))
		if err != nil {
			p.log.Warn("The I/O of a container is not counted", "pod", name(pod), "container", c.GetName(), "error", err)
			return
		}
		n.read = func() (map[string]cgroup.IO, map[string]int64, error) {
			u, err := g.Usage()
			return u.Devices, nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counted == nil {
		p.counted = map[string]counted{}
	}
	if _, again := p.counted[c.GetId()]; !again && len(p.counted) >= mostCounted {
		p.log.Warn("The I/O of a container is not exported: there are too many", "pod", name(pod), "most", mostCounted)
		return
	}
	p.counted[c.GetId()] = n
}

// label returns a text as a label may have it.
func label(text string) string { return strings.ToValidUTF8(text, "?") }

// What is exported of containers that run, and of their pods.
var (
	ofDevice = []string{"namespace", "pod", "container", "device"}
	ofPod    = []string{"namespace", "pod", "drive"}

	readsMetric = prometheus.NewDesc("plimsoll_container_reads_total",
		"Reads of a container from a disk below its volumes.", ofDevice, nil)
	writesMetric = prometheus.NewDesc("plimsoll_container_writes_total",
		"Writes of a container to a disk below its volumes.", ofDevice, nil)
	readBytesMetric = prometheus.NewDesc("plimsoll_container_read_bytes_total",
		"Bytes that a container read from a disk below its volumes.", ofDevice, nil)
	writeBytesMetric = prometheus.NewDesc("plimsoll_container_write_bytes_total",
		"Bytes that a container wrote to a disk below its volumes.", ofDevice, nil)
	waitedMetric = prometheus.NewDesc("plimsoll_container_io_waited_seconds_total",
		"Time in which some tasks of a container, or all that had work (full), waited for I/O.",
		[]string{"namespace", "pod", "container", "tasks"}, nil)
	predictedMetrics = []struct {
		desc  *prometheus.Desc
		value func(*iofit.Prediction) model.Number
	}{
		{prometheus.NewDesc("plimsoll_pod_predicted_operations",
			"Operations a second of its class that a pod was predicted to do when it was placed.", ofPod, nil),
			func(p *iofit.Prediction) model.Number { return p.Operations }},
		{prometheus.NewDesc("plimsoll_pod_predicted_least_ratio",
			"Lower end of the 90% interval, as a share of the prediction.", ofPod, nil),
			func(p *iofit.Prediction) model.Number { return p.Least / p.Operations }},
		{prometheus.NewDesc("plimsoll_pod_predicted_reads", "Reads a second that a pod was predicted to do.", ofPod, nil),
			func(p *iofit.Prediction) model.Number { return p.Reads }},
		{prometheus.NewDesc("plimsoll_pod_predicted_writes", "Writes a second that a pod was predicted to do.", ofPod, nil),
			func(p *iofit.Prediction) model.Number { return p.Writes }},
		{prometheus.NewDesc("plimsoll_pod_predicted_read_bytes",
			"Bytes a second that a pod was predicted to read.", ofPod, nil),
			func(p *iofit.Prediction) model.Number { return p.ReadBytes }},
		{prometheus.NewDesc("plimsoll_pod_predicted_write_bytes",
			"Bytes a second that a pod was predicted to write.", ofPod, nil),
			func(p *iofit.Prediction) model.Number { return p.WriteBytes }},
	}
)

// collectIO reads what containers did, and says beside it what was predicted of their pods.
func (p *Plugin) collectIO(to chan<- prometheus.Metric) {
	p.mu.Lock()
	counted := maps.Clone(p.counted)
	p.mu.Unlock()
	type series struct{ namespace, pod, container string }
	seen := map[series]bool{} // a pod, or a container of it, may be there twice while one of them ends
	for _, id := range slices.Sorted(maps.Keys(counted)) {
		c := counted[id]
		key := series{c.labels[0], c.labels[1], c.labels[2]}
		devices, waited, err := c.read()
		if err != nil || seen[key] {
			continue // it has just ended
		}
		seen[key] = true
		for majMin, device := range c.devices {
			io := devices[majMin] // zero until there is any
			for desc, n := range map[*prometheus.Desc]uint64{readsMetric: io.Reads, writesMetric: io.Writes,
				readBytesMetric: io.ReadBytes, writeBytesMetric: io.WrittenBytes} {
				to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), append(c.labels, device)...)
			}
		}
		for tasks, micros := range waited {
			to <- prometheus.MustNewConstMetric(waitedMetric, prometheus.CounterValue, float64(micros)/1e6,
				append(c.labels, label(tasks))...)
		}
		ofPod := series{key.namespace, key.pod, ""}
		if c.prediction == nil || seen[ofPod] {
			continue
		}
		seen[ofPod] = true
		for _, m := range predictedMetrics {
			if n := float64(m.value(c.prediction)); !math.IsNaN(n) {
				to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, n, c.labels[0], c.labels[1], c.prediction.Drive)
			}
		}
	}
}
