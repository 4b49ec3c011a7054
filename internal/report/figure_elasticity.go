package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// worthOfLimits shows what more and less of each limit of the miniature does to throughput
// and to p99: ratios with their intervals.
func worthOfLimits(e *fact.Elasticity) (section, bool) {
	s := section{
		Title: worthTitle(e),
		Note: "Limits of the miniature (" + e.Host + ") were relaxed and tightened one at a time. Ratios to what " + e.Mix +
			" does as it is, in the same blocks, with their 95% intervals, on a logarithmic scale; ~ for no significant " +
			"difference.",
	}
	var rows []forestRow
	for _, w := range e.Limits {
		for _, c := range []*fact.LimitChange{w.More, w.Less} {
			if c == nil {
				continue
			}
			name := changeText(w, c)
			rows = append(rows, forestRow{
				name: name, baseline: e.Mix, throughput: &c.Rate, p99: c.P99, text: name + " than " + e.Mix + " has",
			})
		}
	}
	var unsure bool
	s.Figures, unsure = forests(rows)
	s.Keys = forestKeys(unsure)
	if e.Doubled != nil {
		s.Figures = append(s.Figures, predictedFigure(e.Doubled))
		s.Note += " Below: what a model of this run predicts, which is " + units.Percent(e.Doubled.Off) +
			" off for points that it was not fitted to; intervals are of 90%."
	}
	return s, len(s.Figures) > 0
}

// predictedFigure draws what was measured over the number of instances, and what a model predicts
// for the miniature as it is and with twice of each limit that moves the load line.
func predictedFigure(d *fact.Doubled) figure {
	f := figure{Kind: figureLines, Title: "Predicted throughput", Note: "per second, with twice of one limit", Wide: true,
		Height: 260, Bottom: 40, X: axis{Label: "instances"}}
	most, high := 1, 0.0
	add := func(series int, name string, curve []fact.Carried, what string) {
		for _, c := range curve {
			most, high = max(most, c.Instances), max(high, c.Rate, c.High)
			m := mark{Series: series, Name: name, X: float64(c.Instances), Y: c.Rate, Low: c.Low, High: c.High,
				Text: fmt.Sprintf("%s, %s: %s a second %s", counted(c.Instances, "instance"), name, units.Rate(c.Rate), what)}
			if c.High > 0 {
				m.Text += fmt.Sprintf(", interval %s to %s", units.Rate(c.Low), units.Rate(c.High))
			}
			f.Marks = append(f.Marks, m)
		}
	}
	add(0, "measured", d.Measured, "measured")
	add(1, "as it is", d.Curve, "predicted")
	for i, m := range d.Moved {
		if m.Low > d.Line {
			add(2+i, "twice the "+strings.ReplaceAll(m.Limit, "-", " "), m.Curve, "predicted")
		}
	}
	for n := 1; n <= most; n += 1 + most/16 {
		f.X.Ticks = append(f.X.Ticks, valueTick{float64(n), fmt.Sprint(n)})
	}
	f.X.Low, f.X.High = 0.5, float64(most)+0.5
	scale := linearScale(high)
	f.Y = axis{High: scale.high, Ticks: valueTicks(scale.steps(4), units.Significant)}
	return f
}

// changeText is a change of a limit in words: "20% more memory".
func changeText(w fact.Worth, c *fact.LimitChange) string {
	limit, less := strings.ReplaceAll(w.Limit, "-", " "), " less "
	if at := slices.Index([]string{"cpus", "read-iops", "write-iops"}, w.Limit); at >= 0 {
		limit, less = []string{"CPUs", "reads a second", "writes a second"}[at], " fewer "
	}
	if c.Factor < 1 {
		return units.Percent(1-c.Factor) + less + limit
	}
	return units.Percent(c.Factor-1) + " more " + limit
}
