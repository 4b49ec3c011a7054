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

//go:embed testdata/policies.story
var policies string

// What policies cost is drawn once, as ratios to none, and not as bars of each mix again.
func TestFiguresOfPolicies(t *testing.T) {
	run := story.Tell(t, policies)
	s := figuresOf(t, run, "4 instances of C under policies")
	if len(s.Figures) != 2 || s.Table == nil || len(s.Table.Rows) != 4 {
		t.Fatalf("it has %d figures and %+v", len(s.Figures), s.Table)
	}
	for _, f := range s.Figures {
		if got := strings.Join(f.Y.Names, " "); got != "cpu mem all" {
			t.Errorf("%s has rows %q", f.Title, got)
		}
	}
	if got := s.Table.Rows[2][:3]; strings.Join(got, "; ") != "mem; memory and reads/s; " {
		t.Errorf("the table says %q", got)
	}
	for _, other := range sections(run, finding.Points(run), finding.All(run)) {
		for _, f := range other.Figures {
			if f.Kind == figureBars {
				t.Errorf("%s draws bars of each policy", other.Title)
			}
		}
	}
}

func TestTableOfPolicies(t *testing.T) {
	run := story.Tell(t, policies)
	for _, width := range []int{80, 120, 200} {
		var out bytes.Buffer
		if err := Terminal(&out, run, finding.All(run), TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		for _, want := range []string{"4 instances of C under policies\n", "\n  policy ", "\n  none ", "\n  mem "} {
			if n := strings.Count(said, want); n != 1 {
				t.Errorf("in %d columns, it says %q %d times:\n%s", width, want, n, said)
			}
		}
		for line := range strings.Lines(said) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
}
