package story

import (
	"fmt"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
)

// Density is a run of servers whose files outgrow a miniature of so much memory, with the
// numbers that a real one had: those of the built-in experiment density, medians of three
// runs on a quiet host.
func Density() *result.Run {
	run := &result.Run{
		Schema: result.SchemaVersion, ID: "density-20261124-000000.000000", Version: "test", Seed: 1,
		Status:      result.RunComplete,
		Experiment:  result.Experiment{Name: "density", Question: "How many key-value servers does a host carry?", Repeat: 4},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0", CPUs: 2, MemoryBytes: 24 << 30},
		Stacks:      []result.Stack{{Name: "disk", Line: "loop(size=4GiB) > xfs > volume"}},
		Workloads: []result.Workload{{Name: "C", Kind: "ycsb",
			Declared: "workload: C\nrecords: 200000\nthreads: 8\nthink: 5ms\ndistribution: uniform\n"}},
	}
	host := result.Limits{CPUs: 1.5, MemoryBytes: 1000 << 20, Read: result.Rate{OperationsPerSecond: 1200}}
	for _, p := range []struct {
		count               int
		rate, reads         float64
		cpu, all, mean, p99 float64 // µs of an operation
		peak                int64   // MiB of each
	}{
		{1, 1499, 0, 86, 209, 240, 690, 215}, {3, 4513, 0, 95, 225, 240, 1030, 215}, {4, 5871, 0, 93, 215, 360, 2210, 215},
		{5, 6995, 0.055, 98, 229, 620, 4920, 212}, {6, 5028, 0.255, 139, 294, 4690, 51600, 205},
		{7, 2831, 0.452, 191, 383, 15350, 87000, 198}, {8, 1979, 0.645, 246, 492, 28050, 100700, 192},
	} {
		tenant := result.Tenant{Name: "servers", Workload: "C", Count: p.count}
		mix := result.Mix{Name: fmt.Sprintf("C-%d", p.count), Host: &host, Tenants: []result.Tenant{tenant}}
		run.Mixes = append(run.Mixes, mix)
		for block := 1; block <= 4; block++ {
			by := 1 + 0.01*float64((block+p.count)%4-1)
			rate := p.rate * by
			t := result.Trial{Seq: len(run.Trials) + 1, Block: block, BringUp: block, Repeat: block, Stack: "disk",
				Mix: mix.Name, Status: result.TrialDone, Miniature: &result.Limited{Asked: host, ReadBack: host},
				Neighbours: &result.Neighbours{CPU: &result.CPUShare{CPUs: 2, Seconds: 1, OwnSeconds: p.all * rate / 1e6}},
				Checks: []result.Honesty{{Source: result.SourceServer, Served: []result.DeviceCounter{{
					Device: result.Device{Name: "loop0"}, Reads: uint64(p.reads*rate + 0.5),
					ReadBytes: uint64(7700 * p.reads * rate)}}}},
			}
			each := rate / float64(p.count)
			// One in fifty takes as long as the 99th percentile.
			slow := uint64(each/50) + 1
			calm := (p.mean*each - p.p99*float64(slow)) / (each - float64(slow))
			bins := hist.Pack([]hist.Bin{{NS: uint64(max(1, calm) * 1e3), Count: uint64(each) - slow},
				{NS: uint64(p.p99 * 1e3), Count: slow}})
			for i := range p.count {
				t.Instances = append(t.Instances, result.Instance{Index: i, Tenant: "servers", Workload: "C", Stack: "disk",
					Status: result.TrialDone,
					Usage: &result.Usage{Seconds: 1, CPUSeconds: p.cpu * each / 1e6, PeakMemoryBytes: p.peak << 20,
						CacheBytes: (p.peak - 16) << 20},
					Measurement: &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read,
						Count: uint64(each), Rate: each, Latency: map[result.Stage]hist.Histogram{result.Total: {
							Count: uint64(each), MeanNS: p.mean * 1e3, MinNS: 1e5, MaxNS: uint64(p.p99 * 1e3), Bins: bins}}}}}})
			}
			run.Trials = append(run.Trials, t)
		}
	}
	return run
}
