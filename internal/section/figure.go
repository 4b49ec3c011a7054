package section

import "slices"

// Figure is one chart: series of marks over an axis, with grounds behind them.
type Figure struct {
	Title  string
	Note   string
	X, Y   Axis
	Series []Series
	Bands  []Band
	Wide   bool // takes the whole width of a page
}

// Axis is a direction of a figure. Where its numbers begin and end, and which of them are named,
// follows from the marks.
type Axis struct {
	Label string
	Of    Quantity
	Log   bool
	Each  bool // each value that marks have is named, and no other: of an axis that was chosen
}

// Series is marks that are joined by a line.
type Series struct {
	Name  string
	Marks []Mark
}

// Mark is a value that can be pointed at.
type Mark struct {
	X, Y      float64
	Low, High float64 // its interval; both are 0 for none
	Class     Class
	Text      string // all that the mark says, with every digit that means something
}

// Band is a ground behind the marks from one x to another, or a line where these are the same.
type Band struct {
	Class Class
	X     [2]float64
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
