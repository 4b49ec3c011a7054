package published

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
)

// sweep is workloads that differ in one number alone: jobs, or the size of blocks.
type sweep struct {
	role, of string // of "RW over jobs"
	unit     string // of places, and how much of the number it is
	scale    float64
	metric   string
	place    float64 // the published one, in the number
	falls    bool    // the curve falls from there on; otherwise it rises up to there and no further
}

// sweepOf is what a claim of a place is about.
func sweepOf(c claims.Claim) sweep {
	w := sweep{role: c.Test.Roles[0], of: c.Test.Roles[0] + " over jobs", unit: c.Unit, scale: 1, metric: measured.IOPS, falls: c.Test.Falls}
	if w.blocks() {
		w.of, w.scale, w.metric = w.role+" over block size", 1024, "bandwidth"
	}
	w.place = c.Value.Low * w.scale
	return w
}

// blocks reports whether it is sizes of blocks, in KiB.
func (w sweep) blocks() bool { return w.unit == "KiB" }

func (w sweep) takes(l fio.Load) bool {
	if w.blocks() {
		return l.Pattern == measured.PatternOf(w.role) && l.Direct
	}
	return measured.RoleOf(l) == w.role
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

// level is what was measured of a cell: rates of bring-ups, or bandwidths of trials.
func (w sweep) level(c *measured.Cell, l fio.Load) stats.Level {
	x, _ := w.split(l)
	if !w.blocks() {
		return stats.Level{X: x, Values: c.IOPS}
	}
	level := stats.Level{X: x}
	for _, t := range c.Trials {
		level.Values = append(level.Values, t.Measured().BytesPerSecond())
	}
	return level
}

// longest returns the workloads that differ in nothing but their number, ascending by it:
// of several such series that with the most levels.
func (w sweep) longest(all []measured.Driven) (best []measured.Driven) {
	x := func(d measured.Driven) float64 { x, _ := w.split(d.Load); return x }
	series := map[fio.Load][]measured.Driven{}
	for _, d := range all {
		_, rest := w.split(d.Load)
		if !w.takes(d.Load) || slices.ContainsFunc(series[rest], func(o measured.Driven) bool { return x(o) == x(d) }) {
			continue
		}
		series[rest] = append(series[rest], d)
	}
	for _, d := range all { // in their order
		_, rest := w.split(d.Load)
		if w.takes(d.Load) && len(series[rest]) > len(best) {
			best = series[rest]
		}
	}
	slices.SortStableFunc(best, func(a, b measured.Driven) int { return cmp.Compare(x(a), x(b)) })
	return best
}

// levels are those of a stack.
func (w sweep) levels(v *measured.View, s *measured.Stack, workloads []measured.Driven) (levels []stats.Level, cells []*measured.Cell) {
	for _, d := range workloads {
		if c := v.Cell(s.Name, d.Name); c != nil {
			levels, cells = append(levels, w.level(c, d.Load)), append(cells, c)
		}
	}
	return levels, cells
}

// places tests where the curve of a stack changes.
func places(v *measured.View, c claims.Claim) (out []claimCase) {
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

func (w sweep) test(v *measured.View, c claims.Claim, k *claimCase, s subject, workloads []measured.Driven) {
	if len(workloads) == 1 {
		k.workload = workloads[0].Name
	}
	levels, cells := w.levels(v, s.Stack, workloads)
	k.evidence = cells
	if len(workloads) < stats.MinLevels {
		k.judgement = notTestable("few levels", Levels{w.of, len(workloads), stats.MinLevels},
			"the run has %s of %s, and a place of change takes %d or more", plural.Count(len(workloads), "level"), w.of, stats.MinLevels)
		return
	}
	if why := measured.Unfit(cells...); why != nil {
		k.judgement = unfit(why)
		return
	}
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil {
		k.judgement = noCurve(strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	told := curveOf(s.Name, curve, w.unit, w.scale)
	k.tell("curve", told, told.String(), "%s %s", told.Stack, told)
	k.grounds = w.beside(v, c.Test.Beside, s, workloads)
	if first, last := levels[0].X, levels[len(levels)-1].X; w.place <= first || w.place >= last {
		at := w.at(first, last)
		k.judgement = notTestable("short sweep", at, "the sweep, %s, does not go beyond %s on both sides", at.interval(), at.published())
		return
	}
	k.judgement = w.judge(curve)
}

// beside tells of the curve of another stack, for comparison.
func (w sweep) beside(v *measured.View, pattern string, s subject, workloads []measured.Driven) []said {
	if pattern == "" {
		return nil
	}
	other := v.Find(s.parts.line(pattern))
	if other == nil {
		return nil
	}
	levels, cells := w.levels(v, other, workloads)
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil || measured.Unfit(cells...) != nil {
		return nil
	}
	told := curveOf(other.Name, curve, w.unit, w.scale)
	return []said{say("curve beside", told, "%s %s.", told.Stack, told)}
}

// noCurve says why nothing can be told of a curve.
func noCurve(why string) judgement { return notTestable("no curve", why, "%s", why) }

// judge holds where the curve changes against the published place.
func (w sweep) judge(curve stats.Curve) judgement {
	place := w.at(0, 0)
	for _, c := range curve.Changes {
		if !w.counts(c) {
			continue
		}
		if w.holds(c) {
			place = w.at(c.Low, c.High)
			place.P = c.P
			return confirmed("place held", place, "its interval, %s, holds %s (%s)", place.interval(), place.published(),
				prose.PValue(c.P))
		}
		place.Elsewhere = append(place.Elsewhere, Between{c.Low / w.scale, c.High / w.scale})
	}
	if len(place.Elsewhere) > 0 {
		return contradicted("elsewhere", place, "the change lies elsewhere, in %s, and its interval does not hold %s",
			plural.List(place.Elsewhere, func(b Between) string { return b.in(w.unit) }), place.published())
	}
	// No such change: that contradicts the claim where the curve is seen to do
	// something else, and not where noise may hide one.
	for _, s := range curve.Segments {
		if s.From == s.To || w.falls && s.To <= w.place {
			continue
		}
		if s.Shape == stats.Unclear || w.falls && s.Shape == stats.Falls {
			at := w.at(s.From, s.To)
			return notTestable("unclear curve", at, "the data does not decide: noise, or too few levels, hide what the curve does from "+
				"%s; repeat more often, or add levels", at.interval())
		}
	}
	if w.falls {
		return contradicted("nothing falls", place, "nothing falls beyond %s", place.published())
	}
	return contradicted("no rise", place, "%s does not rise to a level that begins at %s", w.metric, place.published())
}

// at is the published place, and one from x to y of the sweep, in units that are shown.
func (w sweep) at(x, y float64) Place {
	return Place{Published: w.place / w.scale, Unit: w.unit, Metric: w.metric, From: x / w.scale, To: y / w.scale}
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

// curveOf is what a curve does, part by part, over places in a unit.
func curveOf(stack string, of stats.Curve, unit string, scale float64) Curve {
	c := Curve{Stack: stack, Unit: unit}
	add := func(does string, ratio, from, to float64) {
		c.Parts = append(c.Parts, Shape{does, ratio, from / scale, to / scale})
	}
	for i, s := range of.Segments {
		if s.From != s.To {
			add(segments[s.Shape], s.Ratio.Ratio, s.From, s.To)
		}
		if i < len(of.Changes) {
			if change := of.Changes[i]; changes[change.Kind] != "" {
				add(changes[change.Kind], change.Ratio.Ratio, change.From, change.To)
			}
		}
	}
	return c
}

// segments and changes are the names of what they do; a knee has none.
var (
	segments = map[stats.SegmentShape]string{
		stats.Plateau: "level", stats.Rises: "rises", stats.Falls: "falls", stats.Unclear: "unclear",
	}
	changes = map[stats.ChangeKind]string{stats.Cliff: "cliff", stats.Jump: "jump"}
)
