package noise

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// title says how far two copies of a stack differ, or equal trials where no stacks are compared.
func (f Facts) title() string {
	if !f.stacks {
		if spans := f.spans(); spans != "" {
			return "Equal trials differ in their rates by " + spans
		}
		return "How far equal trials differ is shown for each mix"
	}
	var apart []string
	for _, n := range f.byWorkload {
		if n.Control != nil && !n.Control.TooFew {
			apart = append(apart, fmt.Sprintf("%s under %s", prose.Deviation(n.Apart()), n.Workload))
		}
	}
	if len(apart) == 0 {
		return "This run's noise floor is not known: no copy of a stack was brought up four times beside it"
	}
	return fmt.Sprintf("This run's noise floor: two copies of %s differ by %s", f.Twin, plural.And(apart))
}

// why says what varies, and what follows from it.
func (f Facts) why() string {
	var sentences []string
	spans := f.spans()
	switch {
	case spans == "":
		sentences = f.singly()
	case f.stacks:
		sentences = []string{"Rates vary by " + spans + "."}
	}
	members := "mixes"
	if f.stacks {
		members = "stacks"
	}
	sentences = append(sentences, fmt.Sprintf("In each round all %s use the same region of the disk, one after the other.",
		members))
	if f.Control {
		sentences = append(sentences, "A control is a copy of the baseline that was brought up like any other stack. What "+
			"copies differ by, "+
			"beyond chance, widens every interval. What stays with one other stack in all rounds is known only so far.")
	}
	if f.stacks && f.Comparisons > 1 {
		sentences = append(sentences, fmt.Sprintf("Among %s of rates, at most %s of those that are called different are "+
			"expected to be so by chance.",
			plural.Count(f.Comparisons, "comparison"), units.Percent(stats.Alpha)))
	}
	return strings.Join(sentences, " ")
}

// singly says of each workload by how much rates vary.
func (f Facts) singly() (sentences []string) {
	for _, n := range f.byWorkload {
		if varies := variance(n); varies != "" {
			sentences = append(sentences, fmt.Sprintf("Under %s, rates vary by %s.", n.Workload, varies))
		}
	}
	return sentences
}

// spans says by how much rates vary under many workloads; "" where these are few enough to be told of
// one by one.
func (f Facts) spans() string {
	if len(f.byWorkload) <= mostSingly {
		return ""
	}
	return variance(f.byWorkload...)
}

// variance says by how much rates vary, and between what.
func variance(noises ...fact.Noise) string {
	var words []string
	for _, p := range parts {
		low, high, ok := p.span(noises...)
		if !ok {
			continue
		}
		text := prose.Deviation(low)
		if most := prose.Deviation(high); most != text {
			text += " to " + most
		}
		words = append(words, text+" "+p.place)
	}
	return plural.And(words)
}

// row says all of a workload in a line.
func row(n fact.Noise) string {
	var clauses []string
	switch {
	case n.Control == nil:
	case n.Control.TooFew:
		clauses = append(clauses, fmt.Sprintf("so few setups do not show how far two copies of %s differ", n.Twin))
	default:
		clauses = append(clauses, fmt.Sprintf("two copies of %s differ by %s", n.Twin, prose.Deviation(n.Apart())))
	}
	if varies := variance(n); varies != "" {
		clauses = append(clauses, "rates vary by "+varies)
	}
	return strings.Join(clauses, "; ")
}
