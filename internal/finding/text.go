package finding

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/stats"
)

// number writes a rate with three significant digits: 950, 4.02k, 12.3k.
func number(x float64) string {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= unit.from*0.9995 {
			return digits(x/unit.from) + unit.name
		}
	}
	return digits(x)
}

// bandwidth writes bytes per second: 950 B/s, 3.31 GB/s.
func bandwidth(x float64) string {
	text := number(x)
	unit := strings.TrimLeft(text, "0123456789.")
	return strings.TrimSuffix(text, unit) + " " + unit + "B/s"
}

// digits writes three significant digits, and two below 1: 0.029, 3e-07.
func digits(x float64) string {
	switch {
	case x >= 99.95 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// pText writes a p value: "p = 0.029", "p < 0.0001".
func pText(p float64) string {
	if p < 1e-4 {
		return "p < 0.0001"
	}
	return "p = " + digits(p)
}

// times writes a ratio: 0.0043, 0.97, 1.05, 4.9, 12.
func times(x float64) string {
	switch {
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 1.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.0995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// ratioText writes a ratio with its interval, if it has one: "4.9x (4.1 to 5.6)".
func ratioText(e Effect) string {
	if !e.HasInterval() {
		return times(e.Ratio) + "x"
	}
	return fmt.Sprintf("%sx (%s to %s)", times(e.Ratio), times(e.Low), times(e.High))
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
		return number(p.Median) + " IOPS"
	}
	return fmt.Sprintf("%s IOPS (%s to %s)", number(p.Median), number(p.Low), number(p.High))
}

// latency writes nanoseconds: 850 ns, 1.10 us, 3.90 ms, 1.20 s.
func latency(ns float64) string {
	switch {
	case ns >= 1e9*0.9995:
		return digits(ns/1e9) + " s"
	case ns >= 1e6*0.9995:
		return digits(ns/1e6) + " ms"
	case ns >= 1e3*0.9995:
		return digits(ns/1e3) + " us"
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// ofHundred writes a share of 1 as so many of 100: 0.14, 7, 40.
func ofHundred(share float64) string {
	if p := 100 * share; p < 9.95 {
		return fmt.Sprintf("%.2g", p)
	}
	return fmt.Sprintf("%.0f", 100*share)
}

// percent writes a share of 1. Only all is 100%.
func percent(share float64) string {
	if share > 10 {
		return "more than 1000%"
	}
	if p := 100 * share; p > 99 && p < 100 {
		return fmt.Sprintf("%.2f%%", math.Floor(p*100)/100)
	}
	return ofHundred(share) + "%"
}

// list joins words: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// count writes "1 trial", "3 trials".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// choose is one for a single subject, and many else: "was", "were".
func choose(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
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
		return []string{fmt.Sprintf("%s of both cannot tell a difference from chance: it takes %d", count(e.Pairs, "bring-up"), stats.FewestPairs)}
	}
	return []string{fmt.Sprintf("%d against %s cannot differ at the 5%% level (p is %s at best): repeat each %d times",
		e.N[0], count(e.N[1], "trial"), digits(stats.SmallestP(e.N[0], e.N[1])), stats.RepeatsNeeded())}
}

// units names what was made anew: "4 bring-ups", or "4 trials" where bring-ups
// are not known.
func (e Effect) units(n int) string {
	if e.Pairs > 0 {
		return count(n, "bring-up")
	}
	return count(n, "trial")
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
