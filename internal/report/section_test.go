package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
)

// What the verdict is drawn from is shown first.
func TestSectionOfTheVerdictIsFirst(t *testing.T) {
	sections := answers([]fact.Finding{
		{Kind: fact.KindRecommendation, Why: "b"}, {Why: "a", Section: &answer.Section{Title: "a"}},
		{Why: "b", Section: &answer.Section{Title: "b"}}, {Why: "c"},
	})
	if len(sections) != 2 || sections[0].Title != "b" || sections[1].Title != "a" {
		t.Errorf("%+v", sections)
	}
}

// A section is drawn by what it says alone: on a terminal in the columns that fit, on a page whole.
func TestSectionIsDrawn(t *testing.T) {
	s := &answer.Section{
		Title: "What is asked", Note: "Why.", Remarks: []answer.Remark{{Text: "beside it"}, {Text: "mind", Warn: true}},
		Covers: []result.Point{{Mix: "m"}},
		Parts: []*answer.Section{{Title: "Of one number", Covers: []result.Point{{Mix: "part"}}, Tables: []answer.Table{{
			Columns: []answer.Column{{Head: "folded"}}, Rows: []answer.Row{{Cells: []answer.Cell{answer.Count.Cell(12345)}}}}}}},
		Keys: []answer.Key{{Class: answer.Carries, Text: "the line"}},
		Tables: []answer.Table{{Caption: "medians", Columns: []answer.Column{
			{Head: "name", Text: true}, {Head: "p99", Means: "how long most take"}, {Head: "range", Drop: 1},
		}, Rows: []answer.Row{
			{Cells: []answer.Cell{answer.Text("a <b>"), answer.Latency.Cell(1.9e6), answer.Count.Between(11800, 13178)}},
			{Cells: []answer.Cell{answer.Text(strings.Repeat("x", 60)), {}, {}}, Warn: true},
			{Cells: []answer.Cell{answer.Text("b"), {}, {}}, Strong: true},
			{Words: "and no trial of others"},
		}}},
		Heat: []answer.Heat{{Caption: "Who waits", Columns: []string{"beside"}, Rows: []answer.HeatRow{
			{Name: "one", Cells: []answer.HeatCell{{Text: "40%", Title: "it keeps 40%", Level: 3}}}}}},
		Figures: []answer.Figure{
			{Title: "Over n", X: answer.Axis{Of: answer.Count, Label: "n"}, Y: answer.Axis{Of: answer.Latency, Log: true},
				Bands: []answer.Band{{Class: answer.Carries, X: [2]float64{2, 2}, Text: "here"}},
				Series: []answer.Series{{Name: "one", Spark: "from 1 to 5",
					Marks: []answer.Mark{{X: 1, Y: 1e6, Low: 9e5, High: 2e6, Text: "at 1"},
						{X: 2, Y: 5e6, Class: answer.Missed, Text: "at 2"}}}}},
			{Title: "Of nothing"},
			{Title: "Held against", Ratios: []answer.Ratio{{Name: "more", Against: "as it is", Of: "p99", Written: "0.53x",
				Mark: answer.Mark{X: 0.53, Low: 0.5, High: 0.6, Class: answer.Unsure, Text: "more, held against it"}}}},
		},
	}
	findings := []fact.Finding{{ID: "x", Kind: fact.KindScaling, Title: "so it is", Section: s}}
	run := &result.Run{Workloads: []result.Workload{{Name: "m"}}}
	for width, fits := range map[int]bool{80: false, 120: true} {
		var out bytes.Buffer
		if err := Terminal(&out, run, findings, TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		printed := out.String()
		for _, want := range []string{"What is asked\n", "1.90 ms", "p99: how long most take", "and no trial of others",
			"\n  - beside it\n  ! mind\n", "  ▁█  from 1 to 5\n"} {
			if !strings.Contains(printed, want) {
				t.Errorf("in %d columns, it does not say %q:\n%s", width, want, printed)
			}
		}
		if strings.Contains(printed, "folded") || !covered(findings, "disk", "part") {
			t.Errorf("parts are for pages, and covered:\n%s", printed)
		}
		if strings.Contains(printed, "11.8 to 13.2k") != fits || strings.Contains(printed,
			"left out to fit the terminal: range") == fits {
			t.Errorf("in %d columns:\n%s", width, printed)
		}
		for line := range strings.Lines(printed) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
	var page bytes.Buffer
	if err := HTML(&page, run, findings, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What is asked</h2>", "a &lt;b&gt;", `<td class="n">11.8 to 13.2k</td>`,
		"p99: how long most take", "at 2", "here", "the line", "and no trial of others", `<tr class="strong">`, "<li>mind</li>",
		"<small>against as it is, p99</small>", "more, held against it", `<td class="heat-3" title="it keeps 40%">40%</td>`,
		"<summary>Of one number</summary>", `<th scope="row" class="n">12,345</th>`, "no significant difference"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page.String(), "Of nothing") {
		t.Error("the page has a figure without marks")
	}
}

func TestSparklines(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		byRatio bool
		want    string
	}{
		{[]float64{0, 50, 100}, false, "▁▅█"}, {[]float64{1, 10, 100}, true, "▁▅█"}, {[]float64{3, 3}, false, "██"},
		{[]float64{3, 3}, true, "▁▁"}, {[]float64{0, 0}, false, "▁▁"},
	} {
		if got := sparkline(c.values, c.byRatio); got != c.want {
			t.Errorf("%v are %s, not %s", c.values, got, c.want)
		}
	}
}

// sectionOver is a section with one figure of so many numbers, of which the last may be missing.
func sectionOver(rate float64, gone bool, numbers ...float64) *answer.Section {
	f := answer.Figure{Title: "all", X: answer.Axis{Of: answer.Count, Shared: "numbers"},
		Y:     answer.Axis{Of: answer.Count, Shared: "rate"},
		Strip: answer.Strip{Label: "like"}, Series: make([]answer.Series, 2)}
	for i, n := range numbers {
		if gone && i == len(numbers)-1 {
			f.Series[1].Marks = []answer.Mark{{X: n, Class: answer.Gone}}
			break
		}
		f.X.Log = n > 12*numbers[0]
		f.Series[0].Marks = append(f.Series[0].Marks, answer.Mark{X: n, Y: rate})
		f.Strip.Parts = append(f.Strip.Parts, answer.Part{X: n,
			Class: answer.Class(fmt.Sprint("binds-", i/2)), Text: fmt.Sprint("at ", n)})
	}
	return &answer.Section{Title: "over", Figures: []answer.Figure{f}}
}

func drawnOf(sections ...*answer.Section) (drawn []figure) {
	var findings []fact.Finding
	for _, s := range sections {
		findings = append(findings, fact.Finding{Section: s})
	}
	for _, s := range pageSections(&result.Run{}, answers(findings)) {
		drawn = append(drawn, s.Figures...)
	}
	return drawn
}

// Axes that figures share have all numbers, and one end where values are near.
func TestSharedAxes(t *testing.T) {
	f := drawnOf(sectionOver(100, false, 1, 2, 4), sectionOver(60, false, 1, 3, 5), sectionOver(1, false, 2, 4))
	for i, one := range f {
		if one.X.Low != f[0].X.Low || one.X.High != f[0].X.High || len(one.X.Ticks) != 5 {
			t.Errorf("figure %d has the axis %+v", i, one.X)
		}
	}
	if f[0].Y.High != f[1].Y.High || f[2].Y.High >= f[1].Y.High {
		t.Errorf("they end at %g, %g and %g", f[0].Y.High, f[1].Y.High, f[2].Y.High)
	}
}

// The stretches of a strip meet without a gap and stay on the axis, where equal distances are equal
// factors too; nothing is said of what was not measured.
func TestStrip(t *testing.T) {
	for name, f := range map[string]figure{
		"near": drawnOf(sectionOver(1, false, 1, 2, 3, 4, 8))[0], "far": drawnOf(sectionOver(1, false, 1, 2, 8, 64))[0],
	} {
		if f.X.Log != (name == "far") {
			t.Errorf("%s: logarithmic %t", name, f.X.Log)
		}
		end := f.Strip[0].From
		for _, s := range f.Strip {
			if s.From != end || s.To <= s.From || s.From < f.X.Low || s.To > f.X.High {
				t.Errorf("%s: %s from %g to %g, behind %g", name, s.Text, s.From, s.To, end)
			}
			end = s.To
		}
		if f.Strip[0].Text != "at 1; at 2" || f.Bottom != 40+stripRoom || f.StripLabel != "like" {
			t.Errorf("%s: %+v", name, f.Strip)
		}
	}
	f := drawnOf(sectionOver(1, true, 1, 2, 4, 6, 8))[0]
	if end := f.Strip[len(f.Strip)-1].To; math.Abs(end-7) > 1e-9 {
		t.Errorf("what 6 is like is drawn up to %g", end)
	}
	if d := f.Draw(); !slices.ContainsFunc(d.Dots, func(o dot) bool { return o.Class == classGone && o.Y == 100 }) {
		t.Error("no cross is drawn")
	}
}

// Words have their places, and what would make marks flat is left out.
func TestWordsOfFigures(t *testing.T) {
	s := sectionOver(100, false, 1, 2, 4)
	f := &s.Figures[0]
	f.Bands = []answer.Band{{Class: answer.Carries, X: [2]float64{4, 4}, Word: "here"}}
	f.Levels = []answer.Level{{Class: answer.Limit, Y: 120, Word: "limit"}, {Y: 1000, Word: "far"}}
	f.Notes = []answer.Note{{Class: answer.Shape, X: 2, Y: 100, Word: "bend", Text: "it bends"}, {Word: "none", Top: true}}
	f.Guides = []answer.Guide{{Class: answer.Alone, Y: func(x float64) float64 { return 50 * x }, Word: "would be"}}
	drawn := drawnOf(s)[0]
	if drawn.Y.High < 120*headroom || len(drawn.Bands) != 2 {
		t.Errorf("up to %g, %+v", drawn.Y.High, drawn.Bands)
	}
	var places []string
	for _, n := range drawn.Draw().Notes {
		places = append(places, fmt.Sprintf("%s %s %d", n.Word, n.Anchor, n.DY))
	}
	slices.Sort(places)
	const want = "bend middle 24, here end 14, limit end -6, none start 14, would be end 30"
	if got := strings.Join(places, ", "); got != want {
		t.Errorf("in the plot stand %s", got)
	}
}
