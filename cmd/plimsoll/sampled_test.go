package main

import (
	"math"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

func scriptSampled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sampled DIRECTORY DATE")
	}
	at, err := time.Parse(time.DateOnly, args[1])
	ts.Check(err)
	ts.Check(makeSampledRun(ts.MkAbs(args[0]), filepath.Base(args[0]), at))
}

// makeSampledRun stores a run of two trials of a mix in a scaled-down host, during which
// two instances, the scaled-down host and a device were sampled.
func makeSampledRun(dir, id string, started time.Time) error {
	host := &result.Limits{CPUs: 2, MemoryBytes: 1 << 30}
	run := result.Run{
		ID: id, Version: "test", Status: result.RunRunning, Seed: 7, Started: started,
		Command:    []string{"plimsoll", "run", "mixed.yaml"},
		Experiment: result.Experiment{Name: "mixed", Question: "What do two readers do?", Repeat: 2},
		Stacks:     []result.Stack{{Name: "xfs", Line: "loop(size=1GiB) > xfs"}},
		Workloads:  []result.Workload{{Name: "RR", Kind: "fio", Pattern: "randread", Summary: "randread 4 KiB"}},
		Mixes: []result.Mix{{Name: "two", Host: host,
			Tenants: []result.Tenant{{Name: "readers", Workload: "RR", Count: 2}}}},
	}
	for i := range 2 {
		run.Trials = append(run.Trials, result.Trial{
			Seq: i + 1, Block: i + 1, Repeat: i + 1, Stack: "xfs", Mix: "two", Status: result.TrialPlanned,
		})
	}
	s, err := store.Create(dir, run)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, trial := range s.Run().Trials {
		trial.Status, trial.Started, trial.ElapsedSeconds = result.TrialDone, started, 16
		trial.Window = &result.Window{Start: started.Add(4 * time.Second), Seconds: 10, Outside: 0.01}
		trial.Miniature = &result.Limited{Asked: *host, ReadBack: *host}
		for i := range 2 {
			trial.Instances = append(trial.Instances, result.Instance{
				Index: i, Tenant: "readers", Workload: "RR", Stack: "xfs", Status: result.TrialDone,
				Measurement: &result.Measurement{Seconds: 10,
					Operations: result.ReadsWrites(result.Operation{Count: 100, Rate: float64(900 + 100*i)}, result.Operation{})},
			})
		}
		trial.Series = sampledSeries(started)
		if err := s.SaveTrial(trial); err != nil {
			return err
		}
	}
	return s.Finish(result.RunComplete)
}

func sampledSeries(started time.Time) []result.Series {
	const values = 16
	var all []result.Series
	add := func(instance int, source, metric, unit string, value float64) {
		s := result.Series{Instance: instance, Source: source, Metric: metric, Unit: unit, Start: started, Step: time.Second}
		for range values {
			s.Values = append(s.Values, value)
		}
		all = append(all, s)
	}
	add(0, "instance", "memory.file", "bytes", 1<<28)
	add(1, "instance", "memory.file", "bytes", 1<<27)
	add(result.NoInstance, "miniature", "memory.file", "bytes", 3<<27)
	add(result.NoInstance, "device loop0", "io.utilisation", "share", 0.5)
	all[1].Values[3] = math.NaN()
	return all
}
