package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
)

// sweep is the points of one small multiple: what was measured over the levels
// of a factor that is a number.
type sweep struct {
	factor string
	title  string // what the workloads have in common: "RW-*"
	bytes  bool   // the levels are sizes, so that bandwidth is shown
	points []sweptPoint
	series []string // in the order of the points
	slots  []string // names by slot
}

type sweptPoint struct {
	fact.Point
	x      float64
	level  string
	series string
}

// sweeps finds the factor with the most numeric levels, three or more, and
// sorts the points that depend on it into small multiples. The others are the
// rest.
func sweeps(run *result.Run, points []fact.Point) (swept []sweep, rest []fact.Point) {
	stacks, workloads := map[string]map[string]string{}, map[string]map[string]string{}
	for _, s := range run.Stacks {
		stacks[s.Name] = s.Levels
	}
	for _, w := range ran(run) {
		workloads[w.Name] = w.Levels
	}
	factor := sweptFactor(stacks, workloads)
	if factor == "" {
		return nil, points
	}
	slots := run.StackNames()
	for _, p := range points {
		level, inWorkload := workloads[p.Workload][factor]
		if !inWorkload {
			level = stacks[p.Stack][factor]
		}
		x, bytes, ok := levelNumber(level)
		if !ok {
			rest = append(rest, p)
			continue
		}
		sp := sweptPoint{Point: p, x: x, level: level, series: p.Stack}
		title := p.Workload
		if inWorkload {
			title = withStar(p.Workload, level)
		} else {
			sp.series = withStar(p.Stack, level)
			if !slices.Contains(slots, sp.series) {
				slots = append(slots, sp.series)
			}
		}
		i := slices.IndexFunc(swept, func(w sweep) bool { return w.title == title })
		if i < 0 {
			i, swept = len(swept), append(swept, sweep{factor: factor, title: title, bytes: bytes})
		}
		swept[i].points = append(swept[i].points, sp)
		if !slices.Contains(swept[i].series, sp.series) {
			swept[i].series = append(swept[i].series, sp.series)
		}
	}
	for i := range swept {
		swept[i].slots = slots
		slices.SortStableFunc(swept[i].points, func(a, b sweptPoint) int { return cmp.Compare(a.x, b.x) })
	}
	return swept, rest
}

// withStar gives a name with a star in the place of the level: "RW-16" is "RW-*".
func withStar(name, level string) string {
	if i := strings.LastIndex(name, level); i >= 0 {
		return name[:i] + "*" + name[i+len(level):]
	}
	return name
}

// sweptFactor is the factor with the most levels that are numbers above 0; ""
// when none has three.
func sweptFactor(owners ...map[string]map[string]string) string {
	levels := map[string]map[float64]bool{}
	for _, levelsByOwner := range owners {
		for _, levelsByFactor := range levelsByOwner {
			for factor, level := range levelsByFactor {
				if levels[factor] == nil {
					levels[factor] = map[float64]bool{}
				}
				if x, _, ok := levelNumber(level); ok {
					levels[factor][x] = true
				} else {
					levels[factor][math.NaN()] = true // NaNs stay apart: one is enough to tell
				}
			}
		}
	}
	best := ""
	for _, factor := range slices.Sorted(maps.Keys(levels)) {
		numeric := true
		for x := range levels[factor] {
			numeric = numeric && !math.IsNaN(x)
		}
		if numeric && len(levels[factor]) >= 3 && len(levels[factor]) > len(levels[best]) {
			best = factor
		}
	}
	return best
}

// levelNumber reads the level of a factor that is a number, or a size in
// binary units: "16", "4KiB". Sizes are in bytes.
func levelNumber(level string) (x float64, bytes, ok bool) {
	digits := strings.TrimRight(level, "BbiKkMmGgTt ")
	unit := strings.ToLower(strings.TrimSpace(level[len(digits):]))
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return 0, false, false
	}
	factor, known := map[string]float64{"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20,
		"g": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tib": 1 << 40}[unit]
	return x * factor, unit != "", known
}

func (w sweep) value(p fact.Point) (v, low, high float64) {
	if w.bytes {
		return p.BytesPerSecond, p.BytesLow, p.BytesHigh
	}
	return p.Median, p.Low, p.High
}

// interval gives the interval of a point; ok is false when it has none, or none
// that a logarithm can show.
func (w sweep) interval(p fact.Point) (low, high float64, ok bool) {
	_, low, high = w.value(p)
	return low, high, p.N > 1 && low > 0 && high >= low
}

// sweptScales are the scales of sweeps: small multiples are there to be
// compared, and share theirs unless their values are too far apart.
func sweptScales(swept []sweep) []scale {
	lows, highs := make([]float64, len(swept)), make([]float64, len(swept))
	for i, w := range swept {
		lows[i] = math.Inf(1)
		for _, p := range w.points {
			if v, _, _ := w.value(p.Point); v > 0 {
				lows[i], highs[i] = min(lows[i], v), max(highs[i], v)
			}
			if l, h, ok := w.interval(p.Point); ok {
				lows[i], highs[i] = min(lows[i], l), max(highs[i], h)
			}
		}
	}
	shared := sharedReach(highs)
	scales := make([]scale, len(swept))
	for i, high := range shared {
		low := math.Inf(1)
		for j, other := range shared {
			if other == high {
				low = min(low, lows[j])
			}
		}
		scales[i] = logScale(low, high)
	}
	return scales
}

// measured are the points of a sweep without their levels.
func (w sweep) measured() (all []fact.Point) {
	for _, p := range w.points {
		all = append(all, p.Point)
	}
	return all
}

// figure draws one line for each series. Both axes are logarithmic: equal
// factors are equal distances, as they are for findings (docs/evidence/curves.md).
func (w sweep) figure(s scale, stackRoles roles, findings []fact.Finding) figure {
	unit := workloads.RateUnit(w.measured())
	text, exact := rateText, exactRate(unit)
	if w.bytes {
		unit, text, exact = "bandwidth", bandwidthText, exactBandwidth
	}
	f := figure{Kind: answer.Lines, Title: w.title, Note: unit + " over " + w.factor, Height: 230, Bottom: 40,
		Roles: roles{}}
	for _, p := range w.points {
		// A level of the stack is left out of the series' name; the role stays.
		if role := stackRoles.Of(p.Stack); role != "" && f.Roles[p.series] != rolePick {
			f.Roles[p.series] = role
		}
		v, _, _ := w.value(p.Point)
		if !(v > 0) {
			continue // a logarithm cannot show it
		}
		m := mark{Series: slotOf(w.slots, p.series), Name: p.series, X: p.x, Y: v, Class: sourceClass(p.Point),
			Text: fmt.Sprintf("%s, %s %s: median %s", p.series, w.factor, p.level, exact(v))}
		if low, high, ok := w.interval(p.Point); ok {
			m.Low, m.High = low, high
			m.Text += fmt.Sprintf(", interval %s to %s", exact(low), exact(high))
		}
		m.Text += ", " + counted(p.N, "trial") + p.SourceNote()
		f.Marks = append(f.Marks, m)
		if at := (valueTick{p.x, p.level}); !slices.Contains(f.X.Ticks, at) {
			f.X.Ticks = append(f.X.Ticks, at)
		}
	}
	f.Y = axis{Label: unit, Log: true, Low: s.low, High: s.high, Ticks: valueTicks(s.readableSteps(6), text)}
	first, last := w.points[0].x, w.points[len(w.points)-1].x
	f.X.Label, f.X.Log, f.X.Low, f.X.High = w.factor, true, first/1.15, last*1.15
	f.Bands = w.publishedPlaces(findings)
	return f
}

// publishedPlaces are the places at which papers saw such a curve change.
func (w sweep) publishedPlaces(findings []fact.Finding) []band {
	var bands []band
	for _, f := range findings {
		c := f.Claim
		if c == nil || c.Unit == "" || c.PublishedLow == nil || c.PublishedHigh == nil || len(f.Stacks) == 0 {
			continue
		}
		about := slices.ContainsFunc(f.Evidence, func(p fact.Point) bool {
			return slices.ContainsFunc(w.points, func(own sweptPoint) bool {
				return own.Workload == p.Workload &&
					own.Stack == p.Stack
			})
		})
		scale := 1.0
		if _, bytes, ok := levelNumber("1" + f.Claim.Unit); ok && bytes {
			scale, _, _ = levelNumber("1" + f.Claim.Unit)
		}
		if !about || (scale > 1) != w.bytes {
			continue
		}
		b := band{Class: "place", X: &[2]float64{*f.Claim.PublishedLow * scale, *f.Claim.PublishedHigh * scale},
			Text: fmt.Sprintf("%s: published at %s (%s, %s), %s", f.Stacks[0], f.Claim.Published, f.Claim.Paper, f.Claim.Where,
				f.Claim.Verdict)}
		if !slices.ContainsFunc(bands, func(o band) bool { return o.Text == b.Text }) {
			bands = append(bands, b)
		}
	}
	return bands
}
