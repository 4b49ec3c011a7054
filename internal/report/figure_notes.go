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
		var endX, endY float64
		for i := range guideSteps + 1 {
			at := f.X.between(float64(i) / guideSteps)
			v := g.Y(at)
			if !(v <= f.Y.High) || v < f.Y.Low {
				continue // it leaves the plot, or has not entered it yet
			}
			line(&b, x.at(at), 100-y.at(v))
			endX, endY = at, v
		}
		if b.Len() == 0 {
			continue
		}
		d.Across = append(d.Across, path{D: b.String(), Class: "across " + g.Class, Title: g.Text})
		if g.Word != "" {
			d.Notes = append(d.Notes, f.place(note{Class: "guide", X: endX, Y: endY, Down: -6, Word: g.Word, Before: true}, x, y))
		}
	}
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

// place puts a note where it stays within the plot.
func (f figure) place(n note, x, y scale) placedNote {
	p := placedNote{X: x.at(n.X), Y: 100 - y.at(n.Y), DY: n.Down, Anchor: "middle", Class: n.Class, Word: n.Word, Text: n.Text}
	if n.Top > 0 {
		p.Y, p.DY = 0, n.Top
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
		from, to := x.at(s.From), x.at(s.To)
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
