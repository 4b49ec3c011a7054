package published

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
)

// Levels is how many levels a sweep has, where it takes more.
type Levels struct {
	Over  string `json:"over"` // "RW over jobs"
	Have  int    `json:"have"`
	Least int    `json:"least"`
}

// Curve is what the curve of a stack does over what its levels differ in.
type Curve struct {
	Stack string  `json:"stack"`
	Unit  string  `json:"unit"` // of places
	Parts []Shape `json:"parts"`
}

// Shape is what a curve does from one place to another.
type Shape struct {
	Does  string  `json:"does"` // level, rises, falls, unclear, cliff, jump
	Ratio float64 `json:"ratio"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
}

// Place is where a curve changes, or is said to.
type Place struct {
	Published float64   `json:"published"`
	Unit      string    `json:"unit"` // of all places
	Metric    string    `json:"metric,omitempty"`
	From      float64   `json:"from,omitempty"` // of the sweep, of an interval, or of what is not known
	To        float64   `json:"to,omitempty"`
	P         float64   `json:"p,omitempty"`
	Elsewhere []Between `json:"elsewhere,omitempty"` // where it changes
}

// Between is from one place to another.
type Between struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// sweep is workloads that differ in one number alone.
type sweep struct {
	of     string // what varies: "RW over jobs"
	takes  func(fio.Load) bool
	x      func(fio.Load) float64
	rest   func(fio.Load) fio.Load        // the load without what is varied
	values func(*measured.Cell) []float64 // one per trial
	metric string

	unit     float64 // of x, as shown
	unitName string
}

// sweepOver is the workloads of a role that differ in jobs, or in block size.
func sweepOver(what, role string) sweep {
	if what == "block size" {
		return sweep{
			of:    role + " over block size",
			takes: func(l fio.Load) bool { return l.Pattern == measured.PatternOf(role) && l.Direct },
			x:     func(l fio.Load) float64 { return float64(l.BlockBytes) },
			rest:  func(l fio.Load) fio.Load { l.BlockBytes = 0; return l },
			unit:  1024, unitName: "KiB", metric: "bandwidth",
			values: func(c *measured.Cell) []float64 {
				var out []float64
				for _, t := range c.Trials {
					out = append(out, t.Measured().BytesPerSecond())
				}
				return out
			},
		}
	}
	return sweep{
		of:    role + " over jobs",
		takes: func(l fio.Load) bool { return measured.RoleOf(l) == role },
		x:     func(l fio.Load) float64 { return float64(l.Jobs) },
		rest:  func(l fio.Load) fio.Load { l.Jobs = 0; return l },
		unit:  1, unitName: "jobs", metric: measured.IOPS,
		values: func(c *measured.Cell) []float64 { return c.IOPS },
	}
}

// curveTest tests where the curve of a stack changes.
type curveTest struct {
	sweep  sweep
	place  float64 // the published one, in units of the sweep's x
	falls  bool    // the curve falls from there on; otherwise it rises up to there and no further
	beside string  // pattern of another stack, whose curve is told for comparison; "" for none
}

// curve tests where the rate of a stack changes.
func curve(v *measured.View, c claims.Claim) []claimCase {
	t := curveTest{sweep: sweepOver(c.Test.Over, c.Test.Roles[0]), falls: c.Test.Falls, beside: c.Test.Beside}
	t.place = c.Value.Low * t.sweep.unit
	var out []claimCase
	workloads := t.sweep.longest(v.Driven())
	if len(workloads) == 0 {
		return nil
	}
	for _, s := range subjects(v, c.Test) {
		if len(out) == 0 || len(workloads) >= stats.MinLevels {
			out = append(out, t.one(v, s, workloads))
		}
	}
	return out
}

// longest returns the workloads that differ in nothing but x, ascending by x:
// of several such series that with the most levels.
func (w sweep) longest(all []measured.Driven) []measured.Driven {
	series := map[fio.Load][]measured.Driven{}
	var order []fio.Load
	for _, d := range all {
		if !w.takes(d.Load) {
			continue
		}
		rest := w.rest(d.Load)
		if series[rest] == nil {
			order = append(order, rest)
		}
		if !slices.ContainsFunc(series[rest], func(o measured.Driven) bool { return w.x(o.Load) == w.x(d.Load) }) {
			series[rest] = append(series[rest], d)
		}
	}
	var best []measured.Driven
	for _, rest := range order {
		if len(series[rest]) > len(best) {
			best = series[rest]
		}
	}
	slices.SortStableFunc(best, func(a, b measured.Driven) int { return cmp.Compare(w.x(a.Load), w.x(b.Load)) })
	return best
}

func (t curveTest) one(v *measured.View, s subject, workloads []measured.Driven) (k claimCase) {
	k.stacks = []string{s.Name}
	if len(workloads) == 1 {
		k.workload = workloads[0].Name
	}
	levels, cells := t.sweep.levels(v, s.Stack, workloads)
	k.evidence = cells
	if len(workloads) < stats.MinLevels {
		k.judgement = notTestable("few levels", Levels{t.sweep.of, len(workloads), stats.MinLevels})
		return k
	}
	if why := measured.Unfit(cells...); why != nil {
		k.judgement = notTestable("unfit", why)
		return k
	}
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil {
		k.judgement = notTestable("no curve", strings.ReplaceAll(err.Error(), "\n", "; "))
		return k
	}
	k.measured = fact.Remark{Case: "curve", Facts: t.sweep.curve(s.Name, curve)}
	k.grounds = t.besides(v, s, workloads)
	if first, last := levels[0].X, levels[len(levels)-1].X; t.place <= first || t.place >= last {
		k.judgement = notTestable("short sweep", t.at(first, last))
		return k
	}
	k.judgement = t.judge(curve)
	return k
}

func (w sweep) levels(
	v *measured.View, s *measured.Stack, workloads []measured.Driven,
) (levels []stats.Level, cells []*measured.Cell) {
	for _, d := range workloads {
		if c := v.Cell(s.Name, d.Name); c != nil {
			levels = append(levels, stats.Level{X: w.x(d.Load), Values: w.values(c)})
			cells = append(cells, c)
		}
	}
	return levels, cells
}

// judge holds where the curve changes against the published place.
func (t curveTest) judge(curve stats.Curve) judgement {
	place := t.at(0, 0)
	for _, c := range curve.Changes {
		if !t.counts(c) {
			continue
		}
		if t.holds(c) {
			place = t.at(c.Low, c.High)
			place.P = c.P
			return judge(fact.ClaimConfirmed, "place held", place)
		}
		place.Elsewhere = append(place.Elsewhere, Between{c.Low / t.sweep.unit, c.High / t.sweep.unit})
	}
	if len(place.Elsewhere) > 0 {
		return judge(fact.ClaimContradicted, "elsewhere", place)
	}
	// No such change: that contradicts the claim where the curve is seen to do
	// something else, and not where noise may hide one.
	for _, s := range curve.Segments {
		if s.From == s.To || t.falls && s.To <= t.place {
			continue
		}
		if s.Shape == stats.Unclear || t.falls && s.Shape == stats.Falls {
			return notTestable("unclear curve", t.at(s.From, s.To))
		}
	}
	if t.falls {
		return judge(fact.ClaimContradicted, "nothing falls", place)
	}
	return judge(fact.ClaimContradicted, "no rise", place)
}

// at is the published place, and one from x to y of the sweep, in units that are shown.
func (t curveTest) at(x, y float64) Place {
	return Place{
		Published: t.place / t.sweep.unit, Unit: t.sweep.unitName, Metric: t.sweep.metric,
		From: x / t.sweep.unit, To: y / t.sweep.unit,
	}
}

// holds reports whether the interval of a change holds the published place. That
// place is the last level before a curve falls, or the first at which it has
// risen.
func (t curveTest) holds(c stats.Change) bool {
	switch c.Kind {
	case stats.Cliff:
		return c.Low <= t.place && t.place < c.High
	case stats.Jump:
		return c.Low < t.place && t.place <= c.High
	}
	return c.Low <= t.place && t.place <= c.High
}

// counts reports whether a change is of the kind that the claim speaks of.
func (t curveTest) counts(c stats.Change) bool {
	switch {
	case c.Kind == stats.Cliff:
		return true
	case t.falls:
		return c.Kind == stats.Knee && c.After.High < 0
	}
	return c.After.Value < c.Before.Value && c.Before.Low > 0 || c.Kind == stats.Jump && c.After.Low <= 0
}

// curve is what a curve does, part by part.
func (w sweep) curve(stack string, of stats.Curve) Curve {
	c := Curve{Stack: stack, Unit: w.unitName}
	add := func(does string, ratio, from, to float64) {
		c.Parts = append(c.Parts, Shape{does, ratio, from / w.unit, to / w.unit})
	}
	for i, s := range of.Segments {
		if s.From != s.To {
			add(shapes[s.Shape], s.Ratio.Ratio, s.From, s.To)
		}
		if i == len(of.Changes) {
			break
		}
		switch change := of.Changes[i]; change.Kind {
		case stats.Cliff:
			add("cliff", change.Ratio.Ratio, change.From, change.To)
		case stats.Jump:
			add("jump", change.Ratio.Ratio, change.From, change.To)
		}
	}
	return c
}

// shapes are the names of what segments do.
var shapes = map[stats.SegmentShape]string{
	stats.Plateau: "level", stats.Rises: "rises", stats.Falls: "falls", stats.Unclear: "unclear",
}

// besides tells of the curve of another stack.
func (t curveTest) besides(v *measured.View, s subject, workloads []measured.Driven) []fact.Remark {
	if t.beside == "" {
		return nil
	}
	other := v.Find(s.parts.line(t.beside))
	if other == nil {
		return nil
	}
	levels, cells := t.sweep.levels(v, other, workloads)
	curve, err := stats.FindChanges(levels, v.Run.Seed)
	if err != nil || measured.Unfit(cells...) != nil {
		return nil
	}
	return []fact.Remark{{Case: "curve beside", Facts: t.sweep.curve(other.Name, curve)}}
}
