package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/instances"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// TestMixedGolden: mixes are headed by how many instances of what ran, in which
// scaled-down host; workloads that nothing ran alone have no table.
func TestMixedGolden(t *testing.T) {
	run := mixedRun()
	// Findings by hand: what is shown hangs on no rule.
	findings := []fact.Finding{{Kind: fact.KindCaveat, Title: "Trials measured 1.5 s"}}
	got := terminalText(t, run, findings, TerminalOptions{Width: 100, Dir: "plimsoll-runs/" + run.ID})
	const path = "testdata/mixed-100.golden.txt"
	if *updateTerminal {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("the report differs from %s; look at the difference, then go test -update-terminal\n%s", path,
			firstDifference([]byte(got), want))
	}
	if strings.Contains(got, "nothing was measured") {
		t.Errorf("a workload that nothing ran alone is said to lack a measurement:\n%s", got)
	}
}

// TestPlacedLeavesTheRunAlone: trials are placed in a copy.
func TestPlacedLeavesTheRunAlone(t *testing.T) {
	run := mixedRun()
	before := fmt.Sprint(run.Trials[2].Stack, run.Workloads)
	both := slices.IndexFunc(run.Trials, func(one result.Trial) bool { return one.Mix == "both" })
	if got := placed(run).Trials[both].Stack; got != "ext4 + xfs" || run.Trials[both].Stack != "" {
		t.Errorf("a trial of tenants on their own stacks is on %q, and in the run on %q", got, run.Trials[both].Stack)
	}
	if after := fmt.Sprint(run.Trials[2].Stack, run.Workloads); after != before {
		t.Error("the run itself was changed")
	}
}

// TestInstancesTable computes rates and shares anew from what the run holds.
func TestInstancesTable(t *testing.T) {
	run := mixedRun()
	s, ok := instancesOf(run)
	rows := rowsOf(s)
	if !ok || len(rows) != 2+4 {
		t.Fatalf("%d rows: %q", len(rows), rows)
	}
	row := rows[0]
	var least, totals []float64
	for _, trial := range run.Trials {
		if trial.Mix != "four" {
			continue
		}
		slowest, sum := math.Inf(1), 0.0
		for _, in := range trial.Instances {
			slowest, sum = min(slowest, in.Measurement.IOPS()), sum+in.Measurement.IOPS()
		}
		least, totals = append(least, slowest), append(totals, sum)
	}
	slices.Sort(least)
	slices.Sort(totals)
	want := fmt.Sprintf("%.0f/s, %s", least[1], units.SignificantPercent(least[1]/totals[1]))
	if row[4] != "4" || row[7] != want || row[10] != "0.125" || row[11] != "256 MiB" {
		t.Errorf("the row of four readers is %q; the slowest is %s", row, want)
	}
	batch := rows[4]
	if batch[1] != "xfs" || batch[2] != "batch (RW)" || !strings.Contains(batch[3],
		"0.5 CPUs, 64 MiB of memory, writes of 8 MiB/s; the kernel holds 0.4 CPUs") ||
		!strings.HasSuffix(batch[10], "held back 25.0%") || batch[7] != "-" {
		t.Errorf("the row of batch is %q", batch)
	}
	if sum := rows[5]; sum[1] != "ext4 + xfs" || sum[2] != "all" || sum[4] != "3" {
		t.Errorf("the row of all is %q", sum)
	}
	remarks := strings.Join(s.Remarks, "\n")
	for _, want := range []string{
		"both on ext4 + xfs: an instance was measured for 12.0% of its time while not all others were",
		"both on ext4 + xfs: 1 instance of batch died: fio of batch: killed by the kernel's OOM killer at 64 MiB",
		"both on ext4 + xfs: batch, 3 times: its writes go past the page cache, and are not limited",
	} {
		if !strings.Contains(remarks, want) {
			t.Errorf("%q is not said:\n%s", want, remarks)
		}
	}
	if strings.Contains(remarks, "four on") {
		t.Errorf("1%% outside the window is said:\n%s", remarks)
	}
}

// instancesOf is the section of what ran at the same time.
func instancesOf(run *result.Run) (section, bool) {
	s := instances.Section(placed(run))
	if s == nil {
		return section{}, false
	}
	return sectionOf(s, axes{}), true
}

// rowsOf are the cells of a section's table, as they are written.
func rowsOf(s section) (rows [][]string) {
	for _, r := range s.Tables[0].Rows {
		var texts []string
		for _, c := range r.Cells {
			texts = append(texts, c.String())
		}
		rows = append(rows, texts)
	}
	return rows
}

// TestInstancesOfFailedTrials: where no trial was whole, what the others measured
// is shown, and said to be of them alone.
func TestInstancesOfFailedTrials(t *testing.T) {
	run := mixedRun()
	run.Trials = slices.DeleteFunc(run.Trials, func(t result.Trial) bool { return t.Mix != "both" || t.Block != 2 })
	s, _ := instancesOf(run)
	if rows := rowsOf(s); len(rows) != 4 || rows[0][5] == unknown || rows[2][5] != unknown {
		t.Errorf("rows: %q", rows)
	}
	if remarks := strings.Join(s.Remarks, "\n"); !strings.Contains(remarks, "no trial was completed by all instances") {
		t.Errorf("it is not said:\n%s", remarks)
	}
	text := terminalText(t, run, nil, TerminalOptions{Width: 120})
	if !strings.Contains(text, "1 x batch: nothing was measured") ||
		!strings.Contains(text, "died: fio of batch: killed") {
		t.Errorf("the terminal does not say it:\n%s", text)
	}
}

// TestMiniatureIsSaid at the top, and beside every number.
func TestMiniatureIsSaid(t *testing.T) {
	const words = "in a scaled-down host of 2 CPUs, 1.1 GiB of memory, 2000 reads/s"
	run := mixedRun()
	var page bytes.Buffer
	must(t, HTML(&page, run, finding.All(run), ownSeries(run)))
	head, rest, _ := strings.Cut(page.String(), "<main>")
	if !strings.Contains(head, words) {
		t.Errorf("the head of the page does not say it:\n%s", head[strings.Index(head, "<header>"):])
	}
	if n := strings.Count(rest, words); n < 2*len(run.Mixes)+2 {
		t.Errorf("it is said %d times beside numbers", n)
	}
	host := *run.Mixes[0].Host
	host.CPUs = 1
	run.Mixes[0].Host = &host
	if got := prose.Miniature(run); got != "in 2 sizes of host: each mix says in which scaled-down host" {
		t.Errorf("of several it says %q", got)
	}
	if got := prose.Miniature(sampleRun()); got != "" {
		t.Errorf("of none it says %q", got)
	}
}

// sampledOf is the section of what was sampled.
func sampledOf(run *result.Run, read func(int) ([]result.Series, error)) (s section, ok bool) {
	for _, s := range ranSections(placed(run), nil, PageOptions{Series: read}) {
		if s.ID == "sampled" {
			return s, true
		}
	}
	return section{}, false
}

// sampledOfTrials is the same of a run that has only these trials.
func sampledOfTrials(run *result.Run, read func(int) ([]result.Series, error), trials ...*result.Trial) []section {
	reduced := *run
	reduced.Trials = nil
	for _, t := range trials {
		reduced.Trials = append(reduced.Trials, *t)
	}
	s, _ := sampledOf(&reduced, read)
	return s.Parts
}

// TestSampledFigures: what is drawn is what was sampled, with the parts of a metric
// added up; what the kernel did not tell is left out.
func TestSampledFigures(t *testing.T) {
	run := mixedRun()
	s, ok := sampledOf(run, ownSeries(run).Series)
	if !ok || len(s.Parts) != 4 { // of one mix, the trial in which an instance died as well
		t.Fatalf("%d parts", len(s.Parts))
	}
	four := s.Parts[0]
	if four.Title != "four on xfs, trial 7" {
		t.Errorf("the last trial of the first point is %s", four.Title)
	}
	titles := map[string]figure{}
	for _, f := range four.Figures {
		titles[f.Title] = f
	}
	if len(titles) != 5 || len(titles["time that waits for memory"].Curves) > 0 {
		t.Errorf("figures: %v", four.Figures)
	}
	throughput := titles["throughput of devices"]
	if c := throughput.Curves[0]; c.Name != "loop0" || c.Y[0] != 30 || c.Y[1] != 33 || !math.IsNaN(c.Y[5]) ||
		throughput.Unit != "MB/s" {
		t.Errorf("throughput: %+v", c)
	}
	apart := titles["reads and writes of devices"].Curves
	if len(apart) != 4 || apart[0].Name != "loop0 reads" || apart[1].Name != "loop0 writes" ||
		apart[0].Y[0]+apart[1].Y[0] != 30 {
		t.Errorf("reads and writes apart: %+v", apart)
	}
	if b := throughput.Bands[0]; *b.X != [2]float64{4, 12} {
		t.Errorf("the window is %v", *b.X)
	}
	if c := titles["page cache"].Curves; len(c) != 1 || c[0].Name != "scaled-down host" {
		t.Errorf("page cache beside that of each instance: %+v", c)
	}
	for _, f := range s.Parts[1].Figures {
		if f.Title == "time that waits for I/O" && (len(f.Curves) != 3 || f.Curves[0].Name != "least of 10") {
			t.Errorf("ten instances are drawn as %+v", f.Curves)
		}
	}
}

// TestEachInstance: instances are drawn one by one with axes that they share, of many three;
// one that died says why and where its samples end.
func TestEachInstance(t *testing.T) {
	run := mixedRun()
	titled := func(rows []figureRow) (titles []string) {
		for _, r := range rows {
			for _, f := range r.Figures {
				titles = append(titles, r.Title+": "+f.Title)
			}
		}
		return titles
	}
	trial := func(mix string, block int) *result.Trial {
		i := slices.IndexFunc(run.Trials, func(trial result.Trial) bool { return trial.Mix == mix && trial.Block == block })
		return &run.Trials[i]
	}
	rowsOf := func(trial *result.Trial) []figureRow {
		parts := sampledOfTrials(run, ownSeries(run).Series, trial)
		if len(parts) != 1 {
			t.Fatalf("of one trial there are %d parts", len(parts))
		}
		return parts[0].Rows
	}

	four := rowsOf(trial("four", 1))
	if got := titled(four); len(got) != 8 || got[3] != "CPU of each instance: readers 3" ||
		got[4] != "page cache of each instance: readers 0" {
		t.Errorf("four instances: %q", got)
	}
	for _, row := range four {
		for _, f := range row.Figures {
			first := row.Figures[0]
			if f.X.High != first.X.High || f.Y.High != first.Y.High || len(f.Curves) != 1 || len(f.Bands) != 1 {
				t.Errorf("%s: %+v", row.Title, f)
			}
		}
	}
	if c := four[0].Figures[1].Curves[0]; c.Y[1] != 0.242 {
		t.Errorf("the CPU of readers 1 is %v", c.Y)
	}
	want := "CPU of the slowest, the median and the fastest of 10 instances: "
	if got := titled(rowsOf(trial("ten", 1))); len(got) != 6 || got[0] != want+"readers 9" || got[2] != want+"readers 0" {
		t.Errorf("ten instances: %q", got)
	}
	died := rowsOf(trial("both", 2))[0].Figures[2]
	if len(died.Marks) != 1 || died.Marks[0].X != 12 || !strings.Contains(died.Note, "killed by the kernel's OOM killer") {
		t.Errorf("an instance that died: %+v", died)
	}
	drawn := sampledOfTrials(run, ownSeries(run).Series, trial("both", 1), trial("both", 2), trial("both", 3))
	if len(drawn) != 2 || !strings.HasSuffix(drawn[0].Title, fmt.Sprintf("trial %d", trial("both", 3).Seq)) ||
		!strings.HasSuffix(drawn[1].Title, fmt.Sprintf("trial %d, in which an instance died", trial("both", 2).Seq)) {
		t.Errorf("of a point with a trial in which one died are drawn: %+v", drawn)
	}
	alone := *trial("four", 1)
	alone.Instances = alone.Instances[:1]
	if got := rowsOf(&alone); len(got) != 0 {
		t.Errorf("an instance alone is drawn again: %q", titled(got))
	}
}

// TestEachInstanceOfOneGroup: where the kernel counts the I/O of all instances in one group,
// no instance's own is drawn.
func TestEachInstanceOfOneGroup(t *testing.T) {
	run := mixedRun()
	trial := run.Trials[0]
	seriesOf := func(share float64) []result.Series {
		series := slices.Clone(trial.Series)
		for i := range trial.Instances {
			series = append(series, result.Series{Instance: i, Source: "instance", Metric: "io.read_bytes", Unit: "bytes/s",
				Start: trial.Started, Step: time.Second, Values: slices.Repeat([]float64{share * 2e7}, 12)})
		}
		return append(series, result.Series{Instance: result.NoInstance, Source: "miniature", Metric: "io.read_bytes",
			Unit: "bytes/s", Start: trial.Started, Step: time.Second, Values: slices.Repeat([]float64{2e7}, 12)})
	}
	for share, rows := range map[float64]int{0.25: 3, 1: 2} {
		parts := sampledOfTrials(run, func(int) ([]result.Series, error) { return seriesOf(share), nil }, &trial)
		if got := parts[0].Rows; len(got) != rows {
			t.Errorf("each with %g of all reads has %d rows, want %d", share, len(got), rows)
		}
	}
}

func TestSampledFiguresAreFew(t *testing.T) {
	run := mixedRun()
	for name, c := range map[string]struct {
		change func(*result.Series)
		parts  int
	}{
		"as they are":      {func(*result.Series) {}, 4},
		"very short":       {func(s *result.Series) { s.Values = s.Values[:4] }, 0},
		"without a value":  {func(s *result.Series) { s.Values = slices.Repeat([]float64{math.NaN()}, 12) }, 0},
		"without a step":   {func(s *result.Series) { s.Step = 0 }, 0},
		"infinite":         {func(s *result.Series) { s.Values = slices.Repeat([]float64{math.Inf(1)}, 12) }, 0},
		"an hour":          {func(s *result.Series) { s.Values = slices.Repeat(s.Values, 300) }, 4},
		"of unknown names": {func(s *result.Series) { s.Metric = "toy.speed" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := sampledOf(run, func(seq int) ([]result.Series, error) {
				var changed []result.Series
				for _, one := range run.Trials[seq-1].Series {
					c.change(&one)
					changed = append(changed, one)
				}
				return changed, nil
			})
			if len(s.Parts) != c.parts {
				t.Errorf("%d parts, want %d", len(s.Parts), c.parts)
			}
			for _, p := range s.Parts {
				for _, f := range p.Figures {
					if len(f.Xs) > 61 {
						t.Errorf("%d values of %s", len(f.Xs), f.Title)
					}
				}
			}
		})
	}
	s, ok := sampledOf(run,
		func(int) ([]result.Series, error) { return nil, errors.New("the disk is gone") })
	if !ok || len(s.Remarks) != 4 || !strings.Contains(s.Remarks[0], "the disk is gone") {
		t.Errorf("what cannot be read is not said: %q", s.Remarks)
	}
}

// TestHTMLGrowsLittleBySeries: the page of a run like quick, whose trials were
// sampled for 12 s each, is at most a tenth larger for it.
func TestHTMLGrowsLittleBySeries(t *testing.T) {
	run := stoppedRun()
	for i := range run.Trials {
		tr := &run.Trials[i]
		if tr.Status == result.TrialDone {
			one := *tr
			one.Started = run.Started.Add(time.Duration(i) * time.Minute)
			tr.Series = mixedSeries(one)
		}
	}
	var plain, sampled bytes.Buffer
	findings := finding.All(run)
	must(t, HTML(&plain, run, findings, PageOptions{}))
	must(t, HTML(&sampled, run, findings, ownSeries(run)))
	grown := float64(sampled.Len())/float64(plain.Len()) - 1
	t.Logf("%d bytes, %d with series: %s more", plain.Len(), sampled.Len(), units.SignificantPercent(grown))
	if grown <= 0 || grown > 0.1 {
		t.Errorf("the page grows by %s", units.SignificantPercent(grown))
	}
}
