package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"plimsoll/internal/cli/glossary"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
)

// verdict is a recommendation: what stands first on the page, and what is
// folded behind it.
type verdict struct {
	fact.Finding
	Headline string
	Bullets  []bullet // at most three
	Reason   string   // why it is only likely; "" for any other
	Marks    []string // of the stacks it speaks of
	Limits   []string
}

func newVerdict(f fact.Finding, findings []fact.Finding) verdict {
	v := verdict{Finding: f, Headline: f.Title}
	if r := f.Recommendation; r != nil {
		v.Headline, v.Bullets, v.Reason = r.Headline, bullets(r), r.Reason
	}
	for _, c := range f.Caveats {
		if isMark(c) {
			v.Marks = append(v.Marks, c)
		} else {
			v.Limits = append(v.Limits, c)
		}
	}
	for _, c := range findings {
		if c.Kind == fact.KindCaveat && concerns(c, f) && !slices.Contains(v.Limits, c.Title) {
			v.Limits = append(v.Limits, c.Title)
		}
	}
	return v
}

// concerns tells whether a caveat is about the stack that a verdict puts
// first, or about all.
func concerns(caveat, verdict fact.Finding) bool {
	return len(caveat.Stacks) == 0 || len(verdict.Stacks) == 0 || slices.Contains(caveat.Stacks, verdict.Stacks[0])
}

func isMark(caveat string) bool {
	return slices.Contains([]result.Mark{result.MarkLoop, result.MarkMemory, result.MarkShared, result.MarkLab,
		result.MarkImported}, result.Mark(caveat))
}

// explained writes a word of a table's head as a link to what it means.
func explained(word string, text ...string) (template.HTML, error) {
	e, ok := glossary.Find(word)
	if !ok {
		return "", fmt.Errorf("the glossary does not explain %q", word)
	}
	shown := word
	if len(text) > 0 {
		shown = cmp.Or(text[0], word)
	}
	escaped := template.HTMLEscapeString(shown)
	return template.HTML(fmt.Sprintf(`<a class="word" href="#%s">%s</a>`, e.Anchor(), escaped)), nil
}
