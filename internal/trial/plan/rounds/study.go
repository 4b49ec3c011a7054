// Package rounds says, from what rounds of trials measured so far, which points of a comparison need more of them, and
// why: Study and Compare, when enough is known; Spend, which points come first where there is no time for all of them.
//
// It is pure and deterministic. docs/evidence/stopping.md gives formulas, and how often verdicts are right.
package rounds

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/stats"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/units/plural"
)

// Study decides, from what the trials so far measured, which points need
// further ones. A point is one stack under one workload; its values are the
// rates of its setups, one for each block that it was in. Fields that are 0
// take the value that DefaultStudy has.
//
// A point that is compared with others needs blocks until every comparison has
// its verdict, see Compare, and its ratio is known within Size; a point that is
// compared with none, until its mean is known within Target. docs/evidence/stopping.md
// has the rules, and how often they are right.
type Study struct {
	Target     float64 // how precisely to know a point's mean: half-width as a share of it
	Size       float64 // how precisely to know the ratio of points that differ: half-width as a share of it; 0 for any
	Confidence float64 // of these intervals, and of the verdicts of each comparison
	Fewest     int     // blocks of a point before anything is concluded, at least 4
	Most       int     // blocks of a point
	Points     []StudyPoint
	Pairs      [][2]int  // of points that are compared, by index
	Groups     [][]int   // of points of which the best is asked for, by index
	Margin     float64   // difference, as a share, up to which one is as good as the best; 0 for stats.Margin
	Costs      []float64 // seconds of a block of each point; nil where all take as long
	Rest       float64   // seconds that may be spent; 0 for any
}

// DefaultStudy wants what stopping.DefaultRule wants. With fewer than four pairs of
// values there is neither an interval nor a test of their ratio.
var DefaultStudy = Study{Target: 0.03, Confidence: 0.95, Fewest: stats.FewestPairs, Most: 30}

// StudyPoint holds the measurements of one point.
type StudyPoint struct {
	Values []float64 // one for each block, in any unit, above 0
	Blocks []int     // the numbers of these blocks, ascending; nil for 1, 2, 3 and so on
	Ended  string    // the reason why it can have no more blocks, "" if it can
}

// block returns the number of the block in which a point's value i was measured.
func (p StudyPoint) block(i int) int {
	if p.Blocks == nil {
		return i + 1
	}
	return p.Blocks[i]
}

// common returns the values of two points in the blocks that both were in. In a block both were on the same region of
// the disk, at about the same time.
func common(a, b StudyPoint) (x, y []float64) {
	for i, j := 0, 0; i < len(a.Values) && j < len(b.Values); {
		switch blockA, blockB := a.block(i), b.block(j); {
		case blockA < blockB:
			i++
		case blockA > blockB:
			j++
		default:
			x, y = append(x, a.Values[i]), append(y, b.Values[j])
			i, j = i+1, j+1
		}
	}
	return x, y
}

// PointState is a Study's conclusion on a point.
type PointState struct {
	Open   bool // more trials would help
	Reason Reason
	Why    string // for people
	// half-width of the mean's interval as a share of it; +Inf for fewer than two values, and when the mean is not above 0
	Relative float64
}

// Reason is the reason why a point needs more rounds, or none.
type Reason string

// The reasons of a PointState.
const (
	Precise      Reason = "precise"            // the target is met
	TooFewTrials Reason = "too few trials"     // not yet Fewest
	Settled      Reason = "comparison settled" // all its comparisons have their verdict
	Undecided    Reason = "undecided"          // a comparison has none, or it has no comparison and is not precise
	MostTrials   Reason = "most trials"        // undecided, but as many trials as are allowed were run
	CannotGoOn   Reason = "cannot go on"       // it ended for a reason of its own
)

func (s Study) withDefaults() Study {
	if s.Target == 0 {
		s.Target = DefaultStudy.Target
	}
	if s.Confidence == 0 {
		s.Confidence = DefaultStudy.Confidence
	}
	s.Fewest = max(s.Fewest, DefaultStudy.Fewest)
	if s.Most == 0 {
		s.Most = max(DefaultStudy.Most, s.Fewest)
	}
	return s
}

// Judge returns the state of every point.
func (s Study) Judge() []PointState {
	states, _ := s.withDefaults().examine()
	return states
}

// examine returns the state of every point, and the pairs for which it is worth
// to wait.
func (s Study) examine() (states []PointState, waiting [][2]int) {
	waits := make([]int, len(s.Points))   // comparisons of a point that more blocks may decide
	decided := make([]int, len(s.Points)) // those that are
	for _, pair := range s.Pairs {
		a, b := s.Points[pair[0]], s.Points[pair[1]]
		counts := decided
		switch outcome := s.compare(a, b); {
		case outcome == NoVerdict && !s.canDecide(a, b):
			continue
		case outcome == NoVerdict, outcome == Differ && s.sizeMayShrink(a, b):
			counts, waiting = waits, append(waiting, pair)
		}
		counts[pair[0]]++
		counts[pair[1]]++
	}
	for _, group := range s.Groups {
		for _, p := range s.contenders(group) {
			waits[p]++
		}
	}
	states = make([]PointState, len(s.Points))
	for i, p := range s.Points {
		states[i] = s.judge(p, waits[i], decided[i])
	}
	return states, waiting
}

func (s Study) judge(p StudyPoint, waiting, decided int) PointState {
	n, fewest := len(p.Values), min(s.Fewest, s.Most)
	state := PointState{Relative: relativeHalfWidth(p.Values, s.Confidence)}
	known := "no share of its mean can be asked for"
	if !math.IsInf(state.Relative, 1) {
		known = "its mean is known within " + stopping.Percent(state.Relative)
	}
	switch {
	case p.Ended != "":
		state.Reason, state.Why = CannotGoOn, p.Ended
	case n < fewest:
		state.Open, state.Reason = true, TooFewTrials
		state.Why = fmt.Sprintf("%d of at least %d setups were measured", n, fewest)
	case isIdle(p):
		state.Reason, state.Why = CannotGoOn,
			fmt.Sprintf("no operation was completed in any of its %s", plural.Count(n, "setup"))
	case waiting > 0:
		state.Open, state.Reason = n < s.Most, Undecided
		state.Why = fmt.Sprintf("%d of its %d comparisons are open after %s (%s)", waiting, waiting+decided,
			plural.Count(n, "setup"), known)
	case n >= s.Fewest && state.Relative <= s.Target:
		state.Reason, state.Why = Precise,
			fmt.Sprintf("%s after %s, %s was asked for", known, plural.Count(n, "setup"), stopping.Percent(s.Target))
	case decided > 0:
		state.Reason, state.Why = Settled,
			fmt.Sprintf("every comparison with it was decided after %s (%s)", plural.Count(n, "setup"), known)
	default:
		state.Open, state.Reason = n < s.Most, Undecided
		state.Why = fmt.Sprintf("%s after %s, %s was asked for", known, plural.Count(n, "setup"), stopping.Percent(s.Target))
	}
	if state.Reason == Undecided && !state.Open {
		state.Reason = MostTrials
	}
	return state
}

// isIdle reports whether a point has no throughput, and so no ratio to any other.
func isIdle(p StudyPoint) bool {
	return len(p.Values) > 0 && slices.Max(p.Values) <= 0
}

// reach returns how many blocks two points may have in common at most.
func (s Study) reach(a, b StudyPoint) int {
	x, _ := common(a, b)
	further := s.Most
	for _, p := range []StudyPoint{a, b} {
		more := s.Most - len(p.Values)
		if p.Ended != "" {
			more = 0
		}
		further = min(further, more)
	}
	return len(x) + max(0, further)
}

// canDecide reports whether more blocks can give a comparison its verdict:
// there is a look to come, and none of the points ends before it. It is true
// as well of a comparison that had all the blocks that are allowed.
func (s Study) canDecide(a, b StudyPoint) bool {
	if isIdle(a) || isIdle(b) {
		return false
	}
	x, _ := common(a, b)
	reach := s.reach(a, b)
	used := len(a.Values) >= s.Most || len(b.Values) >= s.Most
	return used || slices.ContainsFunc(s.looks(), func(look int) bool { return look > len(x) && look <= reach })
}

// sizeMayShrink reports whether the ratio of two points is known less well
// than Size, and more blocks can change that.
func (s Study) sizeMayShrink(a, b StudyPoint) bool {
	x, y := common(a, b)
	ratio, ok := stats.PairedRatio(x, y)
	if s.Size == 0 || !ok || s.reach(a, b) <= len(x) {
		return false
	}
	return !(math.Log(ratio.High/ratio.Low)/2 <= math.Log1p(s.Size))
}

// Next returns the points, by index in ascending order, that the next block should have: at first all, then those
// of the comparisons and means that are decided soonest for their time, see Spend. It is empty when no point is open.
func (s Study) Next() []int {
	costs, rest := s.Costs, s.Rest
	if costs == nil {
		costs = slices.Repeat([]float64{1}, len(s.Points))
	}
	if rest == 0 {
		rest = math.Inf(1)
	}
	return Spend(s.Asks(), costs, rest)
}

// relativeHalfWidth is half of Student's interval of the mean, as a share of
// it; +Inf when there is no interval or the mean is not above 0.
func relativeHalfWidth(values []float64, confidence float64) float64 {
	n := len(values)
	if n < 2 {
		return math.Inf(1)
	}
	mean, squares := stats.MeanAndSquares(values)
	if !(mean > 0) || !(squares < math.Inf(1)) {
		return math.Inf(1)
	}
	return stats.StudentQuantile((1+confidence)/2, n-1) * math.Sqrt(squares/float64(n-1)/float64(n)) / mean
}
