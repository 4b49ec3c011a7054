package section_test

import (
	"math"
	"slices"
	"testing"

	"plimsoll/internal/section"
)

func TestCell(t *testing.T) {
	for _, c := range []struct {
		cell section.Cell
		want string
	}{
		{section.Cell{}, "-"},
		{section.Text("reads/s"), "reads/s"},
		{section.Count.Cell(12345.4), "12,345"},
		{section.Count.Cell(0), "0"},
		{section.Count.Cell(math.NaN()), "unknown"},
		{section.Latency.Cell(1.9e6), "1.90 ms"},
		{section.Latency.Positive(0), "-"},
		{section.Latency.Positive(math.NaN()), "-"},
		{section.Share.Cell(0.75), "75%"},
		{section.Times.Cell(0.81), "0.81x"},
		{section.Bytes.Cell(1.5 * (1 << 30)), "1.5 GiB"},
		{section.Bytes.Cell(-1), "0 B"},
		{section.Number.Cell(0.03125), "0.0312"},
		{section.Count.Between(11800, 13178), "11.8 to 13.2k"},
		{section.Count.Between(0, 0), "-"},
		{section.Latency.Between(8e5, 1.9e6), "800 µs to 1.90 ms"},
		{section.Times.Between(0.07, 2.6), "0.07 to 2.6"},
		{section.Times.Between(0.07, 70.1), "not known"},
	} {
		if got := c.cell.String(); got != c.want {
			t.Errorf("%+v is written %q, want %q", c.cell, got, c.want)
		}
	}
	if got := section.Count.Short(12345); got != "12.3k" {
		t.Errorf("on an axis, 12,345 is %q", got)
	}
	if got := section.Latency.Exact(1_900_000); got != "1.90 ms (1,900,000 ns)" {
		t.Errorf("pointed at, it says %q", got)
	}
}

func TestFigure(t *testing.T) {
	f := section.Figure{Series: []section.Series{
		{Marks: []section.Mark{{X: 2, Y: 10, Low: 8, High: 12}, {X: 1, Y: 5}}}, {Marks: []section.Mark{{X: 2, Y: 7}}}}}
	if got := f.Xs(); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("its values on x are %v", got)
	}
	var ys []float64
	f.Values(func(y float64) { ys = append(ys, y) })
	if !slices.Equal(ys, []float64{10, 8, 12, 5, 7}) {
		t.Errorf("its values on y are %v", ys)
	}
}

func TestHeat(t *testing.T) {
	h := section.Heat{Rows: []section.HeatRow{{Cells: make([]section.HeatCell, 2)}}}
	if h.Any() {
		t.Error("nothing was measured")
	}
	h.Rows[0].Cells[1].Text = "~"
	if !h.Any() {
		t.Error("something was measured")
	}
}

// Columns of which nothing is known of any row are left out, with their cells.
func TestKnown(t *testing.T) {
	table := section.Table{
		Columns: []section.Column{{Head: "a"}, {Head: "b"}, {Head: "c"}},
		Rows: []section.Row{{Cells: []section.Cell{section.Text("x"), {}, {}}}, {Words: "no cells"},
			{Cells: []section.Cell{{}, {}, section.Count.Cell(0)}, Strong: true}},
	}
	known := table.Known()
	if len(known.Columns) != 2 || known.Columns[1].Head != "c" || len(known.Rows) != 3 || len(table.Columns) != 3 {
		t.Fatalf("%+v", known)
	}
	if r := known.Rows; r[0].Cells[0].Text != "x" || r[1].Words != "no cells" || r[1].Cells != nil || !r[2].Strong ||
		r[2].Cells[1] != section.Count.Cell(0) || len(table.Rows[0].Cells) != 3 {
		t.Errorf("%+v", r)
	}
}
