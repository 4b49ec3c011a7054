package report

import (
	"math/rand/v2"
	"slices"

	"plimsoll/internal/result"
)

// tracedRun is the sample run with its trials traced: most stacks, one of
// them a remote device, one that mixes reads and writes, one of which the
// parts take more than what the application saw, and others on the devices.
func tracedRun() *result.Run {
	rng := rand.New(rand.NewPCG(8, 8))
	run := sampleRun()
	run.Experiment.Name, run.Experiment.Question = "latency", "Where does the time of an I/O go?"
	run.Workloads = append(run.Workloads, result.Workload{Name: "MIX", Kind: "fio", Pattern: "randrw",
		Summary: "randrw 4 KiB, 1 job x depth 1, libaio, direct", Declared: "rw: randrw\n"})
	run.Stacks = append(run.Stacks, result.Stack{Name: "remote-xfs", Line: "nvmeof(10.0.0.2) > xfs",
		Marks: []result.Mark{result.MarkRemote}})
	remote := sampleStack{name: "remote-xfs", readIOPS: 9100, writeIOPS: 8800, readPer: 1, writePer: 1}
	for _, w := range run.Workloads {
		for repeat := 1; repeat <= 3; repeat++ {
			m := sampleMeasurement(rng, remote, w)
			if w.Name == "MIX" {
				m.Operations = result.ReadsWrites(sampleDirection(rng, 4000, false), sampleDirection(rng, 1000, false))
			}
			run.Trials = append(run.Trials, result.Trial{Seq: len(run.Trials) + 1, Block: repeat, Repeat: repeat,
				Stack: remote.name, Mix: w.Name,
				Status: result.TrialDone, Started: run.Started, ElapsedSeconds: 1.5, Instances: result.One(m),
				Checks: []result.Honesty{*sampleHonesty(remote, w, 3, m)}})
		}
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Measured() == nil || slices.Contains([]string{"loop-buffered", "fuse-overlayfs"}, t.Stack) {
			continue
		}
		t.Trace = &result.Trace{Recorder: "BPF", Read: sampleBreakdown(t.Stack, t.Measured().Operation(result.Read)),
			Write: sampleBreakdown(t.Stack, t.Measured().Operation(result.Write))}
		for _, d := range []struct {
			op        string
			operation result.Operation
		}{{"read", t.Measured().Operation(result.Read)}, {"write", t.Measured().Operation(result.Write)}} {
			if d.operation.Count > 0 {
				t.Trace.Served = append(t.Trace.Served, result.Served{Device: "vda", Owner: "application", Application: true,
					Op: d.op, Requests: d.operation.Count, Bytes: d.operation.Bytes})
			}
		}
		switch t.Stack {
		case "ext4":
			t.Trace.Served = append(t.Trace.Served, result.Served{Device: "vda", Owner: "jbd2/loop2-8", Kernel: true,
				Op: "write", Requests: 41, Bytes: 41 * 8192},
				result.Served{Device: "vda", Owner: "jbd2/loop2-8", Kernel: true, Op: "flush", Requests: 9})
		case "xfs":
			t.Trace.Served = append(t.Trace.Served, result.Served{Device: "vda", Owner: "container cassandra-1", Op: "write",
				Requests: 301, Bytes: 301 * 65536},
				result.Served{Device: "vda", Owner: "not attributed", Op: "write", Requests: 12, Bytes: 12 * 4096})
			t.Trace.Lost = 7
		case "btrfs":
			t.Trace.Missing = []string{"kernel: writes reach the block layer from a worker, so the time in the file system is " +
				"in the residue"}
		}
	}
	return run
}

// sampleBreakdown splits a mean latency; nil for no I/O.
func sampleBreakdown(stack string, d result.Operation) *result.Breakdown {
	if d.Count == 0 {
		return nil
	}
	b := &result.Breakdown{IOs: d.Count, Bytes: d.Bytes, TotalNS: d.Latency[result.Total].MeanNS, PerIO: 1,
		BytesPerIO: 4096}
	shares := map[result.PartName]float64{result.PartUser: 0.02, result.PartKernel: 0.07, result.PartBlock: 0.13,
		result.PartDevice: 0.77}
	switch stack {
	case "remote-xfs":
		shares = map[result.PartName]float64{result.PartUser: 0.02, result.PartKernel: 0.06, result.PartBlock: 0.04,
			result.PartDriver: 0.03, result.PartFabric: 0.35, result.PartDevice: 0.49}
	case "btrfs":
		shares, b.PerIO, b.BytesPerIO = map[result.PartName]float64{result.PartUser: 0.01, result.PartBlock: 0.2,
			result.PartDevice: 0.55}, 1.31, 9011.2
	case "xfs-volume":
		shares[result.PartUser] = -0.003 // within what clocks differ by
	case "btrfs-nodatacow":
		shares[result.PartDevice] = 0.82 // the parts overlap
	}
	b.ResidueNS = b.TotalNS
	for _, name := range []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver,
		result.PartFabric, result.PartTarget, result.PartDevice} {
		if share, ok := shares[name]; ok {
			b.Parts = append(b.Parts, result.TracePart{Name: name, MeanNS: share * b.TotalNS,
				From: map[bool]string{true: "D2C", false: "Q2D"}[name == result.PartDevice]})
			b.ResidueNS -= share * b.TotalNS
		}
	}
	return b
}
