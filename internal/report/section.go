package report

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	answer "plimsoll/internal/section"
)

// answers are the sections of findings, in their order.
func answers(findings []fact.Finding) (all []*answer.Section) {
	for _, f := range findings {
		if f.Section != nil {
			all = append(all, f.Section)
		}
	}
	return all
}

// covered reports whether a section has the numbers of a point, or, of stack "", of a mix on any.
func covered(findings []fact.Finding, stack, mix string) bool {
	return slices.ContainsFunc(answers(findings), func(s *answer.Section) bool {
		return slices.ContainsFunc(s.Covers, func(p cell.Point) bool {
			return p.Mix == mix && (stack == "" || p.Stack == "" || p.Stack == stack)
		})
	})
}

// answers prints the tables of sections. What columns mean is told once, below those that have it.
func (t *terminal) answers() {
	all := answers(t.findings)
	for i, s := range all {
		title := s.Title
		if s.Stack != "" && len(t.run.Stacks) > 1 {
			title += ", on " + s.Stack
		}
		t.section(title)
		var legend []string
		for _, table := range s.Tables {
			legend = append(legend, meanings(table)...)
		}
		legend = []string{strings.Join(legend, "; "), wordsHint}
		if i+1 < len(all) && slices.EqualFunc(s.Tables, all[i+1].Tables, sameColumns) {
			legend = nil // the next one's tells
		}
		t.explained(legend, func() bool {
			for _, table := range s.Tables {
				t.table(t.drawn(table))
			}
			return legend != nil
		})
	}
}

// sameColumns reports whether two tables have the same columns.
func sameColumns(a, b answer.Table) bool { return slices.Equal(a.Columns, b.Columns) }

// meanings tell what the columns of a table are.
func meanings(table answer.Table) (legend []string) {
	for _, c := range table.Columns {
		if c.Means != "" {
			legend = append(legend, c.Head+": "+c.Means)
		}
	}
	return legend
}

// drawn is a table as the terminal has it.
func (t *terminal) drawn(table answer.Table) (columns []column, rows []tableRow) {
	for _, c := range table.Columns {
		columns = append(columns, column{head: c.Head, left: c.Text, drop: c.Drop})
	}
	for _, r := range table.Rows {
		row := tableRow{stack: r.Stack, span: r.Words, paint: t.style.plain}
		if r.Warn {
			row.paint = t.style.warn
		}
		for _, c := range r.Cells {
			row.cells = append(row.cells, c.String())
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// sectionOf is a section as the page has it.
func sectionOf(of *answer.Section) section {
	s := section{Title: of.Title, Note: of.Note, Tables: of.Tables}
	for _, k := range of.Keys {
		s.Keys = append(s.Keys, legendKey{string(k.Class), k.Text})
	}
	for _, f := range of.Figures {
		if drawn, ok := figureFrom(f); ok {
			s.Figures = append(s.Figures, drawn)
		}
	}
	return s
}

// figureFrom finds the scales of a figure. ok is false where it has no mark.
func figureFrom(of answer.Figure) (f figure, ok bool) {
	f = figure{Kind: figureLines, Title: of.Title, Note: of.Note, Height: overHeight, Bottom: 40, Wide: of.Wide}
	for i, s := range of.Series {
		for _, m := range s.Marks {
			f.Marks = append(f.Marks, mark{Series: i, Name: s.Name, X: m.X, Y: m.Y, Low: m.Low, High: m.High,
				Class: string(m.Class),
				Text:  m.Text})
		}
	}
	if len(f.Marks) == 0 {
		return f, false
	}
	for _, b := range of.Bands {
		f.Bands = append(f.Bands, band{Class: string(b.Class), X: &b.X, Text: b.Text})
	}
	xs := of.Xs()
	low, high := xs[0], xs[len(xs)-1]
	f.X = axis{Label: of.X.Label, Low: low - (high-low)/20, High: high + (high-low)/20}
	f.X.Ticks = valueTicks(xs, of.X.Of.Short)
	f.Y = axisFrom(of.Y, of)
	return f, true
}

// axisFrom finds the scale of the values of a figure.
func axisFrom(y answer.Axis, of answer.Figure) axis {
	low, high := math.Inf(1), 0.0
	of.Values(func(v float64) {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	})
	if y.Log {
		s := logScale(low, high)
		return axis{Label: y.Label, Log: true, Low: s.low, High: s.high, Ticks: valueTicks(s.readableSteps(6), y.Of.Short)}
	}
	s := linearScale(high)
	return axis{Label: y.Label, High: s.high, Ticks: valueTicks(s.steps(5), y.Of.Short)}
}
