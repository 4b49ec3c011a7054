package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/plural"
	"plimsoll/internal/units"
)

// unknown stands where a number is missing.
const unknown = "unknown"

// significant gives v with three significant digits, or all digits before the
// point when there are more.
func significant(v float64) string {
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

// rateText gives a rate without its unit: "12.3k".
func rateText(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown
	}
	return units.Rate(v)
}

// ratedText gives a rate with its unit: "12.3k IOPS".
func ratedText(v float64, unit string) string {
	if s := rateText(v); s != unknown {
		return s + " " + unit
	}
	return unknown
}

func bandwidthText(bytesPerSecond float64) string {
	if math.IsNaN(bytesPerSecond) || math.IsInf(bytesPerSecond, 0) {
		return unknown
	}
	return units.Bandwidth(bytesPerSecond)
}

// latencyText gives nanoseconds in the unit that reads best.
func latencyText(ns float64) string {
	if !(ns > 0) || math.IsInf(ns, 0) {
		return unknown
	}
	return units.Latency(ns)
}

// grouped gives a whole number with its thousands apart: "12,345".
func grouped(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown
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

// exactText gives v with its thousands apart and at most three digits behind
// the point: "12,345.678". It is what a mark says that is pointed at.
func exactText(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown
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

// exactRate returns how rates in a unit are written to the last digit.
func exactRate(unit string) func(float64) string {
	return func(v float64) string { return exactText(v) + " " + unit }
}

func exactBandwidth(bytesPerSecond float64) string { return exactText(bytesPerSecond/1e6) + " MB/s" }

// exactNS gives a latency as it reads best, and to the nanosecond.
func exactNS(ns float64) string { return fmt.Sprintf("%s (%s ns)", latencyText(ns), exactText(ns)) }

// honestyText gives device I/Os per I/O of fio, or per operation.
func honestyText(ratio *float64) string {
	if ratio == nil || math.IsNaN(*ratio) {
		return unknown
	}
	if *ratio != 0 && *ratio < 0.005 {
		return strconv.FormatFloat(*ratio, 'f', 4, 64)
	}
	return strconv.FormatFloat(*ratio, 'f', 2, 64)
}

// pText gives a p value without pretending to more than the trials can tell.
func pText(p float64) string { return units.P(p) }

// elapsedText gives a time span for people: "2 min 51 s".
func elapsedText(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case m > 0:
		return fmt.Sprintf("%d min %d s", m, s)
	}
	return fmt.Sprintf("%d s", s)
}

// counted gives "1 trial" or "3 trials".
func counted(n int, what string) string { return plural.Count(n, what) }

// commandLine quotes words so that a shell gives them back as they were.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%", r)
		}) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
