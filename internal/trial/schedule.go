package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/steady"
)

// schedule decides which trial is next, and when a run with a budget ends.
type schedule struct {
	*runner
	started time.Time
	before  time.Duration // that earlier processes spent on the run, which is resumed
	study   steady.Study
	points  []point // of the study
}

type point struct{ stack, workload string }

func (r *runner) newSchedule() *schedule {
	s := &schedule{runner: r, started: time.Now(), before: Spent(r.store.Run())}
	s.study = steady.DefaultStudy
	if r.Experiment.Target > 0 {
		s.study.Target = r.Experiment.Target
	}
	for _, w := range r.Experiment.Workloads {
		first := len(s.points)
		baseline := -1
		for _, stack := range r.Experiment.Stacks {
			if !experiment.Meet(stack, w) {
				continue
			}
			if stack.Name == r.Experiment.Baseline {
				baseline = len(s.points)
			}
			s.points = append(s.points, point{stack.Name, w.Name})
		}
		s.study.Pairs = append(s.study.Pairs, pairs(first, len(s.points), baseline)...)
	}
	return s
}

// Spent is what a run's trials so far took of its budget. A trial that was
// given up, since the user or a crash ended the run, is not stored, and costs
// nothing.
func Spent(run *result.Run) (total time.Duration) {
	for _, t := range run.Trials {
		total += time.Duration(t.ElapsedSeconds * float64(time.Second))
	}
	return total
}

// pairs are the comparisons that findings make between the points from first
// to end-1: with the baseline, or of each with each where there is none.
func pairs(first, end, baseline int) (all [][2]int) {
	for i := first; i < end; i++ {
		for j := i + 1; j < end; j++ {
			if baseline < 0 || i == baseline || j == baseline {
				all = append(all, [2]int{i, j})
			}
		}
	}
	return all
}

// left is how much of the budget may still be spent on trials, on a host that
// is so many times slower than was estimated: undoing takes longer there too.
func (s *schedule) left(slower float64) time.Duration {
	undo := time.Duration(slower * float64(experiment.Undo(s.Experiment)))
	return s.Experiment.Budget - undo - s.before - time.Since(s.started)
}

// next gives the trial to run now, and false when there is none: all that was
// planned has ended, no point needs more, or the budget is spent.
func (s *schedule) next() (t result.Trial, ok bool, err error) {
	trials := s.store.Run().Trials
	at := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Status == result.TrialPlanned })
	if s.Experiment.Budget == 0 {
		if at < 0 {
			return t, false, nil
		}
		return trials[at], true, nil
	}
	if at < 0 {
		at = len(trials)
		more := s.block(trials)
		if len(more) == 0 {
			return t, false, s.conclude()
		}
		if err := s.store.Plan(more); err != nil {
			return t, false, err
		}
		trials = append(trials, more...)
	}
	if cost, slower := s.cost(trials, at); cost > s.left(slower) {
		if err := s.giveUp(trials, at); err != nil {
			return t, false, err
		}
		return t, false, s.conclude()
	}
	return trials[at], true, nil
}

// block plans the next block: the points of which more must be known, in a
// random order.
func (s *schedule) block(trials []result.Trial) (more []result.Trial) {
	s.look(trials)
	var planned []experiment.Planned
	// A verdict says which point is faster. By how much, which published results
	// are about, takes narrow intervals as well.
	size := s.study
	size.Pairs, size.Target = nil, max(s.study.Target, sizeTarget)
	next := append(s.study.Next(), size.Next()...)
	slices.Sort(next)
	for _, i := range slices.Compact(next) {
		planned = append(planned, experiment.Planned{Stack: s.points[i].stack, Workload: s.points[i].workload})
	}
	block := 1
	if len(trials) > 0 {
		block = trials[len(trials)-1].Block + 1
	}
	experiment.Shuffle(planned, s.Seed, block)
	for i, p := range planned {
		repeat := 1
		for _, t := range trials {
			if t.Stack == p.Stack && t.Workload == p.Workload {
				repeat++
			}
		}
		more = append(more, result.Trial{
			Seq: len(trials) + 1 + i, Block: block, Stack: p.Stack, Workload: p.Workload, Repeat: repeat, Status: result.TrialPlanned,
		})
	}
	return more
}

// mostFailures is how many trials of a point in a row may fail before it gets
// no more.
const mostFailures = 2

// sizeTarget is how precisely to know the means of points whose comparisons
// have their verdict: half of the interval as a share of the mean.
const sizeTarget = 0.1

// look takes what the trials measured into the study.
func (s *schedule) look(trials []result.Trial) {
	s.study.Points = make([]steady.StudyPoint, len(s.points))
	failures := make([]int, len(s.points)) // in a row
	for _, t := range trials {
		i := slices.Index(s.points, point{t.Stack, t.Workload})
		p := &s.study.Points[i]
		switch {
		case t.Status == result.TrialPlanned, s.givenUp(t):
		case t.Measurement != nil && t.Measurement.IOPS() > 0:
			p.Values = append(p.Values, t.Measurement.IOPS())
			failures[i] = 0
		default:
			// What fails again may fail every time, at the cost of all others.
			if failures[i]++; failures[i] < mostFailures && t.Status != result.TrialSkipped {
				continue
			}
			p.Ended = "a trial gave no number"
			if t.Problem != nil {
				p.Ended = t.Problem.What + ": " + t.Problem.Why
			}
		}
	}
}

// cost is how long trial number at, counted from 0, will take at most: what
// was estimated, times what the trials so far took of their estimates, which
// is slower, when that is more than 1. That those before ended early does not
// make this one do so.
func (s *schedule) cost(trials []result.Trial, at int) (cost time.Duration, slower float64) {
	var planned []experiment.Planned
	for _, t := range trials[:at+1] {
		planned = append(planned, experiment.Planned{Stack: t.Stack, Workload: t.Workload})
	}
	costs := experiment.Costs(s.Experiment, planned)
	// The estimate alone counts at first, as if so many seconds had been seen of it.
	const prior = 3.0
	took, estimated := prior, prior
	for i, t := range trials[:at] {
		filled := t.Preconditioning != nil && t.Preconditioning.Kind == result.PreconditionedDevice // which is in no estimate
		if t.Measurement != nil && !filled {
			took, estimated = took+t.ElapsedSeconds, estimated+costs[i].Seconds()
		}
	}
	slower = max(1, took/estimated)
	return time.Duration(slower * float64(costs[at])), slower
}

// giveUp ends what is left of the plan, since the budget is spent. Trials of
// the first block stay, skipped with that reason: nothing is known of them.
func (s *schedule) giveUp(trials []result.Trial, at int) error {
	first := at
	for ; first < len(trials) && trials[first].Block == 1; first++ {
		t := trials[first]
		t.Status, t.Started = result.TrialSkipped, time.Now().UTC()
		t.Problem = &result.Problem{
			What: fmt.Sprintf("%s on %s", t.Workload, t.Stack), Why: s.spent(),
			Remedy: "give a larger --budget, or smaller files with --size",
		}
		if err := s.store.SaveTrial(t); err != nil {
			return err
		}
	}
	return s.store.Withdraw(len(trials) - first)
}

// spent is why a trial was skipped that giveUp ended.
func (s *schedule) spent() string {
	return fmt.Sprintf("the budget of %s was spent before its turn came", s.Experiment.Budget)
}

// givenUp tells whether giveUp ended a trial: nothing speaks against others of
// its point.
func (s *schedule) givenUp(t result.Trial) bool {
	return t.Status == result.TrialSkipped && t.Problem != nil && t.Problem.Why == s.spent()
}

// conclude stores why each point got as many trials as it did.
func (s *schedule) conclude() error {
	run := s.store.Run()
	s.look(run.Trials)
	run.Points = nil
	for i, state := range s.study.Judge() {
		p := result.Point{
			Stack: s.points[i].stack, Workload: s.points[i].workload,
			Reason: pointReason(state), Why: state.Why, Trials: len(s.study.Points[i].Values),
		}
		if !math.IsInf(state.Relative, 0) {
			p.RelativeHalfWidth = state.Relative
		}
		run.Points = append(run.Points, p)
	}
	return s.store.SaveHeader(*run)
}

func pointReason(state steady.PointState) result.StopReason {
	switch {
	case state.Open:
		return result.StopBudget
	case state.Reason == steady.Precise:
		return result.StopPrecise
	case state.Reason == steady.Settled:
		return result.StopSettled
	case state.Reason == steady.CannotGoOn:
		return result.StopFailed
	}
	return result.StopRepeats
}
