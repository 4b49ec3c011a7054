package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// mostRatios is how many rows the figure of ratios has at most. What is left
// out is among the findings.
const mostRatios = 16

// rowName is what a row of a figure compares.
type rowName struct {
	Subject, Baseline, Workload string
	Text                        string  // "3.42x (2.31 to 6.02), published 5x"
	Floor                       float64 // the ratio by which copies of the baseline differ; 0 when it is not known
	Verdict                     string  // on the published value; "" when there is none
}

// ratios is what differs, and by how much, with the published ratios beside.
// Ratios are what can be compared across hosts.
func ratios(baseline string, points []fact.Point, findings []fact.Finding) (section, bool) {
	type row struct {
		effect    fact.Effect
		workload  string
		published []*fact.Claim
	}
	var rows []row
	level := 0 // left out: neither published nor different
	at := func(e fact.Effect, workload string) int {
		return slices.IndexFunc(rows, func(r row) bool {
			return r.workload == workload && r.effect.Subject == e.Subject && r.effect.Baseline == e.Baseline &&
				r.effect.Metric == e.Metric
		})
	}
	drawable := func(e fact.Effect) bool { return e.Low > 0 && e.High >= e.Low && !math.IsInf(e.High, 0) }
	for _, p := range publishedRatios(findings) {
		if !drawable(*p.Effect) {
			continue
		}
		i := at(*p.Effect, p.Workload)
		if i < 0 {
			i, rows = len(rows), append(rows, row{effect: *p.Effect, workload: p.Workload})
		}
		rows[i].published = append(rows[i].published, p.Claim)
	}
	fromMemory := func(e fact.Effect, workload string) bool {
		return slices.ContainsFunc(points, func(p fact.Point) bool {
			return p.Workload == workload && (p.Stack == e.Subject || p.Stack == e.Baseline) && sourceClass(p) == classMemory
		})
	}
	for _, f := range findings {
		e := f.Effect
		switch {
		case e == nil || f.Kind != fact.KindComparison || !drawable(*e) || fromMemory(*e, f.Workload) ||
			at(*e, f.Workload) >= 0:
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
	s := section{Title: "Ratios", Note: "Ratios of medians with their 95% intervals, on a logarithmic scale; ~ for no " +
		"significant difference."}
	if len(rows) > mostRatios {
		s.Note += fmt.Sprintf(" The %d that say most are shown; all are among the findings.", mostRatios)
		rows = rows[:mostRatios]
	} else if level > 0 {
		s.Note += fmt.Sprintf(" Among the findings: %s without a significant difference.", counted(level, "more comparison"))
	}
	if len(rows) > 0 && len(rows[0].published) > 0 {
		s.Title += ", and what was published"
	}
	f := figure{Kind: figureForest, Title: s.Title, Height: 46 * len(rows), Bottom: 30, Wide: true}
	low, high := 1.0, 1.0
	floors := noiseFloors(findings)
	for i, r := range rows {
		e := r.effect
		floor := floors[r.workload]
		if floor > 1 {
			low, high = min(low, 1/floor), max(high, floor)
		}
		low, high = min(low, e.Ratio), max(high, e.Ratio)
		interval := "no interval"
		if e.HasInterval() {
			low, high = min(low, e.Low), max(high, e.High)
			interval = fmt.Sprintf("95%% interval %s to %s", units.Exact(e.Low), units.Exact(e.High))
		}
		m := mark{Series: i, Name: e.Subject, X: e.Ratio, Y: float64(i), Low: e.Low, High: e.High, Class: classDevice,
			Text: fmt.Sprintf("%s against %s, %s: %s of %s times, %s, %s", e.Subject, e.Baseline, workloadText(r.workload),
				e.Metric, units.Exact(e.Ratio), interval, e.Tested())}
		name := rowName{Subject: e.Subject, Baseline: e.Baseline, Workload: workloadText(r.workload), Text: e.Written(),
			Floor: floor}
		if !e.Differs {
			m.Class = classUnsure
			if !e.TooFew {
				m.Text += ", no significant difference"
			}
		}
		f.Marks = append(f.Marks, m)
		for _, p := range r.published {
			pm := publishedMark(p, 1)
			pm.Series, pm.Name, pm.X, pm.Y = i, e.Subject, pm.Y, float64(i)
			pm.Text = fmt.Sprintf("published %s (%s, %s) for %s against %s, %s: %s", p.Published, p.Paper, p.Where, e.Subject,
				e.Baseline, workloadText(r.workload), p.Verdict)
			low, high = min(low, pm.X), max(high, pm.X)
			if pm.Low > 0 {
				low, high = min(low, pm.Low), max(high, pm.High)
			}
			f.Marks = append(f.Marks, pm)
			name.Text += ", published " + p.Published
			name.Verdict = string(p.Verdict)
		}
		f.Names = append(f.Names, name)
		f.Y.Names = append(f.Y.Names, fmt.Sprintf("%s / %s, %s", e.Subject, e.Baseline, workloadText(r.workload)))
	}
	scale := logScale(low, high)
	f.X = axis{Label: "ratio", Log: true, Low: scale.low, High: scale.high,
		Ticks: valueTicks(scale.logSteps(6), func(v float64) string { return units.Significant(v) + "x" })}
	f.Y.High = float64(len(rows))
	s.Figures = []figure{f}
	s.Keys = []legendKey{{"ratio", "measured here, with its interval"}}
	if slices.ContainsFunc(f.Names, func(n rowName) bool { return n.Floor > 1 }) {
		s.Keys = append(s.Keys, legendKey{classNoise, "noise floor: what two copies of the baseline differ by under that " +
			"workload"})
	}
	if slices.ContainsFunc(f.Marks, func(m mark) bool { return m.Class == classUnsure }) {
		s.Keys = append(s.Keys, legendKey{classUnsure, "no significant difference"})
	}
	if slices.ContainsFunc(f.Marks, func(m mark) bool { return m.Class == classPublished }) {
		s.Keys = append(s.Keys, legendKey{classPublished, "published, with its tolerance"})
	}
	if slices.ContainsFunc(f.Marks, func(m mark) bool { return m.Class == classBound }) {
		s.Keys = append(s.Keys, legendKey{classBound, "published as a limit only"})
	}
	return s, len(rows) > 0
}

// publishedRatios are published ratios of two stacks that this run measured too. Numbers of other hardware can
// only be compared as ratios.
func publishedRatios(findings []fact.Finding) []fact.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f fact.Finding) bool {
		return f.Claim == nil || f.Effect == nil || f.Claim.Of != fact.OfRatio || f.Claim.At <= 0
	})
}

// publishedMark is a published number, so many times, on Y.
func publishedMark(c *fact.Claim, times float64) mark {
	m := mark{Y: c.At * times, Class: classPublished}
	if c.Bound {
		m.Class = classBound
	}
	if low, high := c.Limits(); low > 0 && !math.IsInf(high, 0) {
		m.Low, m.High = low*times, high*times
	}
	return m
}

// classNoise is the ground that the noise floor covers.
const classNoise = "noise"

func noiseLabel(floor float64) string {
	return fmt.Sprintf("noise floor: two copies of the baseline differ by %s times", units.Exact(floor))
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
