package limits

import (
	"cmp"
	"context"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/cgroup"
	"plimsoll/kubernetes/iofit"
)

// What is published changes in steps: powers of stepRatio. A rate above its step raises it at once. A step is lowered
// when the rate stayed more than a step below it for quietTime, to the highest rate of that time.
const (
	stepRatio = 1.25
	quietTime = 5 * time.Minute
)

// leastRates are below what a drive notices: reads, writes, bytes read and written a second.
var leastRates = iofit.Rates{10, 10, 1 << 20, 1 << 20}

// step is one rate as it is published.
type step struct {
	level float64
	since time.Time // from which the rate was more than a step below level
	peak  float64   // the highest rate since then
}

// stepOf returns the power of stepRatio that is nearest to a rate; 0 below the least that counts.
func stepOf(rate, least float64) float64 {
	if !(rate >= least) {
		return 0
	}
	return math.Round(math.Pow(stepRatio, math.Round(math.Log(rate)/math.Log(stepRatio))))
}

// take follows a rate.
func (s *step) take(now time.Time, rate, least float64) {
	switch {
	case rate > s.level*math.Sqrt(stepRatio) && stepOf(rate, least) > s.level:
		*s = step{level: stepOf(rate, least), since: now}
	case rate >= s.level/stepRatio:
		s.since, s.peak = now, 0
	default:
		s.peak = max(s.peak, rate)
		if now.Sub(s.since) >= quietTime {
			*s = step{level: stepOf(s.peak, least), since: now}
		}
	}
}

// undeclared is a container of a pod without a class.
type undeclared struct {
	uid   types.UID // of the pod
	group string
	disks []string // MAJ:MIN, below its volumes
}

// countUndeclared has the I/O of a container measured if its pod has no class that counts. With version 1 of cgroups it
// is not: that counts nothing where nothing is limited.
func (p *Plugin) countUndeclared(mounts blockdev.Mounts, pod *api.PodSandbox, c *api.Container) {
	if p.unified == "" {
		return
	}
	of := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: pod.GetAnnotations()},
		Spec: corev1.PodSpec{NodeName: "this"}}
	if d, err := iofit.DemandOf(of); err == nil && d != nil {
		return
	}
	disks, _ := p.devices(mounts, pod, c) // those that are known
	if len(disks) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.undeclared == nil {
		p.undeclared = map[string]undeclared{}
	}
	if _, again := p.undeclared[c.GetId()]; !again && len(p.undeclared) >= mostCounted {
		p.log.Warn("The I/O of a container without a class is not measured: there are too many", "pod", name(pod),
			"most", mostCounted)
		return
	}
	p.undeclared[c.GetId()] = undeclared{types.UID(pod.GetUid()),
		filepath.Join(p.unified, groupPath(c.GetLinux().GetCgroupsPath())), disks}
}

// meter turns counters of containers into rates of pods, in steps.
type meter struct {
	sampled time.Time
	last    map[string]cgroup.IO // by container
	pods    map[types.UID]*[len(iofit.Rates{})]step
}

// sample follows the counters of containers, by their id, of pods. Of a container that was not there before, it counts
// what comes after.
func (m *meter) sample(now time.Time, counters map[string]cgroup.IO, pods map[string]types.UID) {
	seconds := now.Sub(m.sampled).Seconds()
	rates := map[types.UID]iofit.Rates{}
	for id, is := range counters {
		was, seen := m.last[id]
		if !seen || !(seconds > 0) {
			continue
		}
		sum := rates[pods[id]]
		for i, n := range [...][2]uint64{{was.Reads, is.Reads}, {was.Writes, is.Writes},
			{was.ReadBytes, is.ReadBytes}, {was.WrittenBytes, is.WrittenBytes}} {
			if n[1] > n[0] { // a device that comes back counts from 0
				sum[i] += float64(n[1]-n[0]) / seconds
			}
		}
		rates[pods[id]] = sum
	}
	m.last, m.sampled = counters, now
	if m.pods == nil {
		m.pods = map[types.UID]*[len(iofit.Rates{})]step{}
	}
	for uid := range rates {
		if m.pods[uid] == nil {
			m.pods[uid] = &[len(iofit.Rates{})]step{}
		}
	}
	for uid, steps := range m.pods {
		quiet := true
		for i := range steps {
			steps[i].take(now, rates[uid][i], leastRates[i])
			quiet = quiet && steps[i].level == 0
		}
		if _, runs := rates[uid]; !runs && quiet {
			delete(m.pods, uid)
		}
	}
}

// published returns the rates of the pods that do most, in steps.
func (m *meter) published() map[types.UID]iofit.Rates {
	all := map[types.UID]iofit.Rates{}
	for uid, steps := range m.pods {
		r := iofit.Rates{}
		for i := range steps {
			r[i] = steps[i].level
		}
		if r != (iofit.Rates{}) {
			all[uid] = r
		}
	}
	if len(all) > iofit.MostUndeclared {
		weight := func(r iofit.Rates) (sum float64) {
			for i := range r {
				sum += r[i] / leastRates[i]
			}
			return sum
		}
		byWeight := slices.SortedFunc(maps.Keys(all), func(a, b types.UID) int {
			return cmp.Or(cmp.Compare(weight(all[b]), weight(all[a])), cmp.Compare(a, b))
		})
		for _, uid := range byWeight[iofit.MostUndeclared:] {
			delete(all, uid)
		}
	}
	return all
}

// measurement is what pods without a class do, as it is published.
type measurement struct {
	mu     sync.Mutex // guards what follows: the publisher writes it, Prometheus reads it
	meter  meter
	writes map[bool]int // of the annotation, by whether the API server took them
}

// measure reads what pods without a class did up to now, and returns what is to be published.
func (p *Plugin) measure(now time.Time) string {
	p.mu.Lock()
	containers := maps.Clone(p.undeclared)
	p.mu.Unlock()
	counters, pods := map[string]cgroup.IO{}, map[string]types.UID{}
	for id, c := range containers {
		devices, _, err := cgroup.IOAt(c.group)
		if err != nil {
			continue // it has just ended
		}
		sum := cgroup.IO{}
		for _, d := range c.disks {
			io := devices[d] // zero until there is any
			sum.Reads += io.Reads
			sum.Writes += io.Writes
			sum.ReadBytes += io.ReadBytes
			sum.WrittenBytes += io.WrittenBytes
		}
		counters[id], pods[id] = sum, c.uid
	}
	p.measured.mu.Lock()
	defer p.measured.mu.Unlock()
	p.measured.meter.sample(now, counters, pods)
	return iofit.FormatUndeclared(p.measured.meter.published())
}

// Publish measures what pods without a class do, and has it published where it changed, until the context is done. What
// fails is tried again.
func (p *Plugin) Publish(ctx context.Context, publish func(ctx context.Context, undeclared string) error) error {
	ticks := time.NewTicker(p.waits.measure)
	defer ticks.Stop()
	published, failed := "", ""
	p.measure(time.Now())
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticks.C:
			text := p.measure(now)
			if text == published {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, p.waits.register)
			err := publish(limited, text)
			cancel()
			p.measured.mu.Lock()
			if p.measured.writes == nil {
				p.measured.writes = map[bool]int{}
			}
			p.measured.writes[err == nil]++
			p.measured.mu.Unlock()
			if err == nil {
				published, failed = text, ""
			} else if err.Error() != failed {
				failed = err.Error()
				p.log.Warn("What pods without a class do is not published, and is tried again", "error", err)
			}
		}
	}
}

// What is exported of pods without a class.
var (
	undeclaredMetrics = [...]*prometheus.Desc{
		prometheus.NewDesc("plimsoll_undeclared_reads",
			"Reads a second of pods without a class of this node, as published: in steps.", nil, nil),
		prometheus.NewDesc("plimsoll_undeclared_writes",
			"Writes a second of pods without a class of this node, as published: in steps.", nil, nil),
		prometheus.NewDesc("plimsoll_undeclared_read_bytes",
			"Bytes a second that pods without a class of this node read, as published: in steps.", nil, nil),
		prometheus.NewDesc("plimsoll_undeclared_write_bytes",
			"Bytes a second that pods without a class of this node write, as published: in steps.", nil, nil),
	}
	undeclaredWritesMetric = prometheus.NewDesc("plimsoll_undeclared_published_total",
		"How often the I/O of pods without a class was published, or the API server refused it.", []string{"taken"}, nil)
)

// collectUndeclared exports what is published.
func (p *Plugin) collectUndeclared(to chan<- prometheus.Metric) {
	p.measured.mu.Lock()
	sum, taken, refused := iofit.Rates{}, p.measured.writes[true], p.measured.writes[false]
	for _, r := range p.measured.meter.published() {
		for i := range r {
			sum[i] += r[i]
		}
	}
	p.measured.mu.Unlock()
	for i, desc := range undeclaredMetrics {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, sum[i])
	}
	to <- prometheus.MustNewConstMetric(undeclaredWritesMetric, prometheus.CounterValue, float64(taken), "true")
	to <- prometheus.MustNewConstMetric(undeclaredWritesMetric, prometheus.CounterValue, float64(refused), "false")
}
