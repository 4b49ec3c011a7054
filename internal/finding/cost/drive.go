package cost

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// Drive is the performance of a drive.
type Drive struct {
	IOPS       fact.Point     `json:"iops"`      // the most
	Bandwidth  fact.Estimate  `json:"bandwidth"` // the most, in bytes a second
	BytesUnder string         `json:"bytes_under"`
	Moderate   []DriveLatency `json:"moderate"`        // with 4 jobs of 8 I/Os
	Alone      []DriveLatency `json:"alone,omitempty"` // of an I/O that is alone
}

// DriveLatency is the latency of an I/O under a workload, in ns.
type DriveLatency struct {
	Workload  string        `json:"workload"`
	MeanNS    fact.Estimate `json:"mean_ns"`
	LongestNS float64       `json:"longest_ns"`
}

// Drives finds of each bare device what SYSTOR'15 states of a drive: the most
// I/Os and bytes that it gave, the mean and the longest latency of each pattern
// under 4 jobs of 8 I/Os, and what an I/O takes that is alone. Runs that
// have no such workloads are about something else.
func Drives(v *runview.View) []fact.Finding {
	var out []fact.Finding
	var first *runview.Cell
	for _, s := range v.Stacks {
		if !runview.Bare(s.Parsed) || !runview.OnDevice(s.Parsed) {
			continue
		}
		d := drivenOn(v, s)
		if len(d.moderate) == 0 || !d.saturated {
			continue
		}
		f := d.finding(s)
		if first == nil {
			first = d.iops
		} else if other := v.Cell(first.Stack.Name, d.iops.Workload.Name); other != nil {
			if e, ok := v.Compare(d.iops, other); ok {
				f.Effect = &e
				f.Why += fmt.Sprintf(" It gives %s of the IOPS of %s under %s.", e.Written(), e.Baseline, d.iops.Workload.Name)
				prose.RemarkTooFew(&f, e)
			}
		}
		out = append(out, f)
	}
	return out
}

// drivenDevice is what was measured of a device by the load that it was under.
type drivenDevice struct {
	iops, bytes   *runview.Cell // the most of either
	low, moderate []*runview.Cell
	saturated     bool // the most that was measured is worth the name
}

func drivenOn(v *runview.View, s *runview.Stack) (d drivenDevice) {
	for _, w := range v.Driven() {
		c := v.Cell(s.Name, w.Name)
		if c == nil || c.Source() == result.SourceMemory || !w.Load.Direct {
			continue
		}
		d.saturated = d.saturated || w.Load.InFlight() >= threshold.SaturatingInFlight
		if d.iops == nil || c.Point.Median > d.iops.Point.Median {
			d.iops = c
		}
		if d.bytes == nil || c.Point.BytesPerSecond > d.bytes.Point.BytesPerSecond {
			d.bytes = c
		}
		switch {
		case w.Load.BlockBytes != runview.RandomBytes || mixed(w.Load):
		case w.Load.InFlight() == 1:
			d.low = append(d.low, c)
		case w.Load.Jobs == 4 && w.Load.Depth == 8:
			d.moderate = append(d.moderate, c)
		}
	}
	return d
}

// mixed reports whether a load reads and writes.
func mixed(l fio.Load) bool { return l.Pattern == "rw" || l.Pattern == "randrw" }

func (d drivenDevice) finding(s *runview.Stack) fact.Finding {
	cells := append(append([]*runview.Cell{d.iops}, d.moderate...), d.low...)
	if d.bytes != d.iops {
		cells = append(cells, d.bytes)
	}
	b := d.bytes.Point
	facts := Drive{
		IOPS: d.iops.Point,
		Bandwidth: fact.Estimate{
			N: b.N, Median: b.BytesPerSecond, Low: b.BytesLow, High: b.BytesHigh, Coverage: b.Coverage,
		},
		BytesUnder: b.Workload, Moderate: driveLatencies(d.moderate), Alone: driveLatencies(d.low),
	}
	f := fact.Finding{
		ID: "drive/" + s.Name, Case: "drive", Kind: fact.KindTime, Stacks: []string{s.Name},
		Facts: facts, Title: facts.title(s.Name), Why: facts.why(),
		Evidence: runview.Points(cells...), Caveats: runview.MarksOf(d.iops),
	}
	remark(&f, TracedCaveat(d.iops))
	return f
}

func driveLatencies(cells []*runview.Cell) (out []DriveLatency) {
	for _, c := range cells {
		longest := c.Merge(result.Total).MaxNS
		out = append(out, DriveLatency{c.Workload.Name, runview.Estimate(c.MeanLatencies()), float64(longest)})
	}
	return out
}

func (d Drive) title(stack string) string {
	text := fmt.Sprintf("%s gives %s IOPS at most (%s) and %s (%s)", stack, units.Rate(d.IOPS.Median), d.IOPS.Workload,
		units.Bandwidth(d.Bandwidth.Median), d.BytesUnder)
	if len(d.Alone) > 0 {
		text += "; an I/O that is alone takes " + plural.List(d.Alone, func(l DriveLatency) string {
			return prose.Estimate("latency", l.MeanNS) + " under " + l.Workload
		})
	}
	return text
}

func (d Drive) why() string {
	return fmt.Sprintf("At most, in the medians of the trials: %s under %s, and %s under %s. With 4 jobs of 8 I/Os, an I/O takes, "+
		"on average and at the longest: %s.", prose.Rate(d.IOPS), d.IOPS.Workload, prose.Estimate("bandwidth", d.Bandwidth),
		d.BytesUnder, joined(d.Moderate, "; "))
}

// String says what an I/O takes on average, and at the longest.
func (l DriveLatency) String() string {
	return fmt.Sprintf("%s and %s under %s", prose.Estimate("latency", l.MeanNS), units.Latency(l.LongestNS), l.Workload)
}
