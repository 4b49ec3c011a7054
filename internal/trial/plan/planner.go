// Package plan decides which trial of a run is next, and when the run ends: rounds, ladders of instances, elasticity,
// and where a budget goes. It is pure: an experiment, the trials so far and a clock in, the next trial out. Its caller
// stores what it decides, runs the trial, and tells it how that ended. Everything follows from what was stored, so
// that a run that is resumed goes on as if it had not been interrupted.
package plan

import (
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/trial/plan/rounds"
)

// Planner decides which trial of a run is next, and when a run with a budget ends.
//
// Without a budget, trials are as the experiment has them. With one, each block has the points of which more must be
// known: by the study, or where mixes differ in the number of their instances alone, by their ladders. Where elasticity
// is asked for, the run goes on with its mixes once the others show the load line.
//
// A Planner is not safe for concurrent use.
type Planner struct {
	experiment *experiment.Experiment // the planner's own: mixes are added to it, see elastic.go
	mixes      map[string]experiment.Mix
	run        result.Run // the past run, with all that was decided and done since
	lines      func(run *result.Run) []Line
	now        func() time.Time

	started time.Time
	before  time.Duration // that earlier processes spent on the run, which is resumed
	study   rounds.Study
	points  []result.Point // of the study
	ladders []ladder       // nil where the study decides
	spent   bool           // no more of the budget may go to what is not elasticity

	estimated  []time.Duration // of the trials of the run, see estimates; nil when they have changed
	elasticity time.Duration   // that experiment.ElasticityTakes

	step Step // that Next is at
}

// Step is what a planner decided. Its caller stores Withdrawn, Mixes, Planned and Skipped, in this order, and then runs
// Trial.
type Step struct {
	Withdrawn int              // planned trials, at the end of those that are stored, that will not be run
	Mixes     []experiment.Mix // that are added to those of the experiment
	Planned   []result.Trial   // that follow those that are stored
	Skipped   []result.Trial   // planned trials that end without being run, each with its reason
	Notes     []string         // for the user
	Trial     *result.Trial    // to run now; nil when the run is at its end
	// Points says why each point got as many trials as it did: at the end of a run with a budget.
	Points []result.PointStop
}

// New returns a planner that goes on with a past run: one that was just made, with its First trials, or one that is
// resumed. lines returns where the load lines of a run lie, and is called where an experiment asks for them. now is the
// clock by which a budget is spent.
func New(
	e *experiment.Experiment, past *result.Run, lines func(run *result.Run) []Line, now func() time.Time,
) *Planner {
	clone := *e
	p := &Planner{
		experiment: &clone, mixes: map[string]experiment.Mix{}, run: *past, lines: lines, now: now,
		started: now(), before: Spent(past),
	}
	p.run.Trials, p.run.Mixes = slices.Clone(past.Trials), slices.Clone(past.Mixes)
	for _, m := range e.Mixes {
		p.mixes[m.Name] = m
	}
	p.elasticity = experiment.ElasticityTakes(p.experiment)
	p.study = p.newStudy()
	for _, m := range e.Mixes {
		p.addPoints(m)
	}
	p.ladders = p.newLadders()
	p.study.Pairs = append(p.study.Pairs, p.policyPairs()...)
	return p
}

// First returns the trials that a new run of an experiment is made with.
func First(e *experiment.Experiment, seed uint64) []result.Trial {
	return trialsOf(experiment.Trials(e, seed))
}

// Done notes how a trial ended that Next returned.
func (p *Planner) Done(t result.Trial) {
	t.Series = nil // which decides nothing
	p.run.Trials[t.Seq-1] = t
}

// Next returns the trial to run now, and what to store before it. There is none when all that was planned has ended, no
// point needs more, or the budget is spent.
func (p *Planner) Next() Step {
	p.step = Step{}
	for {
		next := slices.IndexFunc(p.run.Trials, isPlanned)
		if next >= 0 && p.overruns(next) {
			p.withdraw(next)
			next = -1
		}
		if next < 0 {
			if len(p.run.Points) > 0 {
				return p.end() // as the past run did: it was given no more time
			}
			next = len(p.run.Trials)
			further := p.further(p.run.Trials)
			if len(further) == 0 {
				return p.end()
			}
			p.run.Trials, p.estimated = append(p.run.Trials, further...), nil
			p.step.Planned = append(p.step.Planned, further...)
		}
		if p.experiment.Budget == 0 {
			return p.begin(next)
		}
		kept, slower := p.kept(next), p.slower(next)
		cost := time.Duration(slower * float64(p.estimates()[next]))
		if cost <= p.left(slower)-kept {
			return p.begin(next)
		}
		p.giveUp(next)
		if kept == 0 {
			return p.end()
		}
		p.spent = true
	}
}

func isPlanned(t result.Trial) bool { return t.Status == result.TrialPlanned }

// begin ends a step with the trial to run, by its index.
func (p *Planner) begin(i int) Step {
	t := p.run.Trials[i]
	p.step.Trial = &t
	return p.step
}

// end ends a step, and the run, with why each point got as many trials as it did.
func (p *Planner) end() Step {
	if p.experiment.Budget > 0 {
		p.step.Points = p.conclude(p.run.Trials)
	}
	return p.step
}

// withdraw takes all trials behind the first so many out of the plan.
func (p *Planner) withdraw(keep int) {
	removed := len(p.run.Trials) - keep
	unstored := min(removed, len(p.step.Planned))
	p.step.Planned = p.step.Planned[:len(p.step.Planned)-unstored]
	p.step.Withdrawn += removed - unstored
	p.run.Trials, p.estimated = p.run.Trials[:keep], nil
}

// further returns the trials that come next when all that was planned has ended.
func (p *Planner) further(trials []result.Trial) []result.Trial {
	begun := p.elasticBlocks(trials)
	if begun > 0 && begun < p.experiment.ElasticBlocks() {
		return p.elastic(trials)
	}
	varied := begun >= p.experiment.ElasticBlocks() // so that nothing is kept for it any more
	if p.experiment.Budget > 0 && (!p.spent || varied) {
		p.look(trials)
		further := p.block(trials, p.withControls(trials, p.wanted(trials)), p.rounds)
		if len(further) > 0 {
			return further
		}
	}
	return p.elastic(trials)
}

// block plans the next block: points of which more must be known, stack by stack in a random order.
func (p *Planner) block(
	trials []result.Trial, points []result.Point, rounds func(trials []result.Trial, block int) int,
) []result.Trial {
	if len(points) == 0 {
		return nil
	}
	block := 1
	if len(trials) > 0 {
		block = trials[len(trials)-1].Block + 1
	}
	var planned []experiment.Planned
	for _, stack := range p.experiment.Stacks {
		for _, point := range points {
			if point.Stack == stack.Name {
				planned = append(planned, p.planned(point))
			}
		}
	}
	for _, point := range points {
		if point.Stack == "" {
			planned = append(planned, p.planned(point))
		}
	}
	planned = experiment.Arrange(planned, rounds(trials, block), p.run.Seed, block)
	experiment.Number(planned, p.plannedOf(trials))
	return trialsOf(planned)
}

// trialsOf returns planned trials as a run stores them.
func trialsOf(planned []experiment.Planned) (trials []result.Trial) {
	for _, t := range planned {
		trials = append(trials, result.Trial{
			Seq: t.Seq, Block: t.Block, Stack: t.Stack, Mix: t.Mix, Repeat: t.Repeat, Status: result.TrialPlanned,
		})
	}
	return trials
}

// planned returns a trial of a point, not numbered yet.
func (p *Planner) planned(point result.Point) experiment.Planned {
	t := experiment.Planned{Stack: point.Stack, Mix: point.Mix}
	if m := p.mixes[point.Mix]; point.Stack == "" && len(m.Tenants) > 0 {
		t.On = m.On()
	}
	return t
}

// plannedOf returns trials as they were planned.
func (p *Planner) plannedOf(trials []result.Trial) []experiment.Planned {
	planned := make([]experiment.Planned, len(trials))
	for i, t := range trials {
		planned[i] = p.planned(pointOf(t))
		planned[i].Seq, planned[i].Block, planned[i].Repeat = t.Seq, t.Block, t.Repeat
	}
	return planned
}

// pointOf returns the point that a trial is of.
func pointOf(t result.Trial) result.Point { return result.Point{Stack: t.Stack, Mix: t.Mix} }

// withControls adds to points the controls of a mix, where their twin is among them: in every round, since what a stack
// differs from its copy by has to be known as well as what it differs from others by. A round without the twin has
// none: there is nothing to hold them against. A round of few stacks has as many as a run of so few has, so that a
// budget goes to the stacks that are open.
func (p *Planner) withControls(trials []result.Trial, points []result.Point) []result.Point {
	both, stacks := slices.Clone(points), map[string]int{}
	for _, point := range points {
		stacks[point.Mix]++
	}
	added := map[string]int{}
	for _, stack := range p.experiment.Stacks {
		for _, point := range points {
			control := result.Point{Stack: stack.Name, Mix: point.Mix}
			if stack.Control == "" || stack.Control != point.Stack || p.ended(trials, control) != "" ||
				added[point.Mix] >= experiment.Controls(stacks[point.Mix]) {
				continue
			}
			added[point.Mix]++
			both = append(both, control)
		}
	}
	return both
}
