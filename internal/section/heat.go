package section

import "slices"

// Heat is a matrix whose cells have the stronger a colour the worse they are.
type Heat struct {
	Caption string
	Corner  string // what columns are
	Columns []string
	Rows    []HeatRow
}

// HeatRow is a row of a matrix.
type HeatRow struct {
	Name  string
	Cells []HeatCell
}

// HeatCell is a value of a matrix; the zero value is of what was not measured.
type HeatCell struct {
	Text  string
	Title string
	Level int // of heat, 0 to MostHeat
}

// MostHeat is the level of the hottest cells.
const MostHeat = 5

// Any reports whether some cell has a value.
func (h Heat) Any() bool {
	return slices.ContainsFunc(h.Rows, func(r HeatRow) bool {
		return slices.ContainsFunc(r.Cells, func(c HeatCell) bool { return c.Text != "" })
	})
}
