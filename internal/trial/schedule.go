package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats/stopping"
)

// schedule decides which trial is next, and when a run with a budget ends.
//
// Without a budget, trials are as the experiment has them. With one, each block has the points of which more
// must be known: by the study, or where mixes differ in the number of their instances alone, by their ladders.
// Where elasticity is asked for, the run goes on with its mixes once the others tell the load line.
type schedule struct {
	*runner
	started time.Time
	before  time.Duration // that earlier processes spent on the run, which is resumed
	study   stopping.Study
	points  []point  // of the study
	ladders []ladder // nil where the study decides
	spent   bool     // no more may be spent on what is not elasticity
}

type point struct{ stack, mix string }

func (r *runner) newSchedule() *schedule {
	s := &schedule{runner: r, started: time.Now(), before: Spent(r.store.Run())}
	s.study = s.newStudy()
	for _, m := range r.Experiment.Mixes {
		if m.Varies != nil {
			continue // see elasticity
		}
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
	s.ladders = s.newLadders()
	s.study.Pairs = append(s.study.Pairs, s.policyPairs()...)
	return s
}

// policyPairs are the comparisons of policies of limits with none: of as many instances of a workload on a stack.
func (s *schedule) policyPairs() (pairs [][2]int) {
	type place struct{ stack, family string }
	without := map[place]int{}
	under := func(visit func(i int, policy string, at place)) {
		for i, p := range s.points {
			policy, family, ok := runview.PolicyIn(s.mixes[p.mix].Stored())
			if ok {
				visit(i, policy, place{p.stack, family})
			}
		}
	}
	under(func(i int, policy string, at place) {
		if policy == runview.NoPolicy {
			without[at] = i
		}
	})
	under(func(i int, policy string, at place) {
		none, ok := without[at]
		if ok && policy != runview.NoPolicy {
			pairs = append(pairs, [2]int{none, i})
		}
	})
	return pairs
}

// newStudy returns a study without points.
func (r *runner) newStudy() stopping.Study {
	study := stopping.DefaultStudy
	study.Size = sizeTarget
	if r.Experiment.Target > 0 {
		study.Target = r.Experiment.Target
	}
	return study
}

// Spent returns the time of a run's trials so far. A trial that was given up, since the user or a crash ended the run, is
// not stored, and costs nothing.
func Spent(run *result.Run) (total time.Duration) {
	for _, t := range run.Trials {
		total += time.Duration(t.ElapsedSeconds * float64(time.Second))
	}
	return total
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
	for {
		trials := s.store.Run().Trials
		at := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Status == result.TrialPlanned })
		if at >= 0 && s.overruns(trials, at) {
			if err := s.store.Withdraw(len(trials) - at); err != nil {
				return t, false, err
			}
			trials, at = trials[:at], -1
		}
		if at < 0 {
			more, err := s.more(trials)
			if err != nil {
				return t, false, err
			}
			if len(more) == 0 {
				return t, false, s.conclude()
			}
			if err := s.store.Plan(more); err != nil {
				return t, false, err
			}
			trials, at = append(trials, more...), len(trials)
		}
		if s.Experiment.Budget == 0 {
			return trials[at], true, nil
		}
		kept := s.kept(trials, at)
		cost, slower := s.cost(trials, at)
		if cost <= s.left(slower)-kept {
			return trials[at], true, nil
		}
		if err := s.giveUp(trials, at); err != nil {
			return t, false, err
		}
		if kept == 0 {
			return t, false, s.conclude()
		}
		s.spent = true
	}
}

// overruns reports whether trial number at, counted from 0, is the first of a block, and the budget does not suffice
// for all that was planned ahead: who knows now what trials take asks again which of them to run.
func (s *schedule) overruns(trials []result.Trial, at int) bool {
	if s.Experiment.Budget == 0 || at == 0 || trials[at].Block == trials[at-1].Block {
		return false
	}
	costs := experiment.Costs(s.Experiment, s.plannedOf(trials))
	slower := max(1, taken(trials[:at], costs))
	takes := time.Duration(0)
	for _, cost := range costs[at:] {
		takes += time.Duration(slower * float64(cost))
	}
	return takes > s.left(slower)-s.kept(trials, at)
}

// more plans what comes next when all that was planned has ended.
func (s *schedule) more(trials []result.Trial) ([]result.Trial, error) {
	begun := s.elasticBlocks(trials)
	if begun > 0 && begun < s.Experiment.ElasticBlocks() {
		return s.elastic(trials)
	}
	varied := begun >= s.Experiment.ElasticBlocks() // so that nothing is kept for it any more
	if s.Experiment.Budget > 0 && (!s.spent || varied) {
		s.look(trials)
		more := s.block(trials, s.withControls(trials, s.wanted(trials)), s.rounds)
		if len(more) > 0 {
			return more, nil
		}
	}
	return s.elastic(trials)
}

// wanted are the points of which more must be known: those of the questions that are decided soonest for their time.
func (s *schedule) wanted(trials []result.Trial) (next []point) {
	asks := s.study.Asks()
	if s.ladders != nil {
		asks = nil
		for _, l := range s.known() {
			a, ok := l.ask()
			if ok {
				asks = append(asks, a)
			}
		}
	}
	costs, slower := s.costs(trials)
	rest := s.left(slower) - s.kept(trials, len(trials))
	for _, i := range stopping.Spend(asks, costs, rest.Seconds()) {
		next = append(next, s.points[i])
	}
	return next
}

// costs returns the seconds that a setup of each point takes: as its trials took on average, with all that is set up
// for them, or as is estimated where it has none. slower is what trials took of their estimates, where that is more than 1.
func (s *schedule) costs(trials []result.Trial) (costs []float64, slower float64) {
	slower = max(1, taken(trials, experiment.Costs(s.Experiment, s.plannedOf(trials))))
	took, setups := map[point]float64{}, map[point]map[int]bool{}
	for _, t := range trials {
		p := point{t.Stack, t.Mix}
		if t.Measured() == nil {
			continue
		}
		if setups[p] == nil {
			setups[p] = map[int]bool{}
		}
		setups[p][t.Block] = true
		took[p] += t.ElapsedSeconds - result.SecondsOf(t.Phases, result.PhaseQuiet)
	}
	for _, p := range s.points {
		cost := took[p] / float64(max(1, len(setups[p])))
		if cost == 0 {
			one := []experiment.Planned{s.planned(p.stack, p.mix)}
			cost = slower * experiment.Costs(s.Experiment, one)[0].Seconds()
		}
		costs = append(costs, cost)
	}
	return costs, slower
}

// block plans the next block: points of which more must be known, stack by
// stack in a random order.
func (s *schedule) block(
	trials []result.Trial, next []point, rounds func(trials []result.Trial, block int) int,
) (more []result.Trial) {
	if len(next) == 0 {
		return nil
	}
	block := 1
	if len(trials) > 0 {
		block = trials[len(trials)-1].Block + 1
	}
	var planned []experiment.Planned
	for _, stack := range s.Experiment.Stacks {
		for _, p := range next {
			if p.stack == stack.Name {
				planned = append(planned, s.planned(stack.Name, p.mix))
			}
		}
	}
	for _, p := range next {
		if p.stack == "" {
			planned = append(planned, s.planned("", p.mix))
		}
	}
	planned = experiment.Arrange(planned, rounds(trials, block), s.Seed, block)
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

// withControls adds to points the control's, where its twin is among them.
func (s *schedule) withControls(trials []result.Trial, next []point) []point {
	all := slices.Clone(next)
	for _, stack := range s.Experiment.Stacks {
		for _, p := range next {
			if stack.Control != "" && stack.Control == p.stack && s.wantsControl(trials, stack.Name, p.mix) {
				all = append(all, point{stack.Name, p.mix})
			}
		}
	}
	return all
}

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

// cost is how long trial number at, counted from 0, will take at most: what
// was estimated, times what the trials so far took of their estimates, which
// is slower, when that is more than 1. That those before ended early does not
// make this one do so.
func (s *schedule) cost(trials []result.Trial, at int) (cost time.Duration, slower float64) {
	costs := experiment.Costs(s.Experiment, s.plannedOf(trials[:at+1]))
	slower = max(1, taken(trials[:at], costs))
	return time.Duration(slower * float64(costs[at])), slower
}

// taken returns the time of trials as a ratio to their estimates.
func taken(trials []result.Trial, costs []time.Duration) float64 {
	// The estimate alone counts at first, as if so many seconds had been seen of it.
	const prior = 3.0
	took, estimated := prior, prior
	for i, t := range trials {
		filled := t.Preconditioning != nil && t.Preconditioning.Kind == result.PreconditionedDevice // which is in no estimate
		if t.Measured() != nil && !filled {
			took += t.ElapsedSeconds - result.SecondsOf(t.Phases, result.PhaseQuiet)
			estimated += costs[i].Seconds()
		}
	}
	return took / estimated
}

// giveUp ends what is left of the plan, since the budget is spent. Trials of
// the first block stay, skipped with that reason: nothing is known of them.
func (s *schedule) giveUp(trials []result.Trial, at int) error {
	first := at
	for ; first < len(trials) && trials[first].Block == 1; first++ {
		t := trials[first]
		t.Status, t.Started = result.TrialSkipped, time.Now().UTC()
		t.Problem = problem.New(problem.Failed, fmt.Sprintf("%s on %s", t.Mix, t.Stack), s.overBudget(),
			"give a larger --budget, or smaller files with --size")
		if err := s.store.SaveTrial(t); err != nil {
			return err
		}
	}
	return s.store.Withdraw(len(trials) - first)
}

// overBudget is why a trial was skipped that giveUp ended.
func (s *schedule) overBudget() string {
	return fmt.Sprintf("the budget of %s was spent before its turn came", s.Experiment.Budget)
}

// givenUp tells whether giveUp ended a trial: nothing speaks against others of
// its point.
func (s *schedule) givenUp(t result.Trial) bool {
	return t.Status == result.TrialSkipped && t.Problem != nil && t.Problem.Why == s.overBudget()
}

// conclude stores why each point got as many trials as it did, in a run that decides it.
func (s *schedule) conclude() error {
	if s.Experiment.Budget == 0 {
		s.finished = true
		return nil
	}
	run := s.store.Run()
	s.look(run.Trials)
	run.Points = nil
	if s.ladders == nil {
		run.Points = s.concluded(run.Trials, s.study, s.points)
	}
	for _, l := range s.known() {
		run.Points = append(run.Points, s.climbed(run.Trials, l)...)
	}
	study, points := s.elasticStudy(run.Trials)
	if len(points) > 0 {
		// What is varied is a point of its own, and told with those.
		run.Points = append(run.Points, slices.DeleteFunc(s.concluded(run.Trials, study, points), func(p result.PointStop) bool {
			return s.mixes[p.Mix].Varies == nil
		})...)
	}
	if err := s.store.SaveHeader(*run); err != nil {
		return err
	}
	s.finished = true
	return nil
}

// concluded returns why a study's points got as many trials as they did.
func (s *schedule) concluded(trials []result.Trial, study stopping.Study, points []point) (all []result.PointStop) {
	for i, state := range study.Judge() {
		all = append(all, s.told(trials, points[i], len(study.Points[i].Values), pointReason(state), state.Why, state.Relative))
	}
	return all
}

// told is a point as the run stores it.
func (s *schedule) told(
	trials []result.Trial, at point, bringUps int, reason result.StopReason, why string, relative float64,
) result.PointStop {
	p := result.PointStop{
		Stack: at.stack, Mix: at.mix, Reason: reason, Why: why, Trials: s.sample(trials, at).Trials(), BringUps: bringUps,
	}
	if !math.IsInf(relative, 0) {
		p.RelativeHalfWidth = relative
	}
	return p
}
