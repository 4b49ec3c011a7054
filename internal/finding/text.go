package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// pText writes a p value: "p = 0.029", "p < 0.0001".
func pText(p float64) string {
	if p < 1e-4 {
		return "p < 0.0001"
	}
	return "p = " + units.Digits(p)
}

// ratioText writes a ratio with its interval, if it has one: "4.9x (4.1 to 5.6)".
func ratioText(e Effect) string {
	if !e.HasInterval() {
		return units.Times(e.Ratio) + "x"
	}
	return fmt.Sprintf("%sx (%s to %s)", units.Times(e.Ratio), units.Times(e.Low), units.Times(e.High))
}

// shortRatio is ratioText with a leading ~ when the difference is not
// significant. So few that nothing can be have neither ~ nor an interval.
func shortRatio(e Effect) string {
	if e.Differs || e.TooFew {
		return ratioText(e)
	}
	return "~ " + ratioText(e)
}

// rate writes a point's median with its interval: "12.3k IOPS (11.9k to 12.6k)".
func rate(p Point) string {
	if p.Coverage == 0 {
		return units.Rate(p.Median) + " IOPS"
	}
	return fmt.Sprintf("%s IOPS (%s to %s)", units.Rate(p.Median), units.Rate(p.Low), units.Rate(p.High))
}

// verb tells what a workload does to a stack, by fio's rw.
type verb struct{ third, plain string }

func verbOf(pattern string) verb {
	switch pattern {
	case "randread", "read":
		return verb{"reads", "read"}
	case "randwrite", "write":
		return verb{"writes", "write"}
	}
	return verb{"does", "do"}
}

// marksOf gives the marks of the cells' stacks, each once.
func marksOf(cells ...*cell) []string {
	var out []string
	for _, c := range cells {
		for _, m := range c.point.Marks {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// tooFew says when so few bring-ups, or trials, cannot differ significantly.
func tooFew(e Effect) []string {
	switch {
	case !e.TooFew:
		return nil
	case e.Pairs > 0:
		return []string{fmt.Sprintf("%s of both cannot tell a difference from chance: it takes %d", plural.Count(e.Pairs, "bring-up"), stats.FewestPairs)}
	}
	return []string{fmt.Sprintf("%d against %s cannot differ at the 5%% level (p is %s at best): repeat each %d times",
		e.N[0], plural.Count(e.N[1], "trial"), units.Digits(stats.SmallestP(e.N[0], e.N[1])), stats.RepeatsNeeded())}
}

// units names what was made anew: "4 bring-ups", or "4 trials" where bring-ups
// are not known.
func (e Effect) units(n int) string {
	if e.Pairs > 0 {
		return plural.Count(n, "bring-up")
	}
	return plural.Count(n, "trial")
}

// sentence gives a text that begins with a capital letter and ends with a stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimRight(text[1:], ". ") + "."
}

// lowered gives a text that can stand in the middle of a sentence.
func lowered(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + strings.TrimRight(text[1:], ". ")
}
