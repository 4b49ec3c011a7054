package drive

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/trial/site"
	"plimsoll/internal/workload"
)

// follower watches the instances of a trial, and says when they have run long
// enough: when the mean of all together is known.
type follower struct {
	mu       sync.Mutex       // guards what follows, which the goroutines of instances share
	watches  []workload.Watch // by instance
	pending  [][]float64      // rates of intervals that not all instances have completed yet
	gone     []bool           // instances that ended
	rule     stopping.Rule
	stopper  *stopping.Stopper // nil for a trial that takes its whole time
	interval time.Duration     // of rates
	asked    int64             // operations of each instance that end the trial; 0 for none
	done     []float64         // operations by instance, of complete intervals
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

// follow has the steps of a mix watched if they may end early, warm up, or have a ramp: only statuses show how much
// was done in a ramp. It sets the interval of samples in timing, for which the steps are made. It returns nil if
// nothing is watched.
func (r *Driver) follow(m experiment.Mix, instances site.Together, timing *workload.Timing) *follower {
	early := experiment.MayEndEarly(r.Experiment, r.Experiment.WorkloadsOf(m)...)
	warms := slices.ContainsFunc(instances, func(in *site.Instance) bool { return in.Warms() })
	asked := r.Experiment.Operations
	if !early && timing.Ramp == 0 && !warms && asked == 0 {
		return nil
	}
	for _, in := range instances {
		if in.Load.Abilities().Watch == nil {
			return nil
		}
	}
	f := &follower{pending: make([][]float64, len(instances)), gone: make([]bool, len(instances)), warms: warms,
		asked: asked, done: make([]float64, len(instances))}
	switch {
	case early:
		f.rule = stopping.DefaultRule
		if r.Experiment.Target > 0 {
			f.rule.Target = r.Experiment.Target
		}
		f.rule.Max, timing.Sample = timing.Runtime, f.rule.Interval
		f.stopper = stopping.New(f.rule)
	case asked > 0:
		timing.Sample = stopping.DefaultRule.Interval
	case warms:
		timing.Sample = max(leastSample, timing.Runtime/mostSamples)
	default:
		timing.Sample = max(leastSample, timing.Ramp/2, (timing.Ramp+timing.Runtime)/mostSamples)
	}
	f.interval = timing.Sample
	for _, in := range instances {
		f.watches = append(f.watches, in.Load.Abilities().Watch(*timing))
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

// judge adds up the rates of intervals that all running instances have completed.
func (f *follower) judge() {
	for {
		sum, found := 0.0, false
		for i, rates := range f.pending {
			switch {
			case len(rates) > 0:
				sum, found = sum+rates[0], true
			case !f.gone[i]:
				return
			}
		}
		if !found {
			return
		}
		for i, rates := range f.pending {
			if len(rates) > 0 {
				f.pending[i] = rates[1:]
				f.done[i] += rates[0] * f.interval.Seconds()
			}
		}
		if f.stopper == nil && !f.warms && f.asked == 0 || f.decision.Stop {
			continue
		}
		f.rates = append(f.rates, sum)
		switch {
		case f.stopper != nil:
			f.decision = f.stopper.Add(sum)
		case f.asked > 0:
			f.decision.Stop = slices.Min(f.done) >= float64(f.asked)
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
	if f.stopper != nil || f.warms || f.asked > 0 {
		t.Rates = &result.Rates{IntervalSeconds: f.interval.Seconds(), IOPS: f.rates, Warmup: f.warmup}
	}
	t.Warming = f.warming
	if f.asked > 0 {
		t.Stop = f.stopAtOperations()
		return
	}
	if f.stopper == nil {
		return
	}
	d := f.decision
	t.Stop = &result.Stop{Reason: stopReason(d.Reason), Why: d.Why, MeanIOPS: d.Mean.Value, Confidence: f.rule.Confidence}
	if !math.IsNaN(d.Low) {
		t.Stop.LowIOPS, t.Stop.HighIOPS = max(0, d.Low), d.High
	}
}

// stopAtOperations returns why a trial of so many operations ended.
func (f *follower) stopAtOperations() *result.Stop {
	stop := &result.Stop{Reason: result.StopOperations,
		Why: fmt.Sprintf("each instance made %d operations or more", f.asked)}
	if !f.decision.Stop {
		stop.Reason = result.StopMaximum
		stop.Why = fmt.Sprintf("the slowest instance made %.0f of %d operations in the longest time", slices.Min(f.done),
			f.asked)
	}
	for _, rate := range f.rates {
		stop.MeanIOPS += rate / float64(len(f.rates))
	}
	return stop
}

// read reads the measurement of an instance, and keeps the last of its process's
// output in file.
func (f *follower) read(instance int, exit workload.Exit, file string) (m measured, err error) {
	watch := f.watches[instance]
	m.reported, err = watch.Whole(exit)
	if err != nil {
		return m, err
	}
	m.steady, err = watch.Read(exit, f.warmup)
	if err != nil {
		return m, err
	}
	// All but the last of the documents would be in the way of who reads them.
	if err := stack.WriteKept(file, watch.Final()); err != nil {
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
