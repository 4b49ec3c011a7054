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

//go:embed testdata/policies-over.story
var policiesOverStory string

// Policies that were measured at several numbers of instances are drawn over these: throughput,
// disk bandwidth and p99, a line for each policy. The verdict is about what they cost where those
// without limits do most, and each curve says whose it is.
func TestPoliciesOverInstances(t *testing.T) {
	run := story.Tell(t, policiesOverStory)
	s := figuresOf(t, run, "C under policies, over the number of instances")
	var titles []string
	for _, f := range s.Figures {
		titles = append(titles, f.Title)
		if len(f.Marks) != 6 || f.Marks[1].Name != "mem" {
			t.Errorf("%s has marks %+v", f.Title, f.Marks)
		}
	}
	if got := strings.Join(titles, "; "); got != "Throughput, IOPS; Disk bandwidth; p99" || len(s.Table.Rows) != 9 {
		t.Errorf("figures %s, and %d rows", got, len(s.Table.Rows))
	}
	var out bytes.Buffer
	if err := Terminal(&out, run, finding.All(run), TerminalOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  noise floor: bring-ups of the same mix differ by 0.",
		"with 4 instances of C, policy mem costs most", "How many instances of C under mem this host carries",
		"\n  instances   none    mem\n          1  1,549  1,049\n          4  6,049  3,049\n          8  2,043  3,149\n",
		"\n  p99\n  instances     none      mem\n          1  1.17 ms  12.0 ms\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, out.String())
		}
	}
}

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
