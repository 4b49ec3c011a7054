package elasticity

import (
	"fmt"
	"math"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// section shows what more and less of each limit of the scaled-down host does to throughput and to p99, and
// what a model says of twice as much.
func (f *Facts) section() *section.Section {
	e := f.Elasticity
	if len(e.Limits) == 0 {
		return nil
	}
	out := &section.Section{
		Title: fmt.Sprintf("What a limit is worth, with %s of %s", plural.Count(e.Instances, "instance"), e.Workload), Stack: e.Stack,
		Note: "Limits of the scaled-down host (" + e.Host + ") were relaxed and tightened one at a time. Ratios to what " + e.Mix +
			" does as it is, in the same rounds, with their 95% intervals, on a logarithmic scale; ~ for no significant " +
			"difference.",
		Tables: []section.Table{e.table().Known()},
	}
	var held []prose.Held
	for _, w := range e.Limits {
		for _, c := range w.changes() {
			name := w.changed(c.Factor)
			held = append(held, prose.Held{Name: name, Against: e.Mix, Text: name + " than " + e.Mix + " has",
				Summary: fact.Summary{Throughput: &c.Rate, P99: c.P99}})
			out.Covers = append(out.Covers, result.Point{Stack: e.Stack, Mix: c.Mix})
		}
	}
	out.Figures = prose.Ratios(held)
	if d := e.Doubled; d != nil {
		out.Tables, out.Figures = append(out.Tables, d.table()), append(out.Figures, d.figure())
		out.Note += " Below: what a model of this run predicts, which is " + units.Percent(d.Off) +
			" off for points that it was not fitted to; intervals cover 90%."
	}
	return out
}

// changes returns the measurements with more of a limit, and with less.
func (w Worth) changes() (changes []*LimitChange) {
	for _, c := range []*LimitChange{w.More, w.Less} {
		if c != nil {
			changes = append(changes, c)
		}
	}
	return changes
}

// table has a row for each change of a limit.
func (e *Elasticity) table() section.Table {
	t := section.Table{Caption: "ratios to the mix as it is, in the same rounds", Columns: []section.Column{
		{Head: "limit", Text: true},
		{Head: "throughput", Means: "ratio to the mix as it is, in the same rounds, and ~ where that is no significant difference"},
		{Head: "interval", Drop: 2},
		{Head: "p99", Means: "likewise"},
		{Head: "interval of p99", Drop: 1},
		{Head: "per 1%", Drop: 3,
			Means: "by how many percent throughput changes for each percent of the limit, over what was tried"},
	}}
	for _, w := range e.Limits {
		for _, c := range w.changes() {
			rate, interval := c.Rate.Cells()
			p99, ofP99 := c.P99.Cells()
			t.Rows = append(t.Rows, section.Row{Stack: e.Stack, Cells: []section.Cell{
				section.Text(w.changed(c.Factor)), rate, interval, p99, ofP99, w.Rate.cell()}})
		}
		for _, factor := range w.Failed {
			t.Rows = append(t.Rows, section.Row{Warn: true, Words: w.changed(factor) + ": no trial was completed"})
		}
	}
	return t
}

// cell is an elasticity with its interval. It is of the order of 1, and all have as many decimals.
func (p *Power) cell() section.Cell {
	if p == nil {
		return section.Cell{}
	}
	decimals := func(x float64) float64 { return math.Round(100*x)/100 + 0 } // no -0.00
	return section.Text(fmt.Sprintf("%.2f (%.2f to %.2f)", decimals(p.Value), decimals(p.Low), decimals(p.High)))
}

// table has how many instances the host would carry with twice of each limit.
func (d *Doubled) table() section.Table {
	t := section.Table{Caption: "the load line, as a model of this run predicts it", Columns: []section.Column{
		{Head: "twice of", Text: true},
		{Head: "instances", Means: "that the host would carry"},
		{Head: "from, to", Drop: 1},
	}}
	t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text("nothing"), section.Count.Cell(float64(d.Line)), {}}})
	for _, m := range d.Moved {
		instances := section.Count.Cell(float64(m.Instances))
		if m.High == m.Most {
			instances.Text = fmt.Sprintf("%d or more", m.Instances)
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(m.Resource.Limit()), instances,
			section.Text(fmt.Sprintf("%d to %d", m.Low, m.High))}})
	}
	return t
}

// figure draws what was measured over the number of instances, and what a model predicts for the
// scaled-down host as it is and with twice of each limit that moves the load line.
func (d *Doubled) figure() section.Figure {
	f := section.Figure{Title: "Predicted throughput", Note: "per second, with twice of one limit", Wide: true,
		X: section.Axis{Label: "instances", Of: section.Count}, Y: section.Axis{Of: section.Count}}
	add := func(name string, curve []Carried, origin string) {
		line := section.Series{Name: name}
		for _, c := range curve {
			m := section.Mark{X: float64(c.Instances), Y: c.Rate, Low: c.Low, High: c.High,
				Text: fmt.Sprintf("%s, %s: %s a second %s", plural.Count(c.Instances, "instance"), name, units.Rate(c.Rate),
					origin)}
			if c.High > 0 {
				m.Text += fmt.Sprintf(", interval %s to %s", units.Rate(c.Low), units.Rate(c.High))
			}
			line.Marks = append(line.Marks, m)
		}
		f.Series = append(f.Series, line)
	}
	add("measured", d.Measured, "measured")
	add("as it is", d.Curve, "predicted")
	carry, _ := d.carry()
	for _, m := range carry {
		add("twice the "+m.Resource.Limit(), m.Curve, "predicted")
	}
	return f
}
