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
