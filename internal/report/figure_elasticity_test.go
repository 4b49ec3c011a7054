package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/export"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/story"
)

const limitsVaried = `
host cpus=1.5 memory=1000 reads=1500
stack disk: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
instances C disk x4 6019 6050 6052 6048 reads=0.001 cache=198 mean=330000 p99=1170000
instances C disk x5 7313 7364 7350 7342 reads=0.04 cache=180 mean=400000 p99=2210000
instances C disk x6 5481 5510 5460 5500 reads=0.26 cache=150 io=0.9 mean=2000000 p99=35300000
varied memory*1.2 C disk x5 7470 7490 7500 7480 mean=330000 p99=1170000
varied memory*0.8 C disk x5 4313 4364 4350 4342 mean=3000000 p99=40000000
varied read-iops*0.8 C disk x5 7300 7350 7360 7330 mean=420000 p99=2500000
`

func TestFiguresOfLimits(t *testing.T) {
	run := story.Tell(t, limitsVaried)
	s := figuresOf(t, run, "What a limit is worth, with 5 instances of C")
	if len(s.Figures) != 2 {
		t.Fatalf("it has %d figures", len(s.Figures))
	}
	for i, want := range []struct {
		title string
		rows  string
		class string
	}{
		{"Throughput", "20% more memory; 20% less memory; 20% fewer reads a second", "device device unsure"},
		{"99th percentile of latency", "20% more memory; 20% less memory; 20% fewer reads a second", "device device device"},
	} {
		f := s.Figures[i]
		var rows, classes []string
		for j, m := range f.Marks {
			rows, classes = append(rows, f.Names[j].Subject), append(classes, m.Class)
			if !(f.X.Low <= m.Low && m.Low <= m.X && m.X <= m.High && m.High <= f.X.High) {
				t.Errorf("%s: %+v is not within %g to %g", f.Title, m, f.X.Low, f.X.High)
			}
		}
		if f.Title != want.title || strings.Join(rows, "; ") != want.rows || strings.Join(classes, " ") != want.class {
			t.Errorf("%s has %q of %q", f.Title, rows, classes)
		}
	}
}

// A terminal has one table of what limits are worth, in which significance is told as everywhere.
func TestTableOfLimits(t *testing.T) {
	run := story.Tell(t, limitsVaried)
	for width, want := range map[int]string{
		120: `
What a limit is worth, with 5 instances of C
  limit                     throughput      interval    p99  interval of p99                per 1%
  20% more memory                1.02x  1.02 to 1.02  0.53x     0.53 to 0.53   1.34 (1.33 to 1.36)
  20% less memory                0.59x  0.59 to 0.59    18x         18 to 18
  20% fewer reads a second           ~  1.00 to 1.00  1.13x     1.13 to 1.13  0.00 (-0.01 to 0.02)
`,
		60: `
What a limit is worth, with 5 instances of C
  limit                     throughput    p99
  20% more memory                1.02x  0.53x
  20% less memory                0.59x    18x
  20% fewer reads a second           ~  1.13x
`,
	} {
		var text bytes.Buffer
		if err := Terminal(&text, run, finding.All(run), TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("at %d columns, it has no such table:%s\nbut\n%s", width, want, text.String())
		}
		left := "left out to fit the terminal: interval of p99, interval, per 1%"
		if strings.Contains(oneLine(text.String()), left) != (width == 60) {
			t.Errorf("at %d columns, it does not say rightly what was left out", width)
		}
	}
}

// Mixes that a run added to vary a limit are told of once, and have no sections of their own.
func TestVariedMixesHaveNoSections(t *testing.T) {
	run := story.Tell(t, limitsVaried)
	var page, text bytes.Buffer
	if err := HTML(&page, run, finding.All(run), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Terminal(&text, run, finding.All(run), TerminalOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]string{"page": page.String(), "terminal": text.String()} {
		if regexp.MustCompile(`(<h[1-6][^>]*>|\n)C-5\.memory`).MatchString(said) {
			t.Errorf("the %s has a section of a mix that the run added", name)
		}
		if !strings.Contains(oneLine(said), "20% less memory costs 41%") {
			t.Errorf("the %s does not tell what memory is worth", name)
		}
	}
}

// No finding speaks of such a mix but the one on what limits are worth; its trials are exported as all are.
func TestVariedMixesAreOneFinding(t *testing.T) {
	run := story.Tell(t, limitsVaried)
	of := 0
	for _, f := range finding.All(run) {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		speaks := strings.Contains(string(text), "C-5.memory")
		if speaks != (f.Rule == "elasticity") {
			t.Errorf("%s speaks of mixes that the run added: %v", f.ID, speaks)
		}
		if speaks {
			of++
		}
	}
	if of != 1 {
		t.Errorf("%d findings speak of them", of)
	}
	rows := map[string]int{}
	for _, r := range export.Rows(run) {
		rows[r.Mix]++
	}
	for _, mix := range []string{"C-5", "C-5.memory-x1.2", "C-5.memory-x0.8", "C-5.read-iops-x0.8"} {
		if rows[mix] != 5*4 { // a row for each instance of a trial
			t.Errorf("%d rows of %s are exported", rows[mix], mix)
		}
	}
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
