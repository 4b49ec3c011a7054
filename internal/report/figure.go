package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/latency"
	"plimsoll/internal/finding/ratios"
	"plimsoll/internal/finding/timeseries"
	"plimsoll/internal/finding/traced"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
)

// Go draws every figure of the report as SVG: what a reader without scripts
// sees, what paper shows, and what the script of package web reads aloud and
// highlights.

// figure is one chart.
type figure struct {
	ID         string // of its element
	Kind       answer.Kind
	Title      string
	Note       string
	Stack      string // that all of it is about; "" for several
	Height     int    // of the area of the plot, in CSS pixels
	Bottom     int    // room below it for labels, in CSS pixels
	X          axis
	Y          axis
	Marks      []mark
	Xs         []float64 // of the curves
	Curves     []curve   // through many values
	Broken     bool      // curves end where a value is NaN, and begin again after it
	Each       int       // samples of which a value of the curves is the mean; 0 for one
	Unit       string    // of the values of curves: "ns", "IOPS"
	Bands      []band    // grounds behind the marks, and lines across them
	Guides     []guide   // lines of what would be
	Notes      []note    // words in the plot
	Strip      []segment // below the plot, on the same axis
	StripLabel string    // at its left
	Roles      roles     // of its series or bars

	Nameless bool      // its lines have no names at their ends
	Wide     bool      // takes the whole width of the page
	Names    []rowName // of the rows of a forest
	BarNames []string  // of the bars, in full
}

// Kinds of figures that only the page has.
const (
	figureBars   answer.Kind = "bars"   // upright, one for each name on x
	figureForest answer.Kind = "forest" // ratios from left to right, one row each
)

// axis is a direction of a figure.
type axis struct {
	Label string               // what it measures, with the unit where the ticks have none
	Says  func(float64) string // what a point of a curve says of it; nil for seconds
	Log   bool
	Low   float64
	High  float64
	Names []string // in the place of numbers: name i is at i
	Ticks []valueTick
}

// valueTick is a round value with its label.
type valueTick struct {
	At    float64
	Label string
}

// mark is a value that can be pointed at.
type mark struct {
	Series int    // slot of the series, or its place among bars and rows
	Name   string // of the series or bar: what is highlighted together
	X      float64
	Y      float64
	From   float64 // where a bar begins that stands on another
	Low    float64 // its interval; Low and High are both 0 for none
	High   float64
	Class  string // device, memory, unknown, published, bound, unsure, slat, clat
	Text   string // what the mark says, with every digit that means something
}

func (m mark) published() bool { return m.Class == classPublished || m.Class == classBound }

// Classes of marks beside those of rows.
const (
	classPublished = string(answer.Published)
	classBound     = string(answer.Bound)
	classGone      = string(answer.Gone)
	classDisc      = string(answer.Disc)
	classMissed    = string(answer.Missed)
)

// curve is the values of a series at the figure's Xs; it may end before them.
type curve struct {
	Series int
	Name   string    // of the series: what is highlighted together
	Note   string    // "from memory"
	Y      []float64 // what is not a number is left out
	Faint  bool
}

// band is a ground behind the marks, from one x to another and one y to
// another; or, where the two are the same, a line. A fit is a line that slopes,
// from the first y where x begins to the second where x ends.
type band struct {
	Class string
	X     *[2]float64 // nil for all
	Y     *[2]float64
	Curve int // that it belongs to, and is shown with
	Text  string
}

// figureRow is figures of the same size that share their axes, under a heading.
type figureRow struct {
	Title   string
	Figures []figure
}

// rowName names the two things that a row of a figure of ratios compares.
type rowName struct {
	Subject, Baseline, Workload string
	Text                        string // "3.42x (2.31 to 6.02), published 5x"
	Floor                       float64
	Verdict                     string
}

// section is figures that belong together, under one heading and one key.
type section struct {
	ID      string
	Title   string
	Note    string
	Keys    []legendKey
	Figures []figure
	Rows    []figureRow // below them, sharing their time
	Heat    []answer.Heat
	Fill    []answer.Fill
	Tables  []answer.Table
	Roles   roles     // of the stacks that rows of tables are of
	Remarks []string  // what must be said beside the numbers
	Folded  bool      // behind a summary
	Parts   []section // figures that are folded by what they are of
}

// Narrow reports whether the section's figures are so narrow that four stand
// beside each other: a few bars each.
func (s section) Narrow() bool {
	return !slices.ContainsFunc(s.Figures, func(f figure) bool {
		return f.Kind != figureBars || f.LeastWidth() > mostNarrowWidth
	})
}

// Pairs reports whether the section's figures stand two by two: of four, the
// last would be alone in its row.
func (s section) Pairs() bool {
	n := 0
	for _, f := range s.Figures {
		if !f.Wide {
			n++
		}
	}
	return n == 2 || n == 4
}

// mostNarrowWidth is the least width of a narrow figure, in CSS pixels.
const mostNarrowWidth = 210

// legendKey explains a kind of mark.
type legendKey struct {
	Class string
	Text  string
}

// sections are all figures of the report, but those of a single workload. They
// leave the control out: it is a copy of the baseline, and no stack to choose.
func sections(run *result.Run, points []fact.Point, findings []fact.Finding) []section {
	run = placed(run)
	stackRoles := rolesOf(run, findings)
	var drawn []section
	add := func(s section, ok bool) {
		if ok {
			drawn = append(drawn, s)
		}
	}
	draw := func(s *answer.Section) {
		if s != nil {
			drawn = append(drawn, sectionOf(s, axes{}))
		}
	}
	add(throughput(run, unscaled(points, findings), findings))
	draw(ratios.Section(run.Experiment.Baseline, points, findings))
	draw(latency.Percentiles(run, unscaled(points, findings)))
	add(latencySplits(run, points, findings))
	draw(traced.Section(run, points))
	draw(timeseries.Rounds(run))
	draw(timeseries.Rates(run))
	for i := range drawn {
		drawn[i].assign(stackRoles)
	}
	// What instances do together has no stacks that a verdict chooses from.
	return identified(slices.Concat(pageSections(run, answers(findings)), drawn))
}

// unscaled are the points that no other section has.
func unscaled(points []fact.Point, findings []fact.Finding) []fact.Point {
	return slices.DeleteFunc(slices.Clone(points), func(p fact.Point) bool {
		return covered(findings, p.Stack, p.Workload)
	})
}

// identified names the elements of sections and their figures.
func identified(sections []section) []section {
	for i := range sections {
		s := &sections[i]
		s.ID = fmt.Sprintf("figures-%d", i+1)
		for j := range s.Figures {
			s.Figures[j].ID = fmt.Sprintf("figure-%d-%d", i+1, j+1)
		}
		for j, part := range s.Parts {
			for k := range part.Figures {
				part.Figures[k].ID = cmp.Or(part.Figures[k].ID, fmt.Sprintf("figure-%d-%d-%d", i+1, j+1, k+1))
			}
		}
	}
	return sections
}

// rounded keeps what exactText shows, so that the page carries no digit more.
func rounded(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// slotOf gives the place of a name among others, which is its colour.
func slotOf(names []string, name string) int { return max(slices.Index(names, name), 0) }
