package steady

import (
	"cmp"
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
	s.Fewest = max(s.Fewest, DefaultStudy.Fewest)
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
		a, b := s.Points[pair[0]], s.Points[pair[1]]
		if s.hopeless(a) || s.hopeless(b) {
			continue // whatever the other one does, there will be no verdict
		}
		done := s.Compare(a, b) != NoVerdict
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
		case n < min(s.Fewest, s.Most):
			state.Open, state.Reason = true, TooFewTrials
			state.Why = fmt.Sprintf("%d of at least %d trials were run", n, min(s.Fewest, s.Most))
		case s.hopeless(p):
			state.Reason, state.Why = CannotGoOn, fmt.Sprintf("nothing was completed in any of its %d trials", n)
		case n >= s.Fewest && relative <= s.Target:
			state.Reason, state.Why = Precise, fmt.Sprintf("the mean is known within %s after %d trials, %s was asked for", percent(relative), n, percent(s.Target))
		case pairs[i] > 0 && settled[i] == pairs[i]:
			state.Reason = Settled
			state.Why = fmt.Sprintf("every comparison with it had its verdict after %d trials (%s)", n, known(relative))
		default:
			state.Open, state.Reason = n < s.Most, Undecided
			state.Why = fmt.Sprintf("%s after %d trials, %s was asked for", known(relative), n, percent(s.Target))
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

func known(relative float64) string {
	if math.IsInf(relative, 1) {
		return "no share of its mean can be asked for"
	}
	return "its mean is known within " + percent(relative)
}

// hopeless tells whether no comparison with a point can ever have a verdict:
// it ended too soon, or does nothing, so that there is no ratio.
func (s Study) hopeless(p StudyPoint) bool {
	if len(p.Values) < s.Fewest {
		return p.Ended != ""
	}
	return slices.Max(p.Values) <= 0
}

// Next gives the points, by index in ascending order, that the next block of
// trials should have: at first all, then the wider half of those that are
// open, since that is where time buys most, each with its open partners, so
// that what is compared is measured at the same time. No open point is left
// with fewer than half the trials of another: the widest may be one that no
// number of trials helps. Next is empty when no point is open.
func (s Study) Next() []int {
	s = s.withDefaults()
	states := s.Judge()
	var open, few []int
	most := 0 // trials of an open point
	for i, state := range states {
		if !state.Open {
			continue
		}
		open, most = append(open, i), max(most, len(s.Points[i].Values))
		if state.Reason == TooFewTrials {
			few = append(few, i)
		}
	}
	if len(few) > 0 {
		return few
	}
	widest := slices.Clone(open)
	slices.SortStableFunc(widest, func(a, b int) int { return cmp.Compare(states[b].Relative, states[a].Relative) })
	widest = widest[:(len(widest)+1)/2]
	next := slices.Clone(widest)
	for _, pair := range s.Pairs {
		for k, i := range pair {
			partner := pair[1-k]
			if slices.Contains(widest, i) && states[partner].Open && s.Compare(s.Points[i], s.Points[partner]) == NoVerdict {
				next = append(next, partner)
			}
		}
	}
	for _, i := range open {
		if 2*len(s.Points[i].Values) <= most {
			next = append(next, i)
		}
	}
	slices.Sort(next)
	return slices.Compact(next)
}

// Outcome is what a comparison of two points has come to.
type Outcome string

// The outcomes of comparisons.
const (
	Differ    Outcome = "differ"     // so say the interval of their ratio and the rank test of findings
	Alike     Outcome = "alike"      // their ratio is known to be 1 within the target
	NoVerdict Outcome = "no verdict" // neither, so far
)

// Compare gives the outcome of a comparison of two points. It looks at their
// ratio's interval, whose level is spent little by little: the k-th look at a
// pair that grows has alpha/(k(k+1)), of which the sum over all looks is alpha.
// Who looks at the same level until something is significant always finds it.
// A look is counted for each value of either point, since each gives a new
// chance to err.
func (s Study) Compare(a, b StudyPoint) Outcome {
	s = s.withDefaults()
	if min(len(a.Values), len(b.Values)) < s.Fewest {
		return NoVerdict
	}
	k := float64(len(a.Values) + len(b.Values) - 2*s.Fewest + 1)
	low, high, ok := logRatio(a.Values, b.Values, 1-(1-s.Confidence)/(k*(k+1)))
	margin := math.Log1p(s.Target)
	switch {
	case !ok:
		return NoVerdict
	case (low > 0 || high < 0) && stats.MannWhitney(a.Values, b.Values) < stats.Alpha:
		return Differ
	case -margin < low && high < margin:
		return Alike
	}
	return NoVerdict
}

// relativeHalfWidth is half of Student's interval of the mean, as a share of it.
func relativeHalfWidth(values []float64, confidence float64) float64 {
	n := len(values)
	if n < 2 {
		return math.Inf(1)
	}
	mean, squares := meanAndSquares(values)
	if !(mean > 0) || math.IsInf(squares, 1) {
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
