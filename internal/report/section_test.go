package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
)

// A section is drawn by what it says alone: on a terminal in the columns that fit, on a page whole.
func TestSectionIsDrawn(t *testing.T) {
	s := &answer.Section{
		Title: "What is asked", Note: "Why.", Covers: []cell.Point{{Mix: "m"}},
		Keys: []answer.Key{{Class: answer.Carries, Text: "the line"}},
		Tables: []answer.Table{{Caption: "medians", Columns: []answer.Column{
			{Head: "name", Text: true}, {Head: "p99", Means: "how long most take"}, {Head: "range", Drop: 1},
		}, Rows: []answer.Row{
			{Cells: []answer.Cell{answer.Text("a <b>"), answer.Latency.Cell(1.9e6), answer.Count.Between(11800, 13178)}},
			{Cells: []answer.Cell{answer.Text(strings.Repeat("x", 60)), {}, {}}, Warn: true},
			{Words: "and no trial of others"},
		}}},
		Figures: []answer.Figure{
			{Title: "Over n", X: answer.Axis{Of: answer.Count, Label: "n"}, Y: answer.Axis{Of: answer.Latency, Log: true},
				Bands: []answer.Band{{Class: answer.Carries, X: [2]float64{2, 2}, Text: "here"}},
				Series: []answer.Series{{Name: "one", Marks: []answer.Mark{{X: 1, Y: 1e6, Low: 9e5, High: 2e6, Text: "at 1"},
					{X: 2, Y: 5e6, Class: answer.Missed, Text: "at 2"}}}}},
			{Title: "Of nothing"},
		},
	}
	findings := []fact.Finding{{ID: "x", Kind: fact.KindScaling, Title: "so it is", Section: s}}
	run := &result.Run{Workloads: []result.Workload{{Name: "m"}}}
	for width, fits := range map[int]bool{80: false, 120: true} {
		var out bytes.Buffer
		if err := Terminal(&out, run, findings, TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		for _, want := range []string{"What is asked\n", "1.90 ms", "p99: how long most take", "and no trial of others"} {
			if !strings.Contains(said, want) {
				t.Errorf("in %d columns, it does not say %q:\n%s", width, want, said)
			}
		}
		if strings.Contains(said, "11.8 to 13.2k") != fits || strings.Contains(said,
			"left out to fit the terminal: range") == fits {
			t.Errorf("in %d columns:\n%s", width, said)
		}
		for line := range strings.Lines(said) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
	var page bytes.Buffer
	if err := HTML(&page, run, findings, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What is asked</h2>", "a &lt;b&gt;", `<td class="n">11.8 to 13.2k</td>`, "p99: how long most take", "at 2", "here",
		"the line", "and no trial of others"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page.String(), "Of nothing") {
		t.Error("the page has a figure without marks")
	}
}
