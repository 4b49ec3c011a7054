package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// scalingOf returns the curve over numbers of instances that a mix is part of; nil for none.
func (t *terminal) scalingOf(mix string) *fact.Scaling {
	for _, s := range fact.Scalings(t.findings) {
		if slices.ContainsFunc(s.Points, func(p fact.ScalingPoint) bool { return p.Mix == mix }) {
			return s
		}
	}
	return nil
}

// overInstances prints what a workload did on a stack over the number of its instances: one
// table, where each of its mixes would have one.
func (t *terminal) overInstances(s *fact.Scaling, w result.Workload, points []fact.Point) {
	title := s.Workload + " over the number of instances"
	if _, summary, ok := strings.Cut(w.Summary, ", "); ok {
		title += ": " + summary
	}
	if s.Stack != "" && len(t.run.Stacks) > 1 {
		title += ", on " + s.Stack
	}
	t.section(title)
	shared, _, _ := marks(pointsOf(s, points))
	for _, m := range shared {
		if m != miniatureText(hostOf(t.run)) { // said of all numbers at once
			t.text("  ! ", "    ", "every number here: "+m, t.style.warn)
		}
	}
	t.sparklines(s)
	columns, rows := t.scalingTable(s)
	t.table(columns, rows)
	var said []string // of several mixes once
	for _, p := range t.mixed {
		if p.Stack != s.Stack || !slices.ContainsFunc(s.Points, func(of fact.ScalingPoint) bool { return of.Mix == p.Mix }) {
			continue
		}
		for _, doubt := range p.doubts() {
			if !slices.Contains(said, doubt) {
				said = append(said, doubt)
				t.text("  ! ", "    ", doubt, t.style.warn)
			}
		}
	}
	if len(s.Missing) > 0 {
		t.text("  ! ", "    ", "no trial was completed with "+fmt.Sprint(s.Missing), t.style.warn)
	}
}

// hostOf is the miniature that all mixes of a run are in; nil where it is not the same.
func hostOf(run *result.Run) *result.Limits {
	var host *result.Limits
	for _, m := range run.Mixes {
		switch {
		case m.Varies != nil:
		case m.Host == nil, host != nil && *host != *m.Host:
			return nil
		default:
			host = m.Host
		}
	}
	return host
}

// pointsOf are those of the mixes of a curve.
func pointsOf(s *fact.Scaling, points []fact.Point) (own []fact.Point) {
	for _, p := range points {
		at := slices.IndexFunc(s.Points, func(of fact.ScalingPoint) bool { return of.Mix == p.Workload })
		if p.Stack == s.Stack && at >= 0 {
			own = append(own, p)
		}
	}
	return own
}

// sparklines draw throughput and the 99th percentile over the numbers of instances.
func (t *terminal) sparklines(s *fact.Scaling) {
	var rates, tails []float64
	for _, p := range s.Points {
		rates, tails = append(rates, p.Rate), append(tails, p.P99NS)
	}
	from, to := s.Points[0].Instances, s.Points[len(s.Points)-1].Instances
	numbers := fmt.Sprintf("with %d to %d", from, to)
	t.line("  " + t.style.bold(sparkline(rates, false)) + fmt.Sprintf("  together, %s to %s/s %s",
		units.Rate(slices.Min(rates)), units.Rate(slices.Max(rates)), numbers))
	if slices.Min(tails) > 0 {
		t.line("  " + t.style.bold(sparkline(tails, true)) + fmt.Sprintf("  p99, %s to %s, each step as many times more",
			latencyText(slices.Min(tails)), latencyText(slices.Max(tails))))
	}
}

// sparkline draws values as blocks of eight heights: linear from 0, or from the least to the
// greatest by ratio.
func sparkline(values []float64, byRatio bool) string {
	const blocks = "▁▂▃▄▅▆▇█"
	heights := []rune(blocks)
	least, most := slices.Min(values), slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		share := 0.0
		switch {
		case byRatio && most > least:
			share = math.Log(v/least) / math.Log(most/least)
		case !byRatio && most > 0:
			share = v / most
		}
		b.WriteRune(heights[int(math.Round(share*float64(len(heights)-1)))])
	}
	return b.String()
}

// scalingTable has a row for each number of instances.
func (t *terminal) scalingTable(s *fact.Scaling) (columns []column, rows []tableRow) {
	unit, scale := "ms", 1e6
	if p := s.Points[0]; p.P99NS > 0 && p.P99NS < 1e5 {
		unit, scale = "µs", 1e3
	}
	latency := func(ns float64) string {
		switch v := ns / scale; {
		case !(ns > 0):
			return ""
		case v < 10:
			return fmt.Sprintf("%.2f", v)
		default:
			return compact(v)
		}
	}
	percentile := func(p fact.ScalingPoint, percent float64) string {
		at := slices.IndexFunc(p.Percentiles, func(l fact.Percentile) bool { return l.Percent == percent })
		if at < 0 {
			return ""
		}
		return latency(p.Percentiles[at].NS)
	}
	share := func(of float64) string {
		if !(of > 0) {
			return ""
		}
		return percentText(of)
	}
	all := []struct {
		column
		of func(fact.ScalingPoint) string
	}{
		{column{head: "instances"}, func(p fact.ScalingPoint) string { return fmt.Sprint(p.Instances) }},
		{column{head: "together/s"}, func(p fact.ScalingPoint) string { return grouped(p.Rate) }},
		{column{head: "interval", drop: 5}, func(p fact.ScalingPoint) string {
			if p.RateHigh == 0 {
				return ""
			}
			return rangeText(p.RateLow, p.RateHigh)
		}},
		{column{head: "each/s", drop: 7}, func(p fact.ScalingPoint) string { return compact(p.Rate / float64(p.Instances)) }},
		{column{head: "weakest", drop: 3}, func(p fact.ScalingPoint) string { return share(p.Weakest) }},
		{column{head: "p50 " + unit, drop: 4}, func(p fact.ScalingPoint) string { return percentile(p, 50) }},
		{column{head: "p99"}, func(p fact.ScalingPoint) string { return latency(p.P99NS) }},
		{column{head: "p99.9", drop: 2}, func(p fact.ScalingPoint) string { return percentile(p, 99.9) }},
		{column{head: "reads/op", drop: 8}, func(p fact.ScalingPoint) string { return significant(p.DeviceReads) }},
		{column{head: "cache each", drop: 6}, func(p fact.ScalingPoint) string {
			if !(p.CacheBytes > 0) {
				return ""
			}
			return units.Bytes(uint64(p.CacheBytes))
		}},
		{column{head: "CPUs", drop: 1}, func(p fact.ScalingPoint) string { return significant(p.CPUs) }},
		{column{head: "binds", left: true}, func(p fact.ScalingPoint) string { return cmp.Or(string(p.Binds), "-") }},
		{column{head: "", left: true}, func(p fact.ScalingPoint) string { return markOf(s, p) }},
	}
	for _, c := range all {
		columns = append(columns, c.column)
	}
	for _, p := range s.Points {
		row := tableRow{paint: t.style.plain}
		if p.Instances == s.Line.Instances {
			row.paint = t.style.bold
		}
		for _, c := range all {
			row.cells = append(row.cells, c.of(p))
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// markOf says what a number of instances is on its curve; "" for nothing.
func markOf(s *fact.Scaling, p fact.ScalingPoint) string {
	var is []string
	if p.Instances == s.Line.Instances {
		is = append(is, "<- the load line")
	}
	if s.Valley != nil && p.Instances == s.Valley.To {
		is = append(is, "<- the valley")
	}
	return strings.Join(is, " ")
}

// scalingLegend explains the columns of the tables over numbers of instances.
func (t *terminal) scalingLegend() {
	t.line("")
	for _, text := range []string{
		"together/s, each/s: operations a second of all instances, and of one",
		"weakest: what the slowest instance gets of an equal share",
		"reads/op: reads of the device for each operation; cache each: page cache of an instance",
		"binds: what keeps all together from doing more, by what was used; - for nothing that was measured",
		wordsHint,
	} {
		t.text("  ", "    ", text, t.style.dim)
	}
	if len(t.dropped) > 0 {
		t.text("  ", "    ", "left out to fit the terminal: "+strings.Join(t.dropped, ", "), t.style.dim)
	}
}
