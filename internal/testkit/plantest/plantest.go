// Package plantest runs plans without a host: what trials measure and take is given, and time does not pass.
package plantest

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/trial/plan"
)

// Run is a run whose trials are not run.
type Run struct {
	Experiment *experiment.Experiment
	Stored     result.Run // as a run directory has it
	Measures   func(t result.Trial) (perSecond float64, failed *problem.Problem)
	Takes      func(t result.Trial) time.Duration
	Lines      func(run *result.Run) []plan.Line // see plan.New
	Begins     func(t result.Trial)              // unless nil, is called before each trial
	Clock      time.Time
}

// New returns a run of an experiment that has not begun.
func New(e *experiment.Experiment, seed uint64) *Run {
	r := &Run{Experiment: e, Clock: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	r.Stored = result.Run{
		ID: "simulated", Status: result.RunRunning, Seed: seed, Started: r.Clock,
		Mixes: e.ResultMixes(), Trials: plan.First(e, seed),
	}
	for _, s := range e.Stacks {
		r.Stored.Stacks = append(r.Stored.Stacks, result.Stack{Name: s.Name})
	}
	return r
}

// Session runs at most that many trials, as a new process that resumes the run, and reports whether the run has ended.
func (r *Run) Session(trials int) (ended bool, err error) {
	e := *r.Experiment // which this process reads again
	e.AddVaried(r.Stored.Mixes)
	planner := plan.New(&e, &r.Stored, r.Lines, func() time.Time { return r.Clock })
	for range trials {
		step := planner.Next()
		if err := r.store(step); err != nil {
			return false, err
		}
		if step.Trial == nil {
			return true, nil
		}
		t := r.trial(*step.Trial)
		r.Stored.Trials[t.Seq-1] = t
		planner.Done(t)
	}
	return false, nil
}

// trial returns a trial as it ended.
func (r *Run) trial(t result.Trial) result.Trial {
	if r.Begins != nil {
		r.Begins(t)
	}
	takes := r.Takes(t)
	t.Started, t.ElapsedSeconds = r.Clock, takes.Seconds()
	r.Clock = r.Clock.Add(takes)
	perSecond, failed := r.Measures(t)
	if failed != nil {
		t.Status, t.Problem = result.TrialFailed, failed
		if failed.Kind == problem.Unsupported {
			t.Status = result.TrialSkipped
		}
		return t
	}
	t.Status = result.TrialDone
	reads := result.Operation{Count: 1, Rate: perSecond}
	t.Instances = result.One(&result.Measurement{
		Seconds: 1, Operations: result.ReadsWrites(reads, result.Operation{}),
	})
	return t
}

// store takes what was planned into the run, by the rules of a run directory: see store.Store.
func (r *Run) store(step plan.Step) error {
	keep := len(r.Stored.Trials) - step.Withdrawn
	if keep < 0 {
		return fmt.Errorf("%d of %d trials are withdrawn", step.Withdrawn, len(r.Stored.Trials))
	}
	for _, t := range r.Stored.Trials[keep:] {
		if t.Status != result.TrialPlanned {
			return fmt.Errorf("trial %d is withdrawn, and is %s", t.Seq, t.Status)
		}
	}
	r.Stored.Trials = r.Stored.Trials[:keep]
	for _, m := range step.Mixes {
		r.Stored.Mixes = append(r.Stored.Mixes, m.Stored())
	}
	for _, t := range step.Planned {
		if t.Seq != len(r.Stored.Trials)+1 || t.Status != result.TrialPlanned {
			return fmt.Errorf("trial %d is %s, and follows %d trials", t.Seq, t.Status, len(r.Stored.Trials))
		}
		r.Stored.Trials = append(r.Stored.Trials, t)
	}
	for _, t := range step.Skipped {
		if r.Stored.Trials[t.Seq-1].Status != result.TrialPlanned {
			return fmt.Errorf("trial %d is skipped, and was %s", t.Seq, r.Stored.Trials[t.Seq-1].Status)
		}
		r.Stored.Trials[t.Seq-1] = t
	}
	if step.Trial == nil && r.Experiment.Budget > 0 {
		r.Stored.Points = step.Points
	}
	return nil
}

// Point returns what a run with a budget says of a point at its end; the zero value where it says nothing.
func (r *Run) Point(point result.Point) result.PointStop {
	i := slices.IndexFunc(r.Stored.Points, func(p result.PointStop) bool {
		return p.Stack == point.Stack && p.Mix == point.Mix
	})
	if i < 0 {
		return result.PointStop{}
	}
	return r.Stored.Points[i]
}

// Tried returns the number of trials of a point that were run or skipped.
func (r *Run) Tried(point result.Point) (n int) {
	for _, t := range r.Stored.Trials {
		if t.Stack == point.Stack && t.Mix == point.Mix && t.Status != result.TrialPlanned {
			n++
		}
	}
	return n
}

// Mix returns a mix of the run, those included that it added; the zero value for a workload alone.
func (r *Run) Mix(name string) result.Mix {
	i := slices.IndexFunc(r.Stored.Mixes, func(m result.Mix) bool { return m.Name == name })
	if i < 0 {
		return result.Mix{}
	}
	return r.Stored.Mixes[i]
}
