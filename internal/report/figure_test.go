package report

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/timeseries"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	answer "plimsoll/internal/section"
)

// figuresOf gives the figures of one kind, of the section of that title.
func figuresOf(t *testing.T, run *result.Run, title string) section {
	t.Helper()
	for _, s := range sections(run, finding.Points(run), finding.All(run)) {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("the report has no section %q", title)
	return section{}
}

func TestFiguresGroupBarsByWorkload(t *testing.T) {
	run := publishedRun()
	s := figuresOf(t, run, "Throughput")
	var got []string
	for _, f := range s.Figures {
		got = append(got, fmt.Sprintf("%s %s %d bars", f.Title, f.Note, len(f.X.Names)))
	}
	if want := "RW IOPS 3 bars; RR IOPS 3 bars; SW bandwidth 3 bars"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
	if s.Figures[0].Y.High != s.Figures[1].Y.High || s.Figures[0].Y.High == s.Figures[2].Y.High {
		t.Errorf("scales end at %g, %g and %g: groups in the same unit share theirs", s.Figures[0].Y.High,
			s.Figures[1].Y.High, s.Figures[2].Y.High)
	}
}

// TestFiguresMarkWhatWasPublished: a published ratio stands where it would be
// on this host, and beside the ratio that was measured.
func TestFiguresMarkWhatWasPublished(t *testing.T) {
	run := publishedRun()
	var baseline float64
	for _, p := range finding.Points(run) {
		if p.Stack == "btrfs" && p.Workload == "RW" {
			baseline = p.Median
		}
	}
	published := func(f figure) mark {
		i := slices.IndexFunc(f.Marks, mark.published)
		if i < 0 {
			t.Fatalf("%s has no published mark", f.Title)
		}
		return f.Marks[i]
	}
	bar := published(figuresOf(t, run, "Throughput").Figures[0])
	if math.Abs(bar.Y/baseline-5) > 1e-9 || math.Abs(bar.Low/baseline-4) > 1e-9 || math.Abs(bar.High/baseline-6) > 1e-9 {
		t.Errorf("published at %g (%g to %g), want 5 times (4 to 6 times) %g", bar.Y, bar.Low, bar.High, baseline)
	}
	if f := figuresOf(t, run, "Throughput").Figures[0]; f.X.Names[int(bar.X)] != "btrfs-nodatacow" || bar.Y > f.Y.High {
		t.Errorf("it stands at %s, at %g of %g", f.X.Names[int(bar.X)], bar.Y, f.Y.High)
	}
	forest := figuresOf(t, run, "Ratios, and what was published").Figures[0]
	if row := published(forest); row.X != 5 || row.Y != 0 ||
		!strings.HasPrefix(forest.Names[0].Subject+" "+forest.Names[0].Baseline, "btrfs-nodatacow btrfs") ||
		forest.Names[0].Verdict != "contradicted here" {
		t.Errorf("row %g has %gx published, and is %+v; want 5x in the first row, contradicted", row.Y, row.X,
			forest.Names[0])
	}
}

func TestFiguresSweepFactors(t *testing.T) {
	s := figuresOf(t, sweptRun(), "Throughput")
	if len(s.Figures) != 2 || len(s.Figures[0].seriesNames()) != 3 {
		t.Fatalf("%d figures and series %v, want 2 and 3", len(s.Figures), s.Figures[0].seriesNames())
	}
	f := s.Figures[1]
	if f.Title != "RW-*" || f.Kind != answer.Lines || len(f.Marks) != 27 || len(f.X.Ticks) != 9 {
		t.Errorf("%s of kind %s has %d marks and %d ticks, want RW-*, lines, 27 and 9", f.Title, f.Kind, len(f.Marks),
			len(f.X.Ticks))
	}
	if other := s.Figures[0]; other.Y.Low != f.Y.Low || other.Y.High != f.Y.High {
		t.Errorf("scales go from %g to %g and from %g to %g: small multiples share theirs", other.Y.Low, other.Y.High,
			f.Y.Low, f.Y.High)
	}
	if !slices.IsSortedFunc(f.Marks, func(a, b mark) int { return int(a.X - b.X) }) {
		t.Error("the marks do not ascend: lines would go back and forth")
	}
	if len(f.Bands) != 1 || f.Bands[0].X[0] != 24 || !strings.Contains(f.Bands[0].Text, "published at 24 jobs") {
		t.Errorf("published places: %+v, want 24 jobs", f.Bands)
	}
	if len(s.Figures[0].Bands) != 0 {
		t.Errorf("a published place of writes is marked on reads: %+v", s.Figures[0].Bands)
	}
}

func TestFiguresSweepSizesByBandwidth(t *testing.T) {
	run := sweptRun()
	for i := range run.Workloads {
		run.Workloads[i].Levels = map[string]string{"bs": run.Workloads[i].Levels["jobs"] + "KiB"}
	}
	swept, rest := sweeps(run, finding.Points(run))
	if len(rest) != 0 || len(swept) == 0 || !swept[0].bytes || swept[0].points[0].x != 1024 {
		t.Errorf("%d points are left, %+v", len(rest), swept)
	}
}

func TestFiguresSweepNothingElse(t *testing.T) {
	for name, levels := range map[string][]string{"two levels": {"1", "2"}, "names": {"ext4", "xfs", "btrfs", "4"},
		"zero": {"0", "1", "2"}, "none": {""}} {
		run := sweptRun()
		for i := range run.Workloads {
			run.Workloads[i].Levels = nil
			if level := levels[i%len(levels)]; level != "" {
				run.Workloads[i].Levels = map[string]string{"f": level}
			}
		}
		if swept, rest := sweeps(run, finding.Points(run)); len(swept) != 0 || len(rest) != len(finding.Points(run)) {
			t.Errorf("%s: swept into %d figures", name, len(swept))
		}
	}
}

func TestFiguresReadLevels(t *testing.T) {
	for level, want := range map[string]float64{"16": 16, "4KiB": 4096, "4k": 4096, "1 MiB": 1 << 20, "0.5": 0.5,
		"512B": 512} {
		if got, _, ok := levelNumber(level); !ok || got != want {
			t.Errorf("%q is %g, %t; want %g", level, got, ok, want)
		}
	}
	for _, level := range []string{"", "ext4", "-1", "0", "4KiBKiB", "NaN", "Inf", "k"} {
		if got, _, ok := levelNumber(level); ok {
			t.Errorf("%q is the number %g", level, got)
		}
	}
}

// TestFiguresCurvesEndWithTheirData: a percentile is drawn where ten I/Os or
// more are beyond it, and is that of all trials merged.
func TestFiguresCurvesEndWithTheirData(t *testing.T) {
	run := sampleRun()
	for _, f := range figuresOf(t, run, "Latency percentiles").Figures {
		for _, c := range f.Curves {
			stack := run.StackNames()[c.Series]
			for _, p := range finding.Points(run) {
				if p.Stack != stack || p.Workload != f.Title {
					continue
				}
				whole := runview.New(run).Cell(p.Stack, p.Workload).Merge(result.Total)
				p99, _ := hist.Percentile(whole.Bins, 99)
				second := slices.Index(f.Xs, 2)
				if c.Y[second] != float64(p99) {
					t.Errorf("%s, %s: p99 is drawn at %g, want %d", stack, f.Title, c.Y[second], p99)
				}
				count := float64(whole.Count)
				last := f.Xs[len(c.Y)-1]
				if beyond := count * math.Pow(10, -last); beyond < hist.LeastAbove || len(c.Y) < len(f.Xs) &&
					beyond/math.Pow(10, f.Xs[1]) >= hist.LeastAbove {
					t.Errorf("%s, %s: the curve ends at %g with %.1f I/Os beyond", stack, f.Title, last, beyond)
				}
			}
			if !slices.IsSorted(c.Y) {
				t.Errorf("%s, %s: percentiles fall", stack, f.Title)
			}
		}
	}
}

func TestFiguresSplitLatency(t *testing.T) {
	run := sampleRun()
	s := figuresOf(t, run, "Where an I/O waits")
	var submitted, largest, n float64
	for _, trial := range run.Trials {
		if m := trial.Measured(); trial.Stack == "btrfs" && trial.Mix == "RW" && m != nil {
			of := m.Operation(result.Write).Latency[result.Submission]
			submitted += of.MeanNS * float64(of.Count)
			n += float64(of.Count)
			largest = max(largest, m.Operation(result.Write).Latency[result.Completion].MeanNS)
		}
	}
	f := s.Figures[1]
	i := slices.Index(f.X.Names, "btrfs")
	if i < 0 {
		t.Fatal("btrfs is not in the figure")
	}
	slat, clat := f.Marks[2*i], f.Marks[2*i+1]
	if math.Abs(slat.Y/(submitted/n)-1) > 1e-9 || clat.From != slat.Y || clat.Y-clat.From > 1.2*largest {
		t.Errorf("submission %g, want %g; completion from %g to %g", slat.Y, submitted/n, clat.From, clat.Y)
	}
}

func TestFiguresShowTheWindowOfRounds(t *testing.T) {
	run := stoppedRun()
	s := figuresOf(t, run, "Steady state before measuring")
	var settled, restless int
	for _, f := range s.Figures {
		if len(f.Bands) != 4 {
			t.Errorf("%s has %d grounds and lines, want window, tolerance, average and fit", f.Title, len(f.Bands))
		}
		if strings.HasPrefix(f.Note, "steady after") {
			settled++
		} else if strings.HasPrefix(f.Note, "not steady: ") {
			restless++
		}
	}
	if settled == 0 || restless == 0 || settled+restless != len(s.Figures) {
		t.Errorf("%d steady and %d not, of %d", settled, restless, len(s.Figures))
	}
}

// TestFiguresAverageLongSeries: every value drawn is the mean of as many samples.
func TestFiguresAverageLongSeries(t *testing.T) {
	series := &result.Rates{IntervalSeconds: 0.5}
	for i := range 601 {
		series.IOPS = append(series.IOPS, float64(i))
	}
	drawn := func(rates *result.Rates) figure {
		run := &result.Run{Trials: []result.Trial{{Seq: 3, Stack: "a", Mix: "w", Rates: rates}}}
		return sectionOf(timeseries.Rates(run), axes{}).Figures[0]
	}
	f := drawn(series)
	c := f.Curves[0]
	if f.Each != 6 || len(c.Y) != 100 || c.Y[0] != math.Round(2.5) || c.Y[99] != math.Round(596.5) || f.Xs[0] != 3 {
		t.Errorf("%d values of %d samples from %g at %g s to %g, want 100 of 6 from 3 at 3 s to 597", len(c.Y), f.Each,
			c.Y[0], f.Xs[0], c.Y[len(c.Y)-1])
	}
	short := drawn(&result.Rates{IntervalSeconds: 0.5, IOPS: []float64{1.23456, 2}})
	if short.Each != 0 || short.Curves[0].Y[0] != 1.235 || short.Xs[1] != 1 {
		t.Errorf("a short series is %+v at %v", short.Curves, short.Xs)
	}
}

func TestFiguresTellWhatWasWrittenBefore(t *testing.T) {
	run := stoppedRun()
	want := "Preconditioning: file written, 1 pass, 512 MiB, before 18 of the stacks and workloads."
	if s := figuresOf(t, run, "Steady state before measuring"); !strings.HasPrefix(s.Note, want) {
		t.Errorf("%q, want %q", s.Note, want)
	}
	for i := range run.Trials {
		if p := run.Trials[i].Preconditioning; p != nil {
			p.Rounds = nil
		}
	}
	if s := figuresOf(t, run, "Written before measuring"); len(s.Figures) != 0 || !strings.HasPrefix(s.Note, want) {
		t.Errorf("%d figures: %q", len(s.Figures), s.Note)
	}
}

func TestStopsAreSaidInALine(t *testing.T) {
	run := stoppedRun()
	if got, want := timeseries.PointsEnded(run), "16 settled, 2 by the budget (widest ±8.0%)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := timeseries.TrialsEnded(run), "88 precise"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	run.Trials[0].Stop.Reason = result.StopNever
	if got, want := timeseries.TrialsEnded(run), "87 precise, 1 never settled (widest ±2.0%)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b bytes.Buffer
	must(t, Terminal(&b, run, finding.All(run), TerminalOptions{Width: 100}))
	if !strings.Contains(b.String(), "Points stopped: 16 settled, 2 by the budget (widest ±8.0%)\n") {
		t.Errorf("the terminal does not say it:\n%.600s", b.String())
	}
	s := figuresOf(t, run, "Rate while trials ran")
	if len(s.Remarks) != 2 || len(s.Tables) != 1 || len(s.Tables[0].Rows) != len(run.Points) {
		t.Errorf("the page says %q, with tables %+v", s.Remarks, s.Tables)
	}
	fixed := timeseries.Rates(sampleRun())
	if fixed != nil && len(fixed.Tables)+len(fixed.Remarks) > 0 {
		t.Errorf("a run of a fixed time has a table of why it stopped: %+v", fixed.Tables)
	}
}

// TestLabelsAreSpread: labels keep their distance and their order, stay
// within the figure where they can, and stay put where there is room.
func TestLabelsAreSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Float64Range(0, 230), 0, 25).Draw(t, "places")
		slices.Sort(want)
		got := spread(want, 14, 0, 230)
		if len(got) != len(want) {
			t.Fatalf("%d labels of %d", len(got), len(want))
		}
		roomy := true
		for i := range got {
			if i > 0 && got[i]-got[i-1] < 14-1e-9 {
				t.Errorf("%g and %g are too near", got[i-1], got[i])
			}
			if got[i] < -1e-9 || len(got) <= 17 && got[i] > 230+1e-9 {
				t.Errorf("a label is at %g", got[i])
			}
			roomy = roomy && (i == 0 || want[i]-want[i-1] >= 14)
		}
		for i := range got {
			if roomy && math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("the label of %g was moved to %g", want[i], got[i])
			}
		}
	})
	if got := spread([]float64{100, 100, 101}, 14, 0, 230); math.Abs(got[1]-100-1.0/3) > 1e-9 {
		t.Errorf("three that crowd are at %v, want them around 100.33", got)
	}
}

// TestFiguresShareNoScaleWithWhatIsFarAway: low load would be flat beside high.
func TestFiguresShareNoScaleWithWhatIsFarAway(t *testing.T) {
	for _, c := range []struct{ reach, want []float64 }{
		{nil, []float64{}},
		{[]float64{10, 40}, []float64{40, 40}},
		{[]float64{9, 45, 44}, []float64{45, 45, 45}},
		{[]float64{8, 45, 1}, []float64{8, 45, 1}},
		{[]float64{2, 100, 9, 25}, []float64{9, 100, 9, 100}},
		{[]float64{0, 3}, []float64{0, 3}},
	} {
		if got := sharedReach(c.reach); !slices.Equal(got, c.want) {
			t.Errorf("scales of %v reach %v, want %v", c.reach, got, c.want)
		}
	}
	run := publishedRun()
	for i := range run.Trials {
		if m := run.Trials[i].Measured(); m != nil && run.Trials[i].Mix == "RR" {
			*m = m.ScaledRates(1 / 20.0)
		}
	}
	s := figuresOf(t, run, "Throughput")
	if s.Figures[0].Y.High < mostApart*s.Figures[1].Y.High {
		t.Errorf("scales end at %g and %g", s.Figures[0].Y.High, s.Figures[1].Y.High)
	}
	for _, f := range s.Figures {
		if f.Y.Label == "" {
			t.Errorf("%s: nothing says what is drawn", f.Title)
		}
	}
}

// TestFiguresMarkTheVerdict: the stack of the verdict and the baseline are told
// from the others in every figure, and the control is in none.
func TestFiguresMarkTheVerdict(t *testing.T) {
	run := stoppedRun()
	twin := run.Stacks[0]
	twin.Name, twin.Control = "control", run.Experiment.Baseline
	run.Stacks = append(run.Stacks, twin)
	for _, trial := range slices.Clone(run.Trials) {
		if trial.Stack == run.Experiment.Baseline {
			trial.Stack, trial.Seq = "control", len(run.Trials)+1
			if m := trial.Measured(); m != nil { // a tenth faster
				faster := m.ScaledRates(1.1)
				trial.Instances = result.One(&faster)
			}
			run.Trials = append(run.Trials, trial)
		}
	}
	findings := finding.All(run)
	pick := rolesOf(run, findings).named(rolePick)
	if pick == "" {
		t.Fatal("there is no verdict to mark")
	}
	var page bytes.Buffer
	must(t, HTML(&page, run, findings, PageOptions{}))
	for _, s := range sections(run, finding.Points(run), findings) {
		for _, f := range s.Figures {
			if slices.Contains(f.seriesNames(), "control") || slices.Contains(f.BarNames, "control") || f.Stack == "control" {
				t.Errorf("%s, %s shows the control", s.Title, f.Title)
			}
			marked := f.Roles.Of(f.Stack) == rolePick
			d := f.Draw()
			for _, l := range d.Series {
				marked = marked || l.Role == rolePick && l.Label != nil && strings.HasPrefix(l.Label.Text, star)
			}
			for _, n := range d.Names {
				marked = marked || n.Role == rolePick && n.Star != ""
			}
			if about := slices.Contains(f.seriesNames(), pick) || f.Stack == pick; about != marked && f.Kind != figureForest {
				t.Errorf("%s, %s: the verdict's stack is there: %t, marked: %t", s.Title, f.Title, about, marked)
			}
		}
		if len(s.Tables) > 0 && s.Roles.Of(pick) != rolePick {
			t.Errorf("%s: its table does not mark %s", s.Title, pick)
		}
		for _, table := range s.Tables {
			for _, r := range table.Rows {
				if r.Stack != r.Cells[0].Text {
					t.Errorf("%s: a row of %s is shown to be of %q", s.Title, r.Cells[0], r.Stack)
				}
			}
		}
	}
	floors := 0
	for _, f := range figuresOf(t, run, "Ratios").Figures {
		for _, n := range f.Names {
			if math.Abs(n.Floor-1.1) < 0.02 {
				floors++
			}
		}
	}
	if floors == 0 || !strings.Contains(page.String(), `class="ground noise"`) {
		t.Errorf("%d ratios have the noise floor of 1.1 beside them, and it is drawn: %t", floors,
			strings.Contains(page.String(), `class="ground noise"`))
	}
	for _, table := range regexp.MustCompile(`(?s)<table.*?</table>`).FindAllString(page.String(), -1) {
		if strings.Contains(table, `<th scope="row">control`) {
			t.Errorf("a table has a row for the control: %.200s", table)
		}
	}
}

// TestDrawingsStayInTheFigure: whatever the values, marks are drawn inside.
func TestDrawingsStayInTheFigure(t *testing.T) {
	number := regexp.MustCompile(`-?[0-9.e+-]+`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64()
		f := figure{
			Kind: rapid.SampledFrom([]answer.Kind{figureBars, answer.Lines, answer.Curves, answer.Repeats}).Draw(t, "kind"),
			X:    axisOf(t, "x"),
			Y:    axisOf(t, "y"),
			Xs:   []float64{value.Draw(t, "at"), value.Draw(t, "at")},
		}
		f.Marks = []mark{{X: value.Draw(t, "x"), Y: value.Draw(t, "y"), Low: value.Draw(t, "low"),
			High: value.Draw(t, "high")}}
		f.Curves = []curve{{Y: []float64{value.Draw(t, "v"), value.Draw(t, "v"), value.Draw(t, "v")}}}
		f.Broken = rapid.Bool().Draw(t, "broken")
		f.Bands = []band{{X: &[2]float64{value.Draw(t, "from"), value.Draw(t, "to")}}}
		d := f.Draw()
		var dots []dot
		var whiskers []whisker
		paths := []string{}
		for _, p := range d.Across {
			paths = append(paths, p.D)
		}
		for _, s := range d.Series {
			paths = append(paths, s.D)
			dots, whiskers = append(dots, s.Dots...), append(whiskers, s.Whiskers...)
			if points := strings.Count(s.D, "L") + strings.Count(s.D, "M"); s.Readings != "" &&
				points != strings.Count(s.Readings, "\n")+1 {
				t.Errorf("a line of %d points is read as %q", points, s.Readings)
			}
		}
		for _, p := range paths {
			for _, n := range number.FindAllString(p, -1) {
				var v float64
				if _, err := fmt.Sscan(n, &v); err != nil || !(v >= 0 && v <= 100) {
					t.Errorf("a line goes to %s: %s", n, p)
				}
			}
		}
		for _, dot := range append(d.Dots, dots...) {
			if !(dot.X >= 0 && dot.X <= 100 && dot.Y >= 0 && dot.Y <= 100) {
				t.Errorf("a dot is at %s, %s", dot.X, dot.Y)
			}
		}
		for _, w := range append(d.Whiskers, whiskers...) {
			if !(w.Y1 >= 0 && w.Y1 <= 100 && w.Y2 >= 0 && w.Y2 <= 100) {
				t.Errorf("a whisker goes from %s to %s", w.Y1, w.Y2)
			}
		}
	})
}

// axisOf gives an axis as figures have them.
func axisOf(t *rapid.T, name string) axis {
	s := linearScale(rapid.Float64().Draw(t, name+" high"))
	if rapid.Bool().Draw(t, name+" log") {
		s = logScale(rapid.Float64().Draw(t, name+" low"), s.high)
	}
	return axis{Low: s.low, High: s.high, Log: s.log}
}

func TestShortNames(t *testing.T) {
	for name, want := range map[string]string{
		"ext4":                     "ext4",
		"exactly-24-letters-long!": "exactly-24-letters-long!",
		"a-name-that-is-generated-from-every-option-1": "a-name-that…ery-option-1",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Lines of a broken figure end where a value is missing, and a single point between two gaps is drawn.
func TestLinesBreakAtGaps(t *testing.T) {
	nan := math.NaN()
	f := figure{Kind: answer.Curves, X: axis{Low: 0, High: 10}, Y: axis{Low: 0, High: 10}, Broken: true,
		Xs:     []float64{0, 1, 2, 3, 4, 5, 6},
		Curves: []curve{{Name: "p99", Y: []float64{nan, 1, 2, nan, 4, math.Inf(1), 6}}}}
	if got := f.Draw().Series[0].D; got != "M10 90L20 80M40 60 h.2M60 40 h.2" {
		t.Errorf("broken at gaps: %s", got)
	}
	f.Broken = false
	if got := f.Draw().Series[0].D; got != "M10 90L20 80L40 60L60 40" {
		t.Errorf("without breaks: %s", got)
	}
}
