package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// drivesOf tells of each bare device what SYSTOR'15 tells of a drive: the most
// I/Os and bytes that it gave, the mean and the longest latency of each pattern
// under 4 jobs of 8 I/Os, and what an I/O takes that is alone. Runs that
// have no such workloads are about something else.
func drivesOf(v *view) []Finding {
	var out []Finding
	var first *cell
	for _, s := range v.stacks {
		if !bare(s.line) || !onDevice(s.line) {
			continue
		}
		d := v.drivenOn(s)
		if len(d.moderate) == 0 || !d.saturated {
			continue
		}
		f := d.finding(s)
		if first == nil {
			first = d.iops
		} else if other := v.cell(first.stack.Name, d.iops.workload.Name); other != nil {
			if e, ok := v.compare(d.iops, other); ok {
				f.Effect = &e
				f.Why += fmt.Sprintf(" It gives %s of the IOPS of %s under %s.", shortRatio(e), e.Baseline, d.iops.workload.Name)
				f.Caveats = append(f.Caveats, tooFew(e)...)
			}
		}
		out = append(out, f)
	}
	return out
}

// drivenDevice is what was measured of a device by the load that it was under.
type drivenDevice struct {
	iops, bytes   *cell // the most of either
	low, moderate []*cell
	saturated     bool // the most that was measured is worth the name
}

func (v *view) drivenOn(s *stack) (d drivenDevice) {
	for _, w := range v.driven() {
		c := v.cell(s.Name, w.name)
		if c == nil || c.source() == result.SourceMemory || !w.load.Direct {
			continue
		}
		d.saturated = d.saturated || w.load.InFlight() >= saturating
		if d.iops == nil || c.point.Median > d.iops.point.Median {
			d.iops = c
		}
		if d.bytes == nil || c.point.BytesPerSecond > d.bytes.point.BytesPerSecond {
			d.bytes = c
		}
		switch {
		case w.load.BlockBytes != randomBytes || mixed(w.load):
		case w.load.InFlight() == 1:
			d.low = append(d.low, c)
		case w.load.Jobs == 4 && w.load.Depth == 8:
			d.moderate = append(d.moderate, c)
		}
	}
	return d
}

// mixed tells whether a load reads and writes.
func mixed(l fio.Load) bool { return l.Pattern == "rw" || l.Pattern == "randrw" }

func (d drivenDevice) finding(s *stack) Finding {
	cells := append(append([]*cell{d.iops}, d.moderate...), d.low...)
	if d.bytes != d.iops {
		cells = append(cells, d.bytes)
	}
	var low, moderate []string
	for _, c := range d.low {
		low = append(low, fmt.Sprintf("%s under %s", newEstimate(c.meanLatencies(), units.Latency), c.workload.Name))
	}
	for _, c := range d.moderate {
		all := c.merge(totalOf)
		moderate = append(moderate, fmt.Sprintf("%s and %s under %s", newEstimate(c.meanLatencies(), units.Latency), units.Latency(float64(all.MaxNS)), c.workload.Name))
	}
	b := d.bytes.point
	bytes := estimate{b.N, b.BytesPerSecond, stats.Interval{Low: b.BytesLow, High: b.BytesHigh, Coverage: b.Coverage}, units.Bandwidth}
	f := Finding{
		ID: "drive/" + s.Name, Kind: KindTime, Stacks: []string{s.Name},
		Title: fmt.Sprintf("%s gives %s IOPS at most (%s) and %s (%s)", s.Name, units.Rate(d.iops.point.Median), d.iops.workload.Name, units.Bandwidth(b.BytesPerSecond), b.Workload),
		Why: fmt.Sprintf("At most, in the medians of the trials: %s under %s, and %s under %s. With 4 jobs of 8 I/Os, an I/O takes, on average and at the longest: %s.",
			rate(d.iops.point), d.iops.workload.Name, bytes, b.Workload, strings.Join(moderate, "; ")),
		Evidence: points(cells...), Caveats: append(marksOf(d.iops), d.iops.traced()...),
	}
	if len(low) > 0 {
		f.Title += fmt.Sprintf("; an I/O that is alone takes %s", plural.And(low))
	}
	return f
}
