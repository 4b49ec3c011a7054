package nvmetarget

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/stack/nvmetarget/metrics"
)

// requests collects the recorded times of the target's requests in its own software, apart from the network and the
// devices.
type requests struct {
	targets  *Targets
	recorder recorder
}

// recorder is the part of capture.TargetRecorder that is used.
type recorder interface {
	Requests() ([]capture.NamespaceRequests, error)
	Lost() (uint64, error)
}

var requestLabels = []string{"nqn", "nsid", "uuid", "op"}

// requestSeconds are the histograms, by interval.
var requestSeconds = []struct {
	interval iotrace.Interval
	desc     *prometheus.Desc
}{
	{iotrace.T, prometheus.NewDesc(metrics.RequestSeconds, "Seconds from where a command arrived at the target until "+
		"it was complete.", requestLabels, nil)},
	{iotrace.A2Q, prometheus.NewDesc(metrics.OwnSeconds, "Seconds of them until it was queued at the device, where "+
		"no data had to be fetched.", requestLabels, nil)},
	{iotrace.F2Q, prometheus.NewDesc(metrics.FetchSeconds, "Seconds of them until the data of a write was fetched "+
		"from the initiator, and it was queued at the device.", requestLabels, nil)},
	{iotrace.Q2C, prometheus.NewDesc(metrics.DeviceSeconds,
		"Seconds of them from the device's queue until it was complete.", requestLabels, nil)},
}

var requestsLost = prometheus.NewDesc(metrics.RequestsLost, "Requests of the target that could not be recorded.", nil,
	nil)

// requestBounds are the upper bounds of the histograms' buckets, in seconds: powers of
// two from a microsecond to half a minute.
var requestBounds = func() (all []float64) {
	for us := 1; us <= 1<<25; us *= 2 {
		all = append(all, float64(us)/1e6)
	}
	return all
}()

// Describe sends what Collect sends metrics of.
func (requests) Describe(to chan<- *prometheus.Desc) {
	for _, h := range requestSeconds {
		to <- h.desc
	}
	to <- requestsLost
}

// requestKey identifies the requests of a histogram.
type requestKey struct{ nqn, id, uuid, op string }

// Collect reads the recorder's sums. Exported namespaces without requests are reported with zeros, so that
// differences can be computed.
func (r requests) Collect(to chan<- prometheus.Metric) {
	lost, err := r.recorder.Lost()
	recorded, readErr := r.recorder.Requests()
	standing, listErr := r.targets.List()
	if err := errors.Join(err, readErr, listErr); err != nil {
		to <- prometheus.NewInvalidMetric(requestsLost, err)
		return
	}
	to <- prometheus.MustNewConstMetric(requestsLost, prometheus.CounterValue, float64(lost))
	sums := map[requestKey]*[iotrace.Intervals]iotrace.Dist{}
	sumOf := func(nqn, id, uuid string, op iotrace.Op) *[iotrace.Intervals]iotrace.Dist {
		key := requestKey{nqn, id, uuid, op.String()}
		if sums[key] == nil {
			sums[key] = new([iotrace.Intervals]iotrace.Dist)
		}
		return sums[key]
	}
	for _, s := range standing {
		for _, n := range s.Namespaces {
			if n.Enabled {
				sumOf(s.NQN, n.ID, n.UUID, iotrace.Read)
				sumOf(s.NQN, n.ID, n.UUID, iotrace.Write)
			}
		}
	}
	for _, n := range recorded {
		sum := sumOf(n.NQN, strconv.FormatUint(uint64(n.ID), 10), n.UUID, n.Op)
		for i, d := range n.Intervals {
			sum[i].Merge(d)
		}
	}
	for key, sum := range sums {
		for _, h := range requestSeconds {
			d := &sum[h.interval]
			to <- prometheus.MustNewConstHistogram(h.desc, d.Count, float64(d.SumNS)/float64(time.Second), buckets(d),
				readable(key.nqn, key.id, key.uuid, key.op)...)
		}
	}
}

// buckets counts the times up to each bound.
func buckets(d *iotrace.Dist) map[float64]uint64 {
	out := make(map[float64]uint64, len(requestBounds))
	for _, b := range requestBounds {
		out[b] = 0
	}
	for bin := range d.Latency().Bins.All() {
		for _, b := range requestBounds {
			if float64(bin.NS) <= b*1e9 {
				out[b] += bin.Count
			}
		}
	}
	return out
}
