// Package prose puts facts into words, as all rules write them.
package prose

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Capital returns the text with a capital letter first.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// AtMost writes a share of 1 as so many percent, rounded up, and at least 1%: what is said to be the most is.
func AtMost(share float64) string { return fmt.Sprintf("%.0f%%", max(1, math.Ceil(100*share-1e-9))) }

// Test writes what the test of an effect said.
func Test(e fact.Effect) string {
	switch {
	case e.TooFew && e.Pairs > 0:
		return "no test of " + plural.Count(e.Pairs, "pair")
	case e.Pairs > 0:
		return fmt.Sprintf("%s in %s, %s for all comparisons together", units.PValue(e.P), plural.Count(e.Pairs, "pair"), units.PValue(e.Adjusted))
	}
	return "Mann-Whitney " + units.PValue(e.P)
}

// Extra writes a difference of latencies in ns: "85.3 us more (80.1 us to
// 90.4 us)", and with ~ where the interval holds none. Below four values there
// is no interval.
func Extra(d fact.Difference) string {
	if d.N >= stats.FewestPairs && d.HoldsNone() {
		return "~ " + Interval(d)
	}
	return Interval(d)
}

// Interval writes a difference of latencies in ns with its interval, if it has one.
func Interval(d fact.Difference) string {
	if d.N < stats.FewestPairs {
		return Signed(d.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", Signed(d.Median), Signed(d.Low), Signed(d.High))
}

// quantities are how estimates are written, by what they are of.
var quantities = map[string]func(float64) string{
	"bandwidth": units.Bandwidth,
	"digits":    units.Digits,
	"iops":      units.Rate,
	"factor":    func(x float64) string { return units.Times(x) + "x" },
	"latency":   units.Latency,
	"rate":      units.Rate,
	"share":     SignedPercent,
	"signed":    Signed,
	"times":     units.Times,
	"whole":     func(x float64) string { return fmt.Sprintf("%.0f", x) },
}

// Estimate writes a median with its interval, if it has one. quantity is what it is
// of: latency, share, factor.
func Estimate(quantity string, e fact.Estimate) string {
	write := quantities[quantity]
	if e.N < stats.FewestPairs || e.Low == e.High {
		return write(e.Median)
	}
	return fmt.Sprintf("%s (%s)", write(e.Median), Span(quantity, e.Low, e.High))
}

// Span writes from what to what an interval goes: "3.1 to 3.4".
func Span(quantity string, low, high float64) string {
	write := quantities[quantity]
	return fmt.Sprintf("%s to %s", write(low), write(high))
}

// Many writes how many of something: "3.1 initiators (2.9 to 3.4)".
func Many(e fact.Estimate, noun string) string {
	number, interval, _ := strings.Cut(Estimate("digits", e), " ")
	return strings.TrimSpace(number + " " + noun + "s " + interval)
}

// One returns the singular of what is counted: a read, of reads.
func One(plural string) string { return "a " + strings.TrimSuffix(plural, "s") }

// Signed writes a latency that may be negative.
func Signed(ns float64) string {
	if ns < 0 {
		return "-" + units.Latency(-ns)
	}
	return units.Latency(ns)
}

// SignedPercent writes a share that may be negative: a device can seem to take
// longer than the application waited when the parts do not close.
func SignedPercent(share float64) string {
	if share < 0 {
		return "-" + units.Percent(-share)
	}
	return units.Percent(share)
}

// Within writes a ratio with its interval, if it has one that is seen: "0.50 (0.49 to 0.51)".
func Within(e fact.Effect, write func(ratio float64) string) string {
	low, high := write(e.Low), write(e.High)
	if !e.HasInterval() || low == high {
		return write(e.Ratio)
	}
	return fmt.Sprintf("%s (%s to %s)", write(e.Ratio), low, high)
}

// Inside says what all mixes ran in: a scaled-down host of this host, or a host elsewhere.
func Inside(host string, imported bool) string { return "All " + inHost(host, imported) + "." }

func inHost(host string, imported bool) string {
	if imported {
		return "on a host of " + host
	}
	return "in a scaled-down host of " + host
}

// InHost says which host a mix ran in: "in a scaled-down host of 2 CPUs"; "" for the host itself.
func InHost(host *result.Limits, imported bool) string {
	if host == nil || host.None() {
		return ""
	}
	return inHost(host.String(), imported)
}

// Rate writes a point's median with its interval: "12.3k IOPS (11.9k to 12.6k)".
func Rate(p fact.Point) string {
	unit := units.IOPS
	if result.Source(p.Source).Operations() {
		unit = units.Operations
	}
	if p.Coverage == 0 {
		return units.Rate(p.Median) + " " + unit
	}
	return fmt.Sprintf("%s %s (%s to %s)", units.Rate(p.Median), unit, units.Rate(p.Low), units.Rate(p.High))
}

// Verb tells what a workload does to a stack, by fio's rw.
type Verb struct{ Third, Plain string }

// VerbOf returns the verb for fio's rw.
func VerbOf(pattern string) Verb {
	switch pattern {
	case "randread", "read":
		return Verb{"reads", "read"}
	case "randwrite", "write":
		return Verb{"writes", "write"}
	}
	return Verb{"does", "do"}
}

// TooFew says when so few setups, or trials, cannot differ significantly.
func TooFew(e fact.Effect) []string {
	switch {
	case !e.TooFew:
		return nil
	case e.Pairs > 0:
		return []string{fmt.Sprintf("%s of both cannot separate a difference from chance: it takes %d", plural.Count(e.Pairs, "setup"), stats.FewestPairs)}
	}
	return []string{fmt.Sprintf("%d against %s cannot differ at the 5%% level (p is %s at best): repeat each %d times",
		e.N[0], plural.Count(e.N[1], "trial"), units.Digits(stats.SmallestP(e.N[0], e.N[1])), stats.RepeatsNeeded())}
}

// Units names what was made anew: "4 setups", or "4 trials" where setups
// are not known.
func Units(e fact.Effect, n int) string {
	if e.Pairs > 0 {
		return plural.Count(n, "setup")
	}
	return plural.Count(n, "trial")
}

// Sentence returns a text that begins with a capital letter and ends with a stop.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimRight(text[1:], ". ") + "."
}

// Lowered returns a text that can stand in the middle of a sentence.
func Lowered(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + strings.TrimRight(text[1:], ". ")
}

// Seconds writes a time: "2 s", "0.5 s".
func Seconds(s float64) string { return fmt.Sprintf("%.3g s", s) }

// Deviation writes a standard deviation as a share.
func Deviation(share float64) string {
	if share < 0.001 {
		return "less than 0.1%"
	}
	return units.Percent(share)
}
