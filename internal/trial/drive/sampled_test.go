package drive

import (
	"math"
	"testing"

	"plimsoll/internal/result"
)

// What was sampled of an instance is a mean of its usage, and how busy devices were is that
// of the busiest. Values that the kernel did not tell count for nothing.
func TestMeansOfWhatWasSampled(t *testing.T) {
	series := []result.Series{
		{Instance: 0, Source: "instance", Metric: "memory.file", Values: []float64{10, 30}},
		{Instance: 0, Source: "instance", Metric: "memory.anonymous", Values: []float64{4, 6}},
		{Instance: 0, Source: "instance", Metric: "memory.shared", Values: []float64{2, math.NaN()}},
		{Instance: 0, Source: "instance", Metric: "pressure.io.some", Values: []float64{0.5, math.NaN(), 0.7}},
		{Instance: 0, Source: "instance", Metric: "pressure.cpu.some", Values: []float64{0.2, 0.4}},
		{Instance: 0, Source: "instance", Metric: "pressure.memory.some", Values: []float64{0.1}},
		{Instance: 7, Source: "instance", Metric: "pressure.memory.some", Values: []float64{1}},
		{Instance: result.NoInstance, Source: "device loop0", Metric: "io.utilisation", Values: []float64{0.5, 1}},
		{Instance: result.NoInstance, Source: "device vda", Metric: "io.utilisation", Values: []float64{0.1, 0.2}},
		{Instance: result.NoInstance, Source: "host", Metric: "pressure.io.some", Values: []float64{1}},
	}
	d := &driven{results: []result.Instance{{Usage: &result.Usage{}}}}
	d.sampled(series)
	want := result.Usage{CacheBytes: 20, FixedBytes: 7, IOPressure: 0.6, CPUPressure: 0.3, MemoryPressure: 0.1}
	got := *d.results[0].Usage
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if got.CacheBytes != want.CacheBytes || got.FixedBytes != want.FixedBytes || !near(got.IOPressure, want.IOPressure) ||
		!near(got.CPUPressure, want.CPUPressure) || !near(got.MemoryPressure, want.MemoryPressure) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if share := busiest(series); share != 0.75 {
		t.Errorf("the busiest device was busy %g of the time, want 0.75", share)
	}
}
