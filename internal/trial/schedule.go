package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/cell"
	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
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
	s.study.Size = sizeTarget
	if r.Experiment.Target > 0 {
		s.study.Target = r.Experiment.Target
	}
	for _, m := range r.Experiment.Mixes {
		first := len(s.points)
		baseline := -1
		if !m.Crossed() {
			s.points = append(s.points, point{"", m.Name})
			continue
		}
		for _, stack := range r.Experiment.Stacks {
			if stack.Control != "" || !experiment.Compatible(stack, m) {
				continue
			}
			if stack.Name == r.Experiment.Baseline {
				baseline = len(s.points)
			}
			s.points = append(s.points, point{stack.Name, m.Name})
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

// block plans the next block: the points of which more must be known, stack by
// stack in a random order.
func (s *schedule) block(trials []result.Trial) (more []result.Trial) {
	s.look(trials)
	next := s.study.Next()
	if len(next) == 0 {
		return nil
	}
	block := 1
	if len(trials) > 0 {
		block = trials[len(trials)-1].Block + 1
	}
	var planned []experiment.Planned
	for _, stack := range s.Experiment.Stacks {
		for _, i := range next {
			p := s.points[i]
			twin := stack.Control == p.stack && s.wantsControl(trials, stack.Name, p.workload)
			if p.stack == stack.Name || twin {
				planned = append(planned, s.planned(stack.Name, p.workload))
			}
		}
	}
	for _, i := range next {
		if s.points[i].stack == "" {
			planned = append(planned, s.planned("", s.points[i].workload))
		}
	}
	planned = experiment.Arrange(planned, s.rounds(trials, block), s.Seed, block)
	experiment.Number(planned, s.plannedOf(trials))
	for _, p := range planned {
		more = append(more, result.Trial{
			Seq: p.Seq, Block: p.Block, Stack: p.Stack, Mix: p.Mix, Repeat: p.Repeat, Status: result.TrialPlanned,
		})
	}
	return more
}

// planned is a trial of a point, not numbered yet.
func (r *runner) planned(stack, mix string) experiment.Planned {
	p := experiment.Planned{Stack: stack, Mix: mix}
	if m := r.mixes[mix]; stack == "" && len(m.Tenants) > 0 {
		p.On = m.On()
	}
	return p
}

// plannedOf are trials as they were planned.
func (r *runner) plannedOf(trials []result.Trial) []experiment.Planned {
	out := make([]experiment.Planned, len(trials))
	for i, t := range trials {
		out[i] = r.planned(t.Stack, t.Mix)
		out[i].Seq, out[i].Block, out[i].Repeat = t.Seq, t.Block, t.Repeat
	}
	return out
}

// mostControls is how many blocks the control is in: a noise floor needs to be
// known well enough to warn, and no better.
const mostControls = 8

// wantsControl reports whether the control is to be in the next block that has
// its twin.
func (s *schedule) wantsControl(trials []result.Trial, control, workload string) bool {
	blocks := map[int]bool{}
	for _, t := range trials {
		if t.Stack == control && t.Mix == workload {
			blocks[t.Block] = true
		}
	}
	return len(blocks) < mostControls
}

// mostRounds is how many trials of a workload a bring-up gets at most: what
// trials do not differ by, more of them do not find out.
const mostRounds = 4

// rounds is how many trials of each workload a stack gets in its bring-up of
// the next block: as many as are worth their time, by what trials and bring-ups
// took and differed by so far.
func (s *schedule) rounds(trials []result.Trial, block int) int {
	if s.Experiment.Trials > 0 || block == 1 {
		return s.Experiment.Rounds(block)
	}
	var within, between, known float64
	for _, m := range s.Experiment.Mixes {
		var samples []cell.Sample
		for _, p := range s.points {
			if p.workload == m.Name {
				samples = append(samples, s.sample(trials, p))
			}
		}
		parts, ok := cell.Parts(samples)
		if !ok || math.IsNaN(parts.Within) || math.IsNaN(parts.Between) {
			continue
		}
		within, between, known = within+parts.Within*parts.Within, between+parts.Between*parts.Between, known+1
	}
	up, one := took(trials)
	if known == 0 || up == 0 || one == 0 {
		return 1
	}
	best := stats.TrialsPerBringUp(up, one, math.Sqrt(within), math.Sqrt(between))
	return max(1, min(mostRounds, best))
}

// took returns the seconds that a bring-up takes beside its trials, as a share
// of one for each workload, and those that a trial takes: medians of what was
// seen so far, 0 when nothing was.
func took(trials []result.Trial) (up, one float64) {
	type bringUp struct {
		stack  string
		number int
	}
	first := map[bringUp]float64{}
	workloads := map[bringUp]map[string]bool{}
	var later []float64
	for _, t := range trials {
		if t.Measured() == nil || t.BringUp == 0 {
			continue
		}
		b := bringUp{t.Stack, t.BringUp}
		if workloads[b] == nil {
			first[b], workloads[b] = t.ElapsedSeconds, map[string]bool{}
		} else {
			later = append(later, t.ElapsedSeconds)
		}
		workloads[b][t.Mix] = true
	}
	if len(later) == 0 {
		return 0, 0
	}
	one = stats.Median(later)
	var ups []float64
	for b, seconds := range first {
		ups = append(ups, max(0, seconds-one)/float64(len(workloads[b])))
	}
	return stats.Median(ups), one
}

// sample is what the trials of a point measured.
func (s *schedule) sample(trials []result.Trial, p point) cell.Sample {
	done := cell.Of(&result.Run{Trials: trials}).Done(cell.Point{Stack: p.stack, Mix: p.workload})
	return cell.Take(done, rate)
}

// rate is what a trial did in a second; not ok where that is nothing, of which
// there are no ratios.
func rate(t *result.Trial) (perSecond float64, ok bool) {
	perSecond, ok = cell.Rate.Of(t, "")
	return perSecond, ok && perSecond > 0
}

// mostFailures is how many trials of a point in a row may fail before it gets
// no more.
const mostFailures = 2

// sizeTarget is how precisely to know the ratio of points that differ: a
// verdict says which is faster, and published results are about by how much.
const sizeTarget = 0.1

// look takes what the trials measured into the study.
func (s *schedule) look(trials []result.Trial) {
	s.study.Points = make([]steady.StudyPoint, len(s.points))
	for i, p := range s.points {
		s.study.Points[i] = s.studied(trials, p)
	}
}

func (s *schedule) studied(trials []result.Trial, p point) (studied steady.StudyPoint) {
	for _, u := range s.sample(trials, p) {
		if n := len(studied.Blocks); n > 0 && studied.Blocks[n-1] == u.Block {
			continue // brought up again in the same block, after a failure
		}
		studied.Values, studied.Blocks = append(studied.Values, u.Mean()), append(studied.Blocks, u.Block)
	}
	failures := 0 // in a row
	for _, t := range trials {
		if t.Stack != p.stack || t.Mix != p.workload {
			continue
		}
		_, measured := rate(&t)
		switch {
		case t.Status == result.TrialPlanned, s.givenUp(t):
		case measured:
			failures = 0
		default:
			// What fails again may fail every time, at the cost of all others.
			if failures++; failures < mostFailures && t.Status != result.TrialSkipped {
				continue
			}
			studied.Ended = "a trial gave no number"
			if t.Problem != nil {
				studied.Ended = t.Problem.What + ": " + t.Problem.Why
			}
		}
	}
	return studied
}

// cost is how long trial number at, counted from 0, will take at most: what
// was estimated, times what the trials so far took of their estimates, which
// is slower, when that is more than 1. That those before ended early does not
// make this one do so.
func (s *schedule) cost(trials []result.Trial, at int) (cost time.Duration, slower float64) {
	costs := experiment.Costs(s.Experiment, s.plannedOf(trials[:at+1]))
	// The estimate alone counts at first, as if so many seconds had been seen of it.
	const prior = 3.0
	took, estimated := prior, prior
	for i, t := range trials[:at] {
		filled := t.Preconditioning != nil && t.Preconditioning.Kind == result.PreconditionedDevice // which is in no estimate
		if t.Measured() != nil && !filled {
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
		t.Problem = problem.New(problem.Failed, fmt.Sprintf("%s on %s", t.Mix, t.Stack), s.spent(),
			"give a larger --budget, or smaller files with --size")
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
			Stack: s.points[i].stack, Mix: s.points[i].workload,
			Reason: pointReason(state), Why: state.Why,
			Trials: s.sample(run.Trials, s.points[i]).Trials(), BringUps: len(s.study.Points[i].Values),
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
