package report

import (
	"fmt"
	"math"
	"strings"
)

// drawing is the still picture of a figure: where Go puts everything, in
// percent of the area of the plot, downwards on y.
type drawing struct {
	XTicks   []tick
	YTicks   []tick
	Names    []tick // of bars, written aslant
	Grounds  []box
	Bars     []box
	Paths    []path
	Whiskers []whisker
	Dots     []dot
}

// box is a rectangle, with what a pointer that rests on it shows.
type box struct {
	X, Y, W, H   percent
	Class, Title string
}

// path is a line in units of 1% of the area.
type path struct {
	D, Class, Title string
}

type whisker struct {
	X1, X2, Y1, Y2 percent
	Class          string
}

type dot struct {
	X, Y         percent
	Shape        outline
	Class, Title string
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

const diamond outline = "M0-6L5 0L0 6L-5 0Z"

// slotClass are the classes that give a slot its colour and dash.
func slotClass(slot int) string { return fmt.Sprintf("c%d d%d", slot%colours, slot%dashes) }

// symbol of a slot.
func symbol(slot int) outline { return symbols[slot%len(symbols)] }

// Still draws the figure.
func (f figure) Still() drawing {
	x, y := f.scale(f.X), f.scale(f.Y)
	down := func(v float64) percent { return 100 - y.at(v) }
	d := drawing{}
	for _, t := range f.X.Ticks {
		d.XTicks = append(d.XTicks, tick{At: x.at(t.At), Anchor: "middle", Label: t.Label})
	}
	for _, t := range f.Y.Ticks {
		d.YTicks = append(d.YTicks, tick{At: down(t.At), Label: t.Label})
	}
	bars := f.Kind == figureBars
	if bars {
		for i, name := range f.X.Names {
			d.Names = append(d.Names, tick{At: x.at(float64(i) + 0.5), Label: name})
		}
	}
	f.drawBands(&d, x, y)
	at := func(m mark) percent {
		if bars {
			return x.at(m.X + 0.5)
		}
		return x.at(m.X)
	}
	lines := map[int]*strings.Builder{}
	var order []int
	for _, m := range f.Marks {
		title := m.Text
		switch {
		case m.published():
			if m.High > m.Low {
				d.Whiskers = append(d.Whiskers, whisker{X1: at(m), X2: at(m), Y1: down(m.Low), Y2: down(m.High), Class: classPublished})
			}
			d.Dots = append(d.Dots, dot{X: at(m), Y: down(m.Y), Shape: diamond, Class: m.Class, Title: title})
			continue
		case bars:
			width := percent(70 / f.X.High)
			d.Bars = append(d.Bars, box{X: at(m) - width/2, Y: down(m.Y), W: width, H: down(m.From) - down(m.Y), Class: m.Class, Title: title})
		default:
			if lines[m.Series] == nil {
				lines[m.Series] = &strings.Builder{}
				order = append(order, m.Series)
			}
			line(lines[m.Series], at(m), down(m.Y))
			d.Dots = append(d.Dots, dot{X: at(m), Y: down(m.Y), Shape: symbol(m.Series), Class: slotClass(m.Series), Title: title})
		}
		if m.High > m.Low {
			d.Whiskers = append(d.Whiskers, whisker{X1: at(m), X2: at(m), Y1: down(m.Low), Y2: down(m.High)})
		}
	}
	for _, s := range order {
		d.Paths = append(d.Paths, path{D: lines[s].String(), Class: slotClass(s)})
	}
	for i := len(f.Curves) - 1; i >= 0; i-- { // the first is in front
		c := f.Curves[i]
		var b strings.Builder
		for j, v := range c.Y {
			if j < len(f.Xs) && !math.IsNaN(v) && !math.IsInf(v, 0) {
				line(&b, x.at(f.Xs[j]), down(v))
			}
		}
		p := path{D: b.String(), Class: slotClass(c.Series), Title: c.Name}
		if f.Kind == figureSeries {
			p.Class = "front"
		}
		if c.Faint {
			p.Class = "faint"
		}
		d.Paths = append(d.Paths, p)
	}
	return d
}

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
			from[0], from[1] = x.at(float64(b.X[0])), x.at(float64(b.X[1]))
		}
		if b.Y != nil {
			to[0], to[1] = 100-y.at(float64(b.Y[0])), 100-y.at(float64(b.Y[1]))
		}
		if b.line() {
			var p strings.Builder
			line(&p, from[0], to[0])
			line(&p, from[1], to[1])
			d.Paths = append(d.Paths, path{D: p.String(), Class: "across " + b.Class, Title: b.Text})
			continue
		}
		d.Grounds = append(d.Grounds, box{X: from[0], Y: to[1], W: from[1] - from[0], H: to[0] - to[1], Class: b.Class, Title: b.Text})
	}
}

// line tells whether a band is a line across the figure, and no ground.
func (b band) line() bool {
	return b.Class == "fit" || b.X != nil && b.X[0] == b.X[1] || b.Y != nil && b.Y[0] == b.Y[1]
}

// Row gives the marks of one row of a forest, drawn from left to right.
func (f figure) Row(i int) drawing {
	x := f.scale(f.X)
	d := drawing{}
	for _, t := range f.X.Ticks {
		d.XTicks = append(d.XTicks, tick{At: x.at(t.At), Anchor: "middle", Label: t.Label})
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
			d.Whiskers = append(d.Whiskers, whisker{X1: x.at(m.Low), X2: x.at(m.High), Y1: y, Y2: y, Class: m.Class})
		}
		d.Dots = append(d.Dots, dot{X: x.at(m.X), Y: y, Shape: shape, Class: m.Class, Title: m.Text})
	}
	return d
}

// One is where the ratio of a forest is 1.
func (f figure) One() percent { return f.scale(f.X).at(1) }
