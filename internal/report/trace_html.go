package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/hist"
	"plimsoll/internal/iotrace"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/web"
)

// TraceHTML writes what a trace tells as one page that needs nothing else, in
// the manner of a run's report. Version is plimsoll's own.
func TraceHTML(w io.Writer, a *iotrace.Account, source, version string) error {
	return writeTracePage(w, a, source, version, web.ReportScript)
}

// writeTracePage writes the page with that script; "" for none.
func writeTracePage(w io.Writer, a *iotrace.Account, source, version, script string) error {
	p := newTracePage(a, source, version)
	p.addScript(script)
	if err := pageTemplate().ExecuteTemplate(w, "trace-page", p); err != nil {
		return fmt.Errorf("write the page of the trace: %w", err)
	}
	return nil
}

// tracePage is what the template shows.
type tracePage struct {
	shell
	Source   string
	Meta     []string
	Losses   string
	Lost     bool
	Missing  []string
	Meanings []intervalNamed
}

type intervalNamed struct {
	Interval iotrace.Interval
	Meaning  string
}

func newTracePage(a *iotrace.Account, source, version string) tracePage {
	p := tracePage{
		shell: shell{Title: "Plimsoll: trace", Version: version, CSS: template.CSS(web.ReportCSS),
			Sections: traceSections(a)},
		Source: source, Missing: a.Missing, Meta: []string{traceHeadline(a)},
	}
	if source != "" {
		p.Title += " of " + source
	}
	p.Losses, p.Lost = traceLosses(a)
	sum := traceSum(a)
	for _, i := range traceIntervals {
		if sum.dist(i) != nil {
			p.Meanings = append(p.Meanings, intervalNamed{i, intervalMeaning[i]})
		}
	}
	return p
}

// traceSections are the figures and tables of a trace.
func traceSections(a *iotrace.Account) []section {
	var all []section
	for _, s := range []section{
		traceShareFigures(a), traceCurves(a), traceSeries(a), traceDeviceTable(a),
		traceTable(a, TraceByDevice), traceTable(a, TraceByOp), traceTable(a, TraceBySize), traceTable(a, TraceByProcess),
	} {
		if len(s.Figures) > 0 || len(s.Tables) > 0 && len(s.Tables[0].Rows) > 0 {
			all = append(all, s)
		}
	}
	return identified(all)
}

// mostBars is how many bars a figure of parts has, and mostDrawn how many
// devices have figures of their own: those with most requests.
const (
	mostBars  = 24
	mostDrawn = 12
)

// drawnDevices are the devices that have figures of their own.
func drawnDevices(a *iotrace.Account) (drawn map[string]bool, left string) {
	devices := slices.Clone(a.Devices)
	slices.SortStableFunc(devices, func(x, y iotrace.Device) int { return cmp.Compare(y.Requests, x.Requests) })
	if n := len(devices); n > mostDrawn {
		devices, left = devices[:mostDrawn], fmt.Sprintf(" Of the %d devices, the %d with most requests.", n, mostDrawn)
	}
	drawn = map[string]bool{}
	for _, d := range devices {
		drawn[d.Name] = true
	}
	return drawn, left
}

// partKeys are the classes of the parts of Q2C, and what a legend says of them.
var partKeys = []struct{ name, class, text string }{
	{"Q2G", "part-4", "Q2G: waiting for a request"},
	{"G2I", "part-0", "G2I: plugged, on the way to the scheduler"},
	{"Q2M", "part-6", "Q2M: until merged"},
	{"I2D", "part-1", "I2D: in the scheduler"},
	{directName, "part-5", "G2D: issued without a scheduler or plug"},
	{"M2D", "part-3", "M2D: merged, until issued"},
	{"Q2D", "part-1", "Q2D: in the block layer"},
	{"D2N", "part-2", "D2N: in the driver"},
	{"N2C", "part-device", "N2C: in the NVMe device"},
	{"D2C", "part-device", "D2C: driver and device"},
	{restName, classResidue, "rest: told by no interval, or told twice"},
}

// traceShareFigures draws the parts of Q2C on each other: their means and
// their shares for each device and operation, their means for each size and
// owner.
func traceShareFigures(a *iotrace.Account) section {
	s := section{Title: "Parts of the time from queue to completion",
		Note: "Mean Q2C of requests and bios, in the intervals that follow each other."}
	table := answer.Table{Caption: "parts of mean Q2C", Folded: true,
		Columns: columnsOf(2, "Of", "Part", "Mean", "Share of Q2C")}
	drawn := map[string]bool{}
	for i, rows := range [][]traceRow{deviceOps(a), traceRows(a, TraceBySize), traceRows(a, TraceByProcess)} {
		f := sharesFigure([]string{"By device and operation", "By size", "By process or container"}[i], rows, false)
		if len(f.Marks) == 0 {
			continue
		}
		s.Figures = append(s.Figures, f)
		if i == 0 {
			s.Figures = append(s.Figures, sharesFigure(f.Title, rows, true))
		}
		for _, r := range rows {
			for _, p := range traceParts(r) {
				drawn[p.Name] = true
				table.Rows = append(table.Rows, textRow("", []string{r.Label, p.Name, traceNS(p.MeanNS), shareText(p.Share)}))
			}
		}
	}
	s.Tables = []answer.Table{table}
	if _, passing := issuers(a); len(passing) > 0 {
		s.Remarks = []string{fmt.Sprintf("Sizes and processes are without %s: what they get, they pass on to the others.",
			strings.Join(passing, ", "))}
	}
	for _, k := range partKeys {
		if drawn[k.name] {
			s.Keys = append(s.Keys, legendKey{k.class, k.text})
		}
	}
	return s
}

// sharesFigure draws the parts of each row on each other: their means, or
// their shares.
func sharesFigure(title string, rows []traceRow, shares bool) figure {
	f := figure{Kind: figureBars, Title: title, Note: "mean Q2C", Height: 220}
	if shares {
		f.Note = "shares of Q2C"
	}
	high, more := 0.0, 0
	for _, r := range rows {
		parts := traceParts(r)
		if parts == nil {
			continue
		}
		if len(f.X.Names) == mostBars {
			more++
			continue
		}
		i, at := len(f.X.Names), 0.0
		f.addName(r.Label)
		for _, p := range parts {
			v := p.MeanNS
			if shares {
				v = p.Share
			}
			m := mark{Series: i, Name: r.Label, X: float64(i), From: min(at, at+v), Y: max(at, at+v), Class: classOfPart(p.Name),
				Text: fmt.Sprintf("%s: %s %s, %s of Q2C; %s requests", r.Label, p.Name, nsText(p.MeanNS), shareText(p.Share),
					units.Grouped(float64(r.Requests)))}
			at += v
			high = max(high, m.Y)
			f.Marks = append(f.Marks, m)
		}
	}
	f.Wide = len(f.X.Names) > mostNarrow
	if more > 0 {
		f.Note += fmt.Sprintf("; %d more are in --csv and --json", more)
	}
	scale, format := linearScale(high), latencyTick
	if shares {
		format = func(share float64) string { return units.Significant(100*share) + "%" }
	}
	f.Y = axis{Label: f.Note, High: scale.high, Ticks: valueTicks(scale.steps(4), format)}
	return f
}

func classOfPart(name string) string {
	for _, k := range partKeys {
		if k.name == name {
			return k.class
		}
	}
	return classUnknown
}

// nsText is a time as it reads best and to the nanosecond, also where there
// is none or less.
func nsText(ns float64) string {
	if ns > 0 {
		return exactNS(ns)
	}
	return traceNS(ns)
}

// curveIntervals are the intervals whose percentiles are drawn.
var curveIntervals = []iotrace.Interval{iotrace.Q2C, iotrace.D2C, iotrace.Q2D, iotrace.I2D, iotrace.Q2G, iotrace.D2N,
	iotrace.N2C, iotrace.S2Q, iotrace.C2R}

// traceCurves draws the percentiles of the main intervals, one figure for each
// device.
func traceCurves(a *iotrace.Account) section {
	s := section{Title: "Percentiles of the intervals",
		Note: fmt.Sprintf("To the right, ever fewer requests take longer: a curve ends where fewer than %d did.", leastTail)}
	drawn, left := drawnDevices(a)
	s.Note += left
	for _, r := range traceRows(a, TraceByDevice) {
		if !drawn[r.Label] {
			continue
		}
		f := figure{Kind: figureCurves, Title: r.Label, Note: "intervals by percentile", Height: 230, Bottom: 40, Unit: "ns"}
		for i := range tailSteps*tailDecades + 1 {
			f.Xs = append(f.Xs, float64(i)/tailSteps)
		}
		low, high := math.Inf(1), 0.0
		for slot, i := range curveIntervals {
			d := r.dist(i)
			if d == nil {
				continue
			}
			c := curve{Series: slot, Name: i.String()}
			bins := d.Latency().Bins
			for _, u := range f.Xs {
				ns, ok := hist.Percentile(bins, max(tailPercent(u), 1e-9))
				if !ok || float64(d.Count)*math.Pow(10, -u) < leastTail {
					break
				}
				ns = max(min(max(ns, d.MinNS), d.MaxNS), 1) // a logarithm has no 0
				c.Y = append(c.Y, float64(ns))
				low, high = min(low, float64(ns)), max(high, float64(ns))
			}
			if len(c.Y) > 1 {
				f.Curves = append(f.Curves, c)
			}
		}
		if len(f.Curves) == 0 {
			continue
		}
		scale := logScale(low, high)
		f.Y = axis{Label: "time", Log: true, Low: scale.low, High: scale.high,
			Ticks: valueTicks(scale.readableSteps(6), latencyText)}
		f.X = axis{Label: percentileLabel, High: tailDecades, Ticks: percentileTicks}
		s.Figures = append(s.Figures, f)
	}
	s.Folded = len(s.Figures) > mostUnfolded
	return s
}

// traceSeries draws what each device did over time: its rate and bandwidth by
// operation, times, and depth. Long traces are averaged over stretches.
func traceSeries(a *iotrace.Account) section {
	s := section{Title: "Over time", Note: "What completed in each second, and the mean number of requests between D " +
		"and C."}
	names := []string{iotrace.Read.String(), iotrace.Write.String(), iotrace.Discard.String(), iotrace.Flush.String(),
		iotrace.Other.String(), "Q2C", "D2C", "depth"}
	averaged := false
	drawn, left := drawnDevices(a)
	s.Note += left
	for _, d := range a.Devices {
		if len(d.Seconds) < 2 || !drawn[d.Name] {
			continue
		}
		t := newSecondsLine(d.Seconds)
		averaged = averaged || t.each > 1
		for _, f := range []figure{
			t.figure("IOPS", "IOPS", rateText, names[:iotrace.Ops], 0,
				func(s iotrace.Second, i int) (float64, float64) { return float64(s.Requests[i]), 1 }),
			t.figure("bandwidth", "MB/s", func(mb float64) string { return bandwidthText(1e6 * mb) }, names[:iotrace.Ops], 0,
				func(s iotrace.Second, i int) (float64, float64) { return float64(s.Bytes[i]) / 1e6, 1 }),
			t.figure("mean latency", "ns", latencyTick, names[5:7], 5, func(s iotrace.Second, i int) (float64, float64) {
				n := 0.0
				for _, requests := range s.Requests {
					n += float64(requests)
				}
				return [...]float64{s.Q2CNS, s.D2CNS}[i] * n, n
			}),
			t.figure("depth", "requests", units.Significant, names[7:], 7,
				func(s iotrace.Second, _ int) (float64, float64) { return s.Depth, 1 }),
		} {
			if len(f.Curves) == 0 || f.Title == "depth" && !d.Knows(iotrace.QuantityDepth) {
				continue
			}
			f.Title = d.Name + ", " + f.Title
			s.Figures = append(s.Figures, f)
		}
	}
	if averaged {
		s.Note += fmt.Sprintf(" Long traces are averaged to at most %d values; --json has every second.", mostSamples)
	}
	s.Folded = len(s.Figures) > mostUnfolded
	return s
}

// secondsLine is the seconds of a device, in stretches of equal length.
type secondsLine struct {
	seconds []iotrace.Second
	first   int64
	each    int64 // seconds of a stretch
	n       int
}

func newSecondsLine(seconds []iotrace.Second) secondsLine {
	first, last := seconds[0].At, seconds[len(seconds)-1].At
	each := (last - first + mostSamples) / mostSamples
	return secondsLine{seconds, first, max(each, 1), int((last-first)/max(each, 1)) + 1}
}

// figure draws curves of the means that of gives as sums and weights: one curve
// for each name, in slots from first on. Those that are 0 throughout are left out.
func (t secondsLine) figure(title, unit string, format func(float64) string, names []string, first int,
	of func(s iotrace.Second, i int) (sum, weight float64)) figure {
	f := figure{Kind: figureCurves, Title: title, Note: "per second", Height: 170, Bottom: 40, Unit: unit}
	if t.each > 1 {
		f.Note = fmt.Sprintf("means of %d s", t.each)
	}
	for j := range t.n {
		f.Xs = append(f.Xs, float64(t.first+int64(j)*t.each))
	}
	high := 0.0
	for i, name := range names {
		sums, weights := make([]float64, t.n), make([]float64, t.n)
		for _, s := range t.seconds {
			if j := int((s.At - t.first) / t.each); j >= 0 && j < t.n {
				sum, weight := of(s, i)
				sums[j] += number(sum)
				weights[j] += weight
			}
		}
		c := curve{Series: first + i, Name: name}
		most := 0.0
		for j := range sums {
			v := 0.0 // of a second that nothing is told of
			if weights[j] > 0 {
				v = rounded(sums[j] / weights[j])
			}
			c.Y = append(c.Y, v)
			most = max(most, v)
		}
		if most > 0 {
			high = max(high, most)
			f.Curves = append(f.Curves, c)
		}
	}
	scale := linearScale(high)
	end := float64(t.first) + float64(t.n-1)*float64(t.each)
	f.X = axis{Label: secondsLabel, Low: float64(t.first), High: max(end, float64(t.first)+1)}
	for _, at := range linearScale((end - float64(t.first)) / 1.04).steps(5) {
		f.X.Ticks = append(f.X.Ticks, valueTick{float64(t.first) + at, units.Exact(float64(t.first) + at)})
	}
	f.Y = axis{Label: title, High: scale.high, Ticks: valueTicks(scale.steps(4), format)}
	if unit == "requests" { // the other formats write their unit
		f.Y.Label += ", " + unit
	}
	return f
}

// traceDeviceTable is what is counted of devices as a whole.
func traceDeviceTable(a *iotrace.Account) section {
	s := section{Title: "Devices", Note: "Depth is the number of requests between D and C; sequential are issued " +
		"requests that go on where the one before, of the same direction, ended. - is not known."}
	table := answer.Table{Caption: "what was counted of each", Columns: columnsOf(2, "Device", "Number", "Requests",
		"Bytes", "Mean depth", "Greatest depth", "Sequential", "Back merges", "Front merges", "Other merges", "Splits",
		"Remaps", "Requeues", "Plugs", "Unplugs", "By timer", "Unfinished")}
	for _, d := range a.Devices {
		told := countsOf(a, d)
		where := func(known bool, text string) string {
			if !known {
				return ""
			}
			return text
		}
		row := []string{d.Name, cmp.Or(d.MajMin, unknown), units.Grouped(float64(d.Requests)), decimalBytes(d.Bytes),
			where(told.depth, strconv.FormatFloat(number(d.Depth), 'f', 2, 64)), where(told.most,
				units.Grouped(float64(d.MaxDepth))),
			where(told.stages && told.sequential, shareText(d.Sequential))}
		for _, n := range []uint64{d.BackMerges, d.FrontMerges, d.OtherMerges, d.Splits, d.Remaps, d.Requeues} {
			row = append(row, units.Grouped(float64(n)))
		}
		for _, n := range []uint64{d.Plugs, d.Unplugs, d.UnpluggedByTimer} {
			row = append(row, where(told.stages, units.Grouped(float64(n))))
		}
		row = append(row, units.Grouped(float64(d.Unfinished)))
		table.Rows = append(table.Rows, textRow("", row))
	}
	s.Tables = []answer.Table{table}
	return s
}

// mostTableKeys is how many keys of a dimension the page has a table of.
const mostTableKeys = 50

// traceTable is all intervals of each key of a dimension.
func traceTable(a *iotrace.Account, by TraceDimension) section {
	s := section{Title: map[TraceDimension]string{TraceByDevice: "Intervals by device",
		TraceByOp: "Intervals by operation", TraceBySize: "Intervals by size",
		TraceByProcess: "Intervals by process or container"}[by]}
	table := answer.Table{Caption: "all intervals", Folded: by != TraceByDevice, Columns: columnsOf(2, dimensionTitle[by],
		"Interval", "Count", "Min", "Mean", "Max", "Std. dev.", "p50", "p90", "p99", "p99.9", "Share of Q2C")}
	rows := traceRows(a, by)
	if len(rows) > mostTableKeys {
		s.Remarks = []string{fmt.Sprintf("%d more are in --csv and --json.", len(rows)-mostTableKeys)}
		rows = rows[:mostTableKeys]
	}
	for _, r := range rows {
		parts := traceParts(r)
		for _, i := range traceIntervals {
			d := r.dist(i)
			if d == nil {
				continue
			}
			share := ""
			if at := slices.IndexFunc(parts, func(p tracePart) bool { return p.Name == i.String() }); at >= 0 {
				share = shareText(parts[at].Share)
			}
			table.Rows = append(table.Rows, textRow("", []string{
				r.Label, i.String(), units.Grouped(float64(d.Count)), traceNS(float64(d.MinNS)), traceNS(d.MeanNS()),
				traceNS(float64(d.MaxNS)), traceNS(d.StddevNS()),
				traceNS(float64(percentile(d, 50))), traceNS(float64(percentile(d, 90))), traceNS(float64(percentile(d, 99))),
				traceNS(float64(percentile(d, 99.9))), share,
			}))
		}
	}
	s.Tables = []answer.Table{table}
	return s
}
