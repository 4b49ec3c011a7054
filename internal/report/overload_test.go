package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/story"
)

const offered = `
host cpus=2 memory=1000 reads=1200
stack disk: loop > xfs > volume
workload C-1000 ycsb {workload: C, records: 1000, rate: 1000}
workload C-2000 ycsb {workload: C, records: 1000, rate: 2000}
workload C-4000 ycsb {workload: C, records: 1000, rate: 4000}
instances C-1000 disk x1 1000 1001 999 1000 offered=1000 p99=900000 service=800000 mean=300000 reads=0.1 cache=198 lag=70000
instances C-2000 disk x1 2000 2001 1999 2000 offered=2000 p99=1900000 service=1800000 mean=400000 reads=0.1 cache=198 lag=70000
instances C-4000 disk x1 3000 3010 2990 3005 offered=4000 done=0.75 growth=0.25 p99=900000000 service=3800000 mean=4000000 reads=0.4 cache=198 io=0.9
`

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
