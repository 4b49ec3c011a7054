// Package ratios shows what differs, and by how much, beside what was published. Ratios are what can be compared across
// hosts. The package is pure.
package ratios

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// mostRatios is how many rows the figure of ratios has at most. What is left
// out is among the findings.
const mostRatios = 16

// Section returns the ratios of findings as one figure; nil where nothing differs and nothing was published.
func Section(baseline string, points []fact.Point, findings []fact.Finding) *section.Section {
	type row struct {
		effect    fact.Effect
		workload  string
		published []*fact.Claim
	}
	var rows []row
	level := 0 // left out: neither published nor different
	indexOf := func(e fact.Effect, workload string) int {
		return slices.IndexFunc(rows, func(r row) bool {
			return r.workload == workload && r.effect.Subject == e.Subject && r.effect.Baseline == e.Baseline &&
				r.effect.Metric == e.Metric
		})
	}
	drawable := func(e fact.Effect) bool { return e.Low > 0 && e.High >= e.Low && !math.IsInf(e.High, 0) }
	for _, p := range Published(findings) {
		if !drawable(*p.Effect) {
			continue
		}
		i := indexOf(*p.Effect, p.Workload)
		if i < 0 {
			i, rows = len(rows), append(rows, row{effect: *p.Effect, workload: p.Workload})
		}
		rows[i].published = append(rows[i].published, p.Claim)
	}
	fromMemory := func(e fact.Effect, workload string) bool {
		return slices.ContainsFunc(points, func(p fact.Point) bool {
			return p.Workload == workload && (p.Stack == e.Subject || p.Stack == e.Baseline) && p.FromMemory()
		})
	}
	for _, f := range findings {
		e := f.Effect
		switch {
		case e == nil || f.Kind != fact.KindComparison || !drawable(*e) || fromMemory(*e, f.Workload) ||
			indexOf(*e, f.Workload) >= 0:
		case !e.Differs:
			level++
		default:
			rows = append(rows, row{effect: *e, workload: f.Workload})
		}
	}
	// What papers have a word on comes first, then what differs from the
	// baseline, and what differs most.
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(
			-cmp.Compare(min(len(a.published), 1), min(len(b.published), 1)),
			-cmp.Compare(truth(a.effect.Baseline == baseline), truth(b.effect.Baseline == baseline)),
			-cmp.Compare(truth(a.effect.Differs), truth(b.effect.Differs)),
			-cmp.Compare(math.Abs(math.Log(a.effect.Ratio)), math.Abs(math.Log(b.effect.Ratio))))
	})
	if len(rows) == 0 {
		return nil
	}
	s := &section.Section{Title: "Ratios", Note: "Ratios of medians with their 95% intervals, on a logarithmic scale; ~ for no " +
		"significant difference."}
	if len(rows) > mostRatios {
		s.Note += fmt.Sprintf(" The %d that say most are shown; all are among the findings.", mostRatios)
		rows = rows[:mostRatios]
	} else if level > 0 {
		s.Note += fmt.Sprintf(" Among the findings: %s without a significant difference.", plural.Count(level, "more comparison"))
	}
	if len(rows[0].published) > 0 {
		s.Title += ", and what was published"
	}
	f := section.Figure{Title: s.Title, X: section.Axis{Label: "ratio"}}
	floors := noiseFloors(findings)
	drawn := map[section.Class]bool{}
	for _, r := range rows {
		e := r.effect
		interval := "no interval"
		if e.HasInterval() {
			interval = fmt.Sprintf("95%% interval %s to %s", units.Exact(e.Low), units.Exact(e.High))
		}
		ratio := section.Ratio{Name: e.Subject, Against: e.Baseline, Of: workloadText(r.workload), Written: e.Written(),
			Floor: floors[r.workload], Mark: section.Mark{X: e.Ratio, Low: e.Low, High: e.High,
				Text: fmt.Sprintf("%s against %s, %s: %s of %s times, %s, %s", e.Subject, e.Baseline, workloadText(r.workload),
					e.Metric, units.Exact(e.Ratio), interval, e.Tested())}}
		if !e.Differs {
			ratio.Class = section.Unsure
			if !e.TooFew {
				ratio.Text += ", no significant difference"
			}
		}
		for _, p := range r.published {
			m := PublishedMark(p, 1)
			m.Text = fmt.Sprintf("published %s (%s, %s) for %s against %s, %s: %s", p.Published, p.Paper, p.Where, e.Subject,
				e.Baseline, workloadText(r.workload), p.Verdict)
			ratio.Published = append(ratio.Published, m)
			ratio.Written += ", published " + p.Published
			ratio.Verdict = string(p.Verdict)
			drawn[m.Class] = true
		}
		drawn[ratio.Class] = true
		drawn[section.Noise] = drawn[section.Noise] || ratio.Floor > 1
		f.Ratios = append(f.Ratios, ratio)
	}
	s.Figures = []section.Figure{f}
	s.Keys = []section.Key{{Class: section.Measured, Text: "measured here, with its interval"}}
	for _, k := range []section.Key{
		{Class: section.Noise, Text: "noise floor: what two copies of the baseline differ by under that workload"},
		{Class: section.Unsure, Text: "no significant difference"},
		{Class: section.Published, Text: "published, with its tolerance"},
		{Class: section.Bound, Text: "published as a limit only"},
	} {
		if drawn[k.Class] {
			s.Keys = append(s.Keys, k)
		}
	}
	return s
}

// Published are published ratios of two stacks that this run measured too. Numbers of other hardware can
// only be compared as ratios.
func Published(findings []fact.Finding) []fact.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f fact.Finding) bool {
		return f.Claim == nil || f.Effect == nil || f.Claim.Of != fact.OfRatio || f.Claim.At <= 0
	})
}

// PublishedMark returns a published number, so many times, as a mark on x.
func PublishedMark(c *fact.Claim, times float64) section.Mark {
	m := section.Mark{X: c.At * times, Class: section.Published}
	if c.Bound {
		m.Class = section.Bound
	}
	if low, high := c.Limits(); low > 0 && !math.IsInf(high, 0) {
		m.Low, m.High = low*times, high*times
	}
	return m
}

// noiseFloors are, by workload, the ratios above 1 by which two copies of the
// baseline differed: what is nearer to 1 than that says nothing.
func noiseFloors(findings []fact.Finding) map[string]float64 {
	floors := map[string]float64{}
	for _, f := range findings {
		for _, n := range f.Noise {
			if n.Control == nil || n.Control.TooFew || !(n.Control.Ratio > 0) {
				continue
			}
			floors[n.Workload] = max(n.Control.Ratio, 1/n.Control.Ratio)
		}
	}
	return floors
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func workloadText(name string) string {
	if name == "" {
		return "several workloads"
	}
	return name
}
