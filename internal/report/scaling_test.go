package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

func carried(t *testing.T, run *result.Run) []section {
	t.Helper()
	shown, points := presented(run, finding.Points(run))
	var own []section
	for _, s := range sections(shown, points, finding.All(run)) {
		if strings.HasPrefix(s.Title, "How many instances this host carries") {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		t.Fatalf("%s is not drawn", run.ID)
	}
	return own
}

func words(f figure) (all []string) {
	for _, n := range f.Notes {
		all = append(all, n.Word)
	}
	return all
}

func binds(f figure) string {
	var all []string
	for _, s := range f.Strip {
		all = append(all, s.Word)
	}
	return strings.Join(all, ", ")
}

// TestLoadLineFigure: what is drawn of each run, by what is special about it.
func TestLoadLineFigure(t *testing.T) {
	runs := crowdedRuns(t)
	for name, want := range map[string]struct{ words, binds, titles string }{
		"valley": {"load line: 5, knee, valley 0.35x", "nothing, memory",
			"Throughput of C on disk, Latency, Device reads, Page cache"},
		"objective": {"load line: 4, knee, valley 0.35x", "nothing, memory",
			"Throughput of C on disk, Latency, Device reads, Page cache"},
		"unmet": {"load line: none, knee, valley 0.35x", "nothing, memory",
			"Throughput of C on disk, Latency, Device reads, Page cache"},
		"many":         {"load line: 128, knee", "nothing, reads/s", "Throughput of direct on disk, Latency, Device reads"},
		"two counts":   {"load line: 2", "nothing", "Throughput of C on disk, Page cache"},
		"three counts": {"load line: 16", "nothing", "Throughput of C on disk"},
		"undecided":    {"load line: 4 (4 to 8), knee", "nothing, device, processors", "Throughput of direct on disk"},
		"failed": {"load line: 5, knee, valley 0.84x", "nothing, memory",
			"Throughput of C on disk, Latency, Device reads, Page cache"},
		"stacks of its own": {"load line: 5, knee, valley 0.35x", "nothing, memory",
			"Throughput of C, Latency, Device reads, Page cache"},
	} {
		s := carried(t, runs[name])[0]
		var titles []string
		for _, f := range s.Figures {
			titles = append(titles, f.Title)
		}
		f := s.Figures[0]
		if got := strings.Join(words(f), ", "); got != want.words {
			t.Errorf("%s: in the figure stands %q, want %q", name, got, want.words)
		}
		if got := binds(f); got != want.binds {
			t.Errorf("%s: %q binds, want %q", name, got, want.binds)
		}
		if got := strings.Join(titles, ", "); got != want.titles {
			t.Errorf("%s: figures are %q, want %q", name, got, want.titles)
		}
		if len(s.Table.Rows) != len(runs[name].Mixes) {
			t.Errorf("%s: %d rows of %d numbers of instances", name, len(s.Table.Rows), len(runs[name].Mixes))
		}
	}
}

// TestLoadLineComesFirst: right under the verdict, and nothing else shows its mixes' rates or
// percentiles again.
func TestLoadLineComesFirst(t *testing.T) {
	for name, run := range crowdedRuns(t) {
		shown, points := presented(run, finding.Points(run))
		all := sections(shown, points, finding.All(run))
		if name == "varied" && !strings.HasPrefix(all[1].Title, "What") {
			t.Errorf("behind the load line comes %s", all[1].Title)
		}
		for i, s := range all {
			if i == 0 && !strings.HasPrefix(s.Title, "How many instances") {
				t.Errorf("%s: the first section is %s", name, s.Title)
			}
			if s.Title == "Throughput" || s.Title == "Latency percentiles" {
				t.Errorf("%s: %s is drawn again", name, s.Title)
			}
		}
	}
	run := mixedRun() // four and ten instances, and a mix of two tenants: that is drawn as ever
	run.Trials = slices.DeleteFunc(run.Trials, func(one result.Trial) bool { return one.Status != result.TrialDone })
	shown, points := presented(run, finding.Points(run))
	throughput := figureTitles(sections(shown, points, finding.All(run)), "Throughput")
	if len(throughput) != 1 || throughput[0] != "both" {
		t.Errorf("bars are drawn of %q", throughput)
	}
}

func figureTitles(all []section, of string) (titles []string) {
	for _, s := range all {
		if s.Title != of {
			continue
		}
		for _, f := range s.Figures {
			titles = append(titles, f.Title)
		}
	}
	return titles
}

// TestLoadLineMarks: marks say what findings hold, with what a number misses of the objective.
func TestLoadLineMarks(t *testing.T) {
	run := crowdedRuns(t)["objective"]
	curve := fact.Scalings(finding.All(run))[0]
	f := carried(t, run)[0].Figures[0]
	for i, p := range curve.Points {
		m := f.Marks[i]
		want := fmt.Sprintf("%s: median %s/s, interval %s to %s, 5 bring-ups", counted(p.Instances, "instance"),
			units.Exact(p.Rate), units.Exact(p.RateLow), units.Exact(p.RateHigh))
		if m.X != float64(p.Instances) || m.Y != p.Rate || m.Low != p.RateLow || !strings.HasPrefix(m.Text, want) {
			t.Errorf("the mark of %d is %+v, want %s", p.Instances, m, want)
		}
		missed := m.Class == classMissed
		if missed != (p.Instances > 4) || missed != strings.Contains(m.Text, "misses the objective") {
			t.Errorf("%d instances: %q, class %q", p.Instances, m.Text, m.Class)
		}
	}
	if last := f.Marks[6].Text; !strings.Contains(last, "p99 is 91.8 ms, each does 319/s") {
		t.Errorf("8 instances miss %q", last)
	}
	least := f.Guides[1].Y(4)
	if math.Abs(least-0.9*4*curve.Points[0].Rate) > 1e-6 {
		t.Errorf("four instances are to do %g", least)
	}
	latency := carried(t, run)[0].Figures[1]
	if y := latency.Bands[0].Y; latency.Bands[0].Class != classLimit || y[0] != 2e6 {
		t.Errorf("the limit of p99 is drawn at %v", y)
	}
}

// TestMissingNumbers: a number of which no trial was completed has its mark, a row, and no part
// in what binds.
func TestMissingNumbers(t *testing.T) {
	s := carried(t, crowdedRuns(t)["failed"])[0]
	f := s.Figures[0]
	gone := slices.IndexFunc(f.Marks, func(m mark) bool { return m.Class == classGone })
	if gone < 0 || f.Marks[gone].X != 8 || f.Marks[gone].Text != "8 instances: no trial was completed" {
		t.Fatalf("marks: %+v", f.Marks)
	}
	if end := f.Strip[len(f.Strip)-1].To; end != 7 {
		t.Errorf("what binds with 6 instances is drawn up to %g", end)
	}
	if row := s.Table.Rows[6]; row[0] != "8" || row[1] != "no trial was completed" {
		t.Errorf("the row of 8 is %q", row)
	}
	if d := f.Draw(); !slices.ContainsFunc(d.Dots, func(o dot) bool { return o.Class == classGone && o.Y == 100 }) {
		t.Error("no cross is drawn")
	}
}

// TestFamiliesAreComparable: the curves of a run share the numbers of instances, and the scale
// where they are near.
func TestFamiliesAreComparable(t *testing.T) {
	all := carried(t, crowdedRuns(t)["families"])
	if len(all) != 2 || all[1].Title != "How many instances this host carries: direct on disk" {
		t.Fatalf("%d sections", len(all))
	}
	a, b := all[0].Figures[0], all[1].Figures[0]
	if a.X.Low != b.X.Low || a.X.High != b.X.High || a.Y.High != b.Y.High {
		t.Errorf("axes %v, %v and %v, %v", a.X, a.Y.High, b.X, b.Y.High)
	}
}

// TestAxisOverInstances: equal distances as long as numbers are near, else equal factors; and
// the stretches of the strip meet without a gap and stay on the axis.
func TestAxisOverInstances(t *testing.T) {
	for name, logarithmic := range map[string]bool{"valley": false, "three counts": false, "many": true} {
		f := carried(t, crowdedRuns(t)[name])[0].Figures[0]
		if f.X.Log != logarithmic {
			t.Errorf("%s: logarithmic %t", name, f.X.Log)
		}
		end := f.Strip[0].From
		for _, s := range f.Strip {
			if s.From != end || s.To <= s.From || s.From < f.X.Low || s.To > f.X.High {
				t.Errorf("%s: %s from %g to %g, behind %g", name, s.Word, s.From, s.To, end)
			}
			end = s.To
		}
	}
}

// TestPageCacheHasItsReferences: the files of an instance, and its share of the miniature.
func TestPageCacheHasItsReferences(t *testing.T) {
	run := crowdedRuns(t)["valley"]
	for i := range run.Trials {
		n := int64(len(run.Trials[i].Instances))
		run.Trials[i].Preconditioning = &result.Preconditioning{
			Kind: result.PreconditionedFile, Passes: 2, Bytes: 2 * n * (205 << 20),
		}
	}
	figures := carried(t, run)[0].Figures
	f := figures[3]
	if b := f.Bands[0]; b.Y[0] != 205 || b.Text != "files of each instance: 205 MiB" {
		t.Errorf("files: %+v", b)
	}
	if share := f.Guides[0].Y(8); share != 125 {
		t.Errorf("each of 8 has %g MiB of 1000", share)
	}
}

// TestScaledPage: what figures mark are words on the page, and numbers in a table.
func TestScaledPage(t *testing.T) {
	run := crowdedRuns(t)["valley"]
	var page bytes.Buffer
	must(t, HTML(&page, run, finding.All(run), PageOptions{}))
	text := page.String()
	for _, want := range []string{"load line: 5", "<title>valley: 8 instances together do 0.35x what 5 do</title>",
		`class="strip binds-memory"`, "<title>6 instances: memory binds; 8 instances: memory binds</title>", `class="across alone"`,
		">What binds</th>", "91.8 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Index(text, "load line: 5") > strings.Index(text, ">Findings</h2>") {
		t.Error("the load line comes behind the findings")
	}
}
