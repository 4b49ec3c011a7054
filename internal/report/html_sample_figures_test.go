package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/stats/stopping"
)

// stoppedRun is the sample run as a run is that decides by itself when it
// knows enough: with rounds before, a series of each trial, and why each ended.
func stoppedRun() *result.Run {
	run := sampleRun()
	rng := rand.New(rand.NewPCG(4, 2))
	run.Experiment.Target, run.Experiment.BudgetSeconds = 0.03, 120
	seen := map[string]bool{}
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Status != result.TrialDone {
			continue
		}
		rate := t.Measured().IOPS()
		t.Rates, t.Stop = sampleSeries(rng, rate, 60+rng.IntN(60))
		if key := t.Stack + "/" + t.Mix; !seen[key] {
			seen[key] = true
			t.Preconditioning = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 1, Bytes: 512 << 20}
			if t.Mix == "RW" {
				t.Preconditioning.Rounds = sampleRounds(rng, rate, t.Stack == "btrfs")
			}
		}
	}
	for _, s := range run.Stacks {
		for _, w := range run.Workloads {
			p := result.PointStop{Stack: s.Name, Mix: w.Name, Reason: result.StopSettled,
				Why: "every comparison that needs it has its verdict", RelativeHalfWidth: 0.021}
			for _, t := range run.Trials {
				if t.Stack == s.Name && t.Mix == w.Name && t.Status == result.TrialDone {
					p.Trials++
				}
			}
			if s.Name == "btrfs" {
				p.Reason, p.Why, p.RelativeHalfWidth = result.StopBudget,
					"the budget of 2 min was spent; 3 more trials were wanted", 0.08
			}
			run.Points = append(run.Points, p)
		}
	}
	return run
}

// sampleSeries climbs while it warms up and then scatters around its rate.
func sampleSeries(rng *rand.Rand, rate float64, n int) (*result.Rates, *result.Stop) {
	const warm = 8
	s := &result.Rates{IntervalSeconds: 0.1, Warmup: warm}
	sum := 0.0
	for i := range n {
		v := rate * (1 + 0.05*rng.NormFloat64())
		if i < warm {
			v *= 0.4 + 0.6*float64(i)/warm
		} else {
			sum += v
		}
		s.IOPS = append(s.IOPS, v)
	}
	mean := sum / float64(n-warm)
	return s, &result.Stop{Reason: result.StopPrecise, Why: "the mean is known within 3%", MeanIOPS: mean,
		LowIOPS: mean * 0.98, HighIOPS: mean * 1.02, Confidence: 0.95}
}

func sampleRounds(rng *rand.Rand, rate float64, restless bool) *result.Rounds {
	r := &result.Rounds{Seconds: 60}
	for i := range 9 {
		v := rate * (1 + 0.02*rng.NormFloat64()) * (1 + 1.5/float64(i*i+1))
		if restless {
			v = rate * (0.6 + 0.8*rng.Float64())
		}
		r.IOPS = append(r.IOPS, v)
	}
	v := stopping.SNIA.Judge(r.IOPS)
	r.Settled, r.Why, r.From, r.To = v.Settled, v.Why, v.From, v.To
	r.Average, r.Excursion, r.Slope, r.First, r.Last = v.Average, v.Excursion, v.Slope, v.First, v.Last
	return r
}

// sweptRun varies the number of jobs on two file systems under reads and
// writes: writes to xfs fall off a cliff after 24 jobs.
func sweptRun() *result.Run {
	rng := rand.New(rand.NewPCG(3, 3))
	run := sampleRun()
	run.Experiment.Name, run.Experiment.Baseline = "write-scaling", "loop-raw"
	run.Experiment.Question = "How many writers does a file system take before throughput falls?"
	run.Stacks = slices.DeleteFunc(run.Stacks, func(s result.Stack) bool {
		return s.Name != "loop-raw" &&
			s.Name != "ext4" && s.Name != "xfs"
	})
	run.Workloads, run.Trials = nil, nil
	for _, pattern := range []struct{ name, rw string }{{"RR", "randread"}, {"RW", "randwrite"}} {
		for _, jobs := range []int{1, 2, 4, 8, 16, 24, 32, 48, 64} {
			run.Workloads = append(run.Workloads, result.Workload{
				Name: fmt.Sprintf("%s-%d", pattern.name, jobs), Kind: "fio", Pattern: pattern.rw,
				Summary:  fmt.Sprintf("%s 4 KiB, %d jobs x depth 32, libaio, direct", pattern.rw, jobs),
				Declared: fmt.Sprintf("rw: %s\nbs: 4KiB\njobs: %d\niodepth: 32\nsize: 512MiB\n", pattern.rw, jobs),
				Levels:   map[string]string{"jobs": fmt.Sprint(jobs)},
			})
			for _, s := range sampleStacks {
				if s.name != "loop-raw" && s.name != "ext4" && s.name != "xfs" {
					continue
				}
				scaled := s
				scaled.readIOPS *= float64(min(jobs, 8)) / 8
				scaled.writeIOPS *= float64(min(jobs, 8)) / 8
				if s.name == "xfs" && jobs > 24 {
					scaled.writeIOPS *= 0.4
				}
				w := run.Workloads[len(run.Workloads)-1]
				for repeat := 1; repeat <= 5; repeat++ {
					m := sampleMeasurement(rng, scaled, w)
					run.Trials = append(run.Trials, result.Trial{Seq: len(run.Trials) + 1, Block: repeat, Repeat: repeat,
						Stack: s.name, Mix: w.Name,
						Status: result.TrialDone, Started: run.Started, ElapsedSeconds: 1.5, Instances: result.One(m),
						Checks: []result.Honesty{*sampleHonesty(s, w, 0, m)}})
				}
			}
		}
	}
	return run
}

// publishedRun is what turning copy-on-write off buys on btrfs: three times
// the random writes here, five times in the paper.
func publishedRun() *result.Run {
	rng := rand.New(rand.NewPCG(5, 1))
	run := sampleRun()
	run.Experiment.Name, run.Experiment.Baseline = "btrfs-cow", "btrfs"
	run.Experiment.Question = "What does turning copy-on-write off buy on btrfs?"
	keep := map[string]bool{"loop-raw": true, "btrfs": true, "btrfs-nodatacow": true}
	run.Stacks = slices.DeleteFunc(run.Stacks, func(s result.Stack) bool { return !keep[s.Name] })
	run.Workloads, run.Trials = nil, nil
	for _, w := range []result.Workload{
		{Name: "RW", Kind: "fio", Pattern: "randwrite", Summary: "randwrite 4 KiB, 32 jobs x depth 32, libaio, direct"},
		{Name: "RR", Kind: "fio", Pattern: "randread", Summary: "randread 4 KiB, 32 jobs x depth 32, libaio, direct"},
		{Name: "SW", Kind: "fio", Pattern: "write", Summary: "write 128 KiB, 32 jobs x depth 32, libaio, direct"},
	} {
		w.Declared = fmt.Sprintf("rw: %s\nbs: 4KiB\njobs: 32\niodepth: 32\nsize: 512MiB\n", w.Pattern)
		run.Workloads = append(run.Workloads, w)
		for i, s := range sampleStacks {
			if !keep[s.name] {
				continue
			}
			if s.name == "btrfs" {
				s.writeIOPS *= 0.7
			}
			for repeat := 1; repeat <= 7; repeat++ {
				m := sampleMeasurement(rng, s, w)
				run.Trials = append(run.Trials, result.Trial{Seq: len(run.Trials) + 1, Block: repeat, Repeat: repeat, Stack: s.name,
					Mix:    w.Name,
					Status: result.TrialDone, Started: run.Started, ElapsedSeconds: 1.5, Instances: result.One(m),
					Checks: []result.Honesty{*sampleHonesty(s, w, i, m)}})
			}
		}
	}
	return run
}

// largeRun has 200 trials or a few more, each with a series of a minute, and rounds.
func largeRun() *result.Run {
	run := stoppedRun()
	rng := rand.New(rand.NewPCG(200, 1))
	trials := run.Trials
	for round := 1; len(run.Trials) < 200; round++ {
		for _, t := range trials {
			t.Seq, t.Block, t.Repeat = len(run.Trials)+1, t.Block+5*round, t.Repeat+5*round
			t.Preconditioning = nil
			if t.Status == result.TrialDone {
				m := *t.Measured()
				t.Instances = result.One(&m)
			}
			run.Trials = append(run.Trials, t)
		}
	}
	run.Trials = run.Trials[:200]
	for i := range run.Trials {
		if t := &run.Trials[i]; t.Status == result.TrialDone {
			t.Rates, t.Stop = sampleSeries(rng, t.Measured().IOPS(), 600)
		}
	}
	run.Finished = run.Started.Add(4 * time.Hour)
	return run
}
