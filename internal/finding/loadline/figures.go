package loadline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// mostLinear is how many times more instances than the fewest an axis shows at equal distances:
// beyond it, equal factors are.
const mostLinear = 12

// axis is the numbers of instances, the same for all curves of a run.
func (c Curve) axis() section.Axis {
	first, last := c.Points[0].Instances, c.last().Instances
	for _, n := range c.Missing {
		first, last = min(first, n), max(last, n)
	}
	return section.Axis{Label: "instances", Of: section.Count, Each: true, Log: last > mostLinear*first, Shared: "instances"}
}

// throughput draws what all do together over their number, where the load line is, and what binds.
func (c Curve) throughput() section.Figure {
	rates, from, to := section.Series{}, math.Inf(1), 0.0
	f := section.Figure{Title: "Throughput", Note: "all instances together", Wide: true, X: c.axis(),
		Y:      section.Axis{Label: "operations/s", Of: section.Count, Shared: "throughput of instances"},
		Guides: []section.Guide{c.alone()}, Strip: section.Strip{Label: "binds"},
	}
	for _, p := range c.Points {
		rates.Marks = append(rates.Marks, c.mark(p))
		from, to = min(from, p.Rate), max(to, p.Rate)
		f.Strip.Parts = append(f.Strip.Parts, section.Part{X: float64(p.Instances), Class: bindingClass(p.Binds), Word: p.Binds.Word(),
			Text: plural.Count(p.Instances, "instance") + ": " + bindingText(p)})
	}
	rates.Spark = fmt.Sprintf("together, %s to %s/s with %d to %d", units.Rate(from), units.Rate(to), c.Points[0].Instances, c.last().Instances)
	var besides section.Series
	for _, n := range c.Missing {
		besides.Marks = append(besides.Marks, section.Mark{X: float64(n), Class: section.Gone,
			Text: plural.Count(n, "instance") + ": no trial was completed"})
	}
	if least := c.Line.Objective.EachRate; least > 0 {
		f.Guides = append(f.Guides, section.Guide{Class: section.Limit, Y: func(n float64) float64 { return n * least }, Below: true,
			Word: "objective: each at " + units.Percent(c.Line.Objective.Standalone),
			Text: fmt.Sprintf("the objective: each does at least %s/s", units.Exact(least))})
	}
	if l := c.Line; l.Instances == 0 {
		f.Notes = append(f.Notes, section.Note{Class: section.Carries, Top: true, Word: "load line: none",
			Text: "no number of instances that was measured meets the objective"})
	} else {
		f.Bands = l.bands()
		besides.Marks = append(besides.Marks, section.Mark{X: float64(l.Instances), Y: c.pointAt(l.Instances).Rate, Class: section.Disc})
	}
	if c.Rate != nil && c.Rate.Knee != nil {
		f.Notes = append(f.Notes, section.Note{Class: section.Shape, X: c.Rate.Knee.At, Word: "knee",
			Y:    c.between(c.Rate.Knee.At, func(p fact.ScalingPoint) float64 { return p.Rate }),
			Text: "knee: more instances add less from " + c.Rate.Knee.String()})
	}
	if v := c.Valley; v != nil {
		f.Notes = append(f.Notes, section.Note{Class: section.Shape, X: float64(v.To), Y: c.pointAt(v.To).Rate,
			Word: "valley " + section.Times.Format(v.Ratio),
			Text: fmt.Sprintf("valley: %d instances together do %s what %d do", v.To, section.Times.Format(v.Ratio), v.From)})
	}
	f.Series = []section.Series{rates, besides}
	return f
}

// mark draws the point of a number of instances.
func (c Curve) mark(p fact.ScalingPoint) section.Mark {
	m := section.Mark{X: float64(p.Instances), Y: p.Rate, Low: p.RateLow, High: p.RateHigh}
	m.Text = fmt.Sprintf("%s: median %s/s", plural.Count(p.Instances, "instance"), units.Exact(p.Rate))
	if p.RateHigh > 0 {
		m.Text += fmt.Sprintf(", interval %s to %s", units.Exact(p.RateLow), units.Exact(p.RateHigh))
	}
	m.Text += ", " + plural.Count(p.BringUps, "setup")
	if first := c.Points[0].Instances; p.Instances != first && c.Points[0].Rate > 0 {
		m.Text += fmt.Sprintf("; each does %s of what each of %d does", units.Percent(c.timesAlone(p)), first)
	}
	var missed []string
	if c.Line.Objective.TooSlow(p) {
		missed = append(missed, "p99 is "+section.Latency.Positive(p.P99NS).String())
	}
	if c.Line.Objective.TooLittle(p) {
		missed = append(missed, "each does "+units.Grouped(p.Rate/float64(p.Instances))+"/s")
	}
	if len(missed) > 0 {
		m.Class = section.Missed
		m.Text += "; misses the objective: " + strings.Join(missed, ", ")
	}
	return m
}

// alone returns the line of instances that do not slow each other down.
func (c Curve) alone() section.Guide {
	first := c.Points[0]
	single := first.Rate / float64(first.Instances)
	g := section.Guide{Class: section.Alone, Y: func(n float64) float64 { return n * single }, Word: "each as one alone",
		Text: fmt.Sprintf("if each did as much as one alone: %s/s", units.Exact(single))}
	if first.Instances > 1 {
		g.Word = fmt.Sprintf("each as with %d", first.Instances)
		g.Text = fmt.Sprintf("if each did as much as with %d: %s/s", first.Instances, units.Exact(single))
	}
	return g
}

// bands are the load line, and where it may lie.
func (l Line) bands() (bands []section.Band) {
	line := section.Band{Class: section.Carries, X: [2]float64{float64(l.Instances), float64(l.Instances)},
		Word: fmt.Sprintf("load line: %d", l.Instances), Text: "the load line: " + plural.Count(l.Instances, "instance")}
	bringUps := plural.Count(l.BringUps, "setup")
	switch {
	case l.Decided():
		line.Text += fmt.Sprintf(", however %s are drawn anew", bringUps)
	case l.Low > 0:
		line.Word += fmt.Sprintf(" (%d to %d)", l.Low, l.High)
		line.Text += fmt.Sprintf("; 95%% interval %d to %d, of %s", l.Low, l.High, bringUps)
		bands = append(bands, section.Band{Class: section.Carries, X: [2]float64{float64(l.Low), float64(l.High)},
			Text: fmt.Sprintf("the load line may lie anywhere from %d to %d instances", l.Low, l.High)})
	default:
		line.Text += fmt.Sprintf("; %s are too few to say how sure that is", bringUps)
	}
	return append(bands, line)
}

// bindingText says what binds, and how much of all that has a limit is used.
func bindingText(p fact.ScalingPoint) string {
	text := p.Binds.Word() + " binds"
	if u := p.Use(p.Binds); u != nil && u.Limit > 0 {
		text += fmt.Sprintf(", %s used", units.Percent(u.Share()))
	}
	return text
}

// between is a value on the straight line between the points.
func (c Curve) between(instances float64, value func(fact.ScalingPoint) float64) float64 {
	i := slices.IndexFunc(c.Points, func(p fact.ScalingPoint) bool { return float64(p.Instances) >= instances })
	switch {
	case i < 0:
		return value(c.Points[len(c.Points)-1])
	case i == 0:
		return value(c.Points[0])
	}
	from, to := float64(c.Points[i-1].Instances), float64(c.Points[i].Instances)
	share := (instances - from) / (to - from)
	return value(c.Points[i-1])*(1-share) + value(c.Points[i])*share
}

// latencies draws percentiles of latency.
func (c Curve) latencies() section.Figure {
	f := section.Figure{Title: "Latency", Note: "of all operations, on a logarithmic scale", X: c.axis(),
		Y: section.Axis{Of: section.Latency, Log: true}}
	limit := c.Line.Objective.P99NS
	mean := c.series("mean", "", f.Y, func(p fact.ScalingPoint) float64 { return p.MeanNS })
	if len(mean.Marks) > 0 {
		f.Series = append(f.Series, mean)
	}
	for _, percent := range []float64{50, 95, 99, 99.9} {
		s := section.Series{Name: fmt.Sprintf("p%g", percent)}
		from, to := math.Inf(1), 0.0
		for _, p := range c.Points {
			q := p.Percentile(percent)
			if !(q.NS > 0) {
				continue
			}
			from, to = min(from, q.NS), max(to, q.NS)
			m := section.Mark{X: float64(p.Instances), Y: q.NS, Low: q.Low, High: q.High,
				Text: fmt.Sprintf("%s, %s: median %s", plural.Count(p.Instances, "instance"), s.Name, section.Latency.Exact(q.NS))}
			if q.High > 0 {
				m.Text += fmt.Sprintf(", interval %s to %s", units.Latency(q.Low), units.Latency(q.High))
			}
			if percent == 99 && c.Line.Objective.TooSlow(p) {
				m.Class = section.Missed
				m.Text += "; misses the objective"
			}
			s.Marks = append(s.Marks, m)
		}
		if percent == 99 && len(s.Marks) == len(c.Points) {
			s.Spark = fmt.Sprintf("p99, %s to %s, each step as many times more", units.Latency(from), units.Latency(to))
		}
		f.Series = append(f.Series, s)
	}
	if limit > 0 {
		f.Levels = []section.Level{{Class: section.Limit, Y: limit, Word: "objective: " + units.Latency(limit),
			Text: "the objective: 99% of operations take at most " + units.Latency(limit)}}
	}
	if c.P99 != nil && c.P99.Knee != nil {
		y := c.between(c.P99.Knee.At, func(p fact.ScalingPoint) float64 { return math.Log(p.P99NS) })
		f.Notes = []section.Note{{Class: section.Shape, X: c.P99.Knee.At, Y: math.Exp(y), Word: "knee of p99",
			Text: "knee: p99 grows faster from " + c.P99.Knee.String()}}
	}
	return f
}

// series is a line of a value over the number of instances; nothing where it is 0 at all of them. On a logarithmic axis
// points of 0 are left out.
func (c Curve) series(name, unit string, y section.Axis, value func(fact.ScalingPoint) float64) section.Series {
	s := section.Series{Name: name}
	if !slices.ContainsFunc(c.Points, func(p fact.ScalingPoint) bool { return value(p) > 0 }) {
		return s
	}
	for _, p := range c.Points {
		if v := value(p); v > 0 || !y.Log {
			s.Marks = append(s.Marks, section.Mark{X: float64(p.Instances), Y: v,
				Text: fmt.Sprintf("%s, %s: %s%s", plural.Count(p.Instances, "instance"), name, y.Of.Exact(v), unit)})
		}
	}
	return s
}

// cpus draws the processors' time of all instances; nothing where it was not counted.
func (c Curve) cpus() section.Figure {
	f := section.Figure{Title: "CPUs", Note: "at work for all instances; clients of servers are not among them",
		X: c.axis(), Y: section.Axis{Of: section.Number}}
	s := c.series("CPUs", "", f.Y, func(p fact.ScalingPoint) float64 { return p.CPUs })
	if s.Name = ""; len(s.Marks) > 0 {
		f.Series = []section.Series{s}
	}
	return f
}

// diskRequests draws how often a second the devices read and write; nothing where that was not counted.
func (c Curve) diskRequests() section.Figure {
	return c.disk(section.Figure{Title: "Disk requests", Note: "a second", Y: section.Axis{Of: section.Count}}, "/s",
		func(p fact.ScalingPoint) float64 { return p.DiskReads }, func(p fact.ScalingPoint) float64 { return p.DiskWrites })
}

// diskBandwidth draws how much a second the devices read and write; nothing where that was not counted.
func (c Curve) diskBandwidth() section.Figure {
	return c.disk(section.Figure{Title: "Disk bandwidth", Y: section.Axis{Of: section.Bandwidth}}, "",
		func(p fact.ScalingPoint) float64 { return p.DiskReadBytes },
		func(p fact.ScalingPoint) float64 { return p.DiskWriteBytes })
}

func (c Curve) disk(f section.Figure, unit string, reads, writes func(fact.ScalingPoint) float64) section.Figure {
	f.X = c.axis()
	for _, s := range []section.Series{
		c.series("reads", unit, f.Y, reads), c.series("writes", unit, f.Y, writes),
	} {
		if len(s.Marks) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	return f
}

// deviceReads draws how much of what instances ask for the device has to read; nothing where it reads
// nothing.
func (c Curve) deviceReads() section.Figure {
	f := section.Figure{Title: "Device reads", Note: "per operation", X: c.axis(), Y: section.Axis{Of: section.Number}}
	if !slices.ContainsFunc(c.Points, func(p fact.ScalingPoint) bool { return p.DeviceReads > 0 }) {
		return f
	}
	var s section.Series
	for _, p := range c.Points {
		s.Marks = append(s.Marks, section.Mark{X: float64(p.Instances), Y: p.DeviceReads,
			Text: fmt.Sprintf("%s: %s reads of the device per operation", plural.Count(p.Instances, "instance"), units.Exact(p.DeviceReads))})
	}
	f.Series = []section.Series{s}
	return f
}

// pageCache draws how much of its files each instance has in memory, beside how large they are and
// its share of the memory; nothing where it has none there.
func (c Curve) pageCache() section.Figure {
	f := section.Figure{Title: "Page cache", Note: "of each instance", X: c.axis(), Y: section.Axis{Label: "MiB", Of: section.Count}}
	mib := func(bytes float64) float64 { return bytes / (1 << 20) }
	size := func(bytes float64) string { return section.Bytes.Format(bytes) }
	var s section.Series
	cached, data := 0.0, 0.0
	for _, p := range c.Points {
		cached, data = max(cached, p.CacheBytes), max(data, p.DataBytes)
		s.Marks = append(s.Marks, section.Mark{X: float64(p.Instances), Y: mib(p.CacheBytes),
			Text: fmt.Sprintf("%s: %s of page cache each", plural.Count(p.Instances, "instance"), size(p.CacheBytes))})
	}
	if !(cached > 0) {
		return f
	}
	f.Series = []section.Series{s}
	if data > 0 {
		f.Levels = []section.Level{{Class: "files", Y: mib(data), Word: "its files", Text: "files of each instance: " + size(data)}}
	}
	if c.Memory > 0 {
		f.Guides = []section.Guide{{Class: section.Alone, Word: "its share of the memory",
			Y:    func(n float64) float64 { return mib(float64(c.Memory)) / n },
			Text: fmt.Sprintf("an equal share of the %s that all have", size(float64(c.Memory)))}}
	}
	return f
}
