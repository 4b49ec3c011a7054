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
	Verdict, Class              string  // on the published value; "" when there is none
}

// ratios is what differs, and by how much, with the published ratios beside.
// Ratios are what can be compared across hosts.
func ratios(baseline string, points []fact.Point, findings []fact.Finding) (section, bool) {
	type row struct {
		effect    fact.Effect
		workload  string
		published []publishedRatio
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
		if !drawable(p.effect) {
			continue
		}
		i := at(p.effect, p.workload)
		if i < 0 {
			i, rows = len(rows), append(rows, row{effect: p.effect, workload: p.workload})
		}
		rows[i].published = append(rows[i].published, p)
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
				e.Metric, units.Exact(e.Ratio), interval, testText(&e))}
		name := rowName{Subject: e.Subject, Baseline: e.Baseline, Workload: workloadText(r.workload), Text: effectText(&e),
			Floor: floor}
		if !e.Differs {
			m.Class = classUnsure
			if !e.TooFew {
				m.Text += ", no significant difference"
			}
		}
		f.Marks = append(f.Marks, m)
		for _, p := range r.published {
			pm := mark{Series: i, Name: e.Subject, X: p.value, Y: float64(i), Class: p.class(),
				Text: fmt.Sprintf("published %s (%s, %s) for %s against %s, %s: %s", p.text, p.paper, p.where, e.Subject,
					e.Baseline, workloadText(r.workload), p.verdict)}
			low, high = min(low, p.value), max(high, p.value)
			if p.low > 0 && !math.IsInf(p.high, 0) {
				pm.Low, pm.High = p.low, p.high
				low, high = min(low, p.low), max(high, p.high)
			}
			f.Marks = append(f.Marks, pm)
			name.Text += ", published " + p.text
			name.Verdict, name.Class = string(p.verdict), verdictClass(p.verdict)
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
