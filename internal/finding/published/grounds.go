package published

import (
	"math"
	"slices"

	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
)

// grounds are what was measured that explains how two stacks compare: where
// the time of an I/O goes, what the device was asked for, and the CPU's part.
func grounds(l fio.Load, a, b *measured.Cell) []fact.Remark {
	return append(append(whereTimeGoes(a, b), whatDeviceDoes(a, b)...), whatCPUTakes(l, a, b)...)
}

// Latency is what an I/O takes on average, and the parts that fio tells, in ns.
type Latency struct {
	Total      float64 `json:"total_ns"`
	Submission float64 `json:"submission_ns"`
	Completion float64 `json:"completion_ns"`
}

func latencyOf(l measured.Latency) Latency { return Latency{l.Total, l.Slat, l.Clat} }

// Takes is what an I/O takes on a stack, or under a workload.
type Takes struct {
	Stack    string  `json:"stack"`
	Workload string  `json:"workload,omitempty"`
	Latency  Latency `json:"latency"`
}

// Times is what an I/O takes on two stacks, and where the difference is.
type Times struct {
	Of   Takes   `json:"of"`
	Than Takes   `json:"than"`
	Part string  `json:"part,omitempty"`  // submission, completion; "" where the two take about as long
	In   float64 `json:"share,omitempty"` // of the difference that is in it
}

// Loads is what an I/O takes on one stack under two loads.
type Loads struct {
	High         Takes `json:"high"`
	Low          Takes `json:"low"`
	HighInFlight int   `json:"high_in_flight"`
	LowInFlight  int   `json:"low_in_flight"`
}

// notable is the difference of mean latencies, as a share of the smaller one,
// from which on it is said where it comes from.
const notable = 0.1

func whereTimeGoes(a, b *measured.Cell) []fact.Remark {
	x, okX := a.Latencies()
	y, okY := b.Latencies()
	if !okX || !okY {
		return nil
	}
	facts := Times{Of: Takes{a.Stack.Name, "", latencyOf(x)}, Than: Takes{b.Stack.Name, "", latencyOf(y)}}
	if difference := x.Total - y.Total; math.Abs(difference) > notable*min(x.Total, y.Total) {
		facts.In, facts.Part = (x.Slat-y.Slat)/difference, "submission"
		if facts.In < 0.5 {
			facts.In, facts.Part = 1-facts.In, "completion"
		}
		facts.In = min(facts.In, 1)
	}
	return []fact.Remark{{Case: "times", Facts: facts}}
}

// Asked is what the device was asked for under a stack.
type Asked struct {
	Stack   string       `json:"stack"`
	Memory  *fact.Served `json:"memory,omitempty"`  // memory answered: how many of fio's I/Os the device served
	Devices []string     `json:"devices,omitempty"` // that hold the bytes
	IOs     float64      `json:"ios,omitempty"`     // that these wrote, for each of fio's
	Bytes   float64      `json:"bytes,omitempty"`
	Ratio   *float64     `json:"ratio,omitempty"` // I/Os that they served, for each of fio's, where no more is known
}

func whatDeviceDoes(a, b *measured.Cell) []fact.Remark {
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
	return []fact.Remark{{Case: "device asked", Facts: asked}}
}

// Processor is the CPU time that fio takes for an I/O on two stacks, in ns.
type Processor struct {
	Of    string  `json:"of"`
	Takes float64 `json:"takes_ns"`
	Than  string  `json:"than"`
	Other float64 `json:"other_ns"`
}

func whatCPUTakes(l fio.Load, a, b *measured.Cell) []fact.Remark {
	x, y := cpuPerIO(a, l.Jobs), cpuPerIO(b, l.Jobs)
	if !(x > 0) || !(y > 0) {
		return nil
	}
	return []fact.Remark{{Case: "processor", Facts: Processor{a.Stack.Name, x, b.Stack.Name, y}}}
}

// cpuPerIO is the CPU time of fio's jobs per I/O, user and system, in ns: the
// median over trials; 0 when it is not known.
func cpuPerIO(c *measured.Cell, jobs int) float64 {
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
