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
	case state.Relative <= s.Target:
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
	if s.Fewest > s.Most || nothing(a) || nothing(b) {
		return false
	}
	reach := s.Most
	for _, p := range []StudyPoint{a, b} {
		if p.Ended != "" {
			reach = min(reach, len(p.Values))
		}
	}
	n := min(len(a.Values), len(b.Values))
	return n >= s.Most || s.lookAfter(n) <= reach
}

// lookAfter is how many trials of both points the first look takes that comes
// after n trials. Looks are a quarter further apart each time, and the last is
// at Most.
func (s Study) lookAfter(n int) int {
	look := s.Fewest
	for look <= n {
		look += (look + 3) / 4
	}
	if n < s.Most {
		look = min(look, s.Most)
	}
	return look
}

// Next gives the points, by index in ascending order, that the next block of
// trials should have: at first all, then the wider half of those that are
// open, since that is where time buys most, each with its open partners, so
// that what is compared is measured at the same time. No open point is left
// with fewer than half the trials of another: the widest may be one that no
// number of trials helps. Next is empty when no point is open.
func (s Study) Next() []int {
	s = s.withDefaults()
	states, waiting := s.examine()
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

// Outcome is what a comparison of two points has come to.
type Outcome string

// The outcomes of comparisons.
const (
	Differ    Outcome = "differ"     // says the rank test that findings use
	Alike     Outcome = "alike"      // says the same test, if one of them were faster by the target, and if the other were
	NoVerdict Outcome = "no verdict" // neither, so far
)

// Compare gives the outcome of a comparison of two points: that of the first
// look at it that gave a verdict. There are looks at as many trials of both as
// Fewest says, at a quarter more, and so on up to Most. Each spends a part of
// the level, and the sum over all looks is the level: who looks until
// something is significant otherwise always finds it. For the same reason a
// look leaves out trials that one of the points has and the other lacks.
func (s Study) Compare(a, b StudyPoint) Outcome {
	return s.withDefaults().compare(a.Values, b.Values)
}

func (s Study) compare(a, b []float64) Outcome {
	if s.Fewest > s.Most {
		return NoVerdict
	}
	k := 1
	for n := s.Fewest; n <= min(len(a), len(b), s.Most); n = s.lookAfter(n) {
		if outcome := look(a[:n], b[:n], s.Target, (1-s.Confidence)*share(k)); outcome != NoVerdict {
			return outcome
		}
		k++
	}
	return NoVerdict
}

// share of the level that the k-th look spends. The sum over all k is 1. At
// four trials the smallest p value of the rank test is 0.57 of 5%, so that
// less than that would be spent in vain; the sum of 1/(k(k-1)) from 2 is 1.
func share(k int) float64 {
	const first = 0.6
	if k == 1 {
		return first
	}
	return (1 - first) / float64(k*(k-1))
}

// look compares two points at a level. That they are alike takes two tests,
// that neither is the faster by the margin, each at the level (Schuirmann 1987).
func look(a, b []float64, margin, level float64) Outcome {
	if differs(a, b, level) {
		return Differ
	}
	scaled := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = v * (1 + margin)
		}
		return out
	}
	// Each test is of one side, and so has half of a two-sided p value.
	if above := scaled(a); stats.Median(above) > stats.Median(b) && differs(above, b, 2*level) {
		if above := scaled(b); stats.Median(above) > stats.Median(a) && differs(above, a, 2*level) {
			return Alike
		}
	}
	return NoVerdict
}

// differs is the rank test, at a level. To count out its p value is slow, and
// needless where the normal approximation is far from significant.
func differs(a, b []float64, level float64) bool {
	return roughP(a, b) < 2*level && stats.MannWhitney(a, b) < level
}

// roughP is the normal approximation of the rank test's two-sided p value.
func roughP(a, b []float64) float64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	// Midranks, doubled, less those of the middle.
	rank := func(v float64) float64 {
		from, _ := slices.BinarySearch(all, v)
		to := from
		for to < len(all) && all[to] == v {
			to++
		}
		return float64(from + to - len(all))
	}
	var sum, squares float64
	for _, v := range a {
		r := rank(v)
		sum, squares = sum+r, squares+r*r
	}
	for _, v := range b {
		r := rank(v)
		squares += r * r
	}
	if squares == 0 {
		return 1
	}
	n, m := float64(len(a)), float64(len(b))
	return math.Erfc(math.Abs(sum) / math.Sqrt(2*squares*n*m/((n+m)*(n+m-1))))
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
