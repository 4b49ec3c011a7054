package runview

import (
	"math"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// several is a trial of two tenants: three instances, of which one died.
func several() *result.Trial {
	measurement := func(rate float64, ns uint64) *result.Measurement {
		h := hist.Histogram{Count: 10, MeanNS: float64(ns), MinNS: ns, MaxNS: ns,
			Bins: hist.Pack([]hist.Bin{{NS: ns, Count: 10}})}
		return &result.Measurement{Seconds: 1, Operations: result.ReadsWrites(
			result.Operation{Count: 10, Rate: rate, BytesPerSecond: 4096 * rate,
				Latency: map[result.Stage]hist.Histogram{result.Total: h}}, result.Operation{})}
	}
	used := func(cpu float64, memory int64) *result.Usage {
		return &result.Usage{CPUSeconds: cpu, PeakMemoryBytes: memory}
	}
	return &result.Trial{
		Status: result.TrialDone, Ramp: 1.5,
		Instances: []result.Instance{
			{Index: 0, Tenant: "a", Measurement: measurement(100, 1000), Usage: used(2, 1<<20)},
			{Index: 1, Tenant: "a", Measurement: measurement(60, 3000), Usage: used(1, 1<<20)},
			{Index: 2, Tenant: "b", Problem: &problem.Problem{What: "killed"}, Usage: used(1, 1<<20)},
		},
		Checks: []result.Honesty{{Served: []result.DeviceCounter{
			{Device: result.Device{Name: "loop0"}, Reads: 15}, {Device: result.Device{Name: "vda", Depth: 1}, Reads: 99},
		}}},
	}
}

// A metric is of all instances, or of those of a tenant.
func TestMetricsOfTenants(t *testing.T) {
	trial := several()
	for _, c := range []struct {
		metric Metric
		tenant string
		want   float64 // NaN for none
	}{
		{Rate, "", 160}, {Rate, "a", 160}, {Rate, "b", math.NaN()}, {Rate, "nobody", math.NaN()},
		{Bandwidth, "", 160 * 4096},
		{WeakestRate, "", 0}, {WeakestRate, "a", 60},
		{MeanLatency, "a", 2000}, {P50, "a", 1000}, {P99, "a", 3000},
		// 20 operations in the window are 30 in the whole time.
		{DeviceReads, "", 0.5}, {CPUPerOp, "", 4.0 / 30}, {CPUPerOp, "a", 0.1},
		{PeakMemory, "a", 2 << 20}, {PeakMemory, "", 3 << 20},
	} {
		got, ok := c.metric.Of(trial, c.tenant)
		if ok == math.IsNaN(c.want) || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %q: %v, %v; want %v", c.metric.ID, c.tenant, got, ok, c.want)
		}
	}
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if m.ID == "" || m.Name == "" || m.Unit == "" || seen[m.ID] {
			t.Errorf("%+v: its name is missing, or taken", m)
		}
		seen[m.ID] = true
	}
}

// A run's trials are grouped in the order in which it declares stacks and mixes;
// what only trials name comes last.
func TestCellsOfARun(t *testing.T) {
	run := &result.Run{
		Stacks: []result.Stack{{Name: "raw"}, {Name: "xfs"}}, Workloads: []result.Workload{{Name: "RR"}},
		Mixes: []result.Mix{{Name: "four"}},
		Trials: []result.Trial{
			{Seq: 1, Stack: "gone", Mix: "RR", Status: result.TrialFailed},
			{Seq: 2, Stack: "xfs", Mix: "RR", Status: result.TrialPlanned},
			{Seq: 3, Stack: "xfs", Mix: "four", Status: result.TrialDone, BringUp: 1, Block: 1, Instances: several().Instances},
			{Seq: 4, Stack: "raw", Mix: "RR", Status: result.TrialDone, Instances: several().Instances},
			{Seq: 5, Stack: "xfs", Mix: "four", Status: result.TrialDone, BringUp: 1, Block: 1, Instances: several().Instances},
		},
	}
	c := Of(run)
	var got []result.Point
	got = append(got, c.Points()...)
	gone := result.Point{Stack: "gone", Mix: "RR"}
	want := []result.Point{{Stack: "xfs", Mix: "four"}, {Stack: "raw", Mix: "RR"}, {Stack: "xfs", Mix: "RR"}, gone}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("point %d is %v, not %v", i, got[i], want[i])
		}
	}
	if n := len(c.Trials(gone)); n != 1 || len(c.Done(gone)) != 0 {
		t.Errorf("%d trials of what failed", n)
	}
	s := c.Sample(result.Point{Stack: "xfs", Mix: "four"}, "a", Rate)
	if len(s) != 1 || s.Trials() != 2 || s[0].Value() != 160 {
		t.Errorf("two trials of one setup are %+v", s)
	}
}

// What no shortage takes is what was sampled, or else what the page cache left of the most.
func TestFixedMemory(t *testing.T) {
	for want, u := range map[float64]*result.Usage{
		30: {FixedBytes: 30, CacheBytes: 50, PeakMemoryBytes: 100},
		50: {CacheBytes: 50, PeakMemoryBytes: 100},
		-1: {PeakMemoryBytes: 100},
		-2: nil,
	} {
		got, ok := fixedMemory(nil, []result.Instance{{Usage: u}}, nil)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%+v: %v, %v", u, got, ok)
		}
	}
}

// Metrics of counts are the same without latencies.
func TestMetricsOfCounts(t *testing.T) {
	trial := several()
	for _, m := range append(Metrics(), Fairness, DeviceWrites, DeviceReadBytes, DeviceWriteBytes, DeviceBandwidth,
		WrittenBytes, HostCPUPerOp, FixedMemory, CacheBytes, CPUs, Throttled, RateOf(result.Read)) {
		value, ok := m.Of(trial, "a")
		m.counts = false
		want, wantOK := m.Of(trial, "a")
		if value != want || ok != wantOK {
			t.Errorf("%s is %g, %t without latencies, and %g, %t with them", m.ID, value, ok, want, wantOK)
		}
	}
}
