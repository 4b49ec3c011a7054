package plan

import (
	"fmt"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/trial/plan/rounds"
)

// Spent returns the time of a run's trials so far. A trial that was given up, since the user or a crash ended the run,
// is not stored, and costs nothing.
func Spent(run *result.Run) (total time.Duration) {
	for _, t := range run.Trials {
		total += time.Duration(t.ElapsedSeconds * float64(time.Second))
	}
	return total
}

// left returns how much of the budget may still be spent on trials, on a host that is so many times slower than was
// estimated: undoing takes longer there too.
func (p *Planner) left(slower float64) time.Duration {
	undo := time.Duration(slower * float64(experiment.Undo(p.experiment)))
	return p.experiment.Budget - undo - p.before - p.now().Sub(p.started)
}

// overruns reports whether a trial, by its index, is the first of a block, and the budget does not suffice for all that
// was planned ahead: with what trials are known to take by now, it is asked again which of them to run.
func (p *Planner) overruns(i int) bool {
	if p.experiment.Budget == 0 || i == 0 || p.run.Trials[i].Block == p.run.Trials[i-1].Block {
		return false
	}
	slower := p.slower(i)
	takes := time.Duration(0)
	for _, estimate := range p.estimates()[i:] {
		takes += time.Duration(slower * float64(estimate))
	}
	return takes > p.left(slower)-p.kept(i)
}

// wanted returns the points of which more must be known: those of the questions that are decided soonest for their
// time.
func (p *Planner) wanted(trials []result.Trial) (points []result.Point) {
	asks := p.study.Asks()
	if p.ladders != nil {
		asks = nil
		for _, l := range p.known() {
			ask, ok := l.ask()
			if ok {
				asks = append(asks, ask)
			}
		}
	}
	costs, slower := p.costs(trials)
	rest := p.left(slower) - p.kept(len(trials))
	for _, i := range rounds.Spend(asks, costs, rest.Seconds()) {
		points = append(points, p.points[i])
	}
	return points
}

// costs returns the seconds that a setup of each point takes: as its trials took on average, with all that is set up
// for them, or as is estimated where it has none. slower is what trials took of their estimates, where that is more
// than 1.
func (p *Planner) costs(trials []result.Trial) (costs []float64, slower float64) {
	slower = p.slower(len(trials))
	took, setups := map[result.Point]float64{}, map[result.Point]map[int]bool{}
	for _, t := range trials {
		point := pointOf(t)
		if t.Counts() == nil {
			continue
		}
		if setups[point] == nil {
			setups[point] = map[int]bool{}
		}
		setups[point][t.Block] = true
		took[point] += t.ElapsedSeconds - result.SecondsOf(t.Phases, result.PhaseQuiet)
	}
	for _, point := range p.points {
		cost := took[point] / float64(max(1, len(setups[point])))
		if cost == 0 {
			alone := []experiment.Planned{p.planned(point)}
			cost = slower * experiment.Costs(p.experiment, alone)[0].Seconds()
		}
		costs = append(costs, cost)
	}
	return costs, slower
}

// estimates returns what each trial of the run was expected to take.
func (p *Planner) estimates() []time.Duration {
	if p.estimated == nil {
		p.estimated = experiment.Costs(p.experiment, p.plannedOf(p.run.Trials))
	}
	return p.estimated
}

// slower returns the ratio by which a trial, by its index, takes longer than was estimated, as those before did; 1 where
// they took less. That those before ended early does not make this one do so.
func (p *Planner) slower(i int) float64 { return max(1, p.slowness(i)) }

// slowness returns the time of the first so many trials as a ratio to their estimates.
func (p *Planner) slowness(trials int) float64 {
	// The estimate alone counts at first, as if so many seconds had been seen of it.
	const prior = 3.0
	took, estimated := prior, prior
	for i, t := range p.run.Trials[:trials] {
		// The time to write whole devices is in no estimate.
		filled := t.Preconditioning != nil && t.Preconditioning.Kind == result.PreconditionedDevice
		if t.Counts() != nil && !filled {
			took += t.ElapsedSeconds - result.SecondsOf(t.Phases, result.PhaseQuiet)
			estimated += p.estimates()[i].Seconds()
		}
	}
	return took / estimated
}

// giveUp ends what is left of the plan from a trial on, by its index, since the budget is spent. Trials of the first
// block stay, skipped with that reason: nothing is known of them.
func (p *Planner) giveUp(i int) {
	for ; i < len(p.run.Trials) && p.run.Trials[i].Block == 1; i++ {
		t := &p.run.Trials[i]
		t.Status, t.Started = result.TrialSkipped, p.now().UTC()
		t.Problem = problem.New(problem.Failed, fmt.Sprintf("%s on %s", t.Mix, t.Stack), p.overBudget(),
			"give a larger --budget, or smaller files with --size")
		p.step.Skipped = append(p.step.Skipped, *t)
	}
	p.withdraw(i)
}

// overBudget returns why a trial was skipped that giveUp ended.
func (p *Planner) overBudget() string {
	return fmt.Sprintf("the budget of %s was spent before its turn came", p.experiment.Budget)
}

// givenUp reports whether giveUp ended a trial: nothing speaks against other trials of its point.
func (p *Planner) givenUp(t result.Trial) bool {
	return t.Status == result.TrialSkipped && t.Problem != nil && t.Problem.Why == p.overBudget()
}

// mostKept is the share of a budget that is kept for elasticity at most: without a line, it says nothing.
const mostKept = 0.45

// keptMargin is for what trials take longer than those before did.
const keptMargin = 1.2

// kept returns how much of the budget a trial, by its index, or what follows all of them, has to leave for elasticity:
// what as many blocks take as a test needs, by estimate. It is nothing once these have begun, and in the first block:
// without that block there is no line.
func (p *Planner) kept(i int) time.Duration {
	trials := p.run.Trials
	if p.experiment.Elasticity == 0 || p.isVaried(trials) || p.spent || i < len(trials) && trials[i].Block == 1 {
		return 0
	}
	takes := time.Duration(keptMargin * p.slowness(i) * float64(p.elasticity))
	return min(takes, time.Duration(mostKept*float64(p.experiment.Budget)))
}
