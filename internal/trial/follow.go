package trial

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/workload"
)

// follower watches the instances of a trial, and says when they have run long
// enough: when the mean of all together is known.
type follower struct {
	mu       sync.Mutex
	watches  []workload.Watch // by instance
	pending  [][]float64      // rates of intervals that not all instances have completed yet
	gone     []bool           // instances that ended
	rule     stopping.Rule
	stopper  *stopping.Stopper // nil for a trial that takes its whole time
	interval time.Duration     // of rates
	warms    bool              // servers get faster while they are asked
	warming  string            // why they may not have been done with it; known once decide was called
	decision stopping.Decision
	rates    []float64 // of all instances together, by interval
	warmup   int       // intervals that measurements leave out; known once decide was called
}

const (
	// leastSample is how often fio can tell of itself without being busy with it.
	leastSample = 100 * time.Millisecond
	// mostSamples is how often it need do so, where that only tells of the ramp.
	mostSamples = 100
)

// follow makes the steps of a mix ones that can be watched: where they may end
// early, and where they have a ramp, of which only statuses tell how much was done
// in it. timing is what the steps are to be made for.
func (r *runner) follow(m experiment.Mix, all together, timing *workload.Timing) *follower {
	early := experiment.MayEndEarly(r.Experiment, r.Experiment.WorkloadsOf(m)...)
	warms := slices.ContainsFunc(all, func(in *instance) bool { return in.warms() })
	if !early && timing.Ramp == 0 && !warms {
		return nil
	}
	for _, in := range all {
		if in.load.Abilities().Watch == nil {
			return nil
		}
	}
	f := &follower{pending: make([][]float64, len(all)), gone: make([]bool, len(all)), warms: warms}
	switch {
	case early:
		f.rule = stopping.DefaultRule
		if r.Experiment.Target > 0 {
			f.rule.Target = r.Experiment.Target
		}
		f.rule.Max, timing.Sample = timing.Runtime, f.rule.Interval
		f.stopper = stopping.New(f.rule)
	case warms:
		timing.Sample = max(leastSample, timing.Runtime/mostSamples)
	default:
		timing.Sample = max(leastSample, timing.Ramp/2, (timing.Ramp+timing.Runtime)/mostSamples)
	}
	f.interval = timing.Sample
	for _, in := range all {
		f.watches = append(f.watches, in.load.Abilities().Watch(*timing))
	}
	return f
}

// feed takes what the process of an instance appended to its output.
func (f *follower) feed(instance int, appended []byte) (enough bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[instance] = append(f.pending[instance], f.watches[instance].Feed(appended)...)
	f.judge()
	return f.decision.Stop
}

// ended notes that an instance does no more, so that the others are not waited for
// it.
func (f *follower) ended(instance int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone[instance] = true
	f.judge()
}

// judge adds up the rates of intervals that all who still run have completed.
func (f *follower) judge() {
	for {
		sum, some := 0.0, false
		for i, rates := range f.pending {
			switch {
			case len(rates) > 0:
				sum, some = sum+rates[0], true
			case !f.gone[i]:
				return
			}
		}
		if !some {
			return
		}
		for i, rates := range f.pending {
			if len(rates) > 0 {
				f.pending[i] = rates[1:]
			}
		}
		if f.stopper == nil && !f.warms || f.decision.Stop {
			continue
		}
		f.rates = append(f.rates, sum)
		if f.stopper != nil {
			f.decision = f.stopper.Add(sum)
		}
	}
}

// decide is called once all instances have ended, before what they measured is read.
func (f *follower) decide() {
	f.mu.Lock()
	defer f.mu.Unlock()
	cut := 0
	if f.warms {
		cut, f.warming = stopping.Warming(f.rates)
	}
	if f.stopper != nil {
		if !f.decision.Stop {
			f.decision = f.stopper.End()
		}
		cut = int(f.decision.Warmup / f.interval)
	}
	f.warmup = cut / workload.WarmupUnit * workload.WarmupUnit
}

// tell tells t why its instances ended when they did, and what of their time was warm-up.
func (f *follower) tell(t *result.Trial) {
	if f.stopper != nil || f.warms {
		t.Rates = &result.Rates{IntervalSeconds: f.interval.Seconds(), IOPS: f.rates, Warmup: f.warmup}
	}
	t.Warming = f.warming
	if f.stopper == nil {
		return
	}
	d := f.decision
	t.Stop = &result.Stop{Reason: stopReason(d.Reason), Why: d.Why, MeanIOPS: d.Mean.Value, Confidence: f.rule.Confidence}
	if !math.IsNaN(d.Low) {
		t.Stop.LowIOPS, t.Stop.HighIOPS = max(0, d.Low), d.High
	}
}

// read reads the measurement of an instance, and keeps the last of its process's
// output in file.
func (f *follower) read(instance int, exit workload.Exit, file string) (m measured, err error) {
	watch := f.watches[instance]
	m.all, err = watch.Whole(exit)
	if err != nil {
		return m, err
	}
	m.steady, err = watch.Read(exit, f.warmup)
	if err != nil {
		return m, err
	}
	// All but the last of the documents would be in the way of who reads them.
	if err := os.WriteFile(file, watch.Final(), stack.KeptMode); err != nil {
		return m, fmt.Errorf("keep the workload's output: %w", err)
	}
	m.share = 1
	return m, nil
}

func stopReason(r stopping.Reason) result.StopReason {
	switch r {
	case stopping.Precise:
		return result.StopPrecise
	case stopping.NeverSettled:
		return result.StopNever
	}
	return result.StopMaximum
}
