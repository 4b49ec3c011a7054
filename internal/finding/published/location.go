package published

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// sweep is workloads that differ in one number alone: jobs, or the size of blocks.
type sweep struct {
	role, pattern string // pattern is the role with its parameter, as "RW over jobs"
	unit          string // of places, and how much of the number it is
	scale         float64
	metric        string
	place         float64 // the published one, in the number
	falls         bool    // the curve falls from there on; otherwise it rises up to there and no further
}

// sweepOf is what a claim of a place is about.
func sweepOf(c claims.Claim) sweep {
	w := sweep{role: c.Test.Roles[0], pattern: c.Test.Roles[0] + " over jobs", unit: c.Unit, scale: 1,
		metric: runview.IOPS, falls: c.Test.Falls}
	if w.blocks() {
		w.pattern, w.scale, w.metric = w.role+" over block size", 1024, "bandwidth"
	}
	w.place = c.Value.Low * w.scale
	return w
}

// blocks reports whether it is sizes of blocks, in KiB.
func (w sweep) blocks() bool { return w.unit == "KiB" }

func (w sweep) takes(l fio.Load) bool {
	if w.blocks() {
		return l.Pattern == runview.PatternOf(w.role) && l.Direct
	}
	return runview.RoleOf(l) == w.role
}

// split is the number of a load, and the load without it.
func (w sweep) split(l fio.Load) (x float64, rest fio.Load) {
	rest = l
	if w.blocks() {
		rest.BlockBytes = 0
		return float64(l.BlockBytes), rest
	}
	rest.Jobs = 0
	return float64(l.Jobs), rest
}

// level is what was measured of a cell: rates of setups, or bandwidths.
func (w sweep) level(c *runview.Cell, l fio.Load) stats.Level {
	x, _ := w.split(l)
	if !w.blocks() {
		return stats.Level{X: x, Values: c.Rates.Values()}
	}
	return stats.Level{X: x, Values: c.Sample(runview.Bandwidth).Values()}
}

// longest returns the loads that differ only in the sweep's number, ascending: of several such series, the one with
// the most levels.
func (w sweep) longest(loads []runview.Driven) (best []runview.Driven) {
	x := func(d runview.Driven) float64 { x, _ := w.split(d.Load); return x }
	series := map[fio.Load][]runview.Driven{}
	for _, d := range loads {
		_, rest := w.split(d.Load)
		if !w.takes(d.Load) || slices.ContainsFunc(series[rest], func(o runview.Driven) bool { return x(o) == x(d) }) {
			continue
		}
		series[rest] = append(series[rest], d)
	}
	for _, d := range loads { // in their order
		_, rest := w.split(d.Load)
		if w.takes(d.Load) && len(series[rest]) > len(best) {
			best = series[rest]
		}
	}
	slices.SortStableFunc(best, func(a, b runview.Driven) int { return cmp.Compare(x(a), x(b)) })
	return best
}

// levels are those of a stack.
func (w sweep) levels(v *runview.View, s *runview.Stack, workloads []runview.Driven) (levels []stats.Level, cells []*runview.Cell) {
	for _, d := range workloads {
		if c := v.Cell(s.Name, d.Name); c != nil {
			levels, cells = append(levels, w.level(c, d.Load)), append(cells, c)
		}
	}
	return levels, cells
}

// places tests where the curve of a stack changes.
func places(v *runview.View, c claims.Claim) (out []claimCase) {
	w := sweepOf(c)
	workloads := w.longest(v.Driven())
	if len(workloads) == 0 {
		return nil
	}
	for _, s := range subjects(v, c.Test) {
		if len(out) == 0 || len(workloads) >= stats.MinLevels {
			k := claimCase{stacks: []string{s.Name}}
			w.test(v, c, &k, s, workloads)
			out = append(out, k)
		}
	}
	return out
}

func (w sweep) test(v *runview.View, c claims.Claim, k *claimCase, s subject, workloads []runview.Driven) {
	if len(workloads) == 1 {
		k.workload = workloads[0].Name
	}
	levels, cells := w.levels(v, s.Stack, workloads)
	k.evidence = cells
	if len(workloads) < stats.MinLevels {
		k.judgement = notTestable("few levels",
			"the run has %s of %s, and a place of change takes %d or more", plural.Count(len(workloads), "level"), w.pattern,
			stats.MinLevels)
		return
	}
	if why := runview.Unfit(cells...); why != nil {
		k.judgement = unfit(why)
		return
	}
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil {
		k.judgement = noCurve(strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	text := curveText(curve, w.unit, w.scale)
	k.setMeasured("curve", text, "%s %s", s.Name, text)
	k.grounds = w.comparisonCurve(v, c.Test.Beside, s, workloads)
	if first, last := levels[0].X, levels[len(levels)-1].X; w.place <= first || w.place >= last {
		k.judgement = notTestable("short sweep", "the sweep, %s, does not go beyond %s on both sides", w.span(first, last), w.published())
		return
	}
	k.judgement = w.judge(curve)
}

// comparisonCurve describes the curve of another stack, for comparison.
func (w sweep) comparisonCurve(v *runview.View, pattern string, s subject, workloads []runview.Driven) []Reason {
	if pattern == "" {
		return nil
	}
	other := v.Find(s.parts.line(pattern))
	if other == nil {
		return nil
	}
	levels, cells := w.levels(v, other, workloads)
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil || runview.Unfit(cells...) != nil {
		return nil
	}
	return []Reason{newReason("curve beside", "%s %s.", other.Name, curveText(curve, w.unit, w.scale))}
}

// noCurve says why nothing can be told of a curve.
func noCurve(why string) judgement { return notTestable("no curve", "%s", why) }

// judge holds where the curve changes against the published place.
func (w sweep) judge(curve stats.Curve) judgement {
	var elsewhere []string
	for _, c := range curve.Changes {
		if !w.counts(c) {
			continue
		}
		if w.holds(c) {
			return confirmed("place held", "its interval, %s, holds %s (%s)", w.span(c.Low, c.High), w.published(),
				units.PValue(c.P))
		}
		elsewhere = append(elsewhere, w.span(c.Low, c.High))
	}
	if len(elsewhere) > 0 {
		return contradicted("elsewhere", "the change lies in another place, %s, and its interval does not hold %s",
			plural.And(elsewhere), w.published())
	}
	// No such change: that contradicts the claim where the curve is seen to do
	// something else, and not where noise may hide one.
	for _, s := range curve.Segments {
		if s.From == s.To || w.falls && s.To <= w.place {
			continue
		}
		if s.Shape == stats.Unclear || w.falls && s.Shape == stats.Falls {
			return notTestable("unclear curve", "the data does not decide: noise, or too few levels, hide what the curve does from "+
				"%s; repeat more often, or add levels", w.span(s.From, s.To))
		}
	}
	if w.falls {
		return contradicted("nothing falls", "throughput does not fall beyond %s", w.published())
	}
	return contradicted("no rise", "%s does not rise to a level that begins at %s", w.metric, w.published())
}

// published is the published place, and span what lies from x to y, in the unit that is shown.
func (w sweep) published() string { return fmt.Sprintf("%.3g %s", w.place/w.scale, w.unit) }
func (w sweep) span(x, y float64) string {
	return fmt.Sprintf("%.3g to %.3g %s", x/w.scale, y/w.scale, w.unit)
}

// holds reports whether the interval of a change holds the published place. That
// place is the last level before a curve falls, or the first at which it has
// risen.
func (w sweep) holds(c stats.Change) bool {
	return (c.Low < w.place || c.Low == w.place && c.Kind != stats.Jump) &&
		(w.place < c.High || w.place == c.High && c.Kind != stats.Cliff)
}

// counts reports whether a change is of the kind that the claim speaks of.
func (w sweep) counts(c stats.Change) bool {
	switch {
	case c.Kind == stats.Cliff:
		return true
	case w.falls:
		return c.Kind == stats.Knee && c.After.High < 0
	}
	return c.After.Value < c.Before.Value && c.Before.Low > 0 || c.Kind == stats.Jump && c.After.Low <= 0
}
