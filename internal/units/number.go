package units

import (
	"math"
	"strconv"
	"strings"
)

// Unknown stands where a number is missing.
const Unknown = "unknown"

// Units of rates: what databases do are operations, and no I/Os.
const (
	IOPS       = "IOPS"
	Operations = "ops/s"
)

// Significant returns v with three significant digits, or with all digits before the point if there are more.
func Significant(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) < 0.001:
		return strconv.FormatFloat(v, 'g', 1, 64)
	}
	// Rounding may add a digit before the point: 999.6, or 0.9996.
	if math.Abs(v) < 1000 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	}
	places := max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0)
	return strconv.FormatFloat(v, 'f', places, 64)
}

// Grouped returns a whole number with its thousands apart: "12,345".
func Grouped(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Exact returns v with its thousands apart and at most three digits behind the point: "12,345.678". Figures show it for
// the mark under the pointer.
func Exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', 3, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest = strings.TrimRight(rest, "0"); rest != "" {
		whole += "." + rest
	}
	if v < 0 && whole != "0" {
		return "-" + whole
	}
	return whole
}

// Range returns both ends of an interval with one prefix: "11.8 to 13.2k". An interval that crosses a thousand has no
// prefix: "780 to 1,040", as "0.780 to 1.04k" reads like 0.780.
func Range(low, high float64) string {
	prefix, scale := "", 1.0
	for _, p := range []string{"k", "M", "G"} {
		if high/scale < 999.5 || low/scale < 999.5 && high/scale < 9999.5 {
			break
		}
		prefix, scale = p, scale*1000
	}
	return Compact(low/scale) + " to " + Compact(high/scale) + prefix
}

// Compact returns v with three significant digits, and its thousands apart.
func Compact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	if math.Abs(v) >= 99.95 {
		return Grouped(v)
	}
	return Significant(v)
}
