package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// scalingSections draw how many instances a host carries: for each workload that ran in
// several numbers of instances, what all do together, what each waits for, and what it takes.
func scalingSections(run *result.Run, findings []fact.Finding) (all []section) {
	curves := fact.Scalings(findings)
	scaled := make([]scaledFigures, len(curves))
	reach := make([]float64, len(curves))
	for i, c := range curves {
		scaled[i] = scaledFigures{Scaling: c, x: axisOver(curves)}
		reach[i] = scaled[i].reach()
	}
	for i, high := range sharedReach(reach) {
		all = append(all, scaled[i].section(run, high, len(curves) > 1))
	}
	return all
}

// scaledFigures draws one curve.
type scaledFigures struct {
	*fact.Scaling
	x axis // the same for all curves of a run
}

// mostLinear is how many times more instances than the fewest an axis shows at equal
// distances: beyond it, equal factors are.
const mostLinear = 12

// axisOver is the axis of the numbers of instances of all curves.
func axisOver(curves []*fact.Scaling) axis {
	var counts []int
	for _, c := range curves {
		counts = append(counts, c.Missing...)
		for _, p := range c.Points {
			counts = append(counts, p.Instances)
		}
	}
	slices.Sort(counts)
	counts = slices.Compact(counts)
	a := axis{Label: "instances"}
	for _, n := range counts {
		a.Ticks = append(a.Ticks, valueTick{float64(n), fmt.Sprint(n)})
	}
	if len(counts) == 0 {
		return a
	}
	first, last := float64(counts[0]), float64(counts[len(counts)-1])
	a.Log = last > mostLinear*first
	room := 0.06 * (last - first)
	a.Low, a.High = first-room, last+room
	if a.Log {
		times := math.Pow(last/first, 0.05)
		a.Low, a.High = first/times, last*times
	}
	return a
}

// reach is the highest rate that must be seen.
func (s scaledFigures) reach() (high float64) {
	for _, p := range s.Points {
		high = max(high, finite(p.Rate), finite(p.RateHigh))
	}
	return high
}

// name of the curve, where a run has several.
func (s scaledFigures) name() string {
	if s.Stack == "" {
		return s.Workload
	}
	return s.Workload + " on " + s.Stack
}

func (s scaledFigures) section(run *result.Run, reach float64, several bool) section {
	out := section{
		Title: "How many instances this host carries",
		Note: noteIn(run, "Medians over bring-ups with their intervals. The load line is at as many instances as together "+
			"do as much as any number does, within 10%"+s.objectiveNote()+"."),
		Table: s.table(),
	}
	if s.Floor > 0 {
		out.Remarks = append(out.Remarks, floorText(s.Scaling))
	}
	if several {
		out.Title += ": " + s.name()
	}
	loadLine := s.loadLine(reach)
	out.Figures = append(out.Figures, loadLine)
	for _, f := range []func() (figure, bool){s.latencies, s.deviceReads, s.pageCache} {
		one, ok := f()
		if ok {
			out.Figures = append(out.Figures, one)
		}
	}
	out.Keys = s.keys(loadLine)
	return out
}

// objectiveNote says what the load line is for; "" where that is most throughput.
func (s scaledFigures) objectiveNote() string {
	o := s.Line.Objective
	var limits []string
	if o.P99NS > 0 {
		limits = append(limits, "99% of operations take at most "+latencyText(o.P99NS))
	}
	if o.Standalone > 0 {
		limits = append(limits, fmt.Sprintf("each does at least %s of what one alone does", units.Percent(o.Standalone)))
	}
	if len(limits) == 0 {
		return ""
	}
	return ", of those numbers with which " + strings.Join(limits, " and ")
}

// table has the numbers behind the figures.
func (s scaledFigures) table() *numberTable {
	t := &numberTable{
		Caption: "medians over bring-ups, per second where rates are meant",
		Head: []string{"Instances", "What binds", "All together", "Interval", "Each, of the first",
			"Slowest, of an equal share",
			"p50", "p99", "p99.9", "Device reads per operation", "Page cache of each"},
	}
	for _, p := range s.Points {
		row := []string{fmt.Sprint(p.Instances), p.Binds.Word(), units.Grouped(p.Rate), "too few bring-ups",
			s.timesFirst(p), units.Percent(p.Weakest), unknown, unknown, unknown, units.Significant(p.DeviceReads), unknown}
		if p.RateHigh > 0 {
			row[3] = units.Grouped(p.RateLow) + " to " + units.Grouped(p.RateHigh)
		}
		for i, of := range []float64{50, 99, 99.9} {
			if q, ok := percentileOf(p, of); ok {
				row[6+i] = latencyText(q.NS)
			}
		}
		if p.CacheBytes > 0 {
			row[10] = bytesText(int64(p.CacheBytes))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, n := range s.Missing {
		row := make([]string, len(t.Head))
		row[0], row[1] = fmt.Sprint(n), "no trial was completed"
		t.Rows = append(t.Rows, row)
	}
	return t
}

// timesFirst is what each instance does, against each of the fewest.
func (s scaledFigures) timesFirst(p fact.ScalingPoint) string {
	first := s.Points[0]
	each := first.Rate / float64(first.Instances)
	if !(each > 0) {
		return unknown
	}
	return units.Percent(p.Rate / float64(p.Instances) / each)
}

func percentileOf(p fact.ScalingPoint, percent float64) (fact.Percentile, bool) {
	i := slices.IndexFunc(p.Percentiles, func(q fact.Percentile) bool { return q.Percent == percent })
	if i < 0 || !(p.Percentiles[i].NS > 0) {
		return fact.Percentile{}, false
	}
	return p.Percentiles[i], true
}

// isScaled reports whether a point is one of a curve: its figures are those of the curve.
func isScaled(findings []fact.Finding, p fact.Point) bool {
	return slices.ContainsFunc(fact.Scalings(findings), func(s *fact.Scaling) bool {
		return (s.Stack == "" || s.Stack == p.Stack) &&
			slices.ContainsFunc(s.Points, func(one fact.ScalingPoint) bool { return one.Mix == p.Workload })
	})
}

// isPoliced reports whether a point is one of several policies: its figures are those of all.
func isPoliced(findings []fact.Finding, p fact.Point) bool {
	return slices.ContainsFunc(fact.AllPolicies(findings), func(all *fact.Policies) bool {
		return (all.Stack == "" || all.Stack == p.Stack) && all.Of(p.Workload) != nil
	})
}

// unscaled are the points that are of no curve, of no policy, and of no variation of one in a
// limit: those have figures of their own.
func unscaled(run *result.Run, points []fact.Point, findings []fact.Finding) []fact.Point {
	varied := slices.ContainsFunc(findings, func(f fact.Finding) bool { return f.Elasticity != nil })
	return slices.DeleteFunc(slices.Clone(points), func(p fact.Point) bool {
		return isScaled(findings, p) || isPoliced(findings, p) || isShared(findings, p) || covered(findings, p.Stack,
			p.Workload) ||
			varied && mixNamed(run, p.Workload).Varies != nil
	})
}
