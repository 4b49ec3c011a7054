package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// partsFigure draws the parts of each row on each other: their means, or their shares.
func partsFigure(title string, rows []row, shares bool) section.Figure {
	f := section.Figure{Kind: section.Bars, Title: title, Note: "mean Q2C", Y: section.Axis{Tick: units.Time}}
	if shares {
		f.Note, f.Y.Tick = "shares of Q2C", units.SignificantPercent
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return partsOf(r) == nil })
	for _, r := range rows[:min(len(rows), mostKeys)] {
		bar, start := section.Series{Name: r.Label}, 0.0
		for _, p := range partsOf(r) {
			v := p.MeanNS
			if shares {
				v = p.Share
			}
			class, _ := keyOf(p.Name)
			bar.Marks = append(bar.Marks, section.Mark{
				From:  min(start, start+v),
				Y:     max(start, start+v),
				Class: class,
				Text: fmt.Sprintf(
					"%s: %s %s, %s of Q2C; %s requests",
					r.Label,
					p.Name,
					units.ExactTime(p.MeanNS),
					units.Tenths(p.Share),
					grouped(r.Requests),
				),
			})
			start += v
		}
		f.Series = append(f.Series, bar)
	}
	if text := omittedNote(rows); text != "" {
		f.Note += "; " + text
	}
	f.Y.Label = f.Note
	return f
}

// mostDrawn is how many devices have figures of their own: those with most requests.
const mostDrawn = 12

// drawnDevices are the devices that have figures of their own.
func drawnDevices(a *iotrace.Account) (drawn map[string]bool, left string) {
	busiest := slices.Clone(a.Devices)
	slices.SortStableFunc(busiest, func(x, y iotrace.Device) int { return cmp.Compare(y.Requests, x.Requests) })
	if n := len(busiest); n > mostDrawn {
		busiest, left = busiest[:mostDrawn], fmt.Sprintf(" Of the %d devices, the %d with most requests.", n, mostDrawn)
	}
	drawn = map[string]bool{}
	for _, d := range busiest {
		drawn[d.Name] = true
	}
	return drawn, left
}

// curveIntervals are the intervals whose percentiles are drawn.
var curveIntervals = []iotrace.Interval{iotrace.Q2C, iotrace.D2C, iotrace.Q2D, iotrace.I2D, iotrace.Q2G, iotrace.D2N,
	iotrace.N2C, iotrace.S2Q, iotrace.C2R}

// percentiles draws those of the main intervals, one figure for each device.
func percentiles(a *iotrace.Account) *section.Section {
	drawn, left := drawnDevices(a)
	s := &section.Section{Title: "Percentiles of the intervals",
		Note: fmt.Sprintf("To the right, ever fewer requests take longer: a curve ends where fewer than %d did.%s",
			hist.LeastAbove, left)}
	for _, r := range rowsBy(a, ByDevice) {
		if !drawn[r.Label] {
			continue
		}
		f := section.PercentileFigure(r.Label, "intervals by percentile", "time")
		hasCurve := false
		for _, i := range curveIntervals { // one that nothing is known of keeps its colour for itself
			line := section.Series{Name: i.String()}
			if d := r.dist(i); d != nil {
				bins := d.Latency().Bins
				line.Curve = f.Percentiles(d.Count, func(percent float64) (uint64, bool) {
					ns, ok := hist.Percentile(bins, percent)
					return max(min(max(ns, d.MinNS), d.MaxNS), 1), ok // a logarithm has no 0
				})
			}
			if len(line.Curve) < 2 {
				line.Curve = nil
			}
			hasCurve = hasCurve || line.Curve != nil
			f.Series = append(f.Series, line)
		}
		if hasCurve {
			s.Figures = append(s.Figures, f)
		}
	}
	return drawnSection(s)
}

// drawnSection returns a section that is figures; nil where it has none.
func drawnSection(s *section.Section) *section.Section {
	if len(s.Figures) == 0 {
		return nil
	}
	s.Folded = len(s.Figures) > section.MostUnfolded
	return s
}

// overTime draws what each device did: its rate and bandwidth by operation, times, and depth. Long traces are averaged
// over stretches.
func overTime(a *iotrace.Account) *section.Section {
	drawn, left := drawnDevices(a)
	s := &section.Section{Title: "Over time",
		Note: "What completed in each second, and the mean number of requests between D and C." + left}
	var ops []string
	for op := range iotrace.Ops {
		ops = append(ops, op.String())
	}
	averaged := false
	for _, d := range a.Devices {
		if len(d.Seconds) < 2 || !drawn[d.Name] {
			continue
		}
		t := newSecondsLine(d.Seconds)
		averaged = averaged || t.stretch > 1
		figures := []section.Figure{
			t.figure(section.Axis{Label: units.IOPS, Of: section.Count}, units.IOPS, ops,
				func(s iotrace.Second, i int) (float64, float64) { return float64(s.Requests[i]), 1 }),
			t.figure(
				section.Axis{Label: "bandwidth", Tick: func(mb float64) string { return section.Bandwidth.Format(1e6 * mb) }},
				"MB/s",
				ops,
				func(s iotrace.Second, i int) (float64, float64) { return float64(s.Bytes[i]) / 1e6, 1 },
			),
			t.figure(section.Axis{Label: "mean latency", Tick: units.Time}, "ns", []string{"Q2C", "D2C"},
				func(s iotrace.Second, i int) (float64, float64) {
					n := 0.0
					for _, requests := range s.Requests {
						n += float64(requests)
					}
					return [...]float64{s.Q2CNS, s.D2CNS}[i] * n, n
				}),
		}
		if d.Knows(iotrace.QuantityDepth) {
			depth := t.figure(section.Axis{Label: "depth, requests", Of: section.Number}, "requests", []string{"depth"},
				func(s iotrace.Second, _ int) (float64, float64) { return s.Depth, 1 })
			figures = append(figures, depth)
		}
		for _, f := range figures {
			if !slices.ContainsFunc(f.Series, func(line section.Series) bool { return line.Curve != nil }) {
				continue
			}
			f.Title = d.Name + ", " + f.Title
			s.Figures = append(s.Figures, f)
		}
	}
	if averaged {
		s.Note += fmt.Sprintf(" Long traces are averaged to at most %d values; --json has every second.", section.MostSamples)
	}
	return drawnSection(s)
}

// secondsLine is the seconds of a device, in stretches of equal length.
type secondsLine struct {
	seconds []iotrace.Second
	first   int64
	stretch int64 // seconds of a stretch
	n       int
}

func newSecondsLine(seconds []iotrace.Second) secondsLine {
	first, last := seconds[0].At, seconds[len(seconds)-1].At
	each := (last - first + section.MostSamples) / section.MostSamples
	return secondsLine{seconds, first, max(each, 1), int((last-first)/max(each, 1)) + 1}
}

// figure draws curves of means, one for each name; value returns their sums and weights. A curve that is 0 throughout
// is not drawn, and keeps its colour.
func (t secondsLine) figure(y section.Axis, unit string, names []string,
	value func(s iotrace.Second, i int) (sum, weight float64)) section.Figure {
	f := section.Figure{
		Kind:  section.Curves,
		Title: strings.TrimSuffix(y.Label, ", "+unit),
		Note:  "per second",
		Unit:  unit,
		Y:     y,
	}
	if t.stretch > 1 {
		f.Note = fmt.Sprintf("means of %d s", t.stretch)
	}
	for j := range t.n {
		f.Along = append(f.Along, float64(t.first+int64(j)*t.stretch))
	}
	f.X = section.Axis{Label: section.TimeLabel, From: f.Along[0], To: max(f.Along[t.n-1], f.Along[0]+1)}
	for i, name := range names {
		sums, weights := make([]float64, t.n), make([]float64, t.n)
		for _, s := range t.seconds {
			if j := int((s.At - t.first) / t.stretch); j >= 0 && j < t.n {
				sum, weight := value(s, i)
				sums[j] += number(sum)
				weights[j] += weight
			}
		}
		line := section.Series{Name: name}
		for j := range sums {
			v := 0.0 // of a second that nothing is known of
			if weights[j] > 0 {
				v = sums[j] / weights[j]
			}
			line.Curve = append(line.Curve, v)
		}
		if !(slices.Max(line.Curve) > 0) {
			line.Curve = nil
		}
		f.Series = append(f.Series, line)
	}
	return f
}
