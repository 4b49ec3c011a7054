package timeseries

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// eachMetrics are drawn for each instance of a trial by itself: that it works shows in its
// processors and in what it asks its devices for, and why it does no more in what it has in memory.
var eachMetrics = []sampledMetric{
	{cpuTitle, []string{"instance"}, []string{"cpu.user", "cpu.system"}, "CPUs", 1, units.Significant, "", nil},
	{"reads and writes of devices", []string{"instance"}, []string{"io.read_bytes", "io.write_bytes"}, "MB/s", 1e-6,
		megabytes, "", nil},
	{pageCacheTitle, []string{"instance"}, []string{"memory.file"}, "MiB", 1. / (1 << 20), units.Grouped, "MiB", nil},
}

// Figures of which an instance's line is drawn by itself, where there are several.
const (
	cpuTitle       = "CPU"
	pageCacheTitle = "page cache"
)

// eachInstance returns figures of the instances of a trial one by one: a row for each metric. Of many there
// are the slowest, the median and the fastest.
func eachInstance(t *result.Trial, sampled []result.Series, begun time.Time) (rows []section.FigureRow) {
	if len(t.Instances) < 2 {
		return nil
	}
	drawn, selection := representatives(t)
	for _, m := range eachMetrics {
		row := section.FigureRow{Title: m.title + selection}
		var lines []sampledLine
		for _, in := range drawn {
			lines = append(lines, m.lineOf(t, sampled, in)...)
		}
		if len(lines) != len(drawn) || slices.Contains(m.metrics, "io.read_bytes") && countedTogether(t, sampled) {
			continue // it was not sampled of each
		}
		longest, high := spanOf(lines, begun), 0.0
		for i, l := range lines {
			f := m.draw(t, []sampledLine{l}, begun, longest)
			f.Title, f.Note, f.Small = l.name, outcome(drawn[i]), true
			if drawn[i].Problem != nil {
				end := l.start.Sub(begun).Seconds() + l.step.Seconds()*float64(len(l.values))
				f.Series = append(f.Series, section.Series{Marks: []section.Mark{{X: end, Class: section.Gone,
					Text: l.name + " " + f.Note}}})
			}
			high = max(high, highest(f))
			row.Figures = append(row.Figures, f)
		}
		if !(high > 0) {
			continue
		}
		for i := range row.Figures {
			row.Figures[i].Y.To = high
		}
		rows = append(rows, row)
	}
	return rows
}

// outcome is what an instance did, or why it ended.
func outcome(in result.Instance) string {
	switch {
	case in.Problem != nil:
		return "died: " + in.Problem.Text()
	case in.Measurement == nil:
		return "not measured"
	}
	return units.Grouped(in.Measurement.IOPS()) + "/s"
}

// representatives are the instances of a trial, or of many the slowest, the median and the
// fastest; which says so.
func representatives(t *result.Trial) (drawn []result.Instance, selection string) {
	if len(t.Instances) <= mostSampledLines {
		return t.Instances, " of each instance"
	}
	rate := func(in result.Instance) float64 {
		if in.Measurement == nil {
			return 0
		}
		return in.Measurement.IOPS()
	}
	sorted := slices.Clone(t.Instances)
	slices.SortStableFunc(sorted, func(a, b result.Instance) int { return cmp.Compare(rate(a), rate(b)) })
	last := len(sorted) - 1
	return []result.Instance{sorted[0], sorted[last/2], sorted[last]},
		fmt.Sprintf(" of the slowest, the median and the fastest of %d instances", len(sorted))
}

// mostCounted is how many times more instances may have read than what holds them did: what
// is sampled at different moments differs a little.
const mostCounted = 1.2

// countedTogether reports whether the kernel counted the reads of all instances in one group,
// of which each then tells the same: all together they would have read more than there was.
func countedTogether(t *result.Trial, sampled []result.Series) bool {
	read := map[string]float64{}
	for _, s := range sampled {
		if s.Metric != "io.read_bytes" {
			continue
		}
		kind, _, _ := strings.Cut(s.Source, " ")
		for _, v := range s.Values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				read[kind] += v * s.Step.Seconds()
			}
		}
	}
	holds := read["miniature"]
	if holds == 0 {
		holds = read["device"]
	}
	return len(t.Instances) > 1 && holds > 0 && read["instance"] > mostCounted*holds
}

// lineOf is the metric of one instance, its parts added up; none where it was not sampled.
func (m sampledMetric) lineOf(t *result.Trial, sampled []result.Series, in result.Instance) (lines []sampledLine) {
	for _, s := range sampled {
		if s.Instance == in.Index && slices.Contains(m.sources, s.Source) && slices.Contains(m.metrics, s.Metric) {
			lines = addLine(lines, sampledLine{name: instanceName(t, in.Index), start: s.Start, step: s.Step, values: s.Values})
		}
	}
	return lines
}

// spanOf is when the last of the lines ends, in seconds since begun.
func spanOf(lines []sampledLine, begun time.Time) (longest float64) {
	for _, l := range lines {
		longest = max(longest, l.start.Sub(begun).Seconds()+l.step.Seconds()*float64(len(l.values)))
	}
	return longest
}

// draw returns a figure of lines over the time until longest, with the window in which all instances were
// measured.
func (m sampledMetric) draw(t *result.Trial, lines []sampledLine, begun time.Time, longest float64) section.Figure {
	f := section.Figure{Kind: section.Curves, Title: m.title, Unit: m.unit,
		X: section.Axis{Label: section.TimeLabel, To: longest}, Y: section.Axis{Label: m.label, Tick: m.tick}}
	step := 1.0
	for _, l := range lines {
		step = l.step.Seconds()
	}
	perValue := int(math.Ceil(longest / step / mostSampledValues))
	if perValue > 1 {
		f.Each = perValue
	}
	stretch := step * float64(perValue)
	for x := stretch; x < longest+stretch/2; x += stretch {
		f.Along = append(f.Along, x)
	}
	for _, l := range lines {
		c := section.Series{Name: l.name, Curve: l.averaged(begun, stretch, len(f.Along))}
		for j := range c.Curve {
			c.Curve[j] *= m.scale
		}
		f.Series = append(f.Series, c)
	}
	if w := t.Window; w != nil {
		from := w.Start.Sub(begun).Seconds()
		f.Bands = []section.Band{{
			Class: window, X: [2]float64{from, from + w.Seconds},
			Text: fmt.Sprintf("all were measured, from %s to %s s", units.Exact(from), units.Exact(from+w.Seconds)),
		}}
	}
	return f
}
