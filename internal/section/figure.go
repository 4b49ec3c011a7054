package section

import "slices"

// Kind is how the series of a figure are drawn.
type Kind string

// The kinds of figures.
const (
	Lines   Kind = "lines"  // marks joined by lines: the kind of a figure that says none
	Curves  Kind = "curves" // lines through many values, without marks
	Repeats Kind = "series" // a curve over time or rounds, and its repeats behind it
	Bars    Kind = "bars"   // a bar for each series, which is its marks: from Mark.From to Mark.Y each
)

// Figure is one chart: series of marks over an axis, with grounds behind them; or ratios.
type Figure struct {
	Kind    Kind
	Title   string
	Note    string
	Stack   string // that all of it is about; "" for several
	X, Y    Axis
	Series  []Series
	Bands   []Band
	Levels  []Level
	Guides  []Guide
	Notes   []Note
	Strip   Strip
	Ratios  []Ratio   // from left to right, a row for each, in the place of all else
	Wide    bool      // takes the whole width of a page
	Small   bool      // is of one series, which its title names
	Along   []float64 // the x of each value of curves, which may end before them
	Broken  bool      // curves end where a value is NaN, and begin again after it
	Each    int       // samples of which a value of curves is the mean; 0 for one
	Unit    string    // of the values of curves: "IOPS"
	Colours []string  // names of all series of several figures, in the order of their colours; nil for the order of these
}

// FigureRow is figures of the same size that share their axes, under a heading.
type FigureRow struct {
	Title   string
	Figures []Figure
}

// Axis is a direction of a figure. Where its numbers begin and end, and which of them are named,
// follows from the marks, unless From, To and Named say so. The x axis of curves has From and To.
type Axis struct {
	Label string
	From  float64
	To    float64
	Named []float64
	Tick  func(v float64) string // writes a number, in the place of Of
	Says  func(v float64) string // what a point of a curve says of its x; nil for seconds
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
	Curve []float64 // values at the figure's Along; what is not a number is left out
	Note  string    // behind its name: "from memory"
	Faint bool      // stands behind others
	Spark string    // what a terminal says beside the series as a row of blocks; "" where it draws none
}

// Mark is a value that can be pointed at.
type Mark struct {
	X, Y      float64
	From      float64 // where the part of a bar begins
	Low, High float64 // its interval; both are 0 for none
	Class     Class
	Text      string // all that the mark says, with every digit that means something
}

// Ratio is a row of a figure of ratios: of what is held against something. X of its mark is the ratio.
type Ratio struct {
	Mark
	Name, Against, Of string // "20% more memory", "C-5", "p99"
	Written           string // the ratio and its interval: "1.02x (1.01 to 1.03)"
	Published         []Mark
	Verdict           string  // on what was published; "" for none
	Floor             float64 // the ratio above 1 by which copies of the baseline differ; 0 when it is not known
}

// Band is a ground behind the marks from one x to another, and from one y to another where it has these; or a
// line where the two are the same. One that has only y is of all x. A Fit is a line from the first y to the second.
type Band struct {
	Class  Class
	X      [2]float64
	Y      *[2]float64
	Series int    // that it belongs to
	Word   string // at the top of a line; "" for none
	Text   string
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

// Part is a strip's text at one x.
type Part struct {
	X     float64
	Class Class
	Word  string
	Text  string
}

// Values calls f with what the series of a figure reach to on y, intervals included.
func (f Figure) Values(use func(y float64)) {
	for _, s := range f.Series {
		for _, y := range s.Curve {
			use(y)
		}
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
