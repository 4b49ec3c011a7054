package noise

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
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
	for _, n := range f.under {
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
	var said []string
	spans := f.spans()
	switch {
	case spans == "":
		said = f.singly()
	case f.stacks:
		said = []string{"Rates vary by " + spans + "."}
	}
	who := "mixes"
	if f.stacks {
		who = "stacks"
	}
	said = append(said, fmt.Sprintf("In each round all %s use the same region of the disk, one after the other.", who))
	if f.Control {
		said = append(said, "The control is a copy of the baseline that was brought up like any other stack. No difference below the "+
			"one between these two is taken for real.")
	}
	if f.stacks && f.Comparisons > 1 {
		said = append(said, fmt.Sprintf("Among %s of rates, at most %s of those that are called different are expected to be so by chance.",
			plural.Count(f.Comparisons, "comparison"), units.Percent(stats.Alpha)))
	}
	return strings.Join(said, " ")
}

// singly says of each workload by how much rates vary.
func (f Facts) singly() (said []string) {
	for _, n := range f.under {
		if varies := variance(n); varies != "" {
			said = append(said, fmt.Sprintf("Under %s, rates vary by %s.", n.Workload, varies))
		}
	}
	return said
}

// spans says by how much rates vary under many workloads; "" where these are few enough to be told of
// one by one.
func (f Facts) spans() string {
	if len(f.under) <= mostSingly {
		return ""
	}
	return variance(f.under...)
}

// variance says by how much rates vary, and between what.
func variance(under ...fact.Noise) string {
	var all []string
	for _, p := range parts {
		low, high, ok := p.span(under...)
		if !ok {
			continue
		}
		text := prose.Deviation(low)
		if most := prose.Deviation(high); most != text {
			text += " to " + most
		}
		all = append(all, text+" "+p.where)
	}
	return plural.And(all)
}

// row says all of a workload in a line.
func row(n fact.Noise) string {
	var all []string
	switch {
	case n.Control == nil:
	case n.Control.TooFew:
		all = append(all, fmt.Sprintf("so few setups do not show how far two copies of %s differ", n.Twin))
	default:
		all = append(all, fmt.Sprintf("two copies of %s differ by %s", n.Twin, prose.Deviation(n.Apart())))
	}
	if varies := variance(n); varies != "" {
		all = append(all, "rates vary by "+varies)
	}
	return strings.Join(all, "; ")
}
