package report

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/ratios"
	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
)

// throughput is the figure of the experiment, in the form in which the studies
// print theirs: grouped bars, or lines where a factor was swept.
func throughput(run *result.Run, points []fact.Point, findings []fact.Finding) (section, bool) {
	s := section{Title: "Throughput"}
	swept, rest := sweeps(run, points)
	stackRoles := rolesOf(run, findings)
	for i, scale := range sweptScales(swept) {
		s.Figures = append(s.Figures, swept[i].figure(scale, stackRoles, findings))
	}
	groups := barGroups(run, rest, findings)
	for i, reach := range barReaches(groups) {
		s.Figures = append(s.Figures, groups[i].figure(reach))
	}
	s.Keys = barKeys(s.Figures)
	const shared = "Figures in the same unit share their scale where their values are within %d times of each other."
	switch {
	case len(swept) > 0:
		s.Note = fmt.Sprintf("Medians over trials against %s, with their intervals; scales are logarithmic. "+shared,
			swept[0].factor, mostApart)
		if len(groups) > 0 {
			s.Note += fmt.Sprintf(" Stacks that do not depend on %s are bars next to it.", swept[0].factor)
		}
	default:
		s.Note = fmt.Sprintf("Medians over trials with their intervals, one group for each workload: IOPS of random "+
			"access, bandwidth of sequential access. "+shared, mostApart)
	}
	return s, len(s.Figures) > 0
}

// barGroup is the bars of one workload.
type barGroup struct {
	workload  result.Workload
	unit      string
	points    []fact.Point
	published []fact.Finding
}

func barGroups(run *result.Run, points []fact.Point, findings []fact.Finding) []barGroup {
	var groups []barGroup
	for _, w := range ran(run) {
		g := barGroup{workload: w}
		for _, p := range points {
			if p.Workload == w.Name {
				g.points = append(g.points, p)
			}
		}
		g.unit = workloads.RateUnit(g.points)
		if w.Pattern == "read" || w.Pattern == "write" || w.Pattern == "rw" {
			g.unit = "B/s"
		}
		for _, r := range ratios.Published(findings) {
			if r.Workload == w.Name && r.Effect.Metric == metricIOPS {
				g.published = append(g.published, r)
			}
		}
		if len(g.points) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

const metricIOPS = "IOPS"

// value returns a point's value in the group's unit, with its interval.
func (g barGroup) value(p fact.Point) (v, low, high float64) {
	if g.unit == "B/s" {
		return p.BytesPerSecond, p.BytesLow, p.BytesHigh
	}
	return p.Median, p.Low, p.High
}

func (g barGroup) text(v float64) string {
	if g.unit == "B/s" {
		return bandwidthText(v)
	}
	return rateText(v)
}

// reach is the highest value that must be seen: of what devices answered, and
// up to three times that of what memory did, as in the charts of a workload.
func (g barGroup) reach() float64 {
	s := barScale(g.points, func(p fact.Point) float64 {
		v, _, high := g.value(p)
		return finite(max(v, high))
	})
	reach := s.high / 1.04
	// A published value may lie above all that was measured; beyond twice as
	// high it would flatten that, and stays at the edge.
	for _, r := range g.published {
		for _, m := range g.publishedMark(r) {
			reach = max(reach, min(max(m.Y, m.High), 2*s.high))
		}
	}
	return reach
}

// barReaches returns what the scale of each group reaches: groups in the same
// unit share it unless their values are too far apart.
func barReaches(groups []barGroup) []float64 {
	reach := make([]float64, len(groups))
	byUnit := map[string][]int{}
	for i, g := range groups {
		reach[i] = g.reach()
		byUnit[g.unit] = append(byUnit[g.unit], i)
	}
	for _, members := range byUnit {
		var reaches []float64
		for _, i := range members {
			reaches = append(reaches, reach[i])
		}
		for n, shared := range sharedReach(reaches) {
			reach[members[n]] = shared
		}
	}
	return reach
}

// mostNarrow is how many bars a figure has that stands beside another.
const mostNarrow = 16

func (g barGroup) figure(reach float64) figure {
	s := linearScale(reach)
	f := figure{
		Kind: figureBars, Title: g.workload.Name, Note: g.unitName(), Height: 220, Wide: len(g.points) > mostNarrow,
		Y: axis{Label: g.unitName(), High: s.high, Ticks: valueTicks(s.steps(4), g.text)},
	}
	for i, p := range g.points {
		f.addName(p.Stack)
		v, low, high := g.value(p)
		m := mark{Series: i, Name: p.Stack, X: float64(i), Y: v, Class: sourceClass(p),
			Text: fmt.Sprintf("%s, %s: median %s", p.Stack, g.workload.Name, g.exact(v))}
		if p.N > 1 && low > 0 && high >= low {
			m.Low, m.High = low, high
			m.Text += fmt.Sprintf(", interval %s to %s", g.exact(low), g.exact(high))
		}
		m.Text += ", " + counted(p.N, "trial") + p.SourceNote()
		f.Marks = append(f.Marks, m)
	}
	for _, r := range g.published {
		f.Marks = append(f.Marks, g.publishedMark(r)...)
	}
	return f
}

// addName adds a bar's name to the axis, and room for it.
func (f *figure) addName(name string) {
	f.BarNames = append(f.BarNames, name)
	name = shortName(name)
	f.X.Names = append(f.X.Names, name)
	f.X.High++
	f.Bottom = max(f.Bottom, 20+5*(utf8.RuneCountInString(name)+2)) // and for the star of the verdict
}

// shortName leaves out the middle of a name that is too long for an axis. What
// tells names apart is often at their end.
func shortName(name string) string { return printable.Shorten(name, 24) }

func (g barGroup) unitName() string {
	if g.unit == "B/s" {
		return "bandwidth"
	}
	return g.unit
}

func (g barGroup) exact(v float64) string {
	if g.unit == "B/s" {
		return exactBandwidth(v)
	}
	return exactRate(g.unit)(v)
}

// beside is how far from the middle of its bar a published value stands, so
// that it does not hide the interval.
const publishedOffset = 0.27

// publishedMark puts a published ratio where it would be on this host: that
// many times what the ratio's baseline measured here.
func (g barGroup) publishedMark(r fact.Finding) []mark {
	indexOf := func(stack string) int {
		return slices.IndexFunc(g.points, func(p fact.Point) bool { return p.Stack == stack })
	}
	subject, baseline := indexOf(r.Effect.Subject), indexOf(r.Effect.Baseline)
	if subject < 0 || baseline < 0 {
		return nil
	}
	v, _, _ := g.value(g.points[baseline])
	p := ratios.PublishedMark(r.Claim, v)
	m := mark{Series: subject, Name: r.Effect.Subject, X: float64(subject) + publishedOffset, Y: p.X, Low: p.Low,
		High:  p.High,
		Class: string(p.Class)}
	m.Text = fmt.Sprintf("%s: published %s of %s (%s, %s), which would be %s here", r.Effect.Subject, r.Claim.Published,
		r.Effect.Baseline, r.Claim.Paper, r.Claim.Where, g.exact(m.Y))
	return []mark{m}
}

// barKeys explains the classes of marks that the figures have.
func barKeys(figures []figure) []legendKey {
	var keys []legendKey
	for _, k := range []legendKey{
		{classDevice, "median, with its interval"},
		{classUnknown, "source not checked"},
		{classMemory, "served from memory: not what the storage does, and cut where it leaves the figure"},
		{classPublished, "published, as a ratio to what its baseline measured here"},
		{classBound, "published as a limit only"},
		{"place", "published place of the change"},
	} {
		has := slices.ContainsFunc(figures, func(f figure) bool {
			return slices.ContainsFunc(f.Marks, func(m mark) bool {
				return m.Class == k.Class && f.Kind == figureBars || m.Class == k.Class && m.published()
			}) ||
				slices.ContainsFunc(f.Bands, func(b band) bool { return b.Class == k.Class })
		})
		if has {
			keys = append(keys, k)
		}
	}
	return keys
}
