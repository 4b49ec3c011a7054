package trial

import (
	"fmt"
	"math"
	"os"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/steady"
	"plimsoll/internal/workload"
)

// follower watches a trial, and says when it has run long enough.
type follower struct {
	watch    workload.Watch
	rule     steady.Rule
	stopper  *steady.Stopper // nil for a trial that takes its whole time
	decision steady.Decision
	series   []float64
}

const (
	// leastSample is how often fio can tell of itself without being busy with it.
	leastSample = 100 * time.Millisecond
	// mostSamples is how often it need do so, where that only tells of the ramp.
	mostSamples = 100
)

// follow makes the workload's step one that can be watched: where it may end
// early, and where it has a ramp, of which only statuses tell how much was done
// in it. timing is what the step is to be made for.
func (r *runner) follow(w experiment.Workload, timing *workload.Timing) *follower {
	watchable, ok := w.Workload.(workload.Watchable)
	early := experiment.MayEndEarly(r.Experiment, w)
	if !ok || !early && timing.Ramp == 0 {
		return nil
	}
	if !early {
		timing.Sample = max(leastSample, timing.Ramp/2, (timing.Ramp+timing.Runtime)/mostSamples)
		return &follower{watch: watchable.Watch(*timing)}
	}
	rule := steady.DefaultRule
	if r.Experiment.Target > 0 {
		rule.Target = r.Experiment.Target
	}
	rule.Max, timing.Sample = timing.Runtime, rule.Interval
	return &follower{rule: rule, watch: watchable.Watch(*timing), stopper: steady.New(rule)}
}

// feed takes what the workload's process appended to its output.
func (f *follower) feed(appended []byte) (enough bool) {
	for _, rate := range f.watch.Feed(appended) {
		if f.stopper == nil {
			continue
		}
		if f.decision.Stop {
			break
		}
		f.series = append(f.series, rate)
		f.decision = f.stopper.Add(rate)
	}
	return f.decision.Stop
}

// end reads the measurement once the process ended, tells t why it did, and
// keeps the last of the process's output in file.
func (f *follower) end(exit workload.Exit, t *result.Trial, file string) (m measured, err error) {
	if f.stopper != nil && !f.decision.Stop {
		f.decision = f.stopper.End()
	}
	d := f.decision
	warmup := 0
	if f.stopper != nil {
		warmup = int(d.Warmup/f.rule.Interval) / workload.WarmupUnit * workload.WarmupUnit
	}
	if m.all, err = f.watch.Whole(exit); err != nil {
		return m, err
	}
	if m.steady, err = f.watch.Read(exit, warmup); err != nil {
		return m, err
	}
	// All but the last of the documents would be in the way of who reads them.
	if err := os.WriteFile(file, f.watch.Final(), 0o644); err != nil {
		return m, fmt.Errorf("keep the workload's output: %w", err)
	}
	m.share = 1
	if f.stopper == nil {
		return m, nil
	}
	t.Series = &result.Series{IntervalSeconds: f.rule.Interval.Seconds(), IOPS: f.series, Warmup: warmup}
	t.Stop = &result.Stop{Reason: stopReason(d.Reason), Why: d.Why, MeanIOPS: d.Mean.Value, Confidence: f.rule.Confidence}
	if !math.IsNaN(d.Low) {
		t.Stop.LowIOPS, t.Stop.HighIOPS = max(0, d.Low), d.High
	}
	return m, nil
}

func stopReason(r steady.Reason) result.StopReason {
	switch r {
	case steady.Precise:
		return result.StopPrecise
	case steady.NeverSettled:
		return result.StopNever
	}
	return result.StopMaximum
}
