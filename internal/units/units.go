// Package units writes rates, latencies, ratios and shares as people read them:
// "12.3k", "310 µs", "0.92x", "4%". Findings, tables and reports share it, so
// that one number reads the same wherever it stands. It is pure.
package units

import (
	"fmt"
	"math"
	"strings"
)

// Digits returns x with three significant digits, and two below 1: 1,234 is 1234, 12.3, 0.029, 3e-07.
func Digits(x float64) string {
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

// Rate writes a rate without its unit: 950, 4.02k, 12.3k.
func Rate(x float64) string {
	for _, prefix := range []struct {
		from float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= prefix.from*0.9995 {
			return Digits(x/prefix.from) + prefix.name
		}
	}
	return Digits(x)
}

// Bandwidth writes bytes per second: 950 B/s, 3.31 GB/s.
func Bandwidth(x float64) string {
	text := Rate(x)
	prefix := strings.TrimLeft(text, "0123456789.")
	return strings.TrimSuffix(text, prefix) + " " + prefix + "B/s"
}

// Latency writes nanoseconds: 850 ns, 1.10 µs, 3.90 ms, 1.20 s.
func Latency(ns float64) string {
	switch {
	case ns >= 1e9*0.9995:
		return Digits(ns/1e9) + " s"
	case ns >= 1e6*0.9995:
		return Digits(ns/1e6) + " ms"
	case ns >= 1e3*0.9995:
		return Digits(ns/1e3) + " µs"
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// Time writes nanoseconds as Latency does. Unlike a latency that an application saw, the time between two events may be
// 0, or, of what parts leave of a whole, below.
func Time(ns float64) string {
	switch {
	case math.IsNaN(ns) || math.IsInf(ns, 0):
		return Unknown
	case ns == 0:
		return "0"
	case ns < 0:
		return "-" + Latency(-ns)
	}
	return Latency(ns)
}

// ExactTime writes nanoseconds as they read best, and to the last digit.
func ExactTime(ns float64) string {
	if ns > 0 {
		return Latency(ns) + " (" + Exact(ns) + " ns)"
	}
	return Time(ns)
}

// DecimalBytes writes bytes in decimal units: 48.2 MB.
func DecimalBytes(bytes uint64) string { return strings.TrimSuffix(Bandwidth(float64(bytes)), "/s") }

// Tenths writes a share of 1, which may be below 0, to a tenth of a percent: 12.3%, -0.8%. What is no number is 0.
func Tenths(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		share = 0
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// Elapsed writes a time span in seconds: 3.2 s, 42 s, 2 min 51 s, 2 h 5 min.
func Elapsed(seconds float64) string {
	if seconds < 9.95 {
		return Latency(seconds * 1e9)
	}
	whole := int(math.Round(seconds))
	h, m, s := whole/3600, whole/60%60, whole%60
	switch {
	case h > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case m > 0:
		return fmt.Sprintf("%d min %d s", m, s)
	}
	return fmt.Sprintf("%d s", s)
}

// Times writes a ratio without its x: 0.0043, 0.97, 1.05, 4.9, 12.
func Times(x float64) string {
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

// Percent returns a share of 1 as text. Only 1 is 100%. Shares above 10 are "more than ten times".
func Percent(share float64) string {
	if share > 10 {
		return "more than ten times"
	}
	if p := 100 * share; p > 99 && p < 100 {
		return fmt.Sprintf("%.2f%%", math.Floor(p*100)/100)
	}
	return OfHundred(share) + "%"
}

// SignificantPercent writes a share of 1 with three significant digits: 12.5%, 0.125%.
func SignificantPercent(share float64) string { return Significant(100*share) + "%" }

// OfHundred returns a share of 1 as a number of 100: 0.14, 7, 40.
func OfHundred(share float64) string {
	if math.Abs(share) < 1e-9 { // what rounding of floating point leaves of 0
		share = 0
	}
	if p := 100 * share; p < 9.95 {
		return fmt.Sprintf("%.2g", p)
	}
	return fmt.Sprintf("%.0f", 100*share)
}

// Setting writes a share as it was given: 5%, 0.5%, 12.5%.
func Setting(share float64) string { return fmt.Sprintf("%.4g%%", 100*share) }

// P returns a p value as text, with no more digits than trials support: 0.029, < 0.0001.
func P(p float64) string {
	if p < 1e-4 {
		return "< 0.0001"
	}
	return Digits(p)
}

// PValue writes a p value with its letter: "p = 0.029", "p < 0.0001".
func PValue(p float64) string {
	text := P(p)
	if !strings.HasPrefix(text, "<") {
		text = "= " + text
	}
	return "p " + text
}
