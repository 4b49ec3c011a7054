package loadline

import (
	"math"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// levelsOf is a metric over the number of instances, by setup, without what all of a round share: a change between
// numbers of instances does not hide behind regions and hours then. nil where a trial does not have the metric.
func levelsOf(s runview.Series, m runview.Metric) (levels []stats.Level) {
	var samples []runview.Sample
	for i, c := range s.Cells() {
		sample := c.Sample(m)
		if len(sample) == 0 {
			return nil
		}
		levels, samples = append(levels, stats.Level{X: float64(s.Levels[i].Count())}), append(samples, sample)
	}
	for i, values := range runview.WithoutRounds(samples) {
		levels[i].Values = values
	}
	return levels
}

// shapeOf is what a curve does. Its knee is where it turns for the worse: where it begins to
// grow less, or for a metric of which less is better, to grow more, be it at once.
func shapeOf(curve stats.Curve, higherIsBetter bool) *Shape {
	var s Shape
	for _, c := range curve.Changes {
		worse := c.Kind == stats.Knee && c.After.Value < c.Before.Value
		if !higherIsBetter {
			worse = c.Kind == stats.Jump || c.Kind == stats.Knee && c.After.Value > c.Before.Value
		}
		if worse && s.Knee == nil {
			s.Knee = &Knee{
				At: c.From, Low: c.Low, High: c.High, Before: c.Before.Value, After: c.After.Value, P: c.P,
			}
		}
		if c.Kind == stats.Cliff && s.Fall == nil {
			s.Fall = &Span{From: int(c.From), To: int(c.To), Ratio: c.Ratio.Ratio}
		}
	}
	for _, seg := range curve.Segments {
		span := Span{From: int(seg.From), To: int(seg.To), Ratio: seg.Ratio.Ratio}
		wide := span.To > span.From && (s.Plateau == nil || ratioOf(span) > ratioOf(*s.Plateau))
		if seg.Shape == stats.Plateau && wide {
			s.Plateau = &span
		}
		if seg.Shape == stats.Falls && (s.Fall == nil || span.From < s.Fall.From) {
			s.Fall = &span
		}
	}
	return &s
}

// ratioOf is how many times more instances the end of a span has.
func ratioOf(s Span) float64 { return float64(s.To) / float64(s.From) }

// tailOf returns how much more p99 grows than the mean of latency, where it does,
// significantly for all numbers of instances together: the ratio of the two in each
// setup, against that with the fewest instances, in the same rounds. nil where it
// does not, or nothing tells.
func tailOf(s runview.Series, seed uint64) *Tail {
	taken := make([]runview.Sample, len(s.Levels))
	for i, c := range s.Cells() {
		taken[i] = c.Sample(runview.TailOverMean)
		if len(taken[i]) == 0 {
			return nil
		}
	}
	var effects []runview.Effect
	var ps []float64
	for _, sample := range taken[1:] {
		e, ok := runview.Compare(sample, taken[0], seed, stats.RunSpread{})
		if !ok || !e.Decidable() {
			e.P = 1
		}
		effects, ps = append(effects, e), append(ps, e.P)
	}
	ps = stats.BenjaminiHochberg(ps)
	last := len(effects) - 1
	since := last + 1
	for since > 0 && ps[since-1] < stats.Alpha && effects[since-1].Ratio >= threshold.TailOverMean {
		since--
	}
	if since > last {
		return nil
	}
	grown := func(m runview.Metric) float64 {
		return stats.Median(s.Levels[last+1].Cell.Sample(m).Values()) / stats.Median(s.Levels[0].Cell.Sample(m).Values())
	}
	e := effects[last]
	t := &Tail{
		From: s.Levels[0].Count(), Since: s.Levels[since+1].Count(), At: s.Levels[last+1].Count(),
		P99: grown(runview.P99), Mean: grown(runview.MeanLatency), Ratio: e.Ratio, Low: e.Low, High: e.High, P: ps[last],
	}
	if math.IsNaN(t.Low) || !runview.Finite(t.P99) || !runview.Finite(t.Mean) {
		return nil
	}
	return t
}

// valleyOf returns the valley of a curve: behind a change it falls to less than threshold.Valley.
// nil where it does not.
func valleyOf(curve stats.Curve, points []fact.ScalingPoint) *Valley {
	for i, c := range curve.Changes {
		falls := c.Kind == stats.Cliff || c.Kind == stats.Knee && curve.Segments[i+1].Shape == stats.Falls
		if !falls {
			continue
		}
		from := bestUpTo(points, c.To)
		to := worstBehind(points, from.Instances)
		if to.Instances > from.Instances && to.Rate < threshold.Valley*from.Rate {
			return &Valley{From: from.Instances, To: to.Instances, Ratio: to.Rate / from.Rate, P: c.P}
		}
	}
	return nil
}

// bestUpTo returns the point that does most up to a limit in instances. A limit between two points, as of a bend,
// includes the point after it.
func bestUpTo(points []fact.ScalingPoint, limit float64) fact.ScalingPoint {
	best := points[0]
	for i, p := range points {
		if i > 0 && float64(points[i-1].Instances) >= limit {
			break
		}
		if p.Rate > best.Rate {
			best = p
		}
	}
	return best
}

// worstBehind is the point that does least, of those beyond a number of instances.
func worstBehind(points []fact.ScalingPoint, least int) fact.ScalingPoint {
	worst := points[len(points)-1]
	for _, p := range points {
		if p.Instances > least && p.Rate < worst.Rate {
			worst = p
		}
	}
	return worst
}

// causeOf names the resource for which more instances do less.
func causeOf(best, valley fact.ScalingPoint) Cause {
	processors := valley.Use(fact.Processors)
	switch {
	case runview.Outgrown(valley, best):
		return CauseMemory
	case processors != nil && processors.Binds:
		return CauseCPU
	}
	return CauseUnknown
}
