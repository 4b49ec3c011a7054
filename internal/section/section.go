// Package section has the answer to one question as data: a title, tables and figures.
// Findings make sections, each next to its facts and sentences; package report draws any
// of them, on a terminal and on a page, and knows no question.
//
// The package is pure, and decides nothing.
package section

import (
	"slices"

	"plimsoll/internal/result"
)

// Section is the answer to one question: text, tables and figures.
type Section struct {
	Title   string
	Note    string // a sentence or two below the title
	Stack   string // that all of it is about; "" for several, or for none by name
	Tables  []Table
	Keys    []Key
	Heat    []Heat
	Fill    []Fill
	Figures []Figure
	Rows    []FigureRow // below the figures
	Folded  bool        // its figures stand behind a summary on a page
	Remarks []Remark
	Parts   []*Section // folded on a page, and left out of terminals: what the numbers here were made of
	Late    bool       // stands behind what was found, and not before it

	// Covers are the points whose numbers it has: nothing else has a table or a figure of them.
	Covers []result.Point
}

// Has reports whether a section has the numbers of a point.
func (s *Section) Has(p result.Point) bool {
	return slices.Contains(s.Covers, p) || slices.ContainsFunc(s.Parts, func(part *Section) bool { return part.Has(p) })
}

// MostUnfolded is how many figures a section bears before they are folded away.
const MostUnfolded = 12

// What figures over time have in common.
const (
	TimeLabel   = "time, s" // of their axis
	MostSamples = 120       // values of a curve: longer ones are averaged over stretches of equal length, and say so
)

// Remark is a sentence that readers need beside the numbers.
type Remark struct {
	Text string
	Warn bool // readers should not miss it
}

// Table is rows of cells. What fits no terminal is left out there, by the columns' Drop.
type Table struct {
	Caption string // "medians over setups"
	Columns []Column
	Rows    []Row
	Notes   []string // below the table
	Folded  bool     // behind a summary on a page, as figures show the same
	Summary string   // the words of that; "" for "The numbers"
}

// MostPrinted is how many rows a folded table has that is printed: a longer one would fill page after page, and is for
// the screen.
const MostPrinted = 60

// Columns returns columns of words, and of numbers behind them.
func Columns(words int, heads ...string) (all []Column) {
	for i, head := range heads {
		all = append(all, Column{Head: head, Text: i < words})
	}
	return all
}

// TextRow returns a row of texts; what is empty is nothing.
func TextRow(stack string, texts []string) Row {
	r := Row{Stack: stack}
	for _, text := range texts {
		r.Cells = append(r.Cells, Text(text))
	}
	return r
}

// Known returns the table without columns in which nothing is known of any row.
func (t Table) Known() Table {
	known := t
	known.Columns, known.Rows = nil, slices.Clone(t.Rows)
	for i := range known.Rows {
		known.Rows[i].Cells = nil
	}
	for i, c := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return len(r.Cells) > 0 && r.Cells[i] != Cell{} }) {
			continue
		}
		known.Columns = append(known.Columns, c)
		for j, r := range t.Rows {
			if len(r.Cells) > 0 {
				known.Rows[j].Cells = append(known.Rows[j].Cells, r.Cells[i])
			}
		}
	}
	return known
}

// Column describes the cells of a column.
type Column struct {
	Head    string // short: "p99"
	Long    string // on a page, which has room: "ratio to xfs"; "" for Head
	Word    string // of the glossary, which a page links to in the place of Means; "" for none
	Key     string // of its values in JSON and CSV, with their unit: "p99_ns"; "" for a column that these leave out
	KeyHigh string // of the upper ends, where its values are ranges, whose lower ends have Key
	Unit    Unit   // of its numbers on a terminal; the zero value where each number has its own
	Means   string // what its numbers are, in words, where the head does not say all: printed once, below the table
	Text    bool   // its cells are words, and stand at the left
	Drop    int    // where a terminal is too narrow, columns go in this order; 0 stays
	OnPage  bool   // only a page has room for it
}

// Unit is one unit for all numbers of a column.
type Unit struct {
	Name string  // "µs"; "" where the head has it
	Size float64 // in what the numbers are stored in: 1000 for nanoseconds
}

// Row is a row of a table: a cell for each column, or a line of words across all of them.
type Row struct {
	Cells  []Cell
	Words  string // in the place of cells
	Stack  string // that it is of; "" for none
	Warn   bool   // it has what readers should not miss
	Strong bool   // it has the answer
	Tags   []Tag  // what marks it among the rows
}

// Tag marks a row: by a letter on a terminal, which explains it below the table, and in words on a page.
type Tag struct{ Letter, Text string }

// Key explains a kind of mark of the figures.
type Key struct {
	Class  Class
	Text   string
	Letter string // of slices of bars; "" where no table has bars
}

// Class is how a mark, or a ground behind marks, is drawn.
type Class string

// The classes that figures of several questions have.
const (
	Carries   Class = "carries"   // what a host carries, or keeps up with
	Missed    Class = "missed"    // what misses what was asked for
	Unsure    Class = "unsure"    // no significant difference
	Limit     Class = "limit"     // what was asked for
	Alone     Class = "alone"     // what would be, were nothing in the way
	Gone      Class = "gone"      // nothing was measured there: a cross on the axis
	Disc      Class = "disc"      // where the load line is, as on ships
	Fit       Class = "fit"       // a line through marks
	Measured  Class = "ratio"     // measured here, with its interval
	Noise     Class = "noise"     // what the noise floor covers
	Published Class = "published" // what a paper printed
	Bound     Class = "bound"     // that it printed only a limit
	Shape     Class = "shape"     // where a line bends or falls
)
