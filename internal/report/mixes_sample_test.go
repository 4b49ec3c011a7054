package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// mixedRun is a run in a scaled-down host: four readers, ten readers, and two tenants on
// stacks of their own, of which one is too small for its memory and dies in one
// trial of three.
func mixedRun() *result.Run {
	rng := rand.New(rand.NewPCG(8, 8))
	run := sampleRun()
	run.Experiment.Name, run.Experiment.Baseline, run.Experiment.Repeat = "neighbourhood", "", 3
	run.Experiment.Question = "How many readers does a small host carry?"
	run.Stacks = slices.DeleteFunc(run.Stacks, func(s result.Stack) bool { return s.Name != "ext4" && s.Name != "xfs" })
	host := result.Limits{CPUs: 2, MemoryBytes: 1100 << 20, Read: result.Rate{OperationsPerSecond: 2000}}
	batch := result.Limits{CPUs: 0.5, MemoryBytes: 64 << 20, Write: result.Rate{BytesPerSecond: 8 << 20}}
	run.Mixes = []result.Mix{
		{Name: "four", Tenants: []result.Tenant{{Name: "readers", Workload: "RR", Count: 4}}, Host: &host},
		{Name: "ten", Tenants: []result.Tenant{{Name: "readers", Workload: "RR", Count: 10}}, Host: &host},
		{Name: "both", Host: &host, Tenants: []result.Tenant{
			{Name: "RR", Workload: "RR", Count: 2, On: []string{"ext4", "xfs"}},
			{Name: "batch", Workload: "RW", Count: 1, On: []string{"xfs"}, Limits: batch},
		}},
	}
	run.Trials = nil
	for block := 1; block <= 3; block++ {
		for _, m := range run.Mixes {
			run.Trials = append(run.Trials, mixedTrial(rng, run, m, block))
		}
	}
	return run
}

func mixedTrial(rng *rand.Rand, run *result.Run, m result.Mix, block int) result.Trial {
	t := result.Trial{
		Seq: len(run.Trials) + 1, Block: block, Repeat: block, BringUp: block, Stack: "xfs", Mix: m.Name,
		Status:  result.TrialDone,
		Started: run.Started.Add(time.Duration(len(run.Trials)) * 20 * time.Second), ElapsedSeconds: 16,
		Miniature: &result.Limited{Asked: *m.Host, ReadBack: *m.Host},
	}
	t.Window = &result.Window{Start: t.Started.Add(4 * time.Second), Seconds: 8, Outside: 0.01}
	if m.Name == "both" {
		t.Stack, t.Window.Outside = "", 0.12
	}
	for _, tenant := range m.Tenants {
		for i := range tenant.Count {
			in := result.Instance{Index: len(t.Instances), Tenant: tenant.Name, Workload: tenant.Workload, Stack: "xfs",
				Status: result.TrialDone}
			if len(tenant.On) > 0 {
				in.Stack = tenant.On[i%len(tenant.On)]
			}
			w := run.Workloads[slices.IndexFunc(run.Workloads,
				func(w result.Workload) bool { return w.Name == tenant.Workload })]
			s := sampleStack{readIOPS: 500 / float64(i+1), writeIOPS: 300}
			in.Measurement = sampleMeasurement(rng, s, w)
			in.Usage = &result.Usage{Seconds: 12, CPUSeconds: 1.5, PeakMemoryBytes: 256 << 20}
			if !tenant.Limits.None() {
				in.Limited = &result.Limited{Asked: tenant.Limits, ReadBack: tenant.Limits}
				in.Limited.ReadBack.CPUs = 0.4
				in.Limited.Problems = []string{"its writes go past the page cache, and are not limited"}
				in.Usage.ThrottledSeconds = 3
			}
			if tenant.Name == "batch" && block == 2 {
				in.Measurement, in.Status = nil, result.TrialFailed
				in.Problem = &problem.Problem{What: "fio of batch", Why: "killed by the kernel's OOM killer at 64 MiB",
					Remedy: "more memory"}
				t.Status, t.Problem = result.TrialFailed, &problem.Problem{What: "instance 2 (batch on xfs)", Why: in.Problem.Why,
					Remedy: "more memory"}
			}
			t.Instances = append(t.Instances, in)
		}
	}
	t.Series = mixedSeries(t)
	return t
}

// mixedSeries are what was sampled in a trial: twelve values, one of them missing.
func mixedSeries(t result.Trial) []result.Series {
	var series []result.Series
	add := func(instance int, source, metric, unit string, value float64) {
		s := result.Series{Instance: instance, Source: source, Metric: metric, Unit: unit, Start: t.Started,
			Step: time.Second}
		for i := range 12 {
			s.Values = append(s.Values, value*float64(10+i%3))
		}
		s.Values[5] = math.NaN()
		series = append(series, s)
	}
	for i := range t.Instances {
		add(i, "instance", "cpu.user", "CPUs", 0.01*float64(i+1))
		add(i, "instance", "cpu.system", "CPUs", 0.002)
		add(i, "instance", "memory.file", "bytes", 1<<24)
		add(i, "instance", "pressure.io.some", "share", 0.05)
	}
	add(result.NoInstance, "miniature", "memory.file", "bytes", float64(len(t.Instances))*(1<<24))
	add(result.NoInstance, "host", "memory.file", "bytes", 1<<30)
	for _, device := range []string{"loop0", "vda"} {
		add(result.NoInstance, "device "+device, "io.read_bytes", "bytes/s", 2e6)
		add(result.NoInstance, "device "+device, "io.write_bytes", "bytes/s", 1e6)
		add(result.NoInstance, "device "+device, "io.utilisation", "share", 0.04)
	}
	return series
}

// ownSeries reads the series that the trials of a run hold.
func ownSeries(run *result.Run) PageOptions {
	return PageOptions{Series: func(seq int) ([]result.Series, error) {
		for _, t := range run.Trials {
			if t.Seq == seq {
				return t.Series, nil
			}
		}
		return nil, fmt.Errorf("there is no trial %d", seq)
	}}
}
