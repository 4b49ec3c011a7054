package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Level holds the values measured at one level of a factor.
type Level struct {
	X      float64   // the level: jobs, bytes of a block; positive
	Values []float64 // one per trial; positive
}

// ChangeKind is the form of a change in a curve.
type ChangeKind string

// The kinds of changes.
const (
	Cliff ChangeKind = "cliff" // it falls between two neighbouring levels
	Jump  ChangeKind = "jump"  // it rises between two neighbouring levels
	Knee  ChangeKind = "knee"  // it bends: from here on its slope is another
)

// Change is a place where a curve changes by more than noise explains.
type Change struct {
	Kind ChangeKind
	// From and To are the levels on either side of a cliff or jump. They are
	// the same for a knee, which may lie between two levels.
	From, To float64
	// Low and High hold the place with 95% probability.
	Low, High float64
	// Alike is the share of bootstrap samples, 0 to 1, in which a change of
	// the same kind fits best. Around 0.5, trials are too noisy or levels too
	// far apart to tell a cliff from a knee.
	Alike float64
	// Ratio is the fitted response at To over that at From: 0.6 for a fall to
	// 60%. It is 1 for a knee.
	Ratio Ratio
	// Before and After are the slopes on either side, as in Segment.
	Before, After Estimate
	// P is the probability that noise alone would cause a change of this size anywhere on the curve.
	P float64
}

// SegmentShape is the shape of a curve between two changes.
type SegmentShape string

// The shapes of segments.
const (
	Plateau SegmentShape = "plateau" // stays within 10%
	Rises   SegmentShape = "rises"
	Falls   SegmentShape = "falls"
	Unclear SegmentShape = "unclear" // noise, or too few levels, hide which of these it is
)

// Segment is a stretch of a curve without a change, from level to level.
type Segment struct {
	From, To float64 // equal when the segment is one level
	Shape    SegmentShape
	// Slope is the elasticity: by how many percent the response grows when
	// the factor grows by one percent. 1 is proportional, 0 flat, -1 inverse.
	Slope Estimate
	// Ratio is the fitted response at To over that at From.
	Ratio Ratio
}

// Estimate is a number with its 95% bootstrap interval.
type Estimate struct{ Value, Low, High float64 }

// Curve is a response over the levels of a factor.
type Curve struct {
	// in the order of levels; empty when noise explains everything, or when all changes are small
	Changes  []Change
	Segments []Segment // one more than changes
	Fit      []float64 // the fitted response at each level
	// P is the probability that noise alone would bend a straight curve as much as this one: that of the first change
	// tested.
	P float64
}

// What FindChanges needs of levels.
const (
	MinLevels = 4 // a line and one change fit any three
	MinTrials = 3 // of each level
)

// What it takes for a change.
const (
	smallStep = 1.1  // a step of less than 10% is no cliff
	smallBend = 0.15 // slopes that differ by less make no knee
	band      = 1.1  // what stays within 10% is a plateau
)

// FindChanges finds the cliffs, jumps, knees and plateaus of a curve. Both
// axes are taken in logarithms: effects are ratios, noise is relative, and
// levels are evenly spaced when each is the same multiple of the last.
//
// The curve is a line with up to three changes, each a step between two
// levels or a bend, fitted to the medians of the levels by least squares.
// Changes are added as long as a test of random signs says that noise would do the
// same in less than 5% of cases. docs/evidence/curves.md has the method, its power and
// its false alarms. The same arguments give the same result, and the order of
// trials does not matter.
//
// The error lists what the levels lack.
func FindChanges(levels []Level, seed uint64) (Curve, error) {
	if err := checkLevels(levels); err != nil {
		return Curve{}, err
	}
	f := newFitter(levels, seed)
	changes, ps, first := f.choose()
	c := f.describe(changes)
	c.P = first
	for i, p := range ps {
		c.Changes[i].P = p
	}
	return c, nil
}

func checkLevels(levels []Level) error {
	var problems []error
	if len(levels) < MinLevels {
		problems = append(problems,
			fmt.Errorf("%d levels are too few to see where a curve changes: it takes %d", len(levels), MinLevels))
	}
	for i, l := range levels {
		if !(l.X > 0) || math.IsInf(l.X, 1) || i > 0 && !(l.X > levels[i-1].X) {
			problems = append(problems, fmt.Errorf("level %v: levels of a curve are positive numbers that ascend", l.X))
		}
		switch {
		case len(l.Values) < MinTrials:
			problems = append(problems,
				fmt.Errorf("level %v has %d trials: it takes %d to separate a change from noise", l.X, len(l.Values), MinTrials))
		case !allPositive(l.Values):
			problems = append(problems, fmt.Errorf("level %v has a trial whose value is no positive number", l.X))
		}
	}
	return errors.Join(problems...)
}

// describe returns the curve of a model, with the uncertainty of its changes.
func (f *fitter) describe(changes []column) Curve {
	m := f.fit(changes, f.medians)
	samples := f.bootstrap(m)
	var c Curve
	for i := range f.u {
		c.Fit = append(c.Fit, math.Exp(m.fitted[i]))
	}
	start := 0
	for i, col := range m.columns {
		end, next := f.around(col)
		c.Segments = append(c.Segments, f.segment(m, samples, start, end))
		start = next
		c.Changes = append(c.Changes, f.change(m, samples, i))
	}
	c.Segments = append(c.Segments, f.segment(m, samples, start, len(f.u)-1))
	for i := range c.Changes {
		c.Changes[i].Before, c.Changes[i].After = c.Segments[i].Slope, c.Segments[i+1].Slope
	}
	return c
}

func (f *fitter) change(m model, samples []model, i int) Change {
	col := m.columns[i]
	c := Change{Kind: f.kind(m, i), Ratio: Ratio{1, 1, 1}}
	c.From, c.To = f.place(col)
	if col.step {
		c.Ratio = f.ratio(m, samples, col.after-1, col.after)
	}
	var lows, highs []float64
	for _, s := range samples {
		low, high := f.place(s.columns[i])
		lows, highs = append(lows, low), append(highs, high)
		if f.kind(s, i) == c.Kind {
			c.Alike += 1 / float64(len(samples))
		}
	}
	c.Low = min(c.From, Quantile(lows, (1-Confidence)/2))
	c.High = max(c.To, Quantile(highs, (1+Confidence)/2))
	return c
}

func (f *fitter) kind(m model, i int) ChangeKind {
	switch {
	case !m.columns[i].step:
		return Knee
	case m.weights[i] < 0:
		return Cliff
	}
	return Jump
}

// segment describes the levels from and to, and those between them.
func (f *fitter) segment(m model, samples []model, from, to int) Segment {
	s := Segment{From: f.x[from], To: f.x[to], Shape: Unclear, Ratio: f.ratio(m, samples, from, to)}
	middle := (f.u[from] + f.u[to]) / 2
	s.Slope.Value, s.Slope.Low, s.Slope.High = interval(m, samples, func(m model) float64 { return m.slope(middle) })
	switch {
	case from == to:
	case s.Ratio.Low >= 1/band && s.Ratio.High <= band:
		s.Shape = Plateau
	case s.Ratio.Low > 1:
		s.Shape = Rises
	case s.Ratio.High < 1:
		s.Shape = Falls
	}
	return s
}

// ratio is the fitted response at level to over that at level from.
func (f *fitter) ratio(m model, samples []model, from, to int) (r Ratio) {
	r.Ratio, r.Low, r.High = interval(m, samples, func(m model) float64 { return math.Exp(m.fitted[to] - m.fitted[from]) })
	return r
}

// interval returns a figure of the model, and the bounds of its middle 95% in samples.
func interval(m model, samples []model, figure func(model) float64) (value, low, high float64) {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = figure(s)
	}
	slices.Sort(values)
	return figure(m), quantileSorted(values, (1-Confidence)/2), quantileSorted(values, (1+Confidence)/2)
}
