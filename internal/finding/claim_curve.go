package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/plural"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// sweep is workloads that differ in one number alone.
type sweep struct {
	of     string // what varies: "RW over jobs"
	takes  func(fio.Load) bool
	x      func(fio.Load) float64
	rest   func(fio.Load) fio.Load // the load without what is varied
	values func(*cell) []float64   // one per trial
	metric string

	unit     float64 // of x, as shown
	unitName string
}

// curveTest tests where the curve of a stack changes.
type curveTest struct {
	subject func(*stack) bool
	sweep   sweep
	place   float64                // the published one, in units of the sweep's x
	falls   bool                   // the curve falls from there on; otherwise it rises up to there and no further
	beside  func(*stack) line.Line // another stack, whose curve is told for comparison; nil for none
}

func (t curveTest) test(v *view, _ claims.Claim) []claimCase {
	var out []claimCase
	workloads := t.sweep.longest(v.driven())
	if len(workloads) == 0 {
		return nil
	}
	for _, s := range v.stacks {
		if t.subject(s) && (len(out) == 0 || len(workloads) >= stats.MinLevels) {
			out = append(out, t.one(v, s, workloads))
		}
	}
	return out
}

// longest gives the workloads that differ in nothing but x, ascending by x:
// of several such series that with the most levels.
func (w sweep) longest(all []driven) []driven {
	series := map[fio.Load][]driven{}
	var order []fio.Load
	for _, d := range all {
		if !w.takes(d.load) {
			continue
		}
		rest := w.rest(d.load)
		if series[rest] == nil {
			order = append(order, rest)
		}
		if !slices.ContainsFunc(series[rest], func(o driven) bool { return w.x(o.load) == w.x(d.load) }) {
			series[rest] = append(series[rest], d)
		}
	}
	var best []driven
	for _, rest := range order {
		if len(series[rest]) > len(best) {
			best = series[rest]
		}
	}
	slices.SortStableFunc(best, func(a, b driven) int { return cmp.Compare(w.x(a.load), w.x(b.load)) })
	return best
}

func (t curveTest) one(v *view, s *stack, workloads []driven) (k claimCase) {
	k.stacks = []string{s.Name}
	if len(workloads) == 1 {
		k.workload = workloads[0].name
	}
	levels, cells := t.sweep.levels(v, s, workloads)
	k.evidence = cells
	if len(workloads) < stats.MinLevels {
		k.judgement = notTestable("the run has %s of %s, and a place of change takes %d or more", plural.Count(len(workloads), "level"), t.sweep.of, stats.MinLevels)
		return k
	}
	if why := unfit(cells...); why != "" {
		k.judgement = notTestable("%s", why)
		return k
	}
	curve, err := stats.FindChanges(levels, v.run.Seed)
	if err != nil {
		k.judgement = notTestable("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return k
	}
	k.measured = t.describe(curve)
	k.says = s.Name + " " + k.measured
	k.grounds = t.besides(v, s, workloads)
	if first, last := levels[0].X, levels[len(levels)-1].X; t.place <= first || t.place >= last {
		k.judgement = notTestable("the sweep, %s, does not go beyond %s on both sides", t.span(first, "to", last), t.text(t.place))
		return k
	}
	k.judgement = t.judge(curve)
	return k
}

func (w sweep) levels(v *view, s *stack, workloads []driven) (levels []stats.Level, cells []*cell) {
	for _, d := range workloads {
		if c := v.cell(s.Name, d.name); c != nil {
			levels = append(levels, stats.Level{X: w.x(d.load), Values: w.values(c)})
			cells = append(cells, c)
		}
	}
	return levels, cells
}

// judge holds where the curve changes against the published place.
func (t curveTest) judge(curve stats.Curve) judgement {
	var elsewhere []string
	for _, c := range curve.Changes {
		if !t.counts(c) {
			continue
		}
		place := t.span(c.Low, "to", c.High)
		if t.at(c) {
			return judgement{ClaimConfirmed, fmt.Sprintf("its interval, %s, holds %s (%s)", place, t.text(t.place), pText(c.P))}
		}
		elsewhere = append(elsewhere, place)
	}
	if len(elsewhere) > 0 {
		return judgement{ClaimContradicted, fmt.Sprintf("the change lies elsewhere, in %s, and its interval does not hold %s", plural.And(elsewhere), t.text(t.place))}
	}
	// No such change: that contradicts the claim where the curve is seen to do
	// something else, and not where noise may hide one.
	for _, s := range curve.Segments {
		if s.From == s.To || t.falls && s.To <= t.place {
			continue
		}
		if s.Shape == stats.Unclear || t.falls && s.Shape == stats.Falls {
			return notTestable("the data does not decide: noise, or too few levels, hide what the curve does from %s; repeat more often, or add levels", t.span(s.From, "to", s.To))
		}
	}
	if t.falls {
		return judgement{ClaimContradicted, fmt.Sprintf("nothing falls beyond %s", t.text(t.place))}
	}
	return judgement{ClaimContradicted, fmt.Sprintf("%s does not rise to a level that begins at %s", t.sweep.metric, t.text(t.place))}
}

// at tells whether the interval of a change holds the published place. That
// place is the last level before a curve falls, or the first at which it has
// risen.
func (t curveTest) at(c stats.Change) bool {
	switch c.Kind {
	case stats.Cliff:
		return c.Low <= t.place && t.place < c.High
	case stats.Jump:
		return c.Low < t.place && t.place <= c.High
	}
	return c.Low <= t.place && t.place <= c.High
}

// counts tells whether a change is of the kind that the claim speaks of.
func (t curveTest) counts(c stats.Change) bool {
	switch {
	case c.Kind == stats.Cliff:
		return true
	case t.falls:
		return c.Kind == stats.Knee && c.After.High < 0
	}
	return c.After.Value < c.Before.Value && c.Before.Low > 0 || c.Kind == stats.Jump && c.After.Low <= 0
}

// describe says what a curve does: "stays within 10% from 1 to 64 jobs".
func (t curveTest) describe(curve stats.Curve) string {
	var parts []string
	for i, s := range curve.Segments {
		if s.From != s.To {
			parts = append(parts, map[stats.SegmentShape]string{
				stats.Plateau: "stays level", stats.Rises: "rises to " + units.Times(s.Ratio.Ratio) + "x",
				stats.Falls: "falls to " + units.Times(s.Ratio.Ratio) + "x", stats.Unclear: "is unclear",
			}[s.Shape]+" from "+t.span(s.From, "to", s.To))
		}
		if i < len(curve.Changes) {
			switch c := curve.Changes[i]; c.Kind {
			case stats.Cliff:
				parts = append(parts, fmt.Sprintf("falls off to %sx between %s", units.Times(c.Ratio.Ratio), t.span(c.From, "and", c.To)))
			case stats.Jump:
				parts = append(parts, fmt.Sprintf("jumps to %sx between %s", units.Times(c.Ratio.Ratio), t.span(c.From, "and", c.To)))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// besides tells of the curve of another stack.
func (t curveTest) besides(v *view, s *stack, workloads []driven) string {
	if t.beside == nil {
		return ""
	}
	other := v.find(t.beside(s))
	if other == nil {
		return ""
	}
	levels, cells := t.sweep.levels(v, other, workloads)
	curve, err := stats.FindChanges(levels, v.run.Seed)
	if err != nil || unfit(cells...) != "" {
		return ""
	}
	return fmt.Sprintf("%s %s.", other.Name, t.describe(curve))
}

func (t curveTest) text(x float64) string {
	return fmt.Sprintf("%.3g %s", x/t.sweep.unit, t.sweep.unitName)
}

// span writes two places: "16 to 32 jobs".
func (t curveTest) span(from float64, word string, to float64) string {
	return fmt.Sprintf("%.3g %s %s", from/t.sweep.unit, word, t.text(to))
}
