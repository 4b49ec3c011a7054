package elasticity_test

import (
	_ "embed"
	"strings"
	"testing"

	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/testkit/runtest"
)

//go:embed testdata/limits.story
var limits string

// What limits are worth is a table and ratios, in which significance is told as everywhere.
func TestSection(t *testing.T) {
	found := elasticity.Find(runview.New(runtest.Tell(t, limits)))
	if len(found) != 1 || found[0].Section == nil {
		t.Fatalf("%+v", found)
	}
	s := found[0].Section
	if s.Title != "What a limit is worth, with 5 instances of C" || len(s.Tables) != 1 || len(s.Figures) != 2 {
		t.Fatalf("%+v", s)
	}
	for i, want := range []string{
		"20% more memory|1.02x|1.02 to 1.02|0.53x|0.53 to 0.53|1.34 (1.33 to 1.36)",
		"20% less memory|0.59x|0.59 to 0.59|18x|18 to 18|1.34 (1.33 to 1.36)",
		"20% fewer reads a second|~|1.00 to 1.00|1.13x|1.13 to 1.13|0.00 (-0.01 to 0.02)",
	} {
		var row []string
		for _, c := range s.Tables[0].Rows[i].Cells {
			row = append(row, c.String())
		}
		if got := strings.Join(row, "|"); got != want {
			t.Errorf("row %d says %q, and not %q", i, got, want)
		}
	}
	for i, want := range []string{"Throughput: 20% more memory; 20% less memory; 20% fewer reads a second (unsure)",
		"99th percentile of latency: 20% more memory; 20% less memory; 20% fewer reads a second"} {
		var rows []string
		for _, r := range s.Figures[i].Ratios {
			row := r.Name
			if r.Class == section.Unsure {
				row += " (unsure)"
			}
			rows = append(rows, row)
			if !(0 < r.Low && r.Low <= r.X && r.X <= r.High) || r.Against != "C-5" || !strings.Contains(r.Text, r.Name) {
				t.Errorf("%+v", r)
			}
		}
		if got := s.Figures[i].Title + ": " + strings.Join(rows, "; "); got != want {
			t.Errorf("it draws %q", got)
		}
	}
	if !s.Has(result.Point{Stack: "disk", Mix: "C-5.memory-x1.2"}) || s.Has(result.Point{Stack: "disk", Mix: "C-5"}) {
		t.Errorf("it covers %v", s.Covers)
	}
}

// What a model predicts is a table and a figure of its own, of the limits that would carry more.
func TestSectionPredicts(t *testing.T) {
	s := predicted()[0].Section
	if len(s.Tables) != 2 || len(s.Tables[1].Rows) < 2 || s.Tables[1].Rows[0].Cells[1].String() != "5" {
		t.Fatalf("%+v", s.Tables)
	}
	f := s.Figures[len(s.Figures)-1]
	var names []string
	for _, line := range f.Series {
		names = append(names, line.Name)
	}
	if got := strings.Join(names, ", "); got != "measured, as it is, twice the memory" || !f.Wide {
		t.Errorf("it draws %s", got)
	}
}
