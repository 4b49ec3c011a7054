package tenants_test

import (
	_ "embed"
	"strings"
	"testing"

	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/testkit/runtest"
)

//go:embed testdata/neighbours.story
var neighbours string

// Who suffers from whom is two matrices, hotter where more is lost, and a table.
func TestSection(t *testing.T) {
	found := tenants.Find(runview.New(runtest.Tell(t, neighbours)))
	if len(found) != 1 || found[0].Section == nil {
		t.Fatalf("%+v", found)
	}
	s := found[0].Section
	if s.Title != "Interference" || len(s.Heat) != 2 || len(s.Tables) != 1 {
		t.Fatalf("%+v", s)
	}
	kept, longer := s.Heat[0], s.Heat[1]
	if got := strings.Join(kept.Columns, ", "); got != "RR, C, SW" {
		t.Errorf("columns are %s", got)
	}
	for _, want := range []struct {
		heat        section.Heat
		row, column int
		text        string
		level       int
	}{
		{kept, 0, 0, "99%", 0}, {kept, 0, 2, "40%", 3}, {kept, 2, 1, "90%", 1}, {kept, 1, 0, "", 0},
		{longer, 0, 0, "8.6x", 3}, {longer, 0, 2, "57x", 5},
	} {
		if c := want.heat.Rows[want.row].Cells[want.column]; c.Text != want.text || c.Level != want.level {
			t.Errorf("%s, row %d, column %d: %+v, want %q of level %d", want.heat.Caption, want.row, want.column, c, want.text,
				want.level)
		}
	}
	for i, want := range []string{
		"C|RR|1,504|1,484|0.99x|0.99 to 0.99|8.6x|8.6 to 8.6|700 µs|6.00 ms|1.00|reads/s (RR)",
		"", "C|SW|1,504|604|0.40x|0.40 to 0.40|57x|57 to 57|700 µs|40.0 ms|0.87|memory (SW)", "",
	} {
		row := s.Tables[0].Rows[i]
		var cells []string
		for _, c := range row.Cells {
			cells = append(cells, c.String())
		}
		if got := strings.Join(cells, "|"); want != "" && (got != want || !row.Warn) {
			t.Errorf("row %d says %q, and not %q", i, got, want)
		}
	}
	for _, mix := range []string{"C+SW", "C-1", "SW-1"} {
		if !s.Has(result.Point{Stack: "disk", Mix: mix}) {
			t.Errorf("it does not cover %s, but %v", mix, s.Covers)
		}
	}
}
