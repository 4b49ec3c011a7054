package show

import (
	"fmt"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// Title heads what is shown of a trace.
const Title = "Where block requests spend their time"

// Meta returns what a trace is of, and what of its events was seen.
func Meta(a *iotrace.Account) []string {
	var names []string
	for _, d := range a.Devices {
		names = append(names, d.Name)
	}
	const limit = 6
	if len(names) > limit {
		names = append(names[:limit:limit], fmt.Sprintf("%d more", len(names)-limit))
	}
	requests, bytes := requestsOf(a)
	devices := "no device"
	if len(names) > 0 {
		devices = strings.Join(names, ", ")
	}
	text := fmt.Sprintf("%s: %s requests, %s", devices, grouped(requests), units.DecimalBytes(bytes))
	if a.Duration > 0 {
		text += " in " + spanText(a.Duration.Seconds())
	}
	seen := a.Recorder
	if a.Events > 0 {
		seen += fmt.Sprintf(", %s events", grouped(a.Events))
	}
	if a.Lost == 0 {
		seen += ", none lost"
	}
	return []string{text, seen}
}

// requestsOf returns how many requests an account tells of: those that its
// devices completed, or, where it has no devices, those of its cells.
func requestsOf(a *iotrace.Account) (requests, bytes uint64) {
	a, _ = issuers(a)
	if len(a.Devices) == 0 {
		sum := sumOf(a)
		return sum.Requests, sum.Bytes
	}
	for _, d := range a.Devices {
		requests += d.Requests
		bytes += d.Bytes
	}
	return requests, bytes
}

func grouped(n uint64) string { return units.Grouped(float64(n)) }

// spanText gives seconds in the unit that reads best; of nothing, 0.
func spanText(seconds float64) string {
	if seconds < 120 {
		return units.Time(seconds * 1e9)
	}
	return fmt.Sprintf("%s s", units.Grouped(seconds))
}

// Cells of tables.
func count(n uint64) section.Cell { return section.Count.Cell(float64(n)) }

func span(ns float64) section.Cell {
	c := section.Latency.Cell(ns)
	if !(ns > 0) {
		c.Text = units.Time(ns)
	}
	return c
}

func mean(d *iotrace.Dist) section.Cell {
	if d == nil {
		return section.Cell{}
	}
	return span(d.MeanNS())
}

func percentileCell(d *iotrace.Dist, p float64) section.Cell {
	if d == nil {
		return section.Cell{}
	}
	return span(float64(percentilesOf(d, p)[0]))
}

// cellIf returns the cell if its value is known, and an empty one otherwise.
func cellIf(known bool, c section.Cell) section.Cell {
	if !known {
		return section.Cell{}
	}
	return c
}

// percentilesOf returns those of a distribution, which its histogram gives within a
// bin: no more than what was seen at most, no less than at least.
func percentilesOf(d *iotrace.Dist, ps ...float64) []uint64 {
	all := d.PercentilesNS(ps...)
	for i, ns := range all {
		all[i] = min(max(ns, d.MinNS), d.MaxNS)
	}
	return all
}
