// Package ranking ranks the stacks of each workload by what their numbers are worth.
package ranking

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Facts are the stacks of a workload by what their numbers are worth, the best of
// each first.
type Facts struct {
	Honest    []Placed `json:"honest,omitempty"`    // the device answered
	Unchecked []Placed `json:"unchecked,omitempty"` // no counter could be read
	Memory    []Placed `json:"memory,omitempty"`    // memory answered
	Level     []string `json:"level,omitempty"`     // honest ones that are known to be as fast as the first, within the margin
	Open      []string `json:"open,omitempty"`      // those of the others that may be as fast as the first
	Margin    float64  `json:"margin"`              // as a share
}

// Placed is a stack in a ranking.
type Placed struct {
	Stack string  `json:"stack"`
	IOPS  float64 `json:"iops"` // median
	// MayBeBest is whether the stack cannot be distinguished from the fastest.
	MayBeBest bool `json:"may_be_best,omitempty"`
}

// Find ranks the stacks of each workload. Only those whose device
// answered compete; what came from memory is listed apart.
func Find(v *runview.View) []fact.Finding {
	var out []fact.Finding
	var alone []*runview.Cell // stacks that are the only ones of their workloads, and unchecked
	var workloads []string    // of these
	for _, w := range v.Workloads {
		if v.Together(w.Name) {
			continue
		}
		r := v.Rank(w.Name)
		if len(r.Honest)+len(r.Unchecked)+len(r.Memory) == 0 {
			continue
		}
		if len(r.Unchecked) == 1 && len(r.Honest)+len(r.Memory) == 0 {
			alone, workloads = append(alone, r.Unchecked[0]), append(workloads, w.Name)
		}
		facts := Facts{Honest: placed(r.Honest), Unchecked: placed(r.Unchecked), Memory: placed(r.Memory), Margin: v.Margin()}
		f := fact.Finding{
			ID: "fastest/" + w.Name, Kind: fact.KindFastest, Workload: w.Name,
			Stacks:   append(runview.Names(r.Honest), runview.Names(r.Unchecked)...),
			Evidence: runview.Points(slices.Concat(r.Honest, r.Unchecked, r.Memory)...),
			Caveats:  runview.MarksOf(slices.Concat(r.Honest, r.Unchecked)...),
		}
		switch {
		case len(r.Honest) > 0:
			nameFastest(v, &f, &facts, r.Honest)
		case len(r.Unchecked) > 0:
			f.Case = "unchecked"
		default:
			f.Case = "from memory"
		}
		f.Facts, f.Title, f.Why = facts, facts.title(f), facts.order()
		out = append(out, f)
	}
	return together(out, alone, workloads)
}

// together replaces the findings of workloads that have one stack each, all unchecked, by one of all of them: there is
// nothing to rank, and the same to be said of each.
func together(findings []fact.Finding, alone []*runview.Cell, workloads []string) []fact.Finding {
	if len(alone) < 2 {
		return findings
	}
	findings = slices.DeleteFunc(findings, func(f fact.Finding) bool { return slices.Contains(workloads, f.Workload) })
	names := slices.Compact(slices.Sorted(slices.Values(runview.Names(alone))))
	facts := Facts{Unchecked: placed(alone)}
	return append(findings, fact.Finding{
		ID: "fastest/alone", Kind: fact.KindFastest, Stacks: names, Evidence: runview.Points(alone...),
		Caveats: runview.MarksOf(alone...), Case: "alone", Facts: facts,
		Title: fmt.Sprintf("%s of %s had no other stack beside them, and no device counter could be read: their numbers are "+
			"not ranked, and none is known to be honest", plural.Count(len(workloads), "workload"), plural.And(names)),
		Why: "A rank takes two stacks under one workload, and device counters show whether memory answered.",
	})
}

// nameFastest says what is known of the best honest stack and the others, by multiple comparisons with the best.
func nameFastest(v *runview.View, f *fact.Finding, facts *Facts, honest []*runview.Cell) {
	if len(honest) == 1 {
		f.Case = "only"
		return
	}
	next, ok := v.Compare(honest[0], honest[1])
	if ok {
		f.Effect = &next
	}
	prose.RemarkTooFew(f, next)
	bounds, known := v.Best(honest, stats.Alpha)
	if !known {
		f.Case = "cannot tell"
		return
	}
	for i, c := range honest[1:] {
		b := bounds[i+1]
		facts.Honest[i+1].MayBeBest = b.MayBeBest()
		switch {
		case bounds[0].WithinMargin() && b.WithinMargin():
			facts.Level = append(facts.Level, c.Stack.Name)
		case b.MayBeBest():
			facts.Open = append(facts.Open, c.Stack.Name)
		}
	}
	switch {
	case len(facts.Level)+len(facts.Open) > 0:
		f.Case = "level"
	default:
		f.Case = "fastest"
	}
}

// placed are cells in their order.
func placed(cells []*runview.Cell) []Placed {
	var out []Placed
	for _, c := range cells {
		out = append(out, Placed{Stack: c.Stack.Name, IOPS: c.Point.Median})
	}
	return out
}

// title says who leads, and whether that is known.
func (r Facts) title(f fact.Finding) string {
	if f.Case == "from memory" {
		return f.Workload + ": every stack answered from memory, so none is the fastest"
	}
	leads, rate := strings.TrimSpace(f.Workload+": "+f.Stacks[0]), prose.Rate(f.Evidence[0])
	switch f.Case {
	case "only":
		return fmt.Sprintf("%s is the only honest stack, %s", leads, rate)
	case "cannot tell":
		return fmt.Sprintf("%s does most, %s, and so few trials cannot decide whether that is chance", leads, rate)
	case "level":
		text := fmt.Sprintf("%s leads with %s", leads, rate)
		if n := len(r.Level); n > 0 {
			text += fmt.Sprintf(", and %s %s as fast within %s", plural.And(r.Level), plural.Choose(n, "is", "are"),
				units.Percent(r.Margin))
		}
		if len(r.Open) > 0 {
			text += fmt.Sprintf(", and cannot be distinguished from %s (~)", plural.And(r.Open))
		}
		return text
	case "unchecked":
		return fmt.Sprintf("%s shows most, %s, but no stack's device counters could be read, so none is known to be honest",
			leads, rate)
	}
	text := fmt.Sprintf("%s is fastest with %s", leads, rate)
	if f.Effect != nil {
		text += fmt.Sprintf(", %s of %s", f.Effect.WithInterval(), f.Effect.Baseline)
	}
	return text
}

// order lists all stacks by what their numbers are worth.
func (r Facts) order() string {
	var sentences []string
	for _, part := range []struct {
		words  string
		stacks []Placed
	}{
		{"By what each does in the same rounds as the others, with medians of IOPS, ~ where it may be as fast as the first: ", r.Honest},
		{"Apart, because no device counter could be read: ", r.Unchecked},
		{"Apart, because memory answered instead of the device: ", r.Memory},
	} {
		var stacks []string
		for _, p := range part.stacks {
			mark := ""
			if p.MayBeBest {
				mark = "~ "
			}
			stacks = append(stacks, strings.TrimSpace(p.Stack+" "+mark+units.Rate(p.IOPS)))
		}
		if len(stacks) > 0 {
			sentences = append(sentences, part.words+strings.Join(stacks, ", ")+".")
		}
	}
	return strings.Join(sentences, " ")
}
