package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/plural"
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
	t.sectionOn(s.Workload+" over the number of instances", s.Stack)
	if _, summary, ok := strings.Cut(w.Summary, ", "); ok {
		t.text("  ", "  ", summary, t.style.dim)
	}
	shared, _, _ := marks(pointsOf(s, points))
	for _, m := range shared {
		if m != miniatureText(hostOf(t.run)) { // said of all numbers at once
			t.text("  ! ", "    ", "every number here: "+m, t.style.warn)
		}
	}
	t.sparklines(s)
	own := pointsOf(s, points)
	columns, rows := t.scalingTable(s, rateHead(own))
	t.table(columns, rows)
	if s.Floor > 0 {
		t.text("  ", "  ", floorText(s), t.style.dim)
	}
	for _, doubt := range t.doubtsOver(s) {
		t.text("  ! ", "    ", doubt, t.style.warn)
	}
	if len(s.Missing) > 0 {
		t.text("  ! ", "    ", "no trial was completed with "+numbers(s.Missing), t.style.warn)
	}
}

// floorText says by how much equal mixes differ, under their curve.
func floorText(s *fact.Scaling) string {
	return fmt.Sprintf("noise floor: bring-ups of the same mix differ by %s; no smaller difference is called real",
		percentText(s.Floor))
}

// doubtsOver are what makes the numbers of a curve less than they seem, each said once.
func (t *terminal) doubtsOver(s *fact.Scaling) (all []string) {
	var failed, outside []int
	most := 0.0
	for _, of := range s.Points {
		at := slices.IndexFunc(t.mixed, func(p mixPoint) bool { return p.Stack == s.Stack && p.Mix == of.Mix })
		if at < 0 {
			continue
		}
		p := t.mixed[at]
		if p.Failed {
			failed = append(failed, of.Instances)
		}
		if p.Outside > mostOutside {
			outside, most = append(outside, of.Instances), max(most, p.Outside)
		}
	}
	if len(failed) > 0 {
		all = append(all, "with "+numbers(failed)+", no trial was completed by all instances; the numbers are of those "+
			"that were measured")
	}
	if len(outside) > 0 {
		all = append(all, fmt.Sprintf("with %s, an instance was measured for up to %s of its time while not all others were",
			numbers(outside), percentText(most)))
	}
	return all
}

// numbers lists numbers of instances: "3, 6 and 8".
func numbers(all []int) string {
	var words []string
	for _, n := range all {
		words = append(words, fmt.Sprint(n))
	}
	return plural.And(words)
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

// scalingTable has a row for each number of instances; rate heads what all do together.
func (t *terminal) scalingTable(s *fact.Scaling, rate string) (columns []column, rows []tableRow) {
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
			return units.Compact(v)
		}
	}
	percentile := func(p fact.ScalingPoint, percent float64) string {
		at, _ := percentileOf(p, percent)
		return latency(at.NS)
	}
	all := []struct {
		column
		of func(fact.ScalingPoint) string
	}{
		{column{head: "instances"}, func(p fact.ScalingPoint) string { return fmt.Sprint(p.Instances) }},
		{column{head: rate}, func(p fact.ScalingPoint) string { return units.Grouped(p.Rate) }},
		{column{head: "interval", drop: 6}, intervalOver},
		{column{head: "each", drop: 1},
			func(p fact.ScalingPoint) string { return units.Compact(p.Rate / float64(p.Instances)) }},
		{column{head: "least", drop: 3}, leastOver},
		{column{head: "p50", drop: 4}, func(p fact.ScalingPoint) string { return percentile(p, 50) }},
		{column{head: "p99 " + unit}, func(p fact.ScalingPoint) string { return latency(p.P99NS) }},
		{column{head: "p99.9", drop: 5}, func(p fact.ScalingPoint) string { return percentile(p, 99.9) }},
		{column{head: "reads/op", drop: 8}, func(p fact.ScalingPoint) string { return units.Significant(p.DeviceReads) }},
		{column{head: "cache", drop: 7}, cacheOver},
		{column{head: "CPUs", drop: 2}, func(p fact.ScalingPoint) string { return units.Significant(p.CPUs) }},
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
	return withoutEmpty(columns, rows)
}

// withoutEmpty leaves out columns in which nothing is known of any row.
func withoutEmpty(columns []column, rows []tableRow) ([]column, []tableRow) {
	for i := len(columns) - 1; i >= 0; i-- {
		if slices.ContainsFunc(rows, func(r tableRow) bool { return r.cells[i] != "" }) {
			continue
		}
		columns = slices.Delete(columns, i, i+1)
		for j := range rows {
			rows[j].cells = slices.Delete(rows[j].cells, i, i+1)
		}
	}
	return columns, rows
}

func intervalOver(p fact.ScalingPoint) string {
	if p.RateHigh == 0 {
		return ""
	}
	return units.Range(p.RateLow, p.RateHigh)
}

func leastOver(p fact.ScalingPoint) string {
	if !(p.Weakest > 0) {
		return ""
	}
	return percentText(p.Weakest)
}

// cacheOver gives whole MiB where there are many: the table is wide.
func cacheOver(p fact.ScalingPoint) string {
	switch {
	case !(p.CacheBytes > 0):
		return ""
	case p.CacheBytes > 10<<20 && p.CacheBytes < 1<<30:
		return fmt.Sprintf("%.0f MiB", mib(p.CacheBytes))
	}
	return units.Bytes(uint64(p.CacheBytes))
}

// markOf says what a number of instances is on its curve; "" for nothing.
func markOf(s *fact.Scaling, p fact.ScalingPoint) string {
	var is []string
	if p.Instances == s.Line.Instances {
		is = append(is, "load line")
	}
	if s.Rate != nil && s.Rate.Knee != nil && p.Instances == nearest(s.Points, s.Rate.Knee.At) {
		is = append(is, "knee")
	}
	if s.Valley != nil && p.Instances == s.Valley.To {
		is = append(is, "valley")
	}
	if len(is) == 0 {
		return ""
	}
	return "<- " + strings.Join(is, ", ")
}

// nearest is the number of instances that was measured nearest to one.
func nearest(points []fact.ScalingPoint, instances float64) int {
	return slices.MinFunc(points, func(a, b fact.ScalingPoint) int {
		return cmp.Compare(math.Abs(float64(a.Instances)-instances), math.Abs(float64(b.Instances)-instances))
	}).Instances
}

// scalingLegend explains the columns that the tables over numbers of instances have; rates are
// the heads of their second one.
func (t *terminal) scalingLegend(rates []string) {
	t.line("")
	say := func(text string) { t.text("  ", "    ", text, t.style.dim) }
	for _, head := range rates {
		what := "operations"
		if head == headIOPS {
			what = "I/Os"
		}
		say(head + ": " + what + " a second of all instances together")
	}
	for _, l := range [][2]string{
		{"each", "of one instance"},
		{"least", "what the slowest instance gets of an equal share"},
		{"p99", "with p50 and p99.9: total latency, from the merged histograms of all trials"},
		{"reads/op", "reads of the device for each operation"},
		{"cache", "page cache of each instance"},
		{"CPUs", "at work for all instances"},
		{"binds", "what keeps all together from doing more, by what was used; - for nothing that was measured"},
		{"knee", "more instances add less from about there on"},
	} {
		if !slices.Contains(t.dropped, l[0]) {
			say(l[0] + ": " + l[1])
		}
	}
	say(wordsHint)
	if len(t.dropped) > 0 {
		say("left out to fit the terminal: " + strings.Join(t.dropped, ", "))
	}
}
