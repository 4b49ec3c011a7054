package report

import (
	"math"
	"strings"
	"unicode/utf8"
)

// guide is a line that shows what would be: what no mark joins.
type guide struct {
	Class string
	Text  string
	Y     func(x float64) float64
	Word  string // beside its end; "" for none
	Below bool   // the word stands below it, not at its end
}

// note is words at a place of the plot.
type note struct {
	Class  string
	X, Y   float64
	Top    int    // CSS pixels from the top of the plot, in the place of Y; 0 for none
	Down   int    // CSS pixels below the place; negative ones above
	Word   string //
	Text   string // what it says when it is read; "" for nothing more
	Before bool   // it ends at the place, and does not stand around or behind it
	Behind bool   // it begins there
}

// segment is a stretch of the strip below a plot.
type segment struct {
	From, To float64 // on x
	Class    string
	Word     string
	Text     string
}

// placedNote is a note where it is drawn.
type placedNote struct {
	X, Y        percent
	DX, DY      int // CSS pixels
	Anchor      string
	Class, Word string
	Text        string
}

// stripBox is a segment where it is drawn.
type stripBox struct {
	X, W, Middle percent
	Class        string
	Word, Fits   string // Fits is "never" for a word that there is no room for
	Text         string
}

// guideSteps is how many straight pieces a guide is drawn with.
const guideSteps = 96

// drawGuides draws what of guides is within the plot.
func (f figure) drawGuides(d *drawing, x, y scale) {
	for _, g := range f.Guides {
		var b strings.Builder
		var ends [2][2]float64
		for i := range guideSteps + 1 {
			position := f.X.between(float64(i) / guideSteps)
			v := g.Y(position)
			if !(v <= f.Y.High) || v < f.Y.Low {
				continue // it leaves the plot, or has not entered it yet
			}
			if b.Len() == 0 {
				ends[0] = [2]float64{position, v}
			}
			line(&b, x.position(position), 100-y.position(v))
			ends[1] = [2]float64{position, v}
		}
		if b.Len() == 0 {
			continue
		}
		d.Across = append(d.Across, path{D: b.String(), Class: "across " + g.Class, Title: g.Text})
		if g.Word != "" {
			d.Notes = append(d.Notes, f.place(f.named(g, ends, x), x, y))
		}
	}
}

// guideRow is where the word of a guide that rises stands, in CSS pixels from the top of the plot:
// below the load line's name.
const guideRow = 30

// named puts the word of a guide where nothing else is: of one that rises, at the top beside its
// end, on the side that has room; of one that falls, behind its beginning.
func (f figure) named(g guide, ends [2][2]float64, x scale) note {
	from, to := ends[0], ends[1]
	switch {
	case g.Below:
		at := f.X.between(0.3)
		return note{Class: g.Class, X: at, Y: g.Y(at), Down: 20, Word: g.Word, Behind: true}
	case to[1] < from[1]:
		return note{Class: g.Class, X: from[0], Y: from[1], Down: 6, Word: g.Word, Behind: true}
	}
	right := x.position(to[0]) > 50
	return note{Class: g.Class, X: to[0], Top: guideRow, Word: g.Word, Before: right, Behind: !right}
}

// between is the value at a share of the way along an axis.
func (a axis) between(share float64) float64 {
	if a.Log {
		return a.Low * math.Pow(a.High/a.Low, share)
	}
	return a.Low + share*(a.High-a.Low)
}

func (f figure) drawNotes(d *drawing, x, y scale) {
	for _, n := range f.Notes {
		d.Notes = append(d.Notes, f.place(n, x, y))
	}
}

// lowest is how far down a plot a place may be that has words below it.
const lowest = 88

// place puts a note where it stays within the plot.
func (f figure) place(n note, x, y scale) placedNote {
	p := placedNote{
		X: x.position(n.X), Y: 100 - y.position(n.Y), DY: n.Down, Anchor: "middle", Class: n.Class, Word: n.Word,
		Text: n.Text,
	}
	switch {
	case n.Top > 0:
		p.Y, p.DY = 0, n.Top
	case p.Y > lowest && n.Down > 0:
		p.DY = -n.Down / 2 // below there is the axis
	}
	switch {
	case n.Before, !n.Behind && p.X > 90:
		p.Anchor, p.DX = "end", -7
	case n.Behind, p.X < 10:
		p.Anchor, p.DX = "start", 7
	}
	if !n.Before && !n.Behind {
		p.DX = 0
	}
	return p
}

// stripFits are the widths of plots from which on a word may be shown, and what report.css
// calls one that is not shown in narrower ones.
var stripFits = []struct {
	width float64
	class string
}{{200, ""}, {330, "fits-330"}, {480, "fits-480"}, {640, "fits-640"}, {900, "fits-900"}}

// drawStrip places the strip below the plot, and the words for which there is room.
func (f figure) drawStrip(d *drawing, x scale) {
	for _, s := range f.Strip {
		from, to := x.position(s.From), x.position(s.To)
		box := stripBox{X: from, W: to - from, Middle: (from + to) / 2, Class: s.Class, Word: s.Word, Text: s.Text}
		box.Fits = "never"
		for _, fit := range stripFits {
			if letterWidth*float64(utf8.RuneCountInString(s.Word))+4 <= fit.width*float64(box.W)/100 {
				box.Fits = fit.class
				break
			}
		}
		d.Strip = append(d.Strip, box)
	}
}
