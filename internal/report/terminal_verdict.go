package report

import (
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
)

// verdict prints what a run says in one sentence, and what to do about it. The
// numbers and tests behind it stand below the tables.
func (t *terminal) verdict() {
	verdicts := t.findingsOf(fact.KindRecommendation)
	for i, f := range verdicts {
		switch {
		case i > 0:
		case t.run.Status == result.RunComplete:
			t.section("Verdict")
		default:
			t.section("Verdict so far, from a run that is not complete")
		}
		r := f.Recommendation
		if r == nil { // of an older version
			t.text("  ", "  ", f.Title, t.style.good)
			continue
		}
		paint := t.style.good
		if r.Confidence != fact.Sure {
			paint = t.style.bold
		}
		t.text("  ", "  ", r.Headline, paint)
		for _, b := range bullets(r) {
			t.text("  - "+b.Name+": ", "    ", b.Text, t.style.plain)
			if b.Command != "" {
				t.line("      " + printable.Line(b.Command)) // it is made to be copied
			}
		}
		t.text("  ", "  ", r.Reason, t.style.warn)
	}
	// What others did is among the reasons of a verdict that is only likely.
	for _, f := range t.findingsOf(fact.KindNeighbours) {
		if !saysSo(verdicts, f) {
			t.text("  ", "  ", f.Title+".", t.style.warn)
		}
	}
}

// bullet is a point of a verdict.
type bullet struct{ Name, Text, Command string }

// bullets are at most three: what to use, what to avoid, what to check next.
func bullets(r *fact.Recommendation) []bullet {
	all := []bullet{{Name: "Use", Text: r.Use}, {Name: "Avoid", Text: r.Avoid}, {Name: "Check next", Text: r.Next}}
	if text, ok := strings.CutSuffix(r.Next, r.Command); ok && r.Command != "" {
		all[2].Text, all[2].Command = text, r.Command
	}
	return slices.DeleteFunc(all, func(b bullet) bool { return b.Text == "" })
}

// saysSo reports whether a verdict names what others did as a reason to doubt
// it.
func saysSo(verdicts []fact.Finding, neighbours fact.Finding) bool {
	return slices.ContainsFunc(verdicts, func(f fact.Finding) bool {
		return f.Recommendation != nil && neighbours.Neighbours != nil &&
			strings.Contains(f.Recommendation.Reason, prose.Lowered(neighbours.Title))
	})
}

// behind prints what the verdict was drawn from.
func (t *terminal) behind() {
	verdicts, neighbors, noise := t.findingsOf(fact.KindRecommendation), t.findingsOf(fact.KindNeighbours),
		t.findingsOf(fact.KindNoise)
	if len(verdicts)+len(neighbors)+len(noise) == 0 {
		return
	}
	t.section("Behind the verdict")
	for _, f := range verdicts {
		t.reasons("  ", f.Why, t.style.plain)
		if len(f.Caveats) > 0 {
			t.text("  Mind: ", "  ", strings.Join(f.Caveats, "; "), t.style.warn)
		}
	}
	for _, f := range neighbors {
		t.reasons("  ", f.Why, t.style.plain)
	}
	for _, f := range noise {
		t.text("  ", "  ", f.Title+".", t.style.plain)
		t.reasons("  ", f.Why, t.style.dim)
	}
}

// picks are the stacks that verdicts put first.
func picks(findings []fact.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Recommendation != nil && f.Recommendation.Pick != "" {
			out = append(out, f.Recommendation.Pick)
		}
	}
	return out
}

// picked marks the stack of the verdict in a table, with more than a colour.
const picked = "★ "

// indent of a stack's row in a table.
func (t *terminal) indent(stack string) string {
	if slices.Contains(picks(t.findings), stack) {
		return picked
	}
	return "  "
}

// placed is a run without the copies that it brought up to know its noise, which are no stack that anybody can take.
// Its trials are on the stacks of their tenants where these have their own.
func placed(run *result.Run) *result.Run {
	control := func(name string) bool {
		return slices.ContainsFunc(run.Stacks, func(s result.Stack) bool { return s.Name == name && s.Control != "" })
	}
	shown := *run
	shown.Stacks = slices.DeleteFunc(slices.Clone(run.Stacks), func(s result.Stack) bool { return s.Control != "" })
	shown.Trials = slices.DeleteFunc(slices.Clone(run.Trials), func(t result.Trial) bool { return control(t.Stack) })
	shown.Points = slices.DeleteFunc(slices.Clone(run.Points), func(p result.PointStop) bool { return control(p.Stack) })
	for i, t := range shown.Trials {
		shown.Trials[i].Stack = placeOf(run, t.Stack, t.Mix)
	}
	for i, p := range shown.Points {
		shown.Points[i].Stack = placeOf(run, p.Stack, p.Mix)
	}
	return &shown
}

// placeOf names the stacks that a mix stands on: "disk1 + disk2".
func placeOf(run *result.Run, stack, mix string) string {
	m, _ := run.Mix(mix)
	return strings.Join(m.Places(stack), " + ")
}

// wordsHint is where words are explained.
const wordsHint = "words such as p99, ratio and interval: plimsoll help words"
