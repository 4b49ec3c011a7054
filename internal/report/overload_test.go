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

//go:embed testdata/offered.story
var offered string

// What becomes of rates is drawn over them, the highest that is kept marked.
func TestFiguresOfRates(t *testing.T) {
	run := story.Tell(t, offered)
	s := figuresOf(t, run, "1 instance of C over the rate that is offered")
	if len(s.Figures) != 2 || s.Table == nil || len(s.Table.Rows) != 3 {
		t.Fatalf("it has %d figures and %+v", len(s.Figures), s.Table)
	}
	for _, f := range s.Figures {
		if len(f.Bands) != 1 || f.Bands[0].X[0] != 2000 || len(f.Marks) != 6 || len(f.X.Ticks) != 3 {
			t.Errorf("%s: %+v", f.Title, f)
		}
		for _, m := range f.Marks {
			if missed := m.X == 4000 && m.Series == 0; missed != (m.Class == classMissed) {
				t.Errorf("%s: %+v", f.Title, m)
			}
		}
	}
	if row := s.Table.Rows[2]; row[1] != "no" || row[4] != "75%" || row[8] != "250 ms" {
		t.Errorf("the table says %q", row)
	}
}

func TestTableOfRates(t *testing.T) {
	run := story.Tell(t, offered)
	for _, width := range []int{80, 120, 200} {
		var out bytes.Buffer
		if err := Terminal(&out, run, finding.All(run), TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		for _, want := range []string{"1 instance of C over the rate that is offered\n", " 4,000 ", " 250 ms ", " yes"} {
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
