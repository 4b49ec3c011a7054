package plan

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/trial/plan/rounds"
	"plimsoll/internal/units/plural"
)

// Line is where the load line of mixes lies on a stack that differ in the number of their instances alone,
// as far as the trials of a run tell.
type Line struct {
	Stack     string         // "" where the mixes name their own
	Mixes     map[int]string // that were measured, by the number of their instances
	Instances int            // at the line; 0 where none is known
	Low, High int            // its 95% interval; 0 where there is none yet
	Next      int            // instances to measure next; 0 for none
	Valley    int            // instances that do least of those beyond the line; 0 where more do not do less
	Odds      float64        // that the line is at Instances; 0 where it has no interval yet
}

// Decided reports whether the interval holds one number alone.
func (l Line) Decided() bool { return l.Low > 0 && l.Low == l.High }

// ladder is mixes that differ in the number of their instances alone, on one stack, with what is known of
// them. It decides which of them the next block has, so that most trials are where the load line is:
//
//   - At first the fewest and the most instances, and every second number between (experiment.Coarse): the
//     line is then known but for one step to either side, which the next block measures. Fewer would take
//     more blocks one after the other, and each has to bring stacks up.
//   - Then all that were begun, and the numbers next to the line, until each has as many setups as an
//     interval takes.
//   - Then those at the line, next to it, in its interval, and in the valley behind it, until the line is
//     decided and their means are precise. What is far from it gets no more.
type ladder struct {
	stack  string
	rungs  []rung // ascending by instances
	line   Line
	fewest int     // setups that an interval takes
	limit  int     // setups that a rung may have
	target float64 // how precisely to know a mean: half of its 95% interval as a share of it
}

// rung is one number of instances.
type rung struct {
	mix       string
	instances int
	point     int     // by its index
	coarse    bool    // to be measured wherever the line is
	bringUps  int     // that gave a number
	relative  float64 // half of the 95% interval of the mean, as a share of it; +Inf where there is none
	ended     string  // why it can be in no more blocks; "" when it can
}

// next returns the rungs, by index, that the next block should have; none when all is known, or cannot be.
func (l ladder) next() (next []int) {
	for i, r := range l.rungs {
		begun := r.coarse || r.bringUps > 0 || l.near(i)
		if r.ended == "" && begun && r.bringUps < min(l.fewest, l.limit) {
			next = append(next, i)
		}
	}
	if len(next) > 0 {
		return l.withLine(next)
	}
	for i := range l.rungs {
		if l.open(i) {
			next = append(next, i)
		}
	}
	return next
}

// ask returns what the next block has, and when the line may be decided with it, if setups scatter as before. ok is
// false when all is known, or cannot be.
func (l ladder) ask() (a rounds.Ask, ok bool) {
	setups := math.MaxInt // of the rung with the fewest
	for _, i := range l.next() {
		a.Points = append(a.Points, l.rungs[i].point)
		setups = min(setups, l.rungs[i].bringUps)
	}
	a.Most = l.limit - setups
	const interval = 1.96 // of the normal distribution, as the line's interval
	switch {
	case len(a.Points) == 0:
		return a, false
	case setups < min(l.fewest, l.limit):
		a.First, a.Blocks, a.Odds = true, min(l.fewest, l.limit)-setups, 0.5
	case l.line.Decided():
		a.Refines, a.Blocks, a.Odds = true, (setups+1)/2, 0.5
	default:
		a.Blocks = (setups + 1) / 2
		sure := math.Sqrt2 * math.Erfinv(2*min(l.line.Odds, 0.9999)-1)
		a.Odds = max(0.02, 1-rounds.Normal(interval-sure*math.Sqrt(float64(setups+a.Blocks)/float64(setups))))
	}
	return a, true
}

// withLine adds the rung at the line: the other rungs are compared with it, in the same blocks.
func (l ladder) withLine(next []int) []int {
	index := l.index(l.line.Instances)
	if index < 0 || slices.Contains(next, index) || l.rungs[index].ended != "" || l.rungs[index].bringUps >= l.limit {
		return next
	}
	next = append(next, index)
	slices.Sort(next)
	return next
}

// index returns the index of the rung with a number of instances; -1 if the ladder has none.
func (l ladder) index(instances int) int {
	return slices.IndexFunc(l.rungs, func(r rung) bool { return r.instances == instances })
}

// near reports whether a rung shows where the line is: it is at the line, next to it, in its interval, or has the
// number of instances that would show most.
func (l ladder) near(i int) bool {
	index := l.index(l.line.Instances)
	if index < 0 {
		return false
	}
	n := l.rungs[i].instances
	inside := l.line.Low > 0 && l.line.Low <= n && n <= l.line.High
	return i >= index-1 && i <= index+1 || inside || n == l.line.Next
}

// open reports whether a rung needs more setups than an interval takes, and can have them.
func (l ladder) open(i int) bool {
	r := l.rungs[i]
	if r.ended != "" || r.bringUps >= l.limit {
		return false
	}
	switch {
	case l.near(i):
		return !l.line.Decided() || r.relative > l.target
	case r.instances == l.line.Valley:
		return r.relative > l.target
	}
	return false
}

// reason returns why a rung has as many setups as it has, for people too.
func (l ladder) reason(i int) (reason result.StopReason, why string) {
	r := l.rungs[i]
	lineNote := "the load line is not known"
	switch {
	case l.line.Decided():
		lineNote = fmt.Sprintf("the load line is at %s", plural.Count(l.line.Instances, "instance"))
	case l.line.Low > 0:
		lineNote = fmt.Sprintf("the load line is open, at %d to %d instances", l.line.Low, l.line.High)
	case l.line.Instances > 0:
		lineNote = fmt.Sprintf("the load line may be at %s, which too few setups show",
			plural.Count(l.line.Instances, "instance"))
	}
	known := fmt.Sprintf("%s, and its mean is known within %.2g%% after %s",
		lineNote, 100*r.relative, plural.Count(r.bringUps, "setup"))
	if math.IsInf(r.relative, 0) {
		known = fmt.Sprintf("%s, after %s", lineNote, plural.Count(r.bringUps, "setup"))
	}
	relevant := l.near(i) || r.instances == l.line.Valley
	switch {
	case r.ended != "":
		return result.StopFailed, r.ended
	case r.bringUps == 0 && !r.coarse && !relevant:
		return result.StopSettled, lineNote + ", far from this number of instances, which was not measured"
	case r.bringUps < l.fewest:
		return result.StopBudget, known
	case l.open(i):
		return result.StopBudget, known
	case relevant && (!l.line.Decided() && l.near(i) || r.relative > l.target):
		return result.StopRepeats, known
	case r.relative <= l.target:
		return result.StopPrecise, known
	}
	return result.StopSettled, known + ": it is far from the line"
}

// newLadders returns the ladders of a run with a budget whose mixes all differ in the number of their
// instances alone; nil for any other, whose study says where the budget goes.
func (p *Planner) newLadders() (ladders []ladder) {
	if p.experiment.Budget == 0 || !p.experiment.IsScaling() {
		return nil
	}
	for _, f := range p.experiment.Families() {
		coarse := f.Coarse()
		for _, stack := range p.stacksOf(f[0].Name) {
			l := ladder{stack: stack, fewest: p.study.Fewest, limit: p.study.Most, target: p.study.Target}
			for _, m := range f {
				isCoarse := slices.ContainsFunc(coarse, func(c experiment.Mix) bool { return c.Name == m.Name })
				l.rungs = append(l.rungs, rung{mix: m.Name, instances: m.Count(), coarse: isCoarse,
					point: slices.Index(p.points, result.Point{Stack: stack, Mix: m.Name})})
			}
			ladders = append(ladders, l)
		}
	}
	return ladders
}

// stacksOf returns the stacks that a mix is measured on, as points name them.
func (p *Planner) stacksOf(mix string) (stacks []string) {
	for _, point := range p.points {
		if point.Mix == mix {
			stacks = append(stacks, point.Stack)
		}
	}
	return stacks
}

// known returns the ladders with what the trials so far show, which the study was given: see look.
func (p *Planner) known() (ladders []ladder) {
	if len(p.ladders) == 0 {
		return nil
	}
	lines := p.lines(&p.run)
	states := p.study.Judge()
	for _, l := range p.ladders {
		l.rungs = slices.Clone(l.rungs)
		for i, r := range l.rungs {
			r.bringUps, r.ended = len(p.study.Points[r.point].Values), p.study.Points[r.point].Ended
			r.relative = states[r.point].Relative
			l.rungs[i] = r
		}
		l.line = l.lineOf(lines)
		ladders = append(ladders, l)
	}
	return ladders
}

// lineOf returns the ladder's own line.
func (l ladder) lineOf(lines []Line) Line {
	index := slices.IndexFunc(lines, func(line Line) bool {
		return line.Stack == l.stack && slices.ContainsFunc(l.rungs, func(r rung) bool { return line.Mixes[r.instances] == r.mix })
	})
	if index < 0 {
		return Line{}
	}
	return lines[index]
}

// climbed returns why a ladder's points got as many trials as they did.
func (p *Planner) climbed(trials []result.Trial, l ladder) (stops []result.PointStop) {
	for i, r := range l.rungs {
		reason, why := l.reason(i)
		stops = append(stops, p.stop(trials, result.Point{Stack: l.stack, Mix: r.mix}, r.bringUps, reason, why, r.relative))
	}
	return stops
}
