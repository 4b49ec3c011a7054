package published

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// grounds are what was measured that explains how two points compare: where the time of an I/O goes, by its
// parts where latencies are compared, and where rates are, what the device was asked for and the CPU's part.
func grounds(c claims.Claim, a, b *measured.Cell) []said {
	switch {
	case c.Test.Metric == "":
		return slices.Concat(whereTimeGoes(a, b), whatDeviceDoes(a, b), whatCPUTakes(a, b))
	case a.Stack != b.Stack:
		return append(whereTimeGoes(a, b), accounts(slices.Concat(cost.PartsOf(a, ""), cost.PartsOf(b, "")))...)
	}
	x, okX := takes(a, a.Workload.Name)
	y, okY := takes(b, b.Workload.Name)
	if !okX || !okY {
		return nil
	}
	facts := Loads{x, y, loadUnder(a).InFlight(), loadUnder(b).InFlight()}
	loads := say("loads", facts, "an I/O takes %s under %s and %s under %s, on average; %d and %d I/Os in flight.", x.Latency, x.Workload,
		y.Latency, y.Workload, facts.HighInFlight, facts.LowInFlight)
	return slices.Concat([]said{loads}, accounts(slices.Concat(cost.PartsOf(a, x.Workload), cost.PartsOf(b, y.Workload))))
}

// loadUnder is the load of a cell's workload.
func loadUnder(c *measured.Cell) fio.Load {
	l, _ := fio.LoadOf(c.Workload.Declared)
	return l
}

// takes is what an I/O takes on a stack; workload names it where several are told of.
func takes(c *measured.Cell, workload string) (t Takes, ok bool) {
	l, ok := c.Latencies()
	return Takes{c.Stack.Name, workload, Latency{l.Total, l.Slat, l.Clat}}, ok
}

// notable is the difference of mean latencies, as a share of the smaller one,
// from which on it is said where it comes from.
const notable = 0.1

// whereTimeGoes says what an I/O takes on two stacks, and in which part the difference is.
func whereTimeGoes(a, b *measured.Cell) []said {
	x, okX := takes(a, "")
	y, okY := takes(b, "")
	if !okX || !okY {
		return nil
	}
	facts := Times{Of: x, Than: y}
	says := ""
	total := x.Latency.Total - y.Latency.Total
	if math.Abs(total) > notable*min(x.Latency.Total, y.Latency.Total) {
		facts.In, facts.Part = (x.Latency.Submission-y.Latency.Submission)/total, "submission"
		if facts.In < 0.5 {
			facts.In, facts.Part = 1-facts.In, "completion"
		}
		facts.In = min(facts.In, 1)
		share := "all"
		if facts.In < 0.995 {
			share = units.Percent(facts.In)
		}
		says = "; " + share + " of the difference is in " + facts.Part
	}
	return []said{say("times", facts, "an I/O takes %s on %s and %s on %s, on average%s.", x.Latency, x.Stack, y.Latency, y.Stack,
		says)}
}

// whatDeviceDoes says what devices were asked for under two stacks.
func whatDeviceDoes(a, b *measured.Cell) []said {
	var asked []Asked
	for _, c := range []*measured.Cell{a, b} {
		devices := cost.WritesPerWrite(c)
		bottom := slices.IndexFunc(devices, func(d cost.DeviceWrites) bool { return d.Role == measured.RoleBottom })
		switch {
		case c.Source() == result.SourceMemory:
			asked = append(asked, Asked{Stack: c.Stack.Name, Memory: measured.Served(c)})
		case bottom >= 0:
			d := devices[bottom]
			asked = append(asked, Asked{Stack: c.Stack.Name, Devices: d.Names, IOs: d.Ios, Bytes: d.Bytes})
		case c.Point.Ratio != nil:
			asked = append(asked, Asked{Stack: c.Stack.Name, Ratio: c.Point.Ratio})
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return []said{say("device asked", asked, "Under %s.", strings.Join(plural.Words(asked, Asked.String), "; under "))}
}

// whatCPUTakes says what an I/O takes of fio's CPU time on two stacks.
func whatCPUTakes(a, b *measured.Cell) []said {
	x, y := cpuPerIO(a), cpuPerIO(b)
	if !(x > 0) || !(y > 0) {
		return nil
	}
	facts := Processor{a.Stack.Name, x, b.Stack.Name, y}
	return []said{say("processor", facts, "An I/O takes %s of fio's CPU time on %s and %s on %s.", units.Latency(x), facts.Of,
		units.Latency(y), facts.Than)}
}

// cpuPerIO is the CPU time of fio's jobs per I/O, user and system, in ns: the
// median over trials; 0 when it is not known.
func cpuPerIO(c *measured.Cell) float64 {
	jobs := loadUnder(c).Jobs
	var all []float64
	for _, t := range c.Trials {
		m := t.Measured()
		ns := (m.UserCPU + m.SystemCPU) * float64(jobs) * m.Seconds * 1e9 / float64(m.IOs())
		if measured.Finite(ns) {
			all = append(all, ns)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return stats.Median(all)
}
