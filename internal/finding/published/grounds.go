package published

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// grounds are what was measured that explains how two points compare: where the time of an I/O goes, by its
// parts where latencies are compared, and where rates are, what the device was asked for and the CPU's part.
func grounds(c claims.Claim, a, b *runview.Cell) []Reason {
	switch {
	case c.Test.Metric == "":
		return slices.Concat(whereTimeGoes(a, b), whatDeviceDoes(a, b), whatCPUTakes(a, b))
	case a.Stack != b.Stack:
		return append(whereTimeGoes(a, b), accounts(slices.Concat(cost.PartsOf(a, ""), cost.PartsOf(b, "")))...)
	}
	x, okX := a.Latencies()
	y, okY := b.Latencies()
	if !okX || !okY {
		return nil
	}
	loads := newReason("loads", "an I/O takes %s under %s and %s under %s, on average; %d and %d I/Os in flight.", latencyText(x),
		a.Workload.Name, latencyText(y), b.Workload.Name, loadUnder(a).InFlight(), loadUnder(b).InFlight())
	parts := slices.Concat(cost.PartsOf(a, a.Workload.Name), cost.PartsOf(b, b.Workload.Name))
	return slices.Concat([]Reason{loads}, accounts(parts))
}

// loadUnder is the load of a cell's workload.
func loadUnder(c *runview.Cell) fio.Load {
	l, _ := fio.LoadOf(c.Workload.Declared)
	return l
}

// whereTimeGoes says what an I/O takes on two stacks, and in which part the difference is.
func whereTimeGoes(a, b *runview.Cell) []Reason {
	x, okX := a.Latencies()
	y, okY := b.Latencies()
	if !okX || !okY {
		return nil
	}
	difference := ""
	total := x.Total - y.Total
	if math.Abs(total) > threshold.LatencyDifference*min(x.Total, y.Total) {
		share, part := (x.Slat-y.Slat)/total, "submission"
		if share < 0.5 {
			share, part = 1-share, "completion"
		}
		text := "all"
		if share < 0.995 {
			text = units.Percent(share)
		}
		difference = "; " + text + " of the difference is in " + part
	}
	return []Reason{newReason("times", "an I/O takes %s on %s and %s on %s, on average%s.", latencyText(x), a.Stack.Name, latencyText(y),
		b.Stack.Name, difference)}
}

// whatDeviceDoes says what devices were asked for under two stacks.
func whatDeviceDoes(a, b *runview.Cell) []Reason {
	var requests []string
	for _, c := range []*runview.Cell{a, b} {
		devices := cost.WritesPerWrite(c)
		bottom := slices.IndexFunc(devices, func(d cost.DeviceWrites) bool { return d.Role == runview.RoleBottom })
		switch {
		case c.Source() == result.SourceMemory:
			requests = append(requests, fmt.Sprintf("%s, memory answered: %s", c.Stack.Name, prose.Served(runview.Served(c))))
		case bottom >= 0:
			d := devices[bottom]
			requests = append(requests, fmt.Sprintf("%s, %s writes %sx as often and %sx as much as fio", c.Stack.Name, plural.And(d.Names),
				units.Times(d.Ios), units.Times(d.Bytes)))
		case c.Point.Ratio != nil:
			requests = append(requests, fmt.Sprintf("%s, the device serves %s I/Os per I/O of fio", c.Stack.Name,
				units.Times(*c.Point.Ratio)))
		}
	}
	if len(requests) == 0 {
		return nil
	}
	return []Reason{newReason("device asked", "Under %s.", strings.Join(requests, "; under "))}
}

// whatCPUTakes says what an I/O takes of fio's CPU time on two stacks.
func whatCPUTakes(a, b *runview.Cell) []Reason {
	x, y := cpuPerIO(a), cpuPerIO(b)
	if !(x > 0) || !(y > 0) {
		return nil
	}
	return []Reason{newReason("processor", "An I/O takes %s of fio's CPU time on %s and %s on %s.", units.Latency(x),
		a.Stack.Name, units.Latency(y), b.Stack.Name)}
}

// cpuPerIO is the CPU time of fio's jobs per I/O, user and system, in ns: the
// median over trials; 0 when it is not known.
func cpuPerIO(c *runview.Cell) float64 {
	jobs := loadUnder(c).Jobs
	var perTrial []float64
	for _, t := range c.Trials {
		m := t.Counts()
		ns := (m.UserCPU + m.SystemCPU) * float64(jobs) * m.Seconds * 1e9 / float64(m.IOs())
		if runview.Finite(ns) {
			perTrial = append(perTrial, ns)
		}
	}
	if len(perTrial) == 0 {
		return 0
	}
	return stats.Median(perTrial)
}
