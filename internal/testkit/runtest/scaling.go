package runtest

import (
	"fmt"

	"plimsoll/internal/result"
)

// Instances is a run of one workload with as many instances as each of its points has,
// on one stack that was brought up anew for each block.
type Instances struct {
	Workload result.Workload
	Host     *result.Limits // the scaled-down host; nil for none
	Blocks   int
	Points   []InstancesPoint
}

// InstancesPoint is what so many instances did.
type InstancesPoint struct {
	Count    int
	Rate     float64 // of all together, per second
	Reads    float64 // of the device, per operation
	CacheMiB float64 // page cache of each
}

// Run makes the run, with a little noise that is the same on every call.
func (s Instances) Run() *result.Run {
	const stack = "disk"
	run := &result.Run{
		Seed: 1, Workloads: []result.Workload{s.Workload},
		Stacks: []result.Stack{{Name: stack, Line: "loop(size=2GiB) > xfs > volume"}},
	}
	for i, p := range s.Points {
		tenant := result.Tenant{Name: "readers", Workload: s.Workload.Name, Count: p.Count}
		mix := result.Mix{Name: fmt.Sprintf("%s-%d", s.Workload.Name, p.Count), Host: s.Host,
			Tenants: []result.Tenant{tenant}}
		run.Mixes = append(run.Mixes, mix)
		for block := 1; block <= s.Blocks; block++ {
			rate := p.Rate * (1 + 0.004*float64((block+i)%5))
			run.Trials = append(run.Trials, result.Trial{
				Seq: len(run.Trials) + 1, Block: block, BringUp: block, Repeat: block, Stack: stack, Mix: mix.Name,
				Status: result.TrialDone, Instances: p.instances(tenant, stack, rate),
				Checks: []result.Honesty{{Source: result.SourceMemory, Served: []result.DeviceCounter{
					{Device: result.Device{Name: "loop0"}, Reads: uint64(p.Reads * rate)},
				}}},
			})
		}
	}
	return run
}

func (p InstancesPoint) instances(tenant result.Tenant, stack string, rate float64) (all []result.Instance) {
	perInstance := rate / float64(p.Count)
	reads := result.Operation{Count: uint64(perInstance), Rate: perInstance}
	for i := range p.Count {
		all = append(all, result.Instance{
			Index: i, Tenant: tenant.Name, Workload: tenant.Workload, Stack: stack, Status: result.TrialDone,
			Usage:       &result.Usage{Seconds: 1, CPUSeconds: 0.1, CacheBytes: int64(p.CacheMiB * (1 << 20))},
			Measurement: &result.Measurement{Seconds: 1, Operations: result.ReadsWrites(reads, result.Operation{})},
		})
	}
	return all
}

// OverInstances are the points of 1, 2, 4, 6 and 8 instances.
func OverInstances(rates, reads, cacheMiB [5]float64) (all []InstancesPoint) {
	for i, n := range []int{1, 2, 4, 6, 8} {
		all = append(all, InstancesPoint{Count: n, Rate: rates[i], Reads: reads[i], CacheMiB: cacheMiB[i]})
	}
	return all
}
