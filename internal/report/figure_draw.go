package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/printable"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
)

// drawing is where Go puts everything of a figure: in percent of the area of
// the plot, downwards on y, so that it fills whatever width there is.
type drawing struct {
	XTicks   []tick
	YTicks   []tick
	Names    []barName
	Grounds  []box
	Bars     []box
	Across   []path
	Series   []seriesLine // in the order in which they are painted
	Whiskers []whisker
	Dots     []dot
	Notes    []placedNote
	Strip    []stripBox
	Gutter   int // CSS pixels at the right, for the labels at the ends of lines
}

// barName is the name of a bar, written aslant.
type barName struct {
	tick
	Role role
	Star string
}

// box is a rectangle, with what it says.
type box struct {
	X, Y, W, H   percent
	Class, Title string
	Name         string // of its series
}

// path is a line in units of 1% of the area.
type path struct {
	D, Class, Title string
}

// seriesLine is all that is drawn of one series, and its name at the end.
type seriesLine struct {
	Name     string
	Role     role
	Class    string // its slot's colour and dash
	D        string
	Readings string // what each point of the line says, a line each; "" where dots do
	Whiskers []whisker
	Dots     []dot
	Label    *endLabel // nil for none

	order  int
	endX   percent
	endY   percent
	marked string // the label's text
}

// endLabel is a name beside the end of its line, in the gutter, and what joins
// the two.
type endLabel struct {
	FromX, FromY percent
	Y            float64 // CSS pixels
	Text         string
}

type whisker struct {
	X1, X2, Y1, Y2 percent
	Class          string
}

type dot struct {
	X, Y         percent
	Shape        outline
	Class, Title string
	Name         string // of its series
}

// outline is a symbol around 0,0, in CSS pixels, as the data of an SVG path.
type outline string

// The dashes (as classes of the style sheet) and symbols by which lines are
// told apart where colours are not. No two of 7, 5 and 8 have a
// common factor: 35 lines differ, and 280 that have symbols.
const (
	colours = 7
	dashes  = 5
)

var symbols = []outline{
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",       // circle
	"M-3.6-3.6h7.2v7.2h-7.2Z",                  // square
	"M0-4.8L4.4 3.4h-8.8Z",                     // triangle
	"M-3.6-3.6L3.6 3.6M-3.6 3.6L3.6-3.6",       // times
	"M0-4.8V4.8M-4.8 0H4.8",                    // plus
	"M0 4.8L4.4-3.4h-8.8Z",                     // triangle on its tip
	"M-4 0L-2-3.5h4L4 0L2 3.5h-4Z",             // hexagon
	"M-3.4-3.4L3.4 3.4M-3.4 3.4L3.4-3.4M0-5V5", // asterisk
}

// disc is the mark on a ship's side.
const disc outline = "M-10 0a10 10 0 1 0 20 0a10 10 0 1 0-20 0ZM-17 0H-10M10 0H17"

const cross outline = "M-5-5L5 5M-5 5L5-5"

const diamond outline = "M0-6L5 0L0 6L-5 0Z"

// slotClass are the classes that give a slot its colour and dash.
func slotClass(slot int) string { return fmt.Sprintf("c%d d%d", slot%colours, slot%dashes) }

// symbol of a slot.
func symbol(slot int) outline { return symbols[slot%len(symbols)] }

// Draw places all parts of the figure.
func (f figure) Draw() drawing {
	x, y := f.scale(f.X), f.scale(f.Y)
	down := func(v float64) percent { return 100 - y.position(v) }
	d := drawing{XTicks: thinned(f.X.Ticks, x)}
	for _, t := range f.Y.Ticks {
		d.YTicks = append(d.YTicks, tick{At: down(t.At), Label: t.Label})
	}
	f.drawBands(&d, x, y)
	f.drawGuides(&d, x, y)
	f.drawNotes(&d, x, y)
	f.drawStrip(&d, x)
	if f.Kind == figureBars {
		f.drawBars(&d, x, down)
	} else {
		f.drawLines(&d, x, down)
		f.drawCurves(&d, x, down)
	}
	slices.SortStableFunc(d.Series, func(a, b seriesLine) int { return cmp.Compare(a.rank(), b.rank()) })
	if f.Kind != answer.Repeats && !f.Nameless {
		f.label(&d)
	}
	return d
}

// rank puts what must not be hidden last.
func (l seriesLine) rank() int {
	switch l.Role {
	case rolePick:
		return 2
	case roleBaseline:
		return 1
	}
	if l.Class == classFront {
		return 1
	}
	return 0
}

// Classes of lines that are not told apart by their slots.
const (
	classFront = "front" // the first trial of a figure over time
	classFaint = "faint" // its repeats
)

func (f figure) drawBars(d *drawing, x scale, down func(float64) percent) {
	for i, name := range f.X.Names {
		full := name
		if i < len(f.BarNames) {
			full = f.BarNames[i]
		}
		at := tick{At: x.position(float64(i) + 0.5), Label: name}
		d.Names = append(d.Names, barName{tick: at, Role: f.Roles.Of(full), Star: f.Roles.Star(full)})
	}
	for _, m := range f.Marks {
		middle := x.position(m.X + 0.5)
		if m.published() {
			f.drawPublished(d, m, middle, down)
			continue
		}
		width := percent(70 / f.X.High)
		class := strings.TrimSpace(m.Class + " " + string(f.Roles.Of(m.Name)))
		d.Bars = append(d.Bars, box{
			X: middle - width/2, Y: down(m.Y), W: width, H: down(m.From) - down(m.Y),
			Class: class, Title: m.Text, Name: m.Name,
		})
		if m.High > m.Low {
			d.Whiskers = append(d.Whiskers, whisker{X1: middle, X2: middle, Y1: down(m.Low), Y2: down(m.High)})
		}
	}
}

func (f figure) drawPublished(d *drawing, m mark, at percent, down func(float64) percent) {
	if m.High > m.Low {
		d.Whiskers = append(d.Whiskers, whisker{X1: at, X2: at, Y1: down(m.Low), Y2: down(m.High), Class: classPublished})
	}
	d.Dots = append(d.Dots, dot{X: at, Y: down(m.Y), Shape: diamond, Class: m.Class, Title: m.Text, Name: m.Name})
}

// drawLines draws the marks of each series, joined.
func (f figure) drawLines(d *drawing, x scale, down func(float64) percent) {
	lines := map[int]*strings.Builder{}
	indexOf := map[int]int{}
	for _, m := range f.Marks {
		if m.published() {
			f.drawPublished(d, m, x.position(m.X), down)
			continue
		}
		switch m.Class {
		case classGone:
			d.Dots = append(d.Dots, dot{X: x.position(m.X), Y: 100, Shape: cross, Class: m.Class, Title: m.Text})
			continue
		case classDisc:
			d.Dots = append(d.Dots, dot{X: x.position(m.X), Y: down(m.Y), Shape: disc, Class: m.Class})
			continue
		}
		i, known := indexOf[m.Series]
		if !known {
			i = len(d.Series)
			indexOf[m.Series] = i
			lines[m.Series] = &strings.Builder{}
			d.Series = append(d.Series, seriesLine{Name: m.Name, Role: f.Roles.Of(m.Name), Class: slotClass(m.Series), order: i})
		}
		s := &d.Series[i]
		s.endX, s.endY = x.position(m.X), down(m.Y)
		s.marked = f.Roles.Star(m.Name) + printable.Shorten(m.Name, mostLabel)
		line(lines[m.Series], s.endX, s.endY)
		s.D = lines[m.Series].String()
		symbolDot := dot{X: s.endX, Y: s.endY, Shape: symbol(m.Series), Title: m.Text}
		if m.Class == classMissed {
			symbolDot.Class = m.Class
		}
		s.Dots = append(s.Dots, symbolDot)
		if m.High > m.Low {
			s.Whiskers = append(s.Whiskers, whisker{X1: s.endX, X2: s.endX, Y1: down(m.Low), Y2: down(m.High)})
		}
	}
}

// drawCurves draws lines through many values.
func (f figure) drawCurves(d *drawing, x scale, down func(float64) percent) {
	for i, c := range f.Curves {
		s := seriesLine{Name: c.Name, Role: f.Roles.Of(c.Name), Class: slotClass(c.Series), order: i}
		var b strings.Builder
		var readings []string
		for j, v := range c.Y {
			if j >= len(f.Xs) || !hasPlace(v) {
				continue
			}
			s.endX, s.endY = x.position(f.Xs[j]), down(v)
			if f.Broken && (j == 0 || !hasPlace(c.Y[j-1])) {
				fmt.Fprintf(&b, "M%.4g %.4g", float64(s.endX), float64(s.endY))
				if last := min(len(c.Y), len(f.Xs)) - 1; j == last || !hasPlace(c.Y[j+1]) {
					b.WriteString(" h.2") // a single point is seen too; report.js reads the numbers before the space
				}
			} else {
				line(&b, s.endX, s.endY)
			}
			readings = append(readings, f.reading(f.Xs[j], v))
		}
		s.D, s.Readings = b.String(), strings.Join(readings, "\n")
		switch {
		case c.Faint:
			s.Class = classFaint
		case f.Kind == answer.Repeats:
			s.Class, s.Role = classFront, ""
		}
		note := ""
		if c.Note != "" {
			note = ", " + c.Note
		}
		s.marked = f.Roles.Star(c.Name) + printable.Shorten(c.Name, mostLabel-utf8.RuneCountInString(note)) + note
		d.Series = append(d.Series, s)
	}
}

// reading returns the text of a point of a curve.
func (f figure) reading(x, v float64) string {
	value := units.Exact(v) + " " + f.Unit
	if f.Unit == "ns" {
		value = exactNS(v)
	}
	position := units.Exact(x) + " s"
	if f.X.Says != nil {
		position = f.X.Says(x)
	}
	text := position + ": " + value
	if f.Each > 1 {
		text += fmt.Sprintf(", mean of %d samples", f.Each)
	}
	return text
}

// hasPlace reports whether a value has a place in a picture.
func hasPlace(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// line goes on to a point.
func line(b *strings.Builder, x, y percent) {
	if math.IsNaN(float64(x)) || math.IsNaN(float64(y)) {
		return
	}
	command := "L"
	if b.Len() == 0 {
		command = "M"
	}
	fmt.Fprintf(b, "%s%.4g %.4g", command, float64(x), float64(y))
}

func (f figure) scale(a axis) scale {
	s := scale{low: a.Low, high: a.High, log: a.Log}
	if !(s.high > s.low) {
		s.high = s.low + 1
	}
	return s
}

func (f figure) drawBands(d *drawing, x, y scale) {
	for _, b := range f.Bands {
		if b.Curve > 0 {
			continue // of a trial behind the first
		}
		from, to := [2]percent{0, 100}, [2]percent{100, 0}
		if b.X != nil {
			from[0], from[1] = x.position(b.X[0]), x.position(b.X[1])
		}
		if b.Y != nil {
			to[0], to[1] = 100-y.position(b.Y[0]), 100-y.position(b.Y[1])
		}
		if b.line() {
			var p strings.Builder
			line(&p, from[0], to[0])
			line(&p, from[1], to[1])
			d.Across = append(d.Across, path{D: p.String(), Class: "across " + b.Class, Title: b.Text})
			continue
		}
		d.Grounds = append(d.Grounds, box{
			X: from[0], Y: to[1], W: from[1] - from[0], H: to[0] - to[1], Class: b.Class, Title: b.Text,
		})
	}
}

// line reports whether a band is a line across the figure, and no ground.
func (b band) line() bool {
	return b.Class == "fit" || b.X != nil && b.X[0] == b.X[1] || b.Y != nil && b.Y[0] == b.Y[1]
}

// Padding is the room right of the plot: for the labels of lines, or half of
// the last tick.
func (d drawing) Padding() int { return max(d.Gutter, 12) }

// LeastWidth is the width, in CSS pixels, that a figure of bars needs for the
// names of its bars not to run into each other; 0 where any will do. On a phone
// a figure that is wider is scrolled.
func (f figure) LeastWidth() int {
	if f.Kind != figureBars {
		return 0
	}
	return f.PaddingLeft() + 12 + barPitch*len(f.X.Names)
}

// PaddingLeft is the room left of the plot: for the labels of the axis, and for
// the names of bars, which slant to the left.
func (f figure) PaddingLeft() int {
	room := 56
	for i, name := range f.X.Names {
		letters := utf8.RuneCountInString(name) + utf8.RuneCountInString(star) + 1
		room = max(room, int(letterWidth*0.65*float64(letters))+12-barPitch*i-barPitch/2)
	}
	return room
}

// barPitch is how far apart two lines of slanting text must be, from left to
// right.
const barPitch = 17

// AxisTicks are the labels below a forest.
func (f figure) AxisTicks() []tick {
	x := f.scale(f.X)
	var ticks []tick
	for _, t := range f.X.Ticks {
		ticks = append(ticks, x.tick(t.At, func(float64) string { return t.Label }))
	}
	return ticks
}

// Row places the marks of one row of a forest, drawn from left to right.
func (f figure) Row(i int) drawing {
	x := f.scale(f.X)
	d := drawing{}
	for _, t := range f.X.Ticks {
		d.XTicks = append(d.XTicks, tick{At: x.position(t.At), Anchor: "middle", Label: t.Label})
	}
	if floor := f.Names[i].Floor; floor > 1 {
		ground := x.span(1/floor, floor)
		noise := box{X: ground.From, W: ground.Length(), H: 100, Class: string(answer.Noise),
			Title: fmt.Sprintf("noise floor: two copies of the baseline differ by %s times", units.Exact(floor))}
		d.Grounds = append(d.Grounds, noise)
	}
	for _, m := range f.Marks {
		if m.Series != i {
			continue
		}
		y, shape := percent(62), symbols[0]
		if m.published() {
			y, shape = 26, diamond
		}
		if m.High > m.Low {
			d.Whiskers = append(d.Whiskers, whisker{X1: x.position(m.Low), X2: x.position(m.High), Y1: y, Y2: y, Class: m.Class})
		}
		d.Dots = append(d.Dots, dot{X: x.position(m.X), Y: y, Shape: shape, Class: m.Class, Title: m.Text, Name: m.Name})
	}
	return d
}

// One is where the ratio of a forest is 1.
func (f figure) One() percent { return f.scale(f.X).position(1) }
