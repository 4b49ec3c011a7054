package comparison

import (
	"fmt"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/units"
)

// title says how two stacks compare.
func (c Facts) title(f fact.Finding) string {
	e := f.Effect
	if e == nil {
		return fmt.Sprintf("%s and %s have no ratio: a trial completed no I/O: %s", c.Subject, c.Baseline, f.Workload)
	}
	verb := prose.VerbOf(c.Pattern)
	var said string
	switch {
	case c.FromMemory:
		said = fmt.Sprintf("%s seems to %s %s what %s does, but memory answered: %s", e.Subject, verb.Plain, e.Written(),
			e.Baseline, f.Workload)
	case e.Differs || e.TooFew:
		said = fmt.Sprintf("%s %s %s what %s does: %s", e.Subject, verb.Third, e.WithInterval(), e.Baseline, f.Workload)
	default:
		said = fmt.Sprintf("%s %s ~ what %s does, %s: %s", e.Subject, verb.Third, e.Baseline, e.WithInterval(), f.Workload)
	}
	if e.TooFew {
		said += ", too few to decide"
	}
	return said
}

// why says what was compared, and whether the difference is taken for real.
func (c Facts) why(f fact.Finding) string {
	said := c.Baseline + " is the baseline of the experiment."
	if c.Only != "" {
		said = "They differ only in " + c.Only + "."
	}
	e := f.Effect
	if e == nil {
		return said
	}
	said += fmt.Sprintf(" Medians: %s IOPS of %s against %s of %s; %s.", units.Rate(f.Evidence[0].Median), prose.Units(*e, e.N[0]),
		units.Rate(f.Evidence[1].Median), prose.Units(*e, e.N[1]), prose.Test(*e))
	switch c.Doubt {
	case "many":
		said += " Among so many comparisons that may be chance (~)."
	case "small":
		said += " So small a difference is none to anybody (~)."
	case "noise":
		said += fmt.Sprintf(" Two copies of one stack differed by as much here, %sx, so that it is not taken for real (~).",
			units.Times(e.Floor))
	case "chance":
		said += " That is not significant at the 5% level (~)."
	}
	return said
}
