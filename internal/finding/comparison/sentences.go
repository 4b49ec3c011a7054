package comparison

import (
	"fmt"

	"plimsoll/internal/fact"
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
	var text string
	switch {
	case c.FromMemory:
		text = fmt.Sprintf("%s seems to %s %s what %s does, but memory answered: %s", e.Subject, verb.Plain, e.Written(),
			e.Baseline, f.Workload)
	case e.Differs || e.TooFew:
		text = fmt.Sprintf("%s %s %s what %s does: %s", e.Subject, verb.Third, e.WithInterval(), e.Baseline, f.Workload)
	default:
		text = fmt.Sprintf("%s %s ~ what %s does, %s: %s", e.Subject, verb.Third, e.Baseline, e.WithInterval(), f.Workload)
	}
	if e.TooFew {
		text += ", too few to decide"
	}
	return text
}

// why says what was compared, and whether the difference is taken for real.
func (c Facts) why(f fact.Finding) string {
	text := c.Baseline + " is the baseline of the experiment."
	if c.Only != "" {
		text = "They differ only in " + c.Only + "."
	}
	e := f.Effect
	if e == nil {
		return text
	}
	text += fmt.Sprintf(" Medians: %s IOPS of %s against %s of %s; %s.", units.Rate(f.Evidence[0].Median),
		prose.Units(*e, e.N[0]),
		units.Rate(f.Evidence[1].Median), prose.Units(*e, e.N[1]), prose.Test(*e))
	switch c.Doubt {
	case "many":
		text += " Among so many comparisons that may be chance (~)."
	case "small":
		text += " So small a difference is none to anybody (~)."
	case "chance":
		text += " That is not significant at the 5% level (~)."
	}
	return text
}
