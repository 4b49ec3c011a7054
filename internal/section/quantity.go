package section

import (
	"math"
	"strconv"

	"plimsoll/internal/units"
)

// Quantity is the kind of a number, which decides how it is written.
type Quantity int

// The quantities.
const (
	Words     Quantity = iota // no number
	Count                     // "12,345": of things, or of things a second
	Latency                   // ns: "1.90 ms"
	Share                     // 0 to 1: "75%"
	Times                     // a ratio: "0.81x"
	Bytes                     // "1.5 GiB"
	Bandwidth                 // bytes a second: "48.1 MB/s"
	Number                    // three digits: "0.0312"
)

// Cell is a value of a table, with what it is of. The zero Cell is of nothing.
type Cell struct {
	Of    Quantity
	Value float64
	To    float64 // the end of a range that begins at Value, where Range
	Range bool
	Text  string // of Words; of a number, what stands in its place
	Bar   *Bar   // drawn in the place of Text, which says what it shows
}

// Bar is shares of a whole, side by side.
type Bar struct{ Slices []Slice }

// Slice is a share of a bar. The key of its class and letter explains it.
type Slice struct {
	Share  float64 // of the bar
	Class  Class
	Letter string // that draws it where there is no colour
}

// Text returns a cell of words.
func Text(s string) Cell { return Cell{Text: s} }

// Cell returns a cell with a number.
func (q Quantity) Cell(v float64) Cell { return Cell{Of: q, Value: v} }

// Positive returns a cell with a number, and one of nothing for what is not above zero.
func (q Quantity) Positive(v float64) Cell {
	if !(v > 0) {
		return Cell{}
	}
	return q.Cell(v)
}

// Between returns a cell with a range; one of nothing where that has no end above zero.
func (q Quantity) Between(low, high float64) Cell {
	if !(high > 0) {
		return Cell{}
	}
	return Cell{Of: q, Value: low, To: high, Range: true}
}

// NotKnown stands for an interval that says nothing.
const NotKnown = "not known"

// None stands in the place of a value that there is not.
const None = "-"

// Blank stands in the place of a value of which a table has nothing to say, where None says another thing.
const Blank = " "

// WidestKnown is how many times its lower end the upper end of a ratio's interval may be that says
// anything.
const WidestKnown = 100

// String writes the cell as tables have it.
func (c Cell) String() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.Of == Words:
		return None
	case c.Range && c.Of == Times && !(c.To <= WidestKnown*c.Value):
		return NotKnown
	case c.Range && c.Of == Times:
		return units.Times(c.Value) + " to " + units.Times(c.To)
	case c.Range && c.Of == Count:
		return units.Range(c.Value, c.To)
	case c.Range:
		return c.Of.Format(c.Value) + " to " + c.Of.Format(c.To)
	}
	return c.Of.Format(c.Value)
}

// In writes the cell as a column in one unit has it, without the unit.
func (c Cell) In(unit Unit) string {
	switch {
	case unit == Unit{}, c.Text != "", c.Of == Words:
		return c.String()
	case c.Of == Latency && c.Value < 10*unit.Size:
		return strconv.FormatFloat(c.Value/unit.Size, 'f', 2, 64)
	}
	return units.Compact(c.Value / unit.Size)
}

// Format writes a number to the digits that a table has room for.
func (q Quantity) Format(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return units.Unknown
	}
	switch q {
	case Latency:
		return units.Latency(v)
	case Share:
		return units.Percent(v)
	case Times:
		return units.Times(v) + "x"
	case Bytes:
		return units.Bytes(uint64(max(v, 0)))
	case Bandwidth:
		return units.Bandwidth(v)
	case Number:
		return units.Significant(v)
	}
	return units.Grouped(v)
}

// Short writes a number as an axis has it: "12.3k".
func (q Quantity) Short(v float64) string {
	if q == Count {
		return units.Rate(v)
	}
	return q.Format(v)
}

// Exact writes a number to the last digit, as a mark says it that is pointed at.
func (q Quantity) Exact(v float64) string {
	if q == Latency && v > 0 {
		return units.ExactTime(v)
	}
	return q.Format(v)
}
