package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
)

// The figures of the report exist twice. Go draws each as a still picture,
// which is what paper shows, and readers without JavaScript. The page also
// carries what the figure is made of, as JSON; the script of package web draws
// it again from that, so that it can be read mark by mark.

// figure is one chart. What has a JSON name is for the script.
type figure struct {
	ID     string     `json:"id"`   // of its element
	Kind   figureKind `json:"kind"` // how it is drawn
	Title  string     `json:"title"`
	Note   string     `json:"note,omitempty"`
	Height int        `json:"height"` // of the area of the plot, in CSS pixels
	Bottom int        `json:"bottom"` // room below it for labels, in CSS pixels
	X      axis       `json:"x"`
	Y      axis       `json:"y"`
	Marks  []mark     `json:"marks,omitempty"`
	Xs     []float64  `json:"xs,omitempty"`     // of the curves
	Curves []curve    `json:"curves,omitempty"` // through many values, which have no text each
	Each   int        `json:"each,omitempty"`   // samples of which a value of the curves is the mean; 0 for one
	Unit   string     `json:"unit,omitempty"`   // of the values of curves: "ns", "IOPS"
	Bands  []band     `json:"bands,omitempty"`  // grounds behind the marks, and lines across them

	Wide  bool      `json:"-"`               // takes the whole width of the page
	Names []rowName `json:"-"`               // of the rows of a forest
	Notes []string  `json:"notes,omitempty"` // beside the rows of a forest
}

type figureKind string

const (
	figureBars   figureKind = "bars"   // upright, one for each name on x
	figureLines  figureKind = "lines"  // marks joined by lines, one line for each series
	figureCurves figureKind = "curves" // lines without marks
	figureForest figureKind = "forest" // ratios from left to right, one row each
	figureSeries figureKind = "series" // over time or rounds
)

// axis is a direction of a figure.
type axis struct {
	Label string      `json:"label"`
	Log   bool        `json:"log,omitempty"`
	Low   float64     `json:"low"`
	High  float64     `json:"high"`
	Names []string    `json:"names,omitempty"` // in the place of numbers: name i is at i
	Ticks []valueTick `json:"ticks,omitempty"`
}

// valueTick is a round value with its label.
type valueTick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// mark is a value that can be pointed at.
type mark struct {
	Series int     `json:"s"` // slot of the series
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	From   float64 `json:"from,omitempty"` // where a bar begins that stands on another
	Low    float64 `json:"low,omitempty"`  // its interval; Low and High are both 0 for none
	High   float64 `json:"high,omitempty"`
	Class  string  `json:"class,omitempty"` // device, memory, unknown, published, bound, unsure, slat, clat
	Text   string  `json:"text"`            // what the mark says, with every digit that means something
}

func (m mark) published() bool { return m.Class == classPublished || m.Class == classBound }

// Classes of marks beside those of rows.
const (
	classPublished = "published" // what a paper printed
	classBound     = "bound"     // that it printed only a limit
	classUnsure    = "unsure"    // no significant difference
)

// curve is the values of a series at the figure's Xs; it may end before them.
type curve struct {
	Series int     `json:"s"`
	Name   string  `json:"name"`
	Y      samples `json:"y"` // rounded to what a mark shows of it
	Faint  bool    `json:"faint,omitempty"`
}

// samples are values of which some may be none.
type samples []float64

// MarshalJSON writes null for what is not a number: JSON has no other word for it.
func (s samples) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range s {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// band is a ground behind the marks, from one x to another and one y to
// another; or, where the two are the same, a line. A fit is a line that slopes,
// from the first y where x begins to the second where x ends.
type band struct {
	Class string   `json:"class"`
	X     *[2]real `json:"x,omitempty"` // nil for all
	Y     *[2]real `json:"y,omitempty"`
	Curve int      `json:"curve,omitempty"` // that it belongs to, and is shown with
	Text  string   `json:"text,omitempty"`
}

// real is a number in as many digits as a picture needs.
type real float64

// MarshalJSON writes six significant digits.
func (r real) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(r), 'g', 6, 64), nil
}

// series is a line of the legend. A slot is a colour, a dash and a symbol.
type series struct {
	Slot int
	Name string
}

// section is figures that belong together, under one heading and one legend.
type section struct {
	ID      string
	Title   string
	Note    string
	Legend  []series
	Keys    []legendKey
	Figures []figure
	Stops   *stopTable
	Table   *numberTable
	Remarks []string // what must be said beside the numbers
	Folded  bool     // behind a summary
}

// numberTable is the numbers behind figures that no other table has.
type numberTable struct {
	Caption string
	Head    []string
	Rows    [][]string
	Words   int  // columns of text, which come first; 0 for two
	Open    bool // from the start
}

// Text tells whether a column is text.
func (t numberTable) Text(column int) bool { return column < max(t.Words, 2) }

// Symbols tells whether the section's lines have marks with symbols.
func (s section) Symbols() bool {
	return slices.ContainsFunc(s.Figures, func(f figure) bool { return f.Kind == figureLines })
}

// legendKey explains a kind of mark.
type legendKey struct {
	Class string
	Text  string
}

// sections are all figures of the report, but those of a single workload.
func sections(run *result.Run, points []finding.Point, findings []finding.Finding) []section {
	var all []section
	add := func(s section, ok bool) {
		if ok {
			all = append(all, s)
		}
	}
	add(throughput(run, points, findings))
	add(ratios(run.Experiment.Baseline, points, findings))
	add(latencyCurves(run, points))
	add(latencySplits(run, points, findings))
	add(traceBreakdowns(run, points))
	add(traceServed(run))
	add(rounds(run))
	add(trialSeries(run))
	return identified(all)
}

// identified names the elements of sections and their figures.
func identified(all []section) []section {
	for i := range all {
		s := &all[i]
		s.ID = fmt.Sprintf("figures-%d", i+1)
		for j := range s.Figures {
			s.Figures[j].ID = fmt.Sprintf("figure-%d-%d", i+1, j+1)
		}
	}
	return all
}

// figureData is the JSON of all figures, safe within a script element.
func figureData(all []section) (template.JS, error) {
	figures := []figure{}
	for _, s := range all {
		figures = append(figures, s.Figures...)
	}
	data, err := json.Marshal(figures) // escapes <, > and &
	return template.JS(data), err
}

// rounded keeps what exactText shows, so that the page carries no digit more.
func rounded(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// slotOf gives the place of a name among others, which is its colour.
func slotOf(names []string, name string) int { return max(slices.Index(names, name), 0) }

// stackNames are all stacks of a run, in its order: the slot of a stack is the
// same in all figures.
func stackNames(run *result.Run) []string {
	var names []string
	for _, s := range run.Stacks {
		names = append(names, s.Name)
	}
	for _, t := range run.Trials {
		if !slices.Contains(names, t.Stack) {
			names = append(names, t.Stack)
		}
	}
	return names
}
