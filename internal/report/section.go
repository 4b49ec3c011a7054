package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
)

// answers are the sections of findings, in their order: that of what the verdict is drawn from first.
func answers(findings []fact.Finding) []*answer.Section { return sectionsOf(findings, false) }

// lateAnswers are those that stand behind what was found.
func lateAnswers(findings []fact.Finding) []*answer.Section { return sectionsOf(findings, true) }

func sectionsOf(findings []fact.Finding, late bool) (all []*answer.Section) {
	for _, first := range []bool{true, false} {
		for _, f := range findings {
			if f.Section != nil && f.Section.Late == late && isBehind(findings, f) == first {
				all = append(all, f.Section)
			}
		}
	}
	return all
}

// covered reports whether a section has the numbers of a point, or, of stack "", of a mix on any.
func covered(findings []fact.Finding, stack, mix string) bool {
	return slices.ContainsFunc(answers(findings), func(s *answer.Section) bool { return covers(s, stack, mix) })
}

func covers(s *answer.Section, stack, mix string) bool {
	return slices.ContainsFunc(s.Covers, func(p cell.Point) bool {
		return p.Mix == mix && (stack == "" || p.Stack == "" || p.Stack == stack)
	}) || slices.ContainsFunc(s.Parts, func(part *answer.Section) bool { return covers(part, stack, mix) })
}

// draw prints the tables of sections. What columns mean is told once, below the last that has them.
func (t *terminal) draw(all []*answer.Section) {
	before := t.dropped
	t.dropped = nil
	defer func() { t.dropped = before }()
	last := len(all) - 1
	for last > 0 && len(all[last].Tables) == 0 {
		last--
	}
	for i, s := range all {
		t.sectionOn(s.Title, s.Stack)
		for _, r := range s.Remarks {
			switch {
			case len(s.Tables) == 0 && r.Warn:
				t.text("  - ", "    ", r.Text, t.style.warn)
			case len(s.Tables) == 0:
				t.text("  - ", "    ", r.Text, t.style.plain)
			case r.Warn:
				t.text("  ! ", "    ", r.Text, t.style.warn)
			default:
				t.text("  ", "  ", r.Text, t.style.dim)
			}
		}
		for _, f := range s.Figures {
			t.sparklines(f)
		}
		for _, table := range s.Tables {
			if table.Caption != "" {
				t.text("  ", "  ", table.Caption, t.style.dim)
			}
			t.table(t.drawn(table))
		}
		legend := told(s)
		for _, later := range all[i+1:] {
			legend = slices.DeleteFunc(legend, func(means string) bool { return slices.Contains(told(later), means) })
		}
		if len(legend) > 0 || i == last && len(s.Tables) > 0 {
			t.legendOf(strings.Join(legend, "; "), wordsHint)
		}
	}
}

// told are the meanings of all columns of a section.
func told(s *answer.Section) (all []string) {
	for _, table := range s.Tables {
		all = with(all, meanings(table)...)
	}
	return all
}

// sparklines draw the series of a figure that say so as blocks of eight heights.
func (t *terminal) sparklines(f answer.Figure) {
	for _, s := range f.Series {
		if s.Spark == "" {
			continue
		}
		var values []float64
		for _, m := range s.Marks {
			values = append(values, m.Y)
		}
		t.line("  " + t.style.bold(sparkline(values, f.Y.Log)) + "  " + printable.Line(s.Spark))
	}
}

// sparkline draws values as blocks of eight heights: linear from 0, or from the least to the
// greatest by ratio.
func sparkline(values []float64, byRatio bool) string {
	const blocks = "▁▂▃▄▅▆▇█"
	heights := []rune(blocks)
	least, most := slices.Min(values), slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		share := 0.0
		switch {
		case byRatio && most > least:
			share = math.Log(v/least) / math.Log(most/least)
		case !byRatio && most > 0:
			share = v / most
		}
		b.WriteRune(heights[int(math.Round(share*float64(len(heights)-1)))])
	}
	return b.String()
}

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
		switch {
		case r.Warn:
			row.paint = t.style.warn
		case r.Strong:
			row.paint = t.style.bold
		}
		for _, c := range r.Cells {
			row.cells = append(row.cells, c.String())
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// pageSections are sections of findings as the page has them.
func pageSections(run *result.Run, all []*answer.Section) (drawn []section) {
	shared := sharedAxes(all)
	for _, of := range all {
		s := sectionOf(of, shared)
		if of.Stack != "" && len(run.Stacks) > 1 {
			s.Title += ", on " + of.Stack
		}
		drawn = append(drawn, s)
	}
	return drawn
}

func sectionOf(of *answer.Section, shared axes) section {
	s := section{Title: of.Title, Note: of.Note, Heat: of.Heat, Fill: of.Fill, Tables: of.Tables}
	for _, k := range of.Keys {
		s.Keys = append(s.Keys, legendKey{string(k.Class), k.Text})
	}
	for _, r := range of.Remarks {
		s.Remarks = append(s.Remarks, r.Text)
	}
	for _, part := range of.Parts {
		s.Parts = append(s.Parts, sectionOf(part, shared))
	}
	for _, f := range of.Figures {
		if one, ok := figureFrom(f, shared); ok {
			s.Figures = append(s.Figures, one)
		}
		for _, r := range f.Ratios {
			s.Keys = with(s.Keys, legendKey{"ratio", "measured here, with its interval"})
			if r.Class == answer.Unsure {
				s.Keys = with(s.Keys, legendKey{classUnsure, "no significant difference"})
			}
		}
	}
	return s
}

// axes are what figures have in common whose axes are shared, by the name of these.
type axes struct {
	xs    map[string][]float64
	log   map[string]bool
	reach map[string][]float64 // of each figure
}

func sharedAxes(all []*answer.Section) axes {
	shared := axes{map[string][]float64{}, map[string]bool{}, map[string][]float64{}}
	for _, s := range all {
		for _, f := range s.Figures {
			if name := f.X.Shared; name != "" {
				shared.xs[name] = append(shared.xs[name], f.Xs()...)
				shared.log[name] = shared.log[name] || f.X.Log
			}
			if name := f.Y.Shared; name != "" {
				_, high := reach(f)
				shared.reach[name] = append(shared.reach[name], high)
			}
		}
	}
	return shared
}

// reach is the least and the greatest value above zero that is to be seen of a figure.
func reach(of answer.Figure) (low, high float64) {
	low = math.Inf(1)
	see := func(v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	of.Values(see)
	marks := high
	for _, l := range of.Levels {
		if of.Y.Log || l.Y < mostAbove*marks {
			see(l.Y)
		}
	}
	return low, high
}

// mostAbove is how many times the highest mark a line across a figure may be: one that is higher would
// make the marks flat, and does not help to read them.
const mostAbove = 4

// Room of figures, in CSS pixels.
const (
	wideHeight = 300 // of one that takes the whole width
	overHeight = 200 // of others
	stripRoom  = 46  // of a strip and its words, below the labels of the axis
	labelRow   = 14  // of the word of a line, from the top of the plot
	noteDown   = 24  // of words below their place
)

// headroom is how much higher than the highest mark a plot is that has words at its top.
const headroom = 1.22

// forestFrom finds the scale of a figure of ratios.
func forestFrom(of answer.Figure) figure {
	f := figure{Kind: figureForest, Title: of.Title, Note: of.Note, Bottom: 30, Wide: true}
	low, high := 1.0, 1.0
	for i, r := range of.Ratios {
		class := cmp.Or(string(r.Class), classDevice)
		f.Marks = append(f.Marks, mark{Series: i, Name: r.Name, X: r.X, Y: float64(i), Low: r.Low, High: r.High, Class: class,
			Text: r.Text})
		f.Names = append(f.Names, rowName{Subject: r.Name, Baseline: r.Against, Workload: r.Of, Text: r.Written})
		f.Y.Names = append(f.Y.Names, r.Name)
		low, high = min(low, r.X), max(high, r.X)
		if r.Low > 0 {
			low, high = min(low, r.Low), max(high, r.High)
		}
	}
	scale := logScale(low, high)
	f.X = axis{Label: of.X.Label, Log: true, Low: scale.low, High: scale.high,
		Ticks: valueTicks(scale.logSteps(6), func(v float64) string { return units.Significant(v) + "x" })}
	f.Y.High, f.Height = float64(len(f.Names)), 46*len(f.Names)
	return f
}

// figureFrom finds the scales of a figure, and the places of its words. ok is false where it has no mark.
func figureFrom(of answer.Figure, shared axes) (f figure, ok bool) {
	if len(of.Ratios) > 0 {
		return forestFrom(of), true
	}
	f = figure{Kind: figureLines, Title: of.Title, Note: of.Note, Height: overHeight, Bottom: 40, Wide: of.Wide,
		StripLabel: of.Strip.Label}
	if of.Wide {
		f.Height = wideHeight
	}
	for i, s := range of.Series {
		for _, m := range s.Marks {
			f.Marks = append(f.Marks, mark{Series: i, Name: s.Name, X: m.X, Y: m.Y, Low: m.Low, High: m.High,
				Class: string(m.Class), Text: m.Text})
		}
	}
	if len(f.Marks) == 0 {
		return f, false
	}
	f.X = xAxis(of, shared)
	f.Y = yAxis(of, shared)
	x := f.scale(f.X)
	for _, b := range of.Bands {
		f.Bands = append(f.Bands, band{Class: string(b.Class), X: &b.X, Text: b.Text})
		if b.Word != "" {
			right := x.at(b.X[0]) > 45
			f.Notes = append(f.Notes, note{Class: string(b.Class), X: b.X[0], Top: labelRow, Word: b.Word, Before: right,
				Behind: !right})
		}
	}
	for _, l := range of.Levels {
		if l.Y > f.Y.High {
			continue
		}
		f.Bands = append(f.Bands, band{Class: string(l.Class), Y: &[2]float64{l.Y, l.Y}, Text: l.Text})
		f.Notes = append(f.Notes, note{Class: string(l.Class), X: f.X.High, Y: l.Y, Down: -6, Before: true, Word: l.Word})
	}
	for _, n := range of.Notes {
		one := note{Class: string(n.Class), X: n.X, Y: n.Y, Down: noteDown, Word: n.Word, Text: n.Text}
		if n.Top {
			one.X, one.Top, one.Behind = f.X.Low, labelRow, true
		}
		f.Notes = append(f.Notes, one)
	}
	for _, g := range of.Guides {
		f.Guides = append(f.Guides, guide{Class: string(g.Class), Text: g.Text, Y: g.Y, Word: g.Word, Below: g.Below})
	}
	if len(of.Strip.Parts) > 0 {
		f.Bottom += stripRoom
		f.Strip = stretches(of, f.X)
	}
	return f, true
}

// xAxis is the axis of what was chosen.
func xAxis(of answer.Figure, shared axes) axis {
	xs, log := of.Xs(), of.X.Log
	if name := of.X.Shared; name != "" {
		xs, log = slices.Clone(shared.xs[name]), shared.log[name]
		slices.Sort(xs)
		xs = slices.Compact(xs)
	}
	low, high := xs[0], xs[len(xs)-1]
	a := axis{Label: of.X.Label, Log: log, Low: low - (high-low)/20, High: high + (high-low)/20}
	if log {
		room := math.Pow(high/low, 0.05)
		a.Low, a.High = low/room, high*room
	}
	a.Ticks = valueTicks(xs, of.X.Of.Short)
	return a
}

// yAxis finds the scale of the values of a figure.
func yAxis(of answer.Figure, shared axes) axis {
	low, high := reach(of)
	if of.Y.Log {
		s := logScale(low, high)
		return axis{Label: of.Y.Label, Log: true, Low: s.low, High: s.high,
			Ticks: valueTicks(s.readableSteps(6), of.Y.Of.Short)}
	}
	if all := shared.reach[of.Y.Shared]; len(all) > 0 {
		high = sharedReach(all)[slices.Index(all, high)]
	}
	s := linearScale(high)
	a := axis{Label: of.Y.Label, High: s.high, Ticks: valueTicks(s.steps(5), of.Y.Of.Short)}
	named := func(b answer.Band) bool { return b.Word != "" }
	top := func(n answer.Note) bool { return n.Top }
	if len(of.Guides) > 0 || slices.ContainsFunc(of.Bands, named) || slices.ContainsFunc(of.Notes, top) {
		a.High = drawable(high) * headroom
	}
	return a
}

// stretches are those of a strip: each from halfway to the x before to halfway to the next, and at the
// ends as far as on the other side. Neighbours of one class are one.
func stretches(of answer.Figure, on axis) (all []segment) {
	xs := of.Xs()
	s := figure{}.scale(on)
	between := func(a, b float64) float64 { return on.between(float64(s.at(a)+s.at(b)) / 200) }
	for _, p := range of.Strip.Parts {
		i := slices.Index(xs, p.X)
		one := segment{From: on.Low, To: on.High, Class: string(p.Class), Word: p.Word, Text: p.Text}
		if i > 0 {
			one.From = between(xs[i-1], p.X)
		}
		if i < len(xs)-1 {
			one.To = between(p.X, xs[i+1])
		}
		switch {
		case i == 0:
			one.From = on.between(max(0, float64(2*s.at(p.X)-s.at(one.To))/100))
		case i == len(xs)-1:
			one.To = on.between(min(1, float64(2*s.at(p.X)-s.at(one.From))/100))
		}
		if last := len(all) - 1; last >= 0 && all[last].Class == one.Class && all[last].To == one.From {
			all[last].To = one.To
			all[last].Text += "; " + one.Text
			continue
		}
		all = append(all, one)
	}
	return all
}
