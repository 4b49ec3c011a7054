package loadline_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/testkit/runtest"
	"plimsoll/internal/units"
)

const (
	small = "host cpus=2 memory=1000 reads=1500\nstack disk [loop device]: loop > xfs > volume\n" +
		"workload C randread {bs: 4KiB, direct: false}\n"
	valley = `instances C disk x1 1501 1511 1512 1503 1508 reads=0 cache=198 mean=300000 p99=668000
instances C disk x2 3024 3048 3035 3040 3039 reads=0 cache=198 mean=300000 p99=655000
instances C disk x4 6019 6050 6052 6048 6061 reads=0.001 cache=198 mean=330000 p99=1170000
instances C disk x5 7313 7364 7350 7342 7366 reads=0.04 cache=180 mean=400000 p99=2210000
instances C disk x6 6304 6140 6130 6145 6120 reads=0.17 cache=150 io=0.8 mean=2000000 p99=39100000
instances C disk x8 2481 2550 2560 2540 2570 reads=0.62 cache=114 io=0.9 mean=20000000 p99=91800000
`
	objective = "objective p99=2000000 standalone=0.9\n"
)

func sectionOf(t *testing.T, run *result.Run) (*section.Section, loadline.Curve) {
	t.Helper()
	found := loadline.Find(runview.New(run))
	if len(found) == 0 || found[0].Section == nil {
		t.Fatalf("%+v", found)
	}
	return found[0].Section, curveOf(found[0])
}

// words are those that stand in a figure, and what its strip says.
func words(f section.Figure) (words, strip []string) {
	for _, b := range f.Bands {
		if b.Word != "" {
			words = append(words, b.Word)
		}
	}
	for _, n := range f.Notes {
		words = append(words, n.Word)
	}
	for _, p := range f.Strip.Parts {
		strip = append(strip, p.Word)
	}
	return words, slices.Compact(strip)
}

// What is shown of a run follows from what is special about it.
func TestSection(t *testing.T) {
	for name, c := range map[string]struct{ story, words, binds, figures string }{
		"valley": {small + valley, "load line: 5, knee, valley 0.35x", "nothing, memory",
			"Throughput, Latency, Device reads, Page cache, CPUs, Disk requests, Disk bandwidth"},
		"objective": {small + objective + valley, "load line: 4, knee, valley 0.35x", "nothing, memory",
			"Throughput, Latency, Device reads, Page cache, CPUs, Disk requests, Disk bandwidth"},
		"unmet": {small + "objective p99=100000\n" + valley, "knee, valley 0.35x, load line: none", "nothing, memory",
			"Throughput, Latency, Device reads, Page cache, CPUs, Disk requests, Disk bandwidth"},
		"two counts": {small + "instances C disk x1 1501 1511 1512 1503 cache=198\ninstances C disk x2 3024 3048 3035 3040 cache=198\n",
			"load line: 2", "nothing", "Throughput, Page cache, CPUs"},
		"undecided": {"cpus 16\nstack disk: loop > xfs\nworkload C randread {bs: 4KiB}\n" +
			`instances C disk x1 1000 1100 900 1050 950 cpus=1
instances C disk x2 1500 2500 2000 1800 2200 cpus=1
instances C disk x4 1400 2600 2000 1700 2300 busy=0.99 io=0.8
instances C disk x8 1100 2400 1700 1500 1900 cpus=1.9
`, "load line: 4 (4 to 8), knee, valley 0.85x", "nothing, device, processors", "Throughput, CPUs"},
	} {
		s, curve := sectionOf(t, runtest.Tell(t, c.story))
		labels, strip := words(s.Figures[0])
		want := strings.Split(c.words, ", ")
		slices.Sort(want)
		slices.Sort(labels)
		if !slices.Equal(labels, want) || strings.Join(strip, ", ") != c.binds {
			t.Errorf("%s: in the figure stand %q and %q", name, labels, strip)
		}
		var figures []string
		for _, f := range s.Figures {
			if len(f.Series) > 0 && len(f.Xs()) > 0 {
				figures = append(figures, f.Title)
			}
		}
		if got := strings.Join(figures, ", "); got != c.figures {
			t.Errorf("%s: figures are %s", name, got)
		}
		title := "How many instances of C this host carries"
		if curve.Host.Origin == fact.ScaledDown {
			title = "How many instances of C the scaled-down host carries"
		}
		if s.Title != title || len(s.Tables) != 1 || len(s.Tables[0].Rows) != len(curve.Points) {
			t.Errorf("%s: %+v", name, s)
		}
		if !s.Has(result.Point{Stack: "disk", Mix: curve.Points[1].Mix}) || len(s.Covers) != len(curve.Points) {
			t.Errorf("%s: it covers %v", name, s.Covers)
		}
	}
}

// The table says what findings hold, marks what matters, and leaves out what is not known.
func TestTable(t *testing.T) {
	s, _ := sectionOf(t, runtest.Tell(t, small+objective+valley))
	table := s.Tables[0]
	var rows []string
	for _, r := range table.Rows {
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, c.String())
		}
		if r.Strong {
			cells = append(cells, "!")
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	for i, want := range map[int]string{
		2: "4|6,050|6.02 to 6.06k|1,513|100%|330 µs|1.17 ms|1.17 ms|0.001|198 MiB|0.0400|-|load line|!",
		5: "8|2,550|2.48 to 2.57k|319|100%|20.0 ms|91.8 ms|91.8 ms|0.620|114 MiB|0.0800|memory|valley",
	} {
		if rows[i] != want {
			t.Errorf("the table says\n%s, want\n%s", rows[i], want)
		}
	}
	if len(table.Columns) != 13 || table.Columns[1].Head != "IOPS" || !table.Folded {
		t.Errorf("%+v", table.Columns)
	}
	var notes []string
	for _, r := range s.Remarks {
		notes = append(notes, r.Text)
	}
	const loop = "every number here: loop device, so compare ratios: absolute numbers are not the disk's\n" +
		"noise floor: setups of the same mix differ by 0."
	if got := strings.Join(notes, "\n"); !strings.Contains(got, loop) {
		t.Errorf("beside the numbers stands %s", got)
	}
	unknown, _ := sectionOf(t, runtest.Tell(t, small+"instances C disk x1 1501 1511\ninstances C disk x2 3024 3048\n"))
	for _, c := range unknown.Tables[0].Columns {
		if c.Head == "p99" || c.Head == "cache" || c.Head == "interval" {
			t.Errorf("it has a column %s of which nothing is known", c.Head)
		}
	}
}

// An instance that was measured while others were not is told of.
func TestOutsideOfTheWindow(t *testing.T) {
	run := runtest.Tell(t, small+valley)
	for i := range run.Trials {
		if one := &run.Trials[i]; one.Mix == "C-2" || one.Mix == "C-4" {
			one.Window = &result.Window{Seconds: 1, Outside: 0.04 * float64(len(one.Instances))}
		}
	}
	s, _ := sectionOf(t, run)
	want := section.Remark{Text: "with 2 and 4, an instance was measured for up to 16% of its time while not all others were", Warn: true}
	if !slices.Contains(s.Remarks, want) {
		t.Errorf("%+v", s.Remarks)
	}
}

// Marks say what findings hold, with what a number misses of the objective.
func TestMarks(t *testing.T) {
	s, curve := sectionOf(t, runtest.Tell(t, small+objective+valley))
	f := s.Figures[0]
	for i, p := range curve.Points {
		m := f.Series[0].Marks[i]
		want := fmt.Sprintf("median %s/s, interval %s to %s, 5 setups", units.Exact(p.Rate), units.Exact(p.RateLow), units.Exact(p.RateHigh))
		if m.X != float64(p.Instances) || m.Y != p.Rate || m.Low != p.RateLow || !strings.Contains(m.Text, want) {
			t.Errorf("the mark of %d is %+v, want %s", p.Instances, m, want)
		}
		missed := m.Class == section.Missed
		if missed != (p.Instances > 4) || missed != strings.Contains(m.Text, "misses the objective") {
			t.Errorf("%d instances: %q, class %q", p.Instances, m.Text, m.Class)
		}
	}
	if last := f.Series[0].Marks[5].Text; !strings.Contains(last, "p99 is 91.8 ms, each does 319/s") {
		t.Errorf("8 instances miss %q", last)
	}
	if least := f.Guides[1].Y(4); math.Abs(least-0.9*4*curve.Points[0].Rate) > 1e-6 {
		t.Errorf("four instances are to do %g", least)
	}
	if l := s.Figures[1].Levels; len(l) != 1 || l[0].Class != section.Limit || l[0].Y != 2e6 {
		t.Errorf("the limit of p99 is drawn as %+v", l)
	}
	if spark := f.Series[0].Spark; spark != "together, 1.51k to 7.35k/s with 1 to 8" {
		t.Errorf("a terminal says %q", spark)
	}
	var lines []string
	for _, line := range s.Figures[1].Series {
		lines = append(lines, line.Name)
	}
	if want := "mean p50 p95 p99 p99.9"; strings.Join(lines, " ") != want {
		t.Errorf("latencies are drawn of %q, want %s", lines, want)
	}
	for i, p := range curve.Points {
		reads, bytes := s.Figures[5].Series[0].Marks[i], s.Figures[6].Series[0].Marks[i]
		if reads.Y != p.DiskReads || bytes.Y != p.DiskReadBytes ||
			math.Abs(p.DiskReads-p.DeviceReads*p.Rate) > 0.01*p.DiskReads {
			t.Errorf("%d instances: %v reads/s and %v bytes/s are drawn of %+v", p.Instances, reads, bytes, p)
		}
	}
	if spark := s.Figures[1].Series[3].Spark; !strings.HasPrefix(spark, "p99, 655 µs to 91.8 ms") {
		t.Errorf("a terminal says %q of p99", spark)
	}
}

// A number of which no trial was completed has its mark, a row, and no part in what binds.
func TestMissing(t *testing.T) {
	run := runtest.Tell(t, small+valley)
	for i := range run.Trials {
		if one := &run.Trials[i]; one.Mix == "C-8" {
			one.Status, one.Problem = result.TrialFailed, &problem.Problem{What: "instance 3", Why: "killed"}
		}
	}
	s, _ := sectionOf(t, run)
	f := s.Figures[0]
	gone := slices.IndexFunc(f.Series[1].Marks, func(m section.Mark) bool { return m.Class == section.Gone })
	if gone < 0 || f.Series[1].Marks[gone].X != 8 || f.Series[1].Marks[gone].Text != "8 instances: no trial was completed" {
		t.Errorf("marks: %+v", f.Series[1])
	}
	if last := f.Strip.Parts[len(f.Strip.Parts)-1]; last.X != 6 {
		t.Errorf("what binds is reported %g", last.X)
	}
	if rows := s.Tables[0].Rows; len(rows) != 6 || rows[5].Words != "no trial was completed with 8" {
		t.Errorf("%+v", rows)
	}
}

// The page cache stands beside the files of an instance, and its share of the scaled-down host.
func TestPageCache(t *testing.T) {
	run := runtest.Tell(t, small+valley)
	for i := range run.Trials {
		n := int64(len(run.Trials[i].Instances))
		run.Trials[i].Preconditioning = &result.Preconditioning{
			Kind: result.PreconditionedFile, Passes: 2, Bytes: n * (205 << 20),
		}
	}
	s, _ := sectionOf(t, run)
	f := s.Figures[3]
	if len(f.Levels) != 1 || f.Levels[0].Y != 205 || f.Levels[0].Text != "files of each instance: 205 MiB" {
		t.Errorf("files: %+v", f.Levels)
	}
	if share := f.Guides[0].Y(8); share != 125 {
		t.Errorf("each of 8 has %g MiB of 1000", share)
	}
}
