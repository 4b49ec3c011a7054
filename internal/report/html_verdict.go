package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"plimsoll/internal/cli/glossary"
	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
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
	return result.Mark(caveat).Letter() != ""
}

// columnHead writes the head of a column, with a link to the word of the glossary that explains it.
func columnHead(c answer.Column) (template.HTML, error) {
	text := template.HTMLEscapeString(cmp.Or(c.Long, c.Head))
	if c.Word == "" {
		return template.HTML(text), nil
	}
	e, ok := glossary.Find(c.Word)
	if !ok {
		return "", fmt.Errorf("the glossary does not explain %q", c.Word)
	}
	return template.HTML(fmt.Sprintf(`<a class="word" href="#%s">%s</a>`, e.Anchor(), text)), nil
}
