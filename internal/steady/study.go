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
// trials should have: at first all, then the wider half of those that are
// open, since that is where time buys most, each with its open partners, so
// that what is compared is measured at the same time. No open point is left
// with fewer than half the trials of another: the widest may be one that no
// number of trials helps. Next is empty when no point is open.
func (s Study) Next() []int {
	s = s.withDefaults()
	states, waiting := s.examine()
	var open, few []int
	most, width := 0, 0.0 // of any open point
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
	looks := s.looks()
	for k, n := range looks {
		if n > min(len(a), len(b)) {
			break
		}
		if outcome := look(a[:n], b[:n], s.Target, (1-s.Confidence)*share(k, len(looks))); outcome != NoVerdict {
			return outcome
		}
	}
	return NoVerdict
}

// looks are the numbers of trials at which a comparison is looked at: each is
// half as many again as the one before, and the last is Most.
func (s Study) looks() (looks []int) {
	for n := s.Fewest; n < s.Most; n += (n + 1) / 2 {
		looks = append(looks, n)
	}
	if s.Fewest <= s.Most {
		looks = append(looks, s.Most)
	}
	return looks
}

// share of the level that look k, from 0, of several spends. The smallest
// p value that four trials can have is 0.57 of 5%: less would be spent in vain.
// The other looks share the rest equally.
func share(k, looks int) float64 {
	const first = 0.6
	if k == 0 {
		return first
	}
	return (1 - first) / float64(looks-1)
}

// look compares two points at a level. That they are alike takes two tests,
// that neither is the faster by the margin, each at the level (Schuirmann 1987).
func look(a, b []float64, margin, level float64) Outcome {
	if differs(a, b, 0, level) != 0 {
		return Differ
	}
	// Each of the two has one side, and so half of a two-sided p value.
	if margin := math.Log1p(margin); differs(a, b, margin, 2*level) > 0 && differs(a, b, -margin, 2*level) < 0 {
		return Alike
	}
	return NoVerdict
}

// differs tells whether a, multiplied by the exponential of shift, is above b
// (1) or below it (-1) at a level, or neither. Two tests must say so: that of
// ranks is exact whatever the distribution, as long as it is the same one; that
// of trimmed means holds when one point is much noisier than the other.
func differs(a, b []float64, shift, level float64) int {
	difference, p := trimmedTest(a, b, shift)
	if p >= level {
		return 0
	}
	if shift != 0 {
		shifted := make([]float64, len(a))
		for i, v := range a {
			shifted[i] = v * math.Exp(shift)
		}
		a = shifted
	}
	switch {
	case stats.MannWhitney(a, b) >= level:
		return 0
	case difference > 0:
		return 1
	}
	return -1
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

// trimmedTest is Yuen's test (1974) of the logarithms of two points: Welch's,
// but with means that leave out a fifth of the values at either end, so that one
// outlier does not hide a difference. Of fewer than five values none is left
// out. It gives by how much a, multiplied by the exponential of shift, is above
// b in logarithms, and the two-sided p value; that is 1 where a value is not
// above 0. The degrees of freedom are rounded down, to the safe side.
func trimmedTest(a, b []float64, shift float64) (difference, p float64) {
	var mean, variance, degrees [2]float64 // variance of the mean
	for i, values := range [][]float64{a, b} {
		logs := make([]float64, len(values))
		for j, v := range values {
			if !(v > 0) || math.IsInf(v, 1) {
				return 0, 1
			}
			logs[j] = math.Log(v)
		}
		slices.Sort(logs)
		n, cut := len(logs), len(logs)/5
		mean[i], _ = meanAndSquares(logs[cut : n-cut])
		for j := range cut {
			logs[j], logs[n-1-j] = logs[cut], logs[n-1-cut]
		}
		_, squares := meanAndSquares(logs)
		kept := float64(n - 2*cut)
		variance[i], degrees[i] = squares/(kept*(kept-1)), kept-1
	}
	difference = mean[0] - mean[1] + shift
	sum := variance[0] + variance[1]
	switch {
	case difference == 0:
		return 0, 1
	case sum == 0:
		return difference, 0
	}
	free := int(sum * sum / (variance[0]*variance[0]/degrees[0] + variance[1]*variance[1]/degrees[1]))
	free = max(1, free)
	t := math.Abs(difference) / math.Sqrt(sum)
	return difference, 1 - studentWithin(math.Atan(t/math.Sqrt(float64(free))), free)
}
