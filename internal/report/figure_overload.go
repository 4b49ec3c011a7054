package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// offeredRates shows what became of operations that begin at a rate, over that rate.
func offeredRates(o *fact.Overload) (section, bool) {
	s := section{
		Title: overloadTitle(o),
		Note: "Operations begin at a rate, whatever the server does. A rate is kept where nearly all of them are " +
			"completed, and p99 does not get longer while the trial lasts.",
		Table: overloadTable(o),
	}
	if o.Host != "" {
		s.Note += " All in a miniature of " + o.Host + "."
	}
	low, high := o.Points[0].Offered, o.Points[len(o.Points)-1].Offered
	margin := (high - low) / 20
	x := axis{Label: "offered, operations a second", Low: low - margin, High: high + margin}
	for _, p := range o.Points {
		x.Ticks = append(x.Ticks, valueTick{p.Offered, rateText(p.Offered)})
	}
	s.Figures = append(s.Figures, completedFigure(o, x))
	if f, ok := waitFigure(o, x); ok {
		s.Figures = append(s.Figures, f)
	}
	if o.Kept > 0 {
		for i := range s.Figures {
			s.Figures[i].Bands = append(s.Figures[i].Bands, band{Class: classCarries, X: &[2]float64{o.Kept, o.Kept},
				Text: "kept: " + rateText(o.Kept) + " a second"})
		}
		s.Keys = []legendKey{{classCarries, "highest rate that is kept"}}
	}
	return s, true
}

// overloadTitle heads what becomes of rates, on the page and on a terminal.
func overloadTitle(o *fact.Overload) string {
	return fmt.Sprintf("%s of %s over the rate that is offered", counted(o.Instances, "instance"), o.Workload)
}

// completedFigure draws how many operations were completed, beside what was offered.
func completedFigure(o *fact.Overload, x axis) figure {
	f := figure{Kind: figureLines, Title: "Completed", Note: "operations a second, beside what was offered",
		Unit: headOperations, Height: overHeight, Bottom: 40, X: x}
	high := 0.0
	for _, p := range o.Points {
		high = max(high, p.Offered, p.Achieved, p.High)
		m := mark{Series: 0, Name: "completed", X: p.Offered, Y: p.Achieved, Low: p.Low, High: p.High,
			Text: fmt.Sprintf("%s offered: %s completed a second, %s of those whose time came", rateText(p.Offered),
				rateText(p.Achieved), units.Percent(p.Done))}
		if !p.Kept {
			m.Class = classMissed
			m.Text += "; not kept"
		}
		f.Marks = append(f.Marks, m, mark{Series: 1, Name: "offered", X: p.Offered, Y: p.Offered,
			Text: rateText(p.Offered) + " offered"})
	}
	scale := linearScale(high)
	f.Y = axis{High: scale.high, Ticks: valueTicks(scale.steps(5), rateText)}
	return f
}

// waitFigure draws how long 99% of operations took at most, from when they were to begin and from when
// they were sent.
func waitFigure(o *fact.Overload, x axis) (figure, bool) {
	f := figure{Kind: figureLines, Title: "p99", Height: overHeight, Bottom: 40, X: x,
		Note: "from when operations were to begin, and from when they were sent, which is all that a closed loop sees; on " +
			"a logarithmic scale"}
	low, high := math.Inf(1), 0.0
	for _, p := range o.Points {
		for i, of := range []struct {
			name          string
			ns, low, high float64
		}{{"to begin", p.P99NS, p.P99Low, p.P99High}, {"sent", p.ServiceNS, 0, 0}} {
			if !(of.ns > 0) {
				continue
			}
			low, high = min(low, of.ns), max(high, of.ns, of.high)
			if of.low > 0 {
				low = min(low, of.low)
			}
			m := mark{Series: i, Name: of.name, X: p.Offered, Y: of.ns, Low: of.low, High: of.high,
				Text: fmt.Sprintf("%s offered: p99 is %s from when operations were %s", rateText(p.Offered), exactNS(of.ns),
					of.name)}
			if !p.Kept && i == 0 {
				m.Class = classMissed
			}
			f.Marks = append(f.Marks, m)
		}
	}
	if len(f.Marks) == 0 {
		return f, false
	}
	scale := logScale(low, high)
	f.Y = axis{Log: true, Low: scale.low, High: scale.high, Ticks: valueTicks(scale.readableSteps(6), latencyText)}
	return f, true
}

// overloadTable has the numbers behind the figures.
func overloadTable(o *fact.Overload) *numberTable {
	t := &numberTable{
		Caption: "medians over bring-ups, per second where rates are meant",
		Head: []string{"Offered", "Kept", "What binds", "Completed", "Of those whose time came", "p50", "p99",
			"p99 from when sent", "p99 gets longer, each second", "Lag of the generator"},
		Words: 3, Open: true,
	}
	for _, p := range o.Points {
		growth := "none"
		if p.Growth > 0 {
			growth = latencyText(p.GrowthPerSecond())
		}
		t.Rows = append(t.Rows, []string{grouped(p.Offered), keptWord(p), bindingWord(p.Binds), grouped(p.Achieved),
			units.Percent(p.Done), latencyOr(p.P50NS), latencyOr(p.P99NS), latencyOr(p.ServiceNS), growth, latencyOr(p.LagNS)})
	}
	return t
}

// keptWord says whether a rate is kept, and whether that proves anything.
func keptWord(p fact.OverloadPoint) string {
	word := "no"
	if p.Kept {
		word = "yes"
	}
	if p.Late() {
		word += ", generator late"
	}
	return word
}

// isOffered reports whether a point is of one of several rates: its figures are those of all.
func isOffered(findings []fact.Finding, p fact.Point) bool {
	return slices.ContainsFunc(fact.Overloads(findings), func(o *fact.Overload) bool {
		return (o.Stack == "" || o.Stack == p.Stack) && o.Has(p.Workload)
	})
}
