package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

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
		{"Throughput", "20% more memory; 20% less memory; 20% less reads a second", "device device unsure"},
		{"99th percentile of latency", "20% more memory; 20% less memory; 20% less reads a second", "device device device"},
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
		if !strings.Contains(said, "20% less memory costs 41%") {
			t.Errorf("the %s does not tell what memory is worth", name)
		}
	}
}
