// Package section has the answer to one question as data: a title, tables and figures.
// Findings make sections, each next to its facts and sentences; package report draws any
// of them, on a terminal and on a page, and knows no question.
//
// The package is pure, and decides nothing.
package section

import (
	"slices"

	"plimsoll/internal/cell"
)

// Section is what is shown of one question.
type Section struct {
	Title   string
	Note    string // a sentence or two below the title
	Stack   string // that all of it is about; "" for several, or for none by name
	Tables  []Table
	Keys    []Key
	Heat    []Heat
	Fill    []Fill
	Figures []Figure
	Remarks []Remark
	Parts   []*Section // folded on a page, and left out of terminals: what the numbers here were made of
	Late    bool       // stands behind what was found, and not before it

	// Covers are the points whose numbers it has: nothing else has a table or a figure of them.
	Covers []cell.Point
}

// Has reports whether a section has the numbers of a point.
func (s *Section) Has(p cell.Point) bool {
	return slices.Contains(s.Covers, p) || slices.ContainsFunc(s.Parts, func(part *Section) bool { return part.Has(p) })
}

// Remark is what must be said beside the numbers.
type Remark struct {
	Text string
	Warn bool // readers should not miss it
}

// Table is rows of cells. What fits no terminal is left out there, by the columns' Drop.
type Table struct {
	Caption string // "medians over bring-ups"
	Columns []Column
	Rows    []Row
	Folded  bool // behind a summary on a page, as figures show the same
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

// Column is what the cells of a column have in common.
type Column struct {
	Head  string // short: "p99"
	Means string // what its numbers are, in words, where the head does not say all: told once, below the table
	Text  bool   // its cells are words, and stand at the left
	Drop  int    // where a terminal is too narrow, columns go in this order; 0 stays
}

// Row is a row of a table: a cell for each column, or a line of words across all of them.
type Row struct {
	Cells  []Cell
	Words  string // in the place of cells
	Stack  string // that it is of; "" for none
	Warn   bool   // it has what readers should not miss
	Strong bool   // it has the answer
}

// Key explains a kind of mark of the figures.
type Key struct {
	Class Class
	Text  string
}

// Class is how a mark, or a ground behind marks, is drawn.
type Class string

// The classes that figures of several questions have.
const (
	Carries Class = "carries" // what a host carries, or keeps up with
	Missed  Class = "missed"  // what misses what was asked for
	Unsure  Class = "unsure"  // no significant difference
	Limit   Class = "limit"   // what was asked for
	Alone   Class = "alone"   // what would be, were nothing in the way
	Gone    Class = "gone"    // nothing was measured there: a cross on the axis
	Disc    Class = "disc"    // where the load line is, as on ships
	Shape   Class = "shape"   // where a line bends or falls
)
