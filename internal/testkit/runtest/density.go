package runtest

import (
	"fmt"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// Density is a run of servers whose files outgrow a scaled-down host of so much memory, with the
// numbers that real ones had: those of the built-in experiment density, medians of three
// runs. varied is with what it then did with more and less of each limit.
func Density(varied bool) *result.Run {
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
	type point struct {
		count                   int
		rate, reads             float64
		cpu, hostCPU, mean, p99 float64 // µs of an operation
		peak                    int64   // MiB of each

		varies *result.Variation
		host   result.Limits
	}
	points := []point{
		{1, 1499, 0, 86, 209, 240, 690, 215, nil, host}, {3, 4513, 0, 95, 225, 240, 1030, 215, nil, host},
		{4, 5871, 0, 93, 215, 360, 2210, 215, nil, host}, {5, 6995, 0.055, 98, 229, 620, 4920, 212, nil, host},
		{6, 5028, 0.255, 139, 294, 4690, 51600, 205, nil, host}, {7, 2831, 0.452, 191, 383, 15350, 87000, 198, nil, host},
		{8, 1979, 0.645, 246, 492, 28050, 100700, 192, nil, host},
	}
	vary := func(limit string, factor float64, with result.Limits, p point) {
		p.varies = &result.Variation{Of: "C-5", Limit: limit, Factor: factor}
		p.host = host.With(with)
		points = append(points, p)
	}
	if varied {
		vary("cpus", 1.2, result.Limits{CPUs: 1.8}, point{5, 6897, 0.054, 102, 232, 680, 5050, 214, nil, host})
		vary("cpus", 0.8, result.Limits{CPUs: 1.2}, point{5, 7138, 0.055, 96, 219, 510, 4180, 210, nil, host})
		vary("memory", 1.2, result.Limits{MemoryBytes: 1200 << 20}, point{5, 7228, 0, 88, 206, 430, 2870, 214, nil, host})
		vary("memory", 0.8, result.Limits{MemoryBytes: 800 << 20},
			point{5, 4278, 0.295, 134, 274, 4280, 52700, 210, nil, host})
		vary("read-iops", 1.2, result.Limits{Read: result.Rate{OperationsPerSecond: 1440}},
			point{5, 6982, 0.055, 97, 224, 600, 4620, 210, nil, host})
		vary("read-iops", 0.8, result.Limits{Read: result.Rate{OperationsPerSecond: 960}},
			point{5, 6966, 0.055, 100, 229, 630, 5140, 206, nil, host})
	}
	for _, p := range points {
		tenant := result.Tenant{Name: "servers", Workload: "C", Count: p.count}
		limits := p.host
		mix := result.Mix{
			Name: fmt.Sprintf("C-%d", p.count), Host: &limits, Tenants: []result.Tenant{tenant}, Varies: p.varies,
		}
		if v := p.varies; v != nil {
			mix.Name += fmt.Sprintf(".%s-x%g", v.Limit, v.Factor)
		}
		run.Mixes = append(run.Mixes, mix)
		for block := 1; block <= 4; block++ {
			factor := 1 + 0.01*float64((block+p.count)%4-1)
			rate := p.rate * factor
			t := result.Trial{Seq: len(run.Trials) + 1, Block: block, BringUp: block, Repeat: block, Stack: "disk",
				Mix: mix.Name, Status: result.TrialDone, Miniature: &result.Limited{Asked: limits, ReadBack: limits},
				Neighbours: &result.Neighbours{CPU: &result.CPUShare{CPUs: 2, Seconds: 1, OwnSeconds: p.hostCPU * rate / 1e6}},
				Checks: []result.Honesty{{Source: result.SourceServer, Served: []result.DeviceCounter{{
					Device: result.Device{Name: "loop0"}, Reads: uint64(p.reads*rate + 0.5),
					ReadBytes: uint64(7700 * p.reads * rate)}}}},
			}
			perInstance := rate / float64(p.count)
			// One in fifty takes as long as the 99th percentile.
			slow := uint64(perInstance/50) + 1
			calm := (p.mean*perInstance - p.p99*float64(slow)) / (perInstance - float64(slow))
			bins := hist.Pack([]hist.Bin{{NS: uint64(max(1, calm) * 1e3), Count: uint64(perInstance) - slow},
				{NS: uint64(p.p99 * 1e3), Count: slow}})
			for i := range p.count {
				t.Instances = append(t.Instances, result.Instance{Index: i, Tenant: "servers", Workload: "C", Stack: "disk",
					Status: result.TrialDone,
					Usage: &result.Usage{Seconds: 1, CPUSeconds: p.cpu * perInstance / 1e6, PeakMemoryBytes: p.peak << 20,
						CacheBytes: (p.peak - 16) << 20},
					Measurement: &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read,
						Count: uint64(perInstance), Rate: perInstance, Latency: map[result.Stage]hist.Histogram{result.Total: {
							Count: uint64(perInstance), MeanNS: p.mean * 1e3, MinNS: 1e5, MaxNS: uint64(p.p99 * 1e3), Bins: bins}}}}}})
			}
			run.Trials = append(run.Trials, t)
		}
	}
	return run
}
