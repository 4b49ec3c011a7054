package overload_test

import (
	_ "embed"
	"strings"
	"testing"

	"plimsoll/internal/finding/overload"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/testkit/runtest"
)

//go:embed testdata/offered.story
var offered string

// What becomes of rates is shown over them, the highest that is kept marked.
func TestSection(t *testing.T) {
	found := overload.Find(runview.New(runtest.Tell(t, offered)))
	if len(found) != 1 || found[0].Section == nil {
		t.Fatalf("%+v", found)
	}
	s := found[0].Section
	if s.Title != "1 instance of C over the rate that is offered" || len(s.Tables) != 1 || len(s.Tables[0].Rows) != 3 || len(s.Figures) != 2 {
		t.Fatalf("%+v", s)
	}
	if !s.Has(result.Point{Stack: "disk", Mix: "C-4000-1"}) || s.Has(result.Point{Stack: "disk", Mix: "C-8000-1"}) {
		t.Errorf("it covers %v", s.Covers)
	}
	for _, f := range s.Figures {
		if len(f.Bands) != 1 || f.Bands[0].X[0] != 2000 || len(f.Series) != 2 || len(f.Xs()) != 3 {
			t.Errorf("%s: %+v", f.Title, f)
		}
		for i, series := range f.Series {
			for _, m := range series.Marks {
				if missed := m.X == 4000 && i == 0; missed != (m.Class == section.Missed) {
					t.Errorf("%s: %+v", f.Title, m)
				}
			}
		}
	}
	var row []string
	for _, c := range s.Tables[0].Rows[2].Cells {
		row = append(row, c.String())
	}
	if got := strings.Join(row, "|"); got != "4,000|3,003|2.99 to 3.01k|75%|4.00 ms|900 ms|4.00 ms|250 ms|-|no|reads/s" {
		t.Errorf("the table says %q", got)
	}
}
