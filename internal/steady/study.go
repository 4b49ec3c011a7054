package steady

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/stats"
)

// Study decides, from what the trials so far measured, which points need
// further ones. A point is one stack under one workload; its values are the
// rates of its trials. Fields that are 0 take the value that DefaultStudy has.
//
// A point needs no more trials once its mean is known within Target, or once
// every comparison that it is part of has its verdict. docs/stopping.md gives
// the rules, and how often they are right.
type Study struct {
	Target     float64 // how precisely to know a point's mean: half-width as a share of it
	Confidence float64 // of that interval
	Fewest     int     // trials of a point before anything is concluded, at least 4
	Most       int     // trials of a point
	Points     []StudyPoint
	Pairs      [][2]int // of points that are compared, by index
}

// DefaultStudy wants what DefaultRule wants. With fewer than four trials a
// side, no rank test can find a difference at the 5% level.
var DefaultStudy = Study{Target: 0.03, Confidence: 0.95, Fewest: 4, Most: 30}

// StudyPoint is what is known of one point.
type StudyPoint struct {
	Values []float64 // of its trials, in any unit, above 0
	Ended  string    // why it can have no more trials, "" when it can
}

// PointState is what a Study concludes about a point.
type PointState struct {
	Open     bool // more trials would help
	Reason   Reason
	Why      string  // for people
	Relative float64 // half-width of the mean's interval as a share of it; +Inf for fewer than two values
}

// The reasons of a PointState, beside Precise.
const (
	TooFewTrials Reason = "too few trials"     // not yet Fewest
	Settled      Reason = "comparison settled" // all its comparisons have their verdict
	Undecided    Reason = "undecided"          // neither precise nor settled
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
	if s.Fewest == 0 {
		s.Fewest = DefaultStudy.Fewest
	}
	if s.Most == 0 {
		s.Most = max(DefaultStudy.Most, s.Fewest)
	}
	return s
}

// Judge gives the state of every point.
func (s Study) Judge() []PointState {
	s = s.withDefaults()
	pairs := make([]int, len(s.Points))   // that a point is part of
	settled := make([]int, len(s.Points)) // that have their verdict
	for _, pair := range s.Pairs {
		done := s.settled(s.Points[pair[0]], s.Points[pair[1]])
		for _, i := range pair {
			pairs[i]++
			if done {
				settled[i]++
			}
		}
	}
	out := make([]PointState, len(s.Points))
	for i, p := range s.Points {
		n, relative := len(p.Values), relativeHalfWidth(p.Values, s.Confidence)
		state := PointState{Relative: relative}
		switch {
		case p.Ended != "":
			state.Reason, state.Why = CannotGoOn, p.Ended
		case n < s.Fewest:
			state.Open, state.Reason = true, TooFewTrials
			state.Why = fmt.Sprintf("%d of at least %d trials were run", n, s.Fewest)
		case relative <= s.Target:
			state.Reason, state.Why = Precise, fmt.Sprintf("the mean is known within %s after %d trials, %s was asked for", percent(relative), n, percent(s.Target))
		case pairs[i] > 0 && settled[i] == pairs[i]:
			state.Reason = Settled
			state.Why = fmt.Sprintf("every comparison with it had its verdict after %d trials (its mean is known within %s)", n, percent(relative))
		default:
			state.Open, state.Reason = n < s.Most, Undecided
			state.Why = fmt.Sprintf("its mean is known within %s after %d trials, %s was asked for", percent(relative), n, percent(s.Target))
			if pairs[i] > 0 {
				state.Why += fmt.Sprintf(", and %d of its %d comparisons have no verdict", pairs[i]-settled[i], pairs[i])
			}
			if !state.Open {
				state.Reason = MostTrials
			}
		}
		out[i] = state
	}
	return out
}

// Next gives the points, by index in ascending order, that the next block of
// trials should have: at first all, then the wider half of those that are
// open, since that is where time buys most, each with its open partners, so
// that what is compared is measured at the same time. It is empty when no
// point is open.
func (s Study) Next() []int {
	s = s.withDefaults()
	states := s.Judge()
	var open []int
	for i, state := range states {
		if state.Open {
			open = append(open, i)
		}
	}
	few := slices.DeleteFunc(slices.Clone(open), func(i int) bool { return states[i].Reason != TooFewTrials })
	if len(few) > 0 {
		return few
	}
	slices.SortStableFunc(open, func(a, b int) int { return compareDescending(states[a].Relative, states[b].Relative) })
	next := slices.Clone(open[:(len(open)+1)/2])
	for _, pair := range s.Pairs {
		if s.settled(s.Points[pair[0]], s.Points[pair[1]]) {
			continue
		}
		for k, i := range pair {
			if slices.Contains(open[:(len(open)+1)/2], i) && states[pair[1-k]].Reason == Undecided && states[pair[1-k]].Open {
				next = append(next, pair[1-k])
			}
		}
	}
	slices.Sort(next)
	return slices.Compact(next)
}

func compareDescending(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// settled tells whether a comparison has its verdict: the points differ, and
// so says the rank test that findings use, or their ratio is known to be 1
// within the target. Each look at a pair that grows spends a part of the level,
// alpha/(k(k+1)) at the k-th, of which the sum over all looks is alpha: who
// looks until something is significant would otherwise always find it.
func (s Study) settled(a, b StudyPoint) bool {
	if a.Ended != "" || b.Ended != "" {
		return true // there is nothing more to come
	}
	fewest := min(len(a.Values), len(b.Values))
	if fewest < s.Fewest {
		return false
	}
	k := float64(fewest - s.Fewest + 1)
	level := (1 - s.Confidence) / (k * (k + 1))
	low, high, ok := logRatio(a.Values, b.Values, 1-level)
	switch {
	case !ok:
		return false
	case low > 0 || high < 0:
		return stats.MannWhitney(a.Values, b.Values) < stats.Alpha
	}
	margin := math.Log1p(s.Target)
	return -margin < low && high < margin
}

// relativeHalfWidth is half of Student's interval of the mean, as a share of it.
func relativeHalfWidth(values []float64, confidence float64) float64 {
	n := len(values)
	if n < 2 {
		return math.Inf(1)
	}
	mean, squares := meanAndSquares(values)
	if !(mean > 0) {
		return math.Inf(1)
	}
	return studentQuantile((1+confidence)/2, n-1) * math.Sqrt(squares/float64(n-1)/float64(n)) / mean
}

// logRatio is Welch's interval of the difference of the means of logarithms:
// of the logarithm of the ratio of a to b. ok is false where a value is not
// above 0. The degrees of freedom are rounded down, to the safe side.
func logRatio(a, b []float64, confidence float64) (low, high float64, ok bool) {
	var mean, variance, degrees [2]float64
	for i, values := range [][]float64{a, b} {
		logs := make([]float64, len(values))
		for j, v := range values {
			if !(v > 0) {
				return 0, 0, false
			}
			logs[j] = math.Log(v)
		}
		n := float64(len(values))
		m, squares := meanAndSquares(logs)
		mean[i], variance[i], degrees[i] = m, squares/(n-1)/n, n-1
	}
	difference, sum := mean[0]-mean[1], variance[0]+variance[1]
	if sum == 0 {
		return difference, difference, true
	}
	free := sum * sum / (variance[0]*variance[0]/degrees[0] + variance[1]*variance[1]/degrees[1])
	width := studentQuantile((1+confidence)/2, max(1, int(free))) * math.Sqrt(sum)
	return difference - width, difference + width, true
}
