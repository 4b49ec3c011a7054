package trial

import (
	"fmt"
	"math"
	"os"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/steady"
	"plimsoll/internal/workload"
)

// follower watches a trial and says when it has run long enough.
type follower struct {
	rule     steady.Rule
	watch    workload.Watch
	stopper  *steady.Stopper
	decision steady.Decision
	series   []float64
}

// follow makes the workload's step one that may end early, where it may.
func (r *runner) follow(w experiment.Workload, timing *workload.Timing) *follower {
	watchable, ok := w.Workload.(workload.Watchable)
	if !ok || !experiment.MayEndEarly(r.Experiment, w) {
		return nil
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
	if !f.decision.Stop {
		f.decision = f.stopper.End()
	}
	d := f.decision
	warmup := int(d.Warmup/f.rule.Interval) / workload.WarmupUnit * workload.WarmupUnit
	if m.all, err = f.watch.Read(exit, 0); err != nil {
		return m, err
	}
	if m.steady, err = f.watch.Read(exit, warmup); err != nil {
		return m, err
	}
	t.Series = &result.Series{IntervalSeconds: f.rule.Interval.Seconds(), IOPS: f.series, Warmup: warmup}
	t.Stop = &result.Stop{Reason: stopReason(d.Reason), Why: d.Why, MeanIOPS: d.Mean.Value, Confidence: f.rule.Confidence}
	if !math.IsNaN(d.Low) {
		t.Stop.LowIOPS, t.Stop.HighIOPS = max(0, d.Low), d.High
	}
	// All but the last of the documents would be in the way of who reads them.
	if err := os.WriteFile(file, f.watch.Final(), 0o644); err != nil {
		return m, fmt.Errorf("keep the workload's output: %w", err)
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
