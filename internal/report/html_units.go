package report

import (
	"fmt"
	"math"

	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// unknown stands where a number is missing.
const unknown = units.Unknown

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

// exactRate returns how rates in a unit are written to the last digit.
func exactRate(unit string) func(float64) string {
	return func(v float64) string { return units.Exact(v) + " " + unit }
}

func exactBandwidth(bytesPerSecond float64) string { return units.Exact(bytesPerSecond/1e6) + " MB/s" }

// exactNS gives a latency as it reads best, and to the nanosecond.
func exactNS(ns float64) string { return fmt.Sprintf("%s (%s ns)", latencyText(ns), units.Exact(ns)) }

// honestyText gives device I/Os per I/O of fio, or per operation.
func honestyText(ratio *float64) string {
	if ratio == nil || math.IsNaN(*ratio) {
		return unknown
	}
	return workloads.PerIO(*ratio)
}

// counted gives "1 trial" or "3 trials".
func counted(n int, what string) string { return plural.Count(n, what) }
