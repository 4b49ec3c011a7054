package finding

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/hist"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// grounds says what was measured that explains how two stacks compare: where
// the time of an I/O goes, what the device was asked for, and the CPU's part.
func grounds(l fio.Load, a, b *cell) string {
	return sentences(whereTimeGoes(a, b), whatDeviceDoes(a, b), whatCPUTakes(l, a, b))
}

// split3 are mean latencies over all trials, in ns.
type split3 struct{ slat, clat, total float64 }

// latencies gives the means of both directions. Means of parts are weighted
// by the number of all I/Os, so that they add up.
func (c *cell) latencies() (split3, bool) {
	s := c.merge(func(d result.Direction) hist.Histogram { return d.Submission })
	cl := c.merge(func(d result.Direction) hist.Histogram { return d.Completion })
	l := c.merge(func(d result.Direction) hist.Histogram { return d.Total })
	if l.Count == 0 {
		return split3{}, false
	}
	out := split3{
		slat: s.MeanNS * float64(s.Count) / float64(l.Count), clat: cl.MeanNS * float64(cl.Count) / float64(l.Count), total: l.MeanNS,
	}
	return out, finite(out.slat) && finite(out.clat) && finite(out.total) && out.total > 0
}

func (s split3) String() string {
	return fmt.Sprintf("%s (slat %s, clat %s)", units.Latency(s.total), units.Latency(s.slat), units.Latency(s.clat))
}

// notable is the difference of mean latencies, as a share of the smaller one,
// from which on it is said where it comes from.
const notable = 0.1

func whereTimeGoes(a, b *cell) string {
	x, okX := a.latencies()
	y, okY := b.latencies()
	if !okX || !okY {
		return ""
	}
	text := fmt.Sprintf("an I/O takes %s on %s and %s on %s, on average", x, a.stack.Name, y, b.stack.Name)
	if difference := x.total - y.total; math.Abs(difference) > notable*min(x.total, y.total) {
		share, part := (x.slat-y.slat)/difference, "submission"
		if share < 0.5 {
			share, part = 1-share, "completion"
		}
		switch {
		case share >= 0.995:
			text += "; all of the difference is in " + part
		default:
			text += fmt.Sprintf("; %s of the difference is in %s", units.Percent(min(share, 1)), part)
		}
	}
	return text + "."
}

func whatDeviceDoes(a, b *cell) string {
	var parts []string
	for _, c := range []*cell{a, b} {
		switch devices := writesPerWrite(c); {
		case c.source() == result.SourceMemory:
			parts = append(parts, fmt.Sprintf("under %s, memory answered: %s", c.stack.Name, served(c)))
		case slices.ContainsFunc(devices, func(d deviceWrites) bool { return d.role == roleBottom }):
			d := devices[slices.IndexFunc(devices, func(d deviceWrites) bool { return d.role == roleBottom })]
			parts = append(parts, fmt.Sprintf("under %s, %s writes %sx as often and %sx as much as fio", c.stack.Name, plural.And(d.names), units.Times(d.ios), units.Times(d.bytes)))
		case c.point.Ratio != nil:
			parts = append(parts, fmt.Sprintf("under %s, the device serves %s I/Os per I/O of fio", c.stack.Name, units.Times(*c.point.Ratio)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return capital(strings.Join(parts, "; ")) + "."
}

func whatCPUTakes(l fio.Load, a, b *cell) string {
	x, y := a.cpuPerIO(l.Jobs), b.cpuPerIO(l.Jobs)
	if !(x > 0) || !(y > 0) {
		return ""
	}
	return fmt.Sprintf("An I/O takes %s of fio's CPU time on %s and %s on %s.", units.Latency(x), a.stack.Name, units.Latency(y), b.stack.Name)
}

// cpuPerIO is the CPU time of fio's jobs per I/O, user and system, in ns: the
// median over trials; 0 when it is not known.
func (c *cell) cpuPerIO(jobs int) float64 {
	var all []float64
	for _, t := range c.trials {
		m := t.Measurement
		ns := (m.UserCPU + m.SystemCPU) * float64(jobs) * m.RuntimeSeconds * 1e9 / float64(m.IOs())
		if finite(ns) {
			all = append(all, ns)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return stats.Median(all)
}
