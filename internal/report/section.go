package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// answers are the sections of findings, in their order: that of what the verdict is drawn from first.
func answers(findings []fact.Finding) []*answer.Section { return sectionsOf(findings, false) }

// lateAnswers are those that stand behind what was found.
func lateAnswers(findings []fact.Finding) []*answer.Section { return sectionsOf(findings, true) }

func sectionsOf(findings []fact.Finding, late bool) (sections []*answer.Section) {
	for _, first := range []bool{true, false} {
		for _, f := range findings {
			if f.Section != nil && f.Section.Late == late && isBehind(findings, f) == first {
				sections = append(sections, f.Section)
			}
		}
	}
	return sections
}

// covered reports whether a section has the numbers of a point, or, of stack "", of a mix on any.
func covered(findings []fact.Finding, stack, mix string) bool {
	return slices.ContainsFunc(answers(findings), func(s *answer.Section) bool { return covers(s, stack, mix) })
}

func covers(s *answer.Section, stack, mix string) bool {
	return slices.ContainsFunc(s.Covers, func(p result.Point) bool {
		return p.Mix == mix && (stack == "" || p.Stack == "" || p.Stack == stack)
	}) || slices.ContainsFunc(s.Parts, func(part *answer.Section) bool { return covers(part, stack, mix) })
}

// draw prints the tables of sections. What columns mean is told once, below the last that has them.
func (t *terminal) draw(sections []*answer.Section) {
	before := t.dropped
	t.dropped = nil
	defer func() { t.dropped = before }()
	sections = slices.DeleteFunc(slices.Clone(sections), func(s *answer.Section) bool { return !hasText(s) })
	last := len(sections) - 1
	for last > 0 && len(sections[last].Tables) == 0 {
		last--
	}
	for i, s := range sections {
		t.sectionOn(s.Title, s.Stack)
		for _, r := range s.Remarks {
			switch {
			case len(s.Tables) == 0 && r.Warn:
				t.text("  - ", "    ", r.Text, t.style.warn)
			case len(s.Tables) == 0:
				t.text("  - ", "    ", r.Text, t.style.plain)
			case r.Warn:
				t.text("  ! ", "    ", r.Text, t.style.warn)
			case len(s.Remarks) > 1:
				t.text("  - ", "    ", r.Text, t.style.dim)
			default:
				t.text("  ", "  ", r.Text, t.style.dim)
			}
		}
		for _, f := range s.Figures {
			t.sparklines(f)
		}
		for j, table := range s.Tables {
			if j > 0 {
				t.line("")
			}
			if table.Caption != "" {
				t.text("  ", "  ", table.Caption, t.style.dim)
			}
			t.table(t.drawn(table))
		}
		if len(letters(s)) > 0 && len(letters(sections[i+1:]...)) == 0 {
			t.line("")
			for _, k := range letters(sections...) {
				t.line("  " + t.style.slice(k.Class, k.Letter, 1) + " " + t.style.dim(printable.Line(k.Text)))
			}
		}
		legend := meaningsOf(s)
		for _, later := range sections[i+1:] {
			legend = slices.DeleteFunc(legend, func(means string) bool { return slices.Contains(meaningsOf(later), means) })
		}
		switch text := strings.Join(legend, "; "); {
		case i == last && len(s.Tables) > 0:
			t.legendOf(text, wordsHint)
		case text != "":
			t.legendOf(text)
		}
	}
}

// hasText reports whether a terminal has anything to print of a section: figures are for pages.
func hasText(s *answer.Section) bool {
	return len(s.Tables)+len(s.Remarks) > 0 || slices.ContainsFunc(s.Figures, func(f answer.Figure) bool {
		return slices.ContainsFunc(f.Series, func(line answer.Series) bool { return line.Spark != "" })
	})
}

// meanings are the meanings of all columns of a section.
func meaningsOf(s *answer.Section) (all []string) {
	for _, table := range s.Tables {
		all = runview.AddNew(all, meanings(table)...)
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
	lowest, highest := slices.Min(values), slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		share := 0.0
		switch {
		case byRatio && highest > lowest:
			share = math.Log(v/lowest) / math.Log(highest/lowest)
		case !byRatio && highest > 0:
			share = v / highest
		}
		b.WriteRune(heights[int(math.Round(share*float64(len(heights)-1)))])
	}
	return b.String()
}

// meanings say what the columns of a table are, each once for the columns that share it.
func meanings(table answer.Table) []string {
	heads := map[string][]string{}
	var order []string
	for _, c := range table.Columns {
		if c.Means != "" {
			heads[c.Means] = append(heads[c.Means], c.Head)
			order = runview.AddNew(order, c.Means)
		}
	}
	return plural.Words(order, func(means string) string { return strings.Join(heads[means], ", ") + ": " + means })
}

// pageMeanings leave out columns that a page links to the glossary.
func pageMeanings(table answer.Table) []string {
	table.Columns = slices.DeleteFunc(slices.Clone(table.Columns), func(c answer.Column) bool { return c.Word != "" })
	return meanings(table)
}

// drawn is a table as the terminal has it. The first of several columns in one unit names it.
func (t *terminal) drawn(table answer.Table) (columns []column, rows []tableRow) {
	painted := map[string]string{} // bars by their letters
	paint := func(text string) string { return cmp.Or(painted[text], text) }
	var unit answer.Unit
	for _, c := range table.Columns {
		if c.OnPage {
			continue
		}
		head := c.Head
		if c.Unit.Name != "" && c.Unit != unit {
			head += " " + c.Unit.Name
		}
		unit = c.Unit
		columns = append(columns, column{head: head, left: c.Text, drop: c.Drop, paint: paint})
	}
	for _, r := range table.Rows {
		row := tableRow{stack: r.Stack, span: r.Words, paint: t.style.plain}
		switch {
		case r.Warn:
			row.paint = t.style.warn
		case r.Strong:
			row.paint = t.style.bold
		}
		for i, c := range r.Cells {
			if table.Columns[i].OnPage {
				continue
			}
			text := printable.Line(c.In(table.Columns[i].Unit))
			if c.Bar != nil {
				letters := style(false).bar(c.Bar)
				painted[letters], text = t.style.bar(c.Bar), letters
			}
			if len(row.cells) == 0 {
				for _, tag := range r.Tags {
					text += " [" + tag.Letter + "]"
				}
			}
			row.cells = append(row.cells, strings.TrimSpace(text))
		}
		rows = append(rows, row)
	}
	return columns, rows
}

const barWidth = 24

// barColours are those of classes of slices.
var barColours = map[answer.Class]printable.Style{
	"part-0":      printable.BrightMagenta,
	"part-1":      printable.Yellow,
	"part-2":      printable.Green,
	"part-3":      printable.BrightCyan,
	"part-4":      printable.Magenta,
	"part-5":      printable.BrightYellow,
	"part-6":      printable.Cyan,
	"part-device": printable.Blue,
	"residue":     printable.Gray,
}

// bar draws shares as so many blocks each, or as letters where there are no colours: together they are as wide as the
// bar. What takes too little for one is left out.
func (s style) bar(b *answer.Bar) (drawn string) {
	position, share := 0, 0.0
	for _, slice := range b.Slices {
		share += max(slice.Share, 0)
		to := min(int(math.Round(share*barWidth)), barWidth)
		drawn += s.slice(slice.Class, slice.Letter, max(to-position, 0))
		position = max(position, to)
	}
	return drawn
}

func (s style) slice(class answer.Class, letter string, n int) string {
	if !s {
		return strings.Repeat(letter, n)
	}
	return s.paint(barColours[class], strings.Repeat("█", n))
}

// letters are the keys of the slices of bars that sections have.
func letters(sections ...*answer.Section) (keys []answer.Key) {
	for _, s := range sections {
		for _, k := range s.Keys {
			if k.Letter != "" {
				keys = runview.AddNew(keys, k)
			}
		}
	}
	return keys
}

// pageSections are sections of findings as the page has them.
func pageSections(run *result.Run, sections []*answer.Section) (drawn []section) {
	shared := sharedAxes(sections)
	for _, content := range sections {
		s := sectionOf(content, shared)
		if content.Stack != "" && len(run.Stacks) > 1 {
			s.Title += ", on " + content.Stack
		}
		drawn = append(drawn, s)
	}
	return drawn
}

func sectionOf(content *answer.Section, shared axes) section {
	s := section{Title: content.Title, Note: content.Note, Heat: content.Heat, Fill: content.Fill, Tables: content.Tables,
		Folded: content.Folded}
	for _, k := range content.Keys {
		s.Keys = append(s.Keys, legendKey{string(k.Class), k.Text})
	}
	for _, r := range content.Remarks {
		s.Remarks = append(s.Remarks, r.Text)
	}
	for _, part := range content.Parts {
		s.Parts = append(s.Parts, sectionOf(part, shared))
	}
	for _, f := range content.Figures {
		if one, ok := figureFrom(f, shared); ok {
			s.Figures = append(s.Figures, one)
		}
		for _, r := range f.Ratios {
			s.Keys = runview.AddNew(s.Keys, legendKey{string(answer.Measured), "measured here, with its interval"})
			if r.Class == answer.Unsure {
				s.Keys = runview.AddNew(s.Keys, legendKey{string(answer.Unsure), "no significant difference"})
			}
		}
	}
	for _, row := range content.Rows {
		drawn := figureRow{Title: row.Title}
		for _, f := range row.Figures {
			if one, ok := figureFrom(f, shared); ok {
				drawn.Figures = append(drawn.Figures, one)
			}
		}
		s.Rows = append(s.Rows, drawn)
	}
	return s
}

// axes has the ranges of axes that figures share, by the name of these.
type axes struct {
	xs    map[string][]float64
	log   map[string]bool
	reach map[string][]float64 // of each figure
}

func sharedAxes(sections []*answer.Section) axes {
	shared := axes{map[string][]float64{}, map[string]bool{}, map[string][]float64{}}
	for _, s := range sections {
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
func reach(content answer.Figure) (low, high float64) {
	low = math.Inf(1)
	see := func(v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	content.Values(see)
	for _, b := range content.Bands {
		if b.Y != nil {
			see(b.Y[0])
			see(b.Y[1])
		}
	}
	marks := high
	for _, l := range content.Levels {
		if content.Y.Log || l.Y < mostAbove*marks {
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
	longHeight = 170 // of curves over time
	tallHeight = 230 // of bars, and of curves whose values are far apart
	rowHeight  = 90  // of small ones
	stripRoom  = 46  // of a strip and its words, below the labels of the axis
	labelRow   = 14  // of the word of a line, from the top of the plot
	noteDown   = 24  // of words below their place
)

// headroom is how much higher than the highest mark a plot is that has words at its top.
const headroom = 1.22

// forestFrom finds the scale of a figure of ratios.
func forestFrom(content answer.Figure) figure {
	f := figure{Kind: figureForest, Title: content.Title, Note: content.Note, Bottom: 30, Wide: true}
	low, high := 1.0, 1.0
	for i, r := range content.Ratios {
		class := cmp.Or(string(r.Class), classDevice)
		f.Marks = append(f.Marks, mark{Series: i, Name: r.Name, X: r.X, Y: float64(i), Low: r.Low, High: r.High, Class: class,
			Text: r.Text})
		f.Names = append(f.Names, rowName{Subject: r.Name, Baseline: r.Against, Workload: r.Of, Text: r.Written,
			Floor: r.Floor, Verdict: r.Verdict})
		f.Y.Names = append(f.Y.Names, r.Name)
		for _, p := range r.Published {
			f.Marks = append(f.Marks, mark{Series: i, Name: r.Name, X: p.X, Y: float64(i), Low: p.Low, High: p.High,
				Class: string(p.Class), Text: p.Text})
		}
		if r.Floor > 1 {
			low, high = min(low, 1/r.Floor), max(high, r.Floor)
		}
		for _, m := range append([]answer.Mark{r.Mark}, r.Published...) {
			low, high = min(low, m.X), max(high, m.X)
			if m.Low > 0 {
				low, high = min(low, m.Low), max(high, m.High)
			}
		}
	}
	scale := logScale(low, high)
	f.X = axis{Label: content.X.Label, Log: true, Low: scale.low, High: scale.high,
		Ticks: valueTicks(scale.logSteps(6), func(v float64) string { return units.Significant(v) + "x" })}
	f.Y.High, f.Height = float64(len(f.Names)), 46*len(f.Names)
	return f
}

// figureFrom finds the scales of a figure, and the places of its words. ok is false where it has no mark.
func figureFrom(content answer.Figure, shared axes) (f figure, ok bool) {
	if len(content.Ratios) > 0 {
		return forestFrom(content), true
	}
	f = figure{Kind: cmp.Or(content.Kind, answer.Lines), Title: content.Title, Note: content.Note, Stack: content.Stack,
		Height: overHeight,
		Bottom: 40, Wide: content.Wide, Nameless: content.Small, Each: content.Each, Unit: content.Unit,
		Broken:     content.Broken,
		StripLabel: content.Strip.Label}
	switch {
	case content.Small:
		f.Height = rowHeight
	case f.Kind == answer.Bars, f.Kind != answer.Lines && content.Y.Log:
		f.Height = tallHeight
	case f.Kind != answer.Lines:
		f.Height = longHeight
	case content.Wide:
		f.Height = wideHeight
	}
	for _, x := range content.Along {
		f.Xs = append(f.Xs, rounded(x))
	}
	for i, s := range content.Series {
		if s.Curve != nil {
			f.Curves = append(f.Curves, curveFrom(content, i))
		}
		for _, m := range s.Marks {
			if f.Kind == answer.Bars {
				m.X += float64(i)
			}
			f.Marks = append(f.Marks, mark{Series: i, Name: s.Name, X: m.X, From: m.From, Y: m.Y, Low: m.Low, High: m.High,
				Class: string(m.Class), Text: m.Text})
		}
	}
	if len(f.Marks)+len(f.Curves) == 0 {
		return f, false
	}
	f.Y = yAxis(content, shared)
	if f.Kind == answer.Bars {
		for _, s := range content.Series {
			f.addName(s.Name)
		}
		f.Wide = content.Wide || len(content.Series) > mostNarrow
		return f, true
	}
	f.X = xAxis(content, shared)
	x := f.scale(f.X)
	for _, b := range content.Bands {
		ground := band{Class: string(b.Class), X: &b.X, Y: b.Y, Curve: b.Series, Text: b.Text}
		if b.Y != nil && b.X == [2]float64{} {
			ground.X = nil
		}
		f.Bands = append(f.Bands, ground)
		if b.Word != "" {
			right := x.position(b.X[0]) > 45
			f.Notes = append(f.Notes, note{Class: string(b.Class), X: b.X[0], Top: labelRow, Word: b.Word, Before: right,
				Behind: !right})
		}
	}
	for _, l := range content.Levels {
		if l.Y > f.Y.High {
			continue
		}
		f.Bands = append(f.Bands, band{Class: string(l.Class), Y: &[2]float64{l.Y, l.Y}, Text: l.Text})
		f.Notes = append(f.Notes, note{Class: string(l.Class), X: f.X.High, Y: l.Y, Down: -6, Before: true, Word: l.Word})
	}
	for _, n := range content.Notes {
		one := note{Class: string(n.Class), X: n.X, Y: n.Y, Down: noteDown, Word: n.Word, Text: n.Text}
		if n.Top {
			one.X, one.Top, one.Behind = f.X.Low, labelRow, true
		}
		f.Notes = append(f.Notes, one)
	}
	for _, g := range content.Guides {
		f.Guides = append(f.Guides, guide{Class: string(g.Class), Text: g.Text, Y: g.Y, Word: g.Word, Below: g.Below})
	}
	if len(content.Strip.Parts) > 0 {
		f.Bottom += stripRoom
		f.Strip = stretches(content, f.X)
	}
	return f, true
}

// curveFrom returns the curve of a series of a figure. Repeats are of one colour.
func curveFrom(content answer.Figure, i int) curve {
	s := content.Series[i]
	c := curve{Series: i, Name: s.Name, Note: s.Note, Faint: s.Faint}
	switch {
	case content.Kind == answer.Repeats:
		c.Series = 0
	case content.Colours != nil:
		c.Series = slotOf(content.Colours, s.Name)
	}
	for _, y := range s.Curve {
		c.Y = append(c.Y, rounded(y))
	}
	return c
}

// timeAxis is the x axis of curves. It names round numbers where the figure names none.
func timeAxis(spec answer.Axis) axis {
	named, text := spec.Named, spec.Tick
	if named == nil {
		for _, at := range linearScale((spec.To - spec.From) / linearRoom).steps(5) {
			named = append(named, spec.From+at)
		}
	}
	if text == nil {
		text = units.Exact
	}
	return axis{Label: spec.Label, Low: spec.From, High: spec.To, Says: spec.Says, Ticks: valueTicks(named, text)}
}

// xAxis is the axis of what was chosen.
func xAxis(content answer.Figure, shared axes) axis {
	if len(content.Along) > 0 {
		return timeAxis(content.X)
	}
	xs, log := content.Xs(), content.X.Log
	if name := content.X.Shared; name != "" {
		xs, log = slices.Clone(shared.xs[name]), shared.log[name]
		slices.Sort(xs)
		xs = slices.Compact(xs)
	}
	low, high := xs[0], xs[len(xs)-1]
	a := axis{Label: content.X.Label, Log: log, Low: low - (high-low)/20, High: high + (high-low)/20}
	if log {
		room := math.Pow(high/low, 0.05)
		a.Low, a.High = low/room, high*room
	}
	a.Ticks = valueTicks(xs, content.X.Of.Short)
	return a
}

// yAxis finds the scale of the values of a figure.
func yAxis(content answer.Figure, shared axes) axis {
	low, high := reach(content)
	if content.Y.Log {
		s := logScale(low, high)
		return axis{Label: content.Y.Label, Log: true, Low: s.low, High: s.high,
			Ticks: valueTicks(s.readableSteps(6), content.Y.Of.Short)}
	}
	if all := shared.reach[content.Y.Shared]; len(all) > 0 {
		high = sharedReach(all)[slices.Index(all, high)]
	}
	s := linearScale(cmp.Or(content.Y.To, high))
	text, ticks := content.Y.Tick, 5
	if text == nil {
		text = content.Y.Of.Short
	}
	switch {
	case content.Small:
		ticks = 3
	case len(content.Along) > 0 || content.Kind == answer.Bars:
		ticks = 4
	}
	a := axis{Label: content.Y.Label, High: s.high, Ticks: valueTicks(s.steps(ticks), text)}
	named := func(b answer.Band) bool { return b.Word != "" }
	top := func(n answer.Note) bool { return n.Top }
	if len(content.Guides) > 0 || slices.ContainsFunc(content.Bands, named) || slices.ContainsFunc(content.Notes, top) {
		a.High = drawable(high) * headroom
	}
	return a
}

// stretches are those of a strip: each from halfway to the x before to halfway to the next, and at the
// ends as far as on the other side. Neighbours of one class are one.
func stretches(content answer.Figure, on axis) (segments []segment) {
	xs := content.Xs()
	s := figure{}.scale(on)
	between := func(a, b float64) float64 { return on.between(float64(s.position(a)+s.position(b)) / 200) }
	for _, p := range content.Strip.Parts {
		i := slices.Index(xs, p.X)
		stretch := segment{From: on.Low, To: on.High, Class: string(p.Class), Word: p.Word, Text: p.Text}
		if i > 0 {
			stretch.From = between(xs[i-1], p.X)
		}
		if i < len(xs)-1 {
			stretch.To = between(p.X, xs[i+1])
		}
		switch {
		case i == 0:
			stretch.From = on.between(max(0, float64(2*s.position(p.X)-s.position(stretch.To))/100))
		case i == len(xs)-1:
			stretch.To = on.between(min(1, float64(2*s.position(p.X)-s.position(stretch.From))/100))
		}
		if last := len(segments) - 1; last >= 0 && segments[last].Class == stretch.Class &&
			segments[last].To == stretch.From {
			segments[last].To = stretch.To
			segments[last].Text += "; " + stretch.Text
			continue
		}
		segments = append(segments, stretch)
	}
	return segments
}
