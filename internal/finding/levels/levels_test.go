package levels_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

//go:embed testdata/levels.story
var media string

//go:embed testdata/users.story
var users string

// What differs in names is a table, ratios and a sentence for each series.
func TestNamedLevels(t *testing.T) {
	v := runview.New(runtest.Tell(t, media))
	found := levels.Find(v)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	s := found[0].Section
	want := []string{
		"C-1|sata|101|100 to 103|-|9.00 ms|207 kB/s|0.0100|300 reads/s",
		"C-1|nvme|703|700 to 707|6.9x|2.00 ms|1.44 MB/s|0.0100|3000 reads/s",
		"D-1|sata|802|799 to 806|-|2.00 ms|-|0.0100|300 reads/s",
		"D-1|nvme|802|799 to 805|~|2.00 ms|-|0.0100|3000 reads/s",
	}
	for i, got := range runtest.Rows(s.Tables[0]) {
		if got != want[i] {
			t.Errorf("row %d says\n%s, want\n%s", i, got, want[i])
		}
	}
	if len(s.Figures) != 2 || len(s.Figures[0].Ratios) != 2 || !s.Has(result.Point{Mix: "C-1-nvme"}) {
		t.Errorf("%+v", s)
	}
	f, _, ok := levels.Verdict(v, true)
	title := "Sure: C-1 does most at media nvme, 702 a second, 6.9 times what it does at sata; " +
		"D-1 changes by at most 1% from media sata to another"
	if !ok || strings.ReplaceAll(f.Title, "Likely", "Sure") != title {
		t.Errorf("it says %q", f.Title)
	}
	if !v.Together("C-1-nvme") {
		t.Error("a mix at a level is taken for one that is about its stack")
	}
}

// What differs in numbers is drawn over them, and the best need not be the last.
func TestLevelsThatAreNumbers(t *testing.T) {
	found := levels.Find(runview.New(runtest.Tell(t, users)))
	s := found[0].Section
	if len(s.Figures) != 3 || len(s.Figures[0].Series[0].Marks) != 3 || s.Figures[0].Series[0].Marks[2].X != 64 {
		t.Fatalf("%+v", s.Figures)
	}
	if said := "T-1 does most at users 10, 302 a second, 3.0 times what it does at 1"; found[0].Title != said {
		t.Errorf("it says %q", found[0].Title)
	}
	_, told, _ := levels.Verdict(runview.New(runtest.Tell(t, users)), true)
	if told.Series[0].Best != 1 || !told.Series[0].Points[1].Throughput.Differs {
		t.Errorf("%+v", told)
	}
}

// What an instance did is said of one, also where a level has several.
func TestLevelsOfSeveralInstances(t *testing.T) {
	four := strings.ReplaceAll(strings.ReplaceAll(users, "disk x1", "disk x4"), "writes=2", "writes=2 io=0.5")
	found := levels.Find(runview.New(runtest.Tell(t, four)))
	if len(found) != 1 {
		t.Fatalf("%d findings", len(found))
	}
	for _, p := range found[0].Facts.(*levels.Facts).Series[0].Points {
		if p.Waiting != 0.5 {
			t.Errorf("an instance at level %s waits for %g of the time, want 0.5", p.Level, p.Waiting)
		}
	}
}

// Nothing is sure of what was brought up too rarely, or while others worked.
func TestWhatLevelsDoIsNotSureYet(t *testing.T) {
	cut := func(trials int) string {
		var lines []string
		for text := range strings.SplitSeq(users, "\n") {
			if words := strings.Fields(text); len(words) > 10 {
				text = strings.Join(append(words[:4+trials], words[10:]...), " ")
			}
			lines = append(lines, text)
		}
		return strings.Join(lines, "\n")
	}
	for _, c := range []struct {
		trials int
		quiet  bool
		want   fact.Confidence
	}{{6, true, fact.Sure}, {6, false, fact.Likely}, {2, true, fact.TooEarly}} {
		f, _, ok := levels.Verdict(runview.New(runtest.Tell(t, cut(c.trials))), c.quiet)
		if !ok || f.Recommendation.Confidence != c.want {
			t.Errorf("%d setups, quiet %t: %+v", c.trials, c.quiet, f.Recommendation)
		}
	}
}

// Levels that cannot be distinguished from the best are named with it: a range where they are neighbors, and each else.
// Rounds that are slow for all do not decide which they are.
func TestAllThatMayDoMostAreNamed(t *testing.T) {
	const head = "stack disk: loop > xfs > volume\nworkload T tpcc {warehouses: 1, database: mysql}\n"
	line := func(level int, rates string) string {
		return fmt.Sprintf("instances T disk x1 %s mean=1000000 p99=9000000 writes=2 level=users:%d\n", rates, level)
	}
	low, high := "100 151 102 150 103 141", "300 453 301 455 302 424"
	near := "304 448 303 450 305 420" // as good, in the same rounds
	for _, c := range []struct{ rates, says string }{
		{line(1, low) + line(4, high) + line(16, near) + line(64, low), "does most at users 4 to 16, "},
		{line(1, low) + line(4, high) + line(16, low) + line(64, near), "does most at users 4 or 64, "},
		{line(1, high) + line(4, near) + line(16, low), "does most at users 1 to 4, "},
		{line(1, low) + line(4, low) + line(16, high), "does most at users 16, "},
	} {
		found := levels.Find(runview.New(runtest.Tell(t, head+c.rates)))
		if !strings.Contains(found[0].Title, c.says) {
			t.Errorf("it says %q, want %q", found[0].Title, c.says)
		}
	}
	same := line(1, high) + line(4, near)
	if found := levels.Find(runview.New(runtest.Tell(t, head+same))); strings.Contains(found[0].Title, "most at") {
		t.Errorf("of two that are level it says %q", found[0].Title)
	}
}
