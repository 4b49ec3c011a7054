package overload

import (
	"fmt"

	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// section shows what became of each rate: a table, and what was completed and waited for over the
// rate that was offered.
func (f *Facts) section() *section.Section {
	o := f.Overload
	s := &section.Section{
		Title: f.whose() + " over the rate that is offered", Stack: o.Stack,
		Note: "Operations begin at a rate, whatever the server does. A rate is kept where " + o.keptWhere() +
			" while the trial lasts.",
		Tables:  []section.Table{o.table()},
		Figures: []section.Figure{o.completed(), o.waits()},
	}
	if o.Host != "" {
		s.Note += " All in a scaled-down host of " + o.Host + "."
	}
	for _, p := range o.Points {
		s.Covers = append(s.Covers, result.Point{Stack: o.Stack, Mix: p.Mix})
	}
	if o.Kept > 0 {
		line := section.Band{Class: section.Carries, X: [2]float64{o.Kept, o.Kept},
			Text: "kept: " + units.Rate(o.Kept) + " a second"}
		for i := range s.Figures {
			s.Figures[i].Bands = append(s.Figures[i].Bands, line)
		}
		s.Keys = []section.Key{{Class: section.Carries, Text: "highest rate that is kept"}}
	}
	return s
}

// table has a row for each rate.
func (o Curve) table() section.Table {
	t := section.Table{Caption: "medians over setups", Columns: []section.Column{
		{Head: "offered", Means: "operations a second that were to begin"},
		{Head: "ops/s", Means: "those that were completed"},
		{Head: "interval", Drop: 4},
		{Head: "done", Means: "the share of the operations whose time came that were completed"},
		{Head: "p50", Drop: 3},
		{Head: "p99", Means: "from when operations were " + o.from()},
		{Head: "sent", Means: "p99 from when they were sent, which is all that a closed loop sees"},
		{Head: "longer", Means: "what p99 grows by with every second"},
		{Head: "lag", Means: "how late the generator itself was, at the 99th percentile", Drop: 2},
		{Head: "kept", Means: o.keptWhere(), Text: true},
		{Head: "binds", Text: true, Drop: 1},
	}}
	for _, p := range o.Points {
		binds := section.Cell{}
		if p.Binds != "" {
			binds = section.Text(p.Binds.Word())
		}
		t.Rows = append(t.Rows, section.Row{Stack: o.Stack, Warn: !p.Kept, Cells: []section.Cell{
			section.Count.Cell(p.Offered), section.Count.Cell(p.Achieved), section.Count.Between(p.Low, p.High), section.Share.Cell(p.Done),
			section.Latency.Positive(p.P50NS), section.Latency.Positive(p.P99NS), section.Latency.Positive(p.ServiceNS),
			section.Latency.Positive(p.GrowthPerSecond()), section.Latency.Positive(p.LagNS), section.Text(p.keptWord()), binds,
		}})
	}
	return t.Known()
}

// keptWhere says which rates are kept.
func (o Curve) keptWhere() string {
	within := ""
	if o.LimitNS > 0 {
		within = "is within " + units.Latency(o.LimitNS) + " and "
	}
	return "nearly all are done, and p99 " + within + "does not grow"
}

// keptWord says whether a rate is kept, and whether that proves anything.
func (p Point) keptWord() string {
	word := "no"
	if p.Kept {
		word = "yes"
	}
	if p.Late() {
		word += ", generator late"
	}
	return word
}

// axis is the axis of offered rates.
var axis = section.Axis{Label: "offered, operations a second", Of: section.Count, Each: true}

// completed draws how many operations were completed, beside what was offered.
func (o Curve) completed() section.Figure {
	completed, offered := section.Series{Name: "completed"}, section.Series{Name: "offered"}
	for _, p := range o.Points {
		m := section.Mark{X: p.Offered, Y: p.Achieved, Low: p.Low, High: p.High,
			Text: fmt.Sprintf("%s offered: %s completed a second, %s of those whose time came", units.Rate(p.Offered),
				units.Rate(p.Achieved), units.Percent(p.Done))}
		if !p.Kept {
			m.Class = section.Missed
			m.Text += "; not kept"
		}
		completed.Marks = append(completed.Marks, m)
		offered.Marks = append(offered.Marks, section.Mark{X: p.Offered, Y: p.Offered, Text: units.Rate(p.Offered) + " offered"})
	}
	return section.Figure{Title: "Completed", Note: "operations a second, beside what was offered", X: axis,
		Y: section.Axis{Of: section.Count}, Series: []section.Series{completed, offered}}
}

// waits draws how long 99% of operations took at most, from when they were to begin and from when
// they were sent.
func (o Curve) waits() section.Figure {
	begin, sent := section.Series{Name: o.from()}, section.Series{Name: "sent"}
	text := func(p Point, ns float64, from string) string {
		return fmt.Sprintf("%s offered: p99 is %s from when operations were %s", units.Rate(p.Offered), section.Latency.Exact(ns), from)
	}
	for _, p := range o.Points {
		if p.P99NS > 0 {
			m := section.Mark{X: p.Offered, Y: p.P99NS, Low: p.P99Low, High: p.P99High, Text: text(p, p.P99NS, begin.Name)}
			if !p.Kept {
				m.Class = section.Missed
			}
			begin.Marks = append(begin.Marks, m)
		}
		if p.ServiceNS > 0 {
			sent.Marks = append(sent.Marks, section.Mark{X: p.Offered, Y: p.ServiceNS, Text: text(p, p.ServiceNS, sent.Name)})
		}
	}
	series, note := []section.Series{begin}, "from when operations were "+o.from()
	if len(sent.Marks) > 0 {
		series = append(series, sent)
		note += ", and from when they were sent, which is all that a closed loop sees"
	}
	return section.Figure{Title: "p99", X: axis, Y: section.Axis{Of: section.Latency, Log: true}, Series: series,
		Note: note + "; on a logarithmic scale"}
}
