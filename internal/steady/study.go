package steady

import (
	"fmt"
	"math"
	"slices"
)

// Study decides, from what the trials so far measured, which points need
// further ones. A point is one stack under one workload; its values are the
// rates of its trials, in their order. Fields that are 0 take the value that
// DefaultStudy has.
//
// A point that is compared with others needs trials until every comparison has
// its verdict, see Compare; a point that is compared with none, until its mean
// is known within Target. docs/stopping.md gives the rules, and how often they
// are right.
type Study struct {
	Target     float64 // how precisely to know a point's mean: half-width as a share of it
	Confidence float64 // of that interval, and of the verdicts of each comparison
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
	Relative float64 // half-width of the mean's interval as a share of it; +Inf for fewer than two values, and when the mean is not above 0
}

// The reasons of a PointState, beside Precise.
const (
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

// Judge gives the state of every point.
func (s Study) Judge() []PointState {
	states, _ := s.withDefaults().examine()
	return states
}

// examine gives the state of every point, and the pairs for whose verdict it
// is worth to wait.
func (s Study) examine() (states []PointState, waiting [][2]int) {
	waits := make([]int, len(s.Points))   // comparisons of a point that more trials may decide
	decided := make([]int, len(s.Points)) // those that have their verdict
	for _, pair := range s.Pairs {
		a, b := s.Points[pair[0]], s.Points[pair[1]]
		counts := decided
		if s.compare(a.Values, b.Values) == NoVerdict {
			if !s.canDecide(a, b) {
				continue
			}
			counts, waiting = waits, append(waiting, pair)
		}
		counts[pair[0]]++
		counts[pair[1]]++
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
		known = "its mean is known within " + percent(state.Relative)
	}
	switch {
	case p.Ended != "":
		state.Reason, state.Why = CannotGoOn, p.Ended
	case n < fewest:
		state.Open, state.Reason = true, TooFewTrials
		state.Why = fmt.Sprintf("%d of at least %d trials were run", n, fewest)
	case nothing(p):
		state.Reason, state.Why = CannotGoOn, fmt.Sprintf("nothing was completed in any of its %d trials", n)
	case waiting > 0:
		state.Open, state.Reason = n < s.Most, Undecided
		state.Why = fmt.Sprintf("%d of its %d comparisons have no verdict after %d trials (%s)", waiting, waiting+decided, n, known)
	case n >= s.Fewest && state.Relative <= s.Target:
		state.Reason, state.Why = Precise, fmt.Sprintf("%s after %d trials, %s was asked for", known, n, percent(s.Target))
	case decided > 0:
		state.Reason, state.Why = Settled, fmt.Sprintf("every comparison with it had its verdict after %d trials (%s)", n, known)
	default:
		state.Open, state.Reason = n < s.Most, Undecided
		state.Why = fmt.Sprintf("%s after %d trials, %s was asked for", known, n, percent(s.Target))
	}
	if state.Reason == Undecided && !state.Open {
		state.Reason = MostTrials
	}
	return state
}

// nothing tells whether a point does nothing: it has no ratio to any other.
func nothing(p StudyPoint) bool {
	return len(p.Values) > 0 && slices.Max(p.Values) <= 0
}

// canDecide tells whether more trials can give a comparison its verdict: there
// is a look to come, and none of the points ended before it.
func (s Study) canDecide(a, b StudyPoint) bool {
	if nothing(a) || nothing(b) {
		return false
	}
	reach := s.Most
	for _, p := range []StudyPoint{a, b} {
		if p.Ended != "" {
			reach = min(reach, len(p.Values))
		}
	}
	n := min(len(a.Values), len(b.Values))
	return n >= s.Most || slices.ContainsFunc(s.looks(), func(look int) bool { return look > n && look <= reach })
}

// Next gives the points, by index in ascending order, that the next block of
// trials should have: at first all; then the open ones whose intervals are at
// least half as wide as the widest, since that is where time buys most. With
// them come the open points whose trials their comparisons wait for, and those
// that fell to half the trials of another: the widest may be one that no number
// of trials helps. Next is empty when no point is open.
func (s Study) Next() []int {
	s = s.withDefaults()
	states, waiting := s.examine()
	var open, few []int
	most, width := 0, 0.0 // trials and relative half-width, of any open point
	for i, state := range states {
		if !state.Open {
			continue
		}
		open, most, width = append(open, i), max(most, len(s.Points[i].Values)), max(width, state.Relative)
		if state.Reason == TooFewTrials {
			few = append(few, i)
		}
	}
	if len(few) > 0 {
		return few
	}
	widest := slices.DeleteFunc(slices.Clone(open), func(i int) bool { return states[i].Relative < width/2 })
	next := slices.Clone(widest)
	for _, pair := range waiting {
		for k, i := range pair {
			partner := pair[1-k]
			behind := len(s.Points[partner].Values) <= len(s.Points[i].Values)
			if slices.Contains(widest, i) && states[partner].Open && behind {
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

// relativeHalfWidth is half of Student's interval of the mean, as a share of
// it; +Inf when there is no interval or the mean is not above 0.
func relativeHalfWidth(values []float64, confidence float64) float64 {
	n := len(values)
	if n < 2 {
		return math.Inf(1)
	}
	mean, squares := meanAndSquares(values)
	if !(mean > 0) || !(squares < math.Inf(1)) {
		return math.Inf(1)
	}
	return studentQuantile((1+confidence)/2, n-1) * math.Sqrt(squares/float64(n-1)/float64(n)) / mean
}
