package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
)

// What neighbours did is said once, right under the verdict, on the terminal and
// on the page; and it comes from names that others chose.
func TestNeighboursStandUnderTheVerdict(t *testing.T) {
	const title = "The host was not quiet: others, mostly \x1b[2J<b>fio</b>, did 40% of the I/O on vda"
	run, findings, points := smallRun()
	findings = append(slices.Clone(findings), fact.Finding{ID: "neighbours", Kind: fact.KindNeighbours, Title: title,
		Why: "Measure again."})
	if !slices.ContainsFunc(findings, func(f fact.Finding) bool { return f.Kind == fact.KindRecommendation }) {
		findings = append(findings, fact.Finding{Kind: fact.KindRecommendation, Title: "Take xfs"})
	}
	var out bytes.Buffer
	if err := writeTerminal(&out, run, findings, points, TerminalOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	verdict, note := strings.Index(text, "Verdict"), strings.Index(text, "The host was not quiet")
	if strings.Count(text, "The host was not quiet") != 1 || note < verdict ||
		strings.Count(text[verdict:note], "\n\n") > 0 {
		t.Errorf("it is not said once, right under the verdict:\n%s", text)
	}
	if strings.ContainsRune(text, '\x1b') {
		t.Errorf("an escape code of others reaches the terminal:\n%q", text)
	}
	out.Reset()
	if err := HTML(&out, run, findings, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	section, _, _ := strings.Cut(page[strings.Index(page, `<section class="verdict"`):], "</section>")
	if strings.Count(page, "The host was not quiet") != 1 || !strings.Contains(section,
		"&lt;b&gt;fio&lt;/b&gt;, did 40%") || strings.Contains(section, "<b>fio") {
		t.Errorf("the page does not say it once, in the verdict:\n%s", section)
	}
	if limits := strings.Index(section, "What limits"); limits >= 0 &&
		strings.Index(section, "The host was not quiet") > limits {
		t.Errorf("what limits the verdict stands before it:\n%s", section)
	}
}
