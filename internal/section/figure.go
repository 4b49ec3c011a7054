package section

import "slices"

// Figure is one chart: series of marks over an axis, with grounds behind them; or ratios.
type Figure struct {
	Title  string
	Note   string
	X, Y   Axis
	Series []Series
	Bands  []Band
	Levels []Level
	Guides []Guide
	Notes  []Note
	Strip  Strip
	Ratios []Ratio // from left to right, a row for each, in the place of all else
	Wide   bool    // takes the whole width of a page
}

// Axis is a direction of a figure. Where its numbers begin and end, and which of them are named,
// follows from the marks.
type Axis struct {
	Label string
	Of    Quantity
	Log   bool
	// Shared names axes of several figures that can be compared: on x all have the numbers of each, and
	// on y the same end where values are near. "" for an axis of its own.
	Shared string
	Each   bool // each value that marks have is named, and no other: of an axis that was chosen
}

// Series is marks that are joined by a line.
type Series struct {
	Name  string
	Marks []Mark
	Spark string // what a terminal says beside the series as a row of blocks; "" where it draws none
}

// Mark is a value that can be pointed at.
type Mark struct {
	X, Y      float64
	Low, High float64 // its interval; both are 0 for none
	Class     Class
	Text      string // all that the mark says, with every digit that means something
}

// Ratio is a row of a figure of ratios: of what is held against something. X of its mark is the ratio.
type Ratio struct {
	Mark
	Name, Against, Of string // "20% more memory", "C-5", "p99"
	Written           string // the ratio and its interval: "1.02x (1.01 to 1.03)"
}

// Band is a ground behind the marks from one x to another, or a line where these are the same.
type Band struct {
	Class Class
	X     [2]float64
	Word  string // at the top of a line; "" for none
	Text  string
}

// Level is a line across a figure at a value. Where the values axis is not logarithmic, one far
// above all marks is left out, as it would make them flat.
type Level struct {
	Class Class
	Y     float64
	Word  string // above its end
	Text  string
}

// Guide is a line that shows what would be: what no mark joins.
type Guide struct {
	Class Class
	Y     func(x float64) float64
	Word  string // beside its end
	Text  string
	Below bool // the word stands below the line, not at its end
}

// Note is words beside a place of a figure.
type Note struct {
	X, Y  float64
	Class Class
	Word  string
	Text  string // all that it says; "" for nothing more
	Top   bool   // it stands at the top, of no place
}

// Strip is below a figure, and says of each x what it is like: from halfway to the one before to
// halfway to the next. Neighbours of one class are one.
type Strip struct {
	Label string
	Parts []Part
}

// Part is what a strip says of one x.
type Part struct {
	X     float64
	Class Class
	Word  string
	Text  string
}

// Values calls f with what the marks of a figure reach to on y, intervals included.
func (f Figure) Values(use func(y float64)) {
	for _, s := range f.Series {
		for _, m := range s.Marks {
			use(m.Y)
			if m.High > 0 {
				use(m.Low)
				use(m.High)
			}
		}
	}
}

// Xs returns the values on x, ascending, each once.
func (f Figure) Xs() []float64 {
	var xs []float64
	for _, s := range f.Series {
		for _, m := range s.Marks {
			xs = append(xs, m.X)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}
