package report

import (
	"bytes"
	_ "embed"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/story"
)

//go:embed testdata/neighbours.story
var neighbours string

// Who suffers from whom is a matrix, darker where more is lost, with the numbers behind it; the mixes
// have no bars of their own.
func TestMatrixOfTenants(t *testing.T) {
	run := story.Tell(t, neighbours)
	s := figuresOf(t, run, "Who suffers from whom, on disk")
	if len(s.Heat) != 2 || s.Table == nil || len(s.Table.Rows) != 4 {
		t.Fatalf("it has %d matrices and %+v", len(s.Heat), s.Table)
	}
	kept, longer := s.Heat[0], s.Heat[1]
	if got := strings.Join(kept.Columns, ", "); got != "RR, C, SW" {
		t.Errorf("columns are %s", got)
	}
	for _, want := range []struct {
		of          heatMap
		row, column int
		text        string
		level       int
	}{
		{kept, 0, 0, "99%", 0}, {kept, 0, 2, "40%", 3}, {kept, 2, 1, "90%", 1}, {kept, 1, 0, "", 0},
		{longer, 0, 0, "8.6x", 3}, {longer, 0, 2, "57x", 5},
	} {
		if c := want.of.Rows[want.row].Cells[want.column]; c.Text != want.text || c.Level != want.level {
			t.Errorf("%s, row %d, column %d: %+v, want %q of level %d", want.of.Caption, want.row, want.column, c, want.text,
				want.level)
		}
	}
	if blame := s.Table.Rows[2][2]; blame != "memory (SW)" {
		t.Errorf("C is slower beside SW for want of %q", blame)
	}
	for _, other := range sections(run, finding.Points(run), finding.All(run)) {
		for _, f := range other.Figures {
			if f.Kind == figureBars {
				t.Errorf("%s draws bars of each mix", other.Title)
			}
		}
	}
}

func TestTableOfTenants(t *testing.T) {
	run := story.Tell(t, neighbours)
	for _, width := range []int{80, 120, 200} {
		var out bytes.Buffer
		if err := Terminal(&out, run, finding.All(run), TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		for _, want := range []string{"Who suffers from whom, on disk\n", "memory (SW)", "57x"} {
			if !strings.Contains(said, want) {
				t.Errorf("in %d columns, it does not say %q:\n%s", width, want, said)
			}
		}
		for line := range strings.Lines(said) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
}
