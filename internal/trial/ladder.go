package trial

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stats/stopping"
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

// decided reports whether the interval holds one number alone.
func (l Line) decided() bool { return l.Low > 0 && l.Low == l.High }

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
	most   int     // setups of a rung
	target float64 // how precisely to know a mean: half of its 95% interval as a share of it
}

// rung is one number of instances.
type rung struct {
	mix       string
	instances int
	point     int     // of the schedule
	coarse    bool    // to be measured wherever the line is
	bringUps  int     // that gave a number
	relative  float64 // half of the 95% interval of the mean, as a share of it; +Inf where there is none
	ended     string  // why it can be in no more blocks; "" when it can
}

// next returns the rungs, by index, that the next block should have; none when all is known, or cannot be.
func (l ladder) next() (next []int) {
	for i, r := range l.rungs {
		begun := r.coarse || r.bringUps > 0 || l.near(i)
		if r.ended == "" && begun && r.bringUps < min(l.fewest, l.most) {
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
func (l ladder) ask() (a stopping.Ask, ok bool) {
	few := math.MaxInt // setups of that which has fewest
	for _, i := range l.next() {
		a.Points = append(a.Points, l.rungs[i].point)
		few = min(few, l.rungs[i].bringUps)
	}
	a.Most = l.most - few
	const interval = 1.96 // of the normal distribution, as the line's interval
	switch {
	case len(a.Points) == 0:
		return a, false
	case few < min(l.fewest, l.most):
		a.First, a.Blocks, a.Odds = true, min(l.fewest, l.most)-few, 0.5
	case l.line.decided():
		a.Refines, a.Blocks, a.Odds = true, (few+1)/2, 0.5
	default:
		a.Blocks = (few + 1) / 2
		sure := math.Sqrt2 * math.Erfinv(2*min(l.line.Odds, 0.9999)-1)
		a.Odds = max(0.02, 1-stopping.Normal(interval-sure*math.Sqrt(float64(few+a.Blocks)/float64(few))))
	}
	return a, true
}

// withLine adds the rung at the line: what is measured beside it is held against it, in the same blocks.
func (l ladder) withLine(next []int) []int {
	at := l.at(l.line.Instances)
	if at < 0 || slices.Contains(next, at) || l.rungs[at].ended != "" || l.rungs[at].bringUps >= l.most {
		return next
	}
	next = append(next, at)
	slices.Sort(next)
	return next
}

// at returns the index of a number of instances; -1 where it is none of the ladder.
func (l ladder) at(instances int) int {
	return slices.IndexFunc(l.rungs, func(r rung) bool { return r.instances == instances })
}

// near reports whether a rung is one that tells where the line is: at it, next to it, in its interval, or
// the number that would tell most.
func (l ladder) near(i int) bool {
	at := l.at(l.line.Instances)
	if at < 0 {
		return false
	}
	n := l.rungs[i].instances
	inside := l.line.Low > 0 && l.line.Low <= n && n <= l.line.High
	return i >= at-1 && i <= at+1 || inside || n == l.line.Next
}

// open reports whether a rung needs more setups than an interval takes, and can have them.
func (l ladder) open(i int) bool {
	r := l.rungs[i]
	if r.ended != "" || r.bringUps >= l.most {
		return false
	}
	switch {
	case l.near(i):
		return !l.line.decided() || r.relative > l.target
	case r.instances == l.line.Valley:
		return r.relative > l.target
	}
	return false
}

// reason returns why a rung has as many setups as it has, for people too.
func (l ladder) reason(i int) (reason result.StopReason, why string) {
	r := l.rungs[i]
	at := "the load line is not known"
	switch {
	case l.line.decided():
		at = fmt.Sprintf("the load line is at %s", plural.Count(l.line.Instances, "instance"))
	case l.line.Low > 0:
		at = fmt.Sprintf("the load line is open, at %d to %d instances", l.line.Low, l.line.High)
	case l.line.Instances > 0:
		at = fmt.Sprintf("the load line may be at %s, which too few setups show", plural.Count(l.line.Instances, "instance"))
	}
	known := fmt.Sprintf("%s, and its mean is known within %.2g%% after %s", at, 100*r.relative, plural.Count(r.bringUps, "setup"))
	if math.IsInf(r.relative, 0) {
		known = fmt.Sprintf("%s, after %s", at, plural.Count(r.bringUps, "setup"))
	}
	told := l.near(i) || r.instances == l.line.Valley
	switch {
	case r.ended != "":
		return result.StopFailed, r.ended
	case r.bringUps == 0 && !r.coarse && !told:
		return result.StopSettled, at + ", far from this number of instances, which was not measured"
	case r.bringUps < l.fewest:
		return result.StopBudget, known
	case l.open(i):
		return result.StopBudget, known
	case told && (!l.line.decided() && l.near(i) || r.relative > l.target):
		return result.StopRepeats, known
	case r.relative <= l.target:
		return result.StopPrecise, known
	}
	return result.StopSettled, known + ": it is far from the line"
}

// newLadders returns the ladders of a run with a budget whose mixes all differ in the number of their
// instances alone; nil for any other, whose study says where the budget goes.
func (s *schedule) newLadders() (all []ladder) {
	if s.Experiment.Budget == 0 || !s.Experiment.IsScaling() {
		return nil
	}
	for _, f := range s.Experiment.Families() {
		coarse := f.Coarse()
		for _, stack := range s.stacksOf(f[0].Name) {
			l := ladder{stack: stack, fewest: s.study.Fewest, most: s.study.Most, target: s.study.Target}
			for _, m := range f {
				isCoarse := slices.ContainsFunc(coarse, func(c experiment.Mix) bool { return c.Name == m.Name })
				l.rungs = append(l.rungs, rung{mix: m.Name, instances: m.Count(), coarse: isCoarse,
					point: slices.Index(s.points, point{stack, m.Name})})
			}
			all = append(all, l)
		}
	}
	return all
}

// stacksOf are the stacks that a mix is measured on, as points name them.
func (s *schedule) stacksOf(mix string) (all []string) {
	for _, p := range s.points {
		if p.mix == mix {
			all = append(all, p.stack)
		}
	}
	return all
}

// known returns the ladders with what the trials so far tell, which the study was given: see look.
func (s *schedule) known() (all []ladder) {
	if len(s.ladders) == 0 {
		return nil
	}
	lines := s.loadLines()
	states := s.study.Judge()
	for _, l := range s.ladders {
		l.rungs = slices.Clone(l.rungs)
		for i, r := range l.rungs {
			r.bringUps, r.ended = len(s.study.Points[r.point].Values), s.study.Points[r.point].Ended
			r.relative = states[r.point].Relative
			l.rungs[i] = r
		}
		l.line = l.lineOf(lines)
		all = append(all, l)
	}
	return all
}

// lineOf returns the ladder's own line.
func (l ladder) lineOf(lines []Line) Line {
	at := slices.IndexFunc(lines, func(line Line) bool {
		return line.Stack == l.stack && slices.ContainsFunc(l.rungs, func(r rung) bool { return line.Mixes[r.instances] == r.mix })
	})
	if at < 0 {
		return Line{}
	}
	return lines[at]
}

// climbed returns why a ladder's points got as many trials as they did.
func (s *schedule) climbed(trials []result.Trial, l ladder) (all []result.PointStop) {
	for i, r := range l.rungs {
		reason, why := l.reason(i)
		all = append(all, s.told(trials, point{l.stack, r.mix}, r.bringUps, reason, why, r.relative))
	}
	return all
}
