package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/printable"
	"plimsoll/internal/units"
)

// TraceOptions tell how a trace is shown.
type TraceOptions struct {
	TerminalOptions
	Source string         // what was read or recorded, for the title: "t.blktrace.*"; "" says nothing
	By     TraceDimension // whose keys have a table of all intervals each; "" for devices
}

// Trace prints for people what a trace tells: what it is of and what it lacks,
// all intervals, the devices, and how the time from Q to C is shared, by
// device, operation, size and process.
func Trace(w io.Writer, a *iotrace.Account, opt TraceOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt.TerminalOptions)
	t.traceHeading(a, opt)
	t.traceExports(a)
	by := opt.By
	if by == "" {
		by = TraceByDevice
	}
	full := traceRows(a, by)
	for i, r := range full {
		if i == mostRows {
			t.line("")
			t.text("", "", fmt.Sprintf("And %d more: in --csv and --json", len(full)-mostRows), t.style.dim)
			break
		}
		t.traceIntervals(r)
	}
	if len(full) > 1 {
		sum := traceSum(a)
		sum.Label = "all together"
		t.traceIntervals(sum)
		t.tracePassing(a)
	}
	t.traceDevices(a)
	drawn := map[string]bool{}
	for _, d := range TraceDimensions {
		t.traceShares(d, traceRows(a, d), drawn)
	}
	t.traceLegend(full, drawn)
	return out.Flush()
}

func (t *terminal) traceHeading(a *iotrace.Account, opt TraceOptions) {
	if opt.Source != "" {
		t.text("", "", opt.Source, t.style.dim)
	}
	t.text("", "", traceHeadline(a), t.style.bold)
	losses, lost := traceLosses(a)
	paint := t.style.plain
	if lost {
		paint = t.style.warn
	}
	t.text("", "", losses, paint)
	for i, m := range a.Missing {
		if i == 0 {
			t.section("What cannot be known")
		}
		t.text("  - ", "    ", m, t.style.warn)
	}
}

// dimensionTitle begins the titles of a dimension's tables.
var dimensionTitle = map[TraceDimension]string{
	TraceByDevice: "Device", TraceByOp: "Operation", TraceBySize: "Size", TraceByProcess: "Process",
	traceTotal: "Requests",
}

// traceIntervals prints a table of all intervals of a row.
func (t *terminal) traceIntervals(r traceRow) {
	t.section(printable.Line(fmt.Sprintf("%s %s: %s requests, %s", dimensionTitle[r.Dimension], r.Label,
		units.Grouped(float64(r.Requests)), decimalBytes(r.Bytes))))
	parts := traceParts(r)
	columns := []column{
		{head: "interval", left: true}, {head: "count"}, {head: "min", drop: 4}, {head: "mean"}, {head: "max", drop: 7},
		{head: "stddev", drop: 2},
		{head: "p50"}, {head: "p90", drop: 1}, {head: "p99"}, {head: "p99.9", drop: 3}, {head: "of Q2C", drop: 6},
		{head: "", left: true, drop: 5, paint: t.style.accent},
	}
	var rows []tableRow
	for _, i := range traceIntervals {
		d := r.dist(i)
		if d == nil {
			continue
		}
		cells := []string{
			i.String(), units.Grouped(float64(d.Count)), traceNS(float64(d.MinNS)), traceNS(d.MeanNS()),
			traceNS(float64(d.MaxNS)),
			traceNS(d.StddevNS()),
			traceNS(float64(percentile(d, 50))), traceNS(float64(percentile(d, 90))), traceNS(float64(percentile(d, 99))),
			traceNS(float64(percentile(d, 99.9))), "", "",
		}
		for _, p := range parts {
			if p.Name == i.String() {
				cells[10], cells[11] = shareText(p.Share), littleBar(p.Share)
			}
		}
		rows = append(rows, tableRow{cells: cells, paint: t.style.plain})
	}
	for _, p := range parts {
		if p.Name == directName || p.Name == restName { // no interval has a row for it
			cells := make([]string, len(columns))
			cells[0], cells[10], cells[11] = p.Name, shareText(p.Share), littleBar(p.Share)
			rows = append(rows, tableRow{cells: cells, paint: t.style.dim})
		}
	}
	if len(rows) == 0 {
		t.line("  no interval is known")
		return
	}
	t.table(columns, rows)
}

// tracePassing says which requests all devices together have.
func (t *terminal) tracePassing(a *iotrace.Account) {
	only, passing := issuers(a)
	var words []string
	if len(passing) > 0 {
		words = append(words, "without "+strings.Join(passing, ", ")+": what they get, they pass on to the others")
	}
	if len(only.Devices) > 1 {
		words = append(words, "a request that passes several devices counts at each")
	}
	if len(words) > 0 {
		t.text("  ", "    ", strings.Join(words, "; "), t.style.dim)
	}
}

const barWidth = 12

// littleBar draws a share of one in eighths of a column.
func littleBar(share float64) string {
	eighths := int(math.Round(min(max(share, 0), 1) * barWidth * 8))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

// traceDevices prints what is counted of devices as a whole.
func (t *terminal) traceDevices(a *iotrace.Account) {
	if len(a.Devices) == 0 {
		return
	}
	t.section("Devices")
	columns := []column{
		{head: "device", left: true}, {head: "requests"}, {head: "IOPS"}, {head: "MB/s"}, {head: "depth"}, {head: "most"},
		{head: "sequential"},
		{head: "merges", drop: 7}, {head: "splits", drop: 4}, {head: "remaps", drop: 3}, {head: "requeues", drop: 5},
		{head: "plugs", drop: 1}, {head: "unplugs", drop: 2}, {head: "unfinished", drop: 6},
	}
	var rows []tableRow
	for _, d := range a.Devices {
		told := countsOf(a, d)
		where := func(known bool, text string) string {
			if !known {
				return ""
			}
			return text
		}
		rate := func(n uint64, scale float64) string {
			if a.Duration <= 0 {
				return ""
			}
			return units.Compact(float64(n) / scale / a.Duration.Seconds())
		}
		name := d.Name
		if d.MajMin != "" && d.MajMin != d.Name {
			name += " " + d.MajMin
		}
		rows = append(rows, tableRow{cells: []string{
			printable.Line(name), units.Grouped(float64(d.Requests)), rate(d.Requests, 1), rate(d.Bytes, 1e6),
			where(told.depth, strconv.FormatFloat(number(d.Depth), 'f', 2, 64)), where(told.most,
				units.Grouped(float64(d.MaxDepth))),
			where(told.stages && told.sequential, shareText(d.Sequential)),
			several(d.BackMerges, d.FrontMerges, d.OtherMerges), units.Grouped(float64(d.Splits)),
			units.Grouped(float64(d.Remaps)),
			units.Grouped(float64(d.Requeues)),
			where(told.stages, units.Grouped(float64(d.Plugs))), where(told.stages, several(d.Unplugs, d.UnpluggedByTimer)),
			units.Grouped(float64(d.Unfinished)),
		}, paint: t.style.plain})
	}
	t.table(columns, rows)
}

// several gives counts that belong together: "12+0+3", or 0 when all are.
func several(counts ...uint64) string {
	var texts []string
	sum := uint64(0)
	for _, n := range counts {
		sum += n
		texts = append(texts, strconv.FormatUint(n, 10))
	}
	if sum == 0 {
		return "0"
	}
	return strings.Join(texts, "+")
}

// mostRows is how many keys of a dimension are printed for people.
const mostRows = 20

// traceShares prints a row for each key of a dimension, with the parts of Q2C
// as a bar. drawn collects which parts there were.
func (t *terminal) traceShares(by TraceDimension, rows []traceRow, drawn map[string]bool) {
	if len(rows) == 0 {
		return
	}
	t.section("By " + map[TraceDimension]string{TraceByDevice: "device", TraceByOp: "operation", TraceBySize: "size",
		TraceByProcess: "process or container"}[by])
	columns := []column{
		{head: string(by), left: true}, {head: "requests"}, {head: "bytes", drop: 2}, {head: "Q2C mean"},
		{head: "p99", drop: 4}, {head: "D2C mean", drop: 3}, {head: "p99", drop: 1},
		{head: "parts of Q2C", left: true, drop: 5, paint: t.style.parts},
	}
	var table []tableRow
	for i, r := range rows {
		if i == mostRows {
			table = append(table, tableRow{span: fmt.Sprintf("and %d more: in --csv and --json", len(rows)-mostRows),
				paint: t.style.dim})
			break
		}
		parts := traceParts(r)
		for _, p := range parts {
			drawn[p.Name] = true
		}
		table = append(table, tableRow{cells: []string{
			shorten(printable.Line(r.Label), 34), units.Grouped(float64(r.Requests)), decimalBytes(r.Bytes),
			meanText(r.dist(iotrace.Q2C)), percentileText(r.dist(iotrace.Q2C), 99), meanText(r.dist(iotrace.D2C)),
			percentileText(r.dist(iotrace.D2C), 99), partsBar(parts),
		}, paint: t.style.plain})
	}
	t.table(columns, table)
}

func meanText(d *iotrace.Dist) string {
	if d == nil {
		return ""
	}
	return traceNS(d.MeanNS())
}

func percentileText(d *iotrace.Dist, p float64) string {
	if d == nil {
		return ""
	}
	return traceNS(float64(percentile(d, p)))
}

// partLetters draw the parts of Q2C where there are no colours, and partColours
// where there are.
var (
	partNames   = []string{"Q2G", "G2I", directName, "Q2M", "I2D", "M2D", "Q2D", "D2N", "N2C", "D2C", restName}
	partLetters = []rune{'g', 'i', 'd', 'm', 's', 'w', 'q', 'n', 'N', 'D', '.'}
	partColours = []string{"35", "95", "33", "36", "33", "96", "33", "32", "34", "34", "90"}
)

const partsWidth = 24

// partsBar draws shares as so many letters each, so that together they have
// the width of the bar. What takes too little for one is left out.
func partsBar(parts []tracePart) string {
	var b strings.Builder
	at, share := 0, 0.0
	for _, p := range parts {
		share += max(p.Share, 0)
		to := min(int(math.Round(share*partsWidth)), partsWidth)
		b.WriteString(strings.Repeat(string(letterOf(p.Name)), max(to-at, 0)))
		at = max(at, to)
	}
	return b.String()
}

func letterOf(name string) rune {
	for i, n := range partNames {
		if n == name {
			return partLetters[i]
		}
	}
	return '?'
}

func (s style) accent(text string) string { return s.paint("34", text) }

// parts paints a bar of parts: blocks in colours, or the letters as they are.
func (s style) parts(text string) string {
	if !s {
		return text
	}
	var b strings.Builder
	for i, letter := range partLetters {
		if n := strings.Count(text, string(letter)); n > 0 {
			b.WriteString(s.paint(partColours[i], strings.Repeat("█", n)))
		}
	}
	return b.String()
}

// traceLegend says what the names of intervals and the parts of bars are.
func (t *terminal) traceLegend(rows []traceRow, drawn map[string]bool) {
	t.line("")
	if len(drawn) > 0 {
		var keys []string
		for i, name := range partNames {
			if drawn[name] {
				keys = append(keys, t.style.parts(string(partLetters[i]))+" "+name)
			}
		}
		t.line("  " + t.style.dim("parts of Q2C:") + " " + strings.Join(keys, "  "))
	}
	say := func(text string) { t.text("  ", "    ", text, t.style.dim) }
	var meanings []string
	for _, i := range traceIntervals {
		for _, r := range rows {
			if r.dist(i) != nil {
				meanings = append(meanings, i.String()+" "+intervalMeaning[i])
				break
			}
		}
	}
	if len(meanings) > 0 {
		say("intervals: " + strings.Join(meanings, "; "))
	}
	if drawn[directName] {
		say("G2D: what requests take until they are issued that no scheduler or plug held")
	}
	if drawn[restName] {
		say("rest: Q2C that no interval tells of; below 0, the parts overlap")
	}
	say("devices: depth is the mean number of requests between D and C, most the greatest; sequential, of issued " +
		"requests, those that go on where the one before ended; merges are back+front+other, unplugs called+by timer")
	if len(t.dropped) > 0 {
		var named []string
		for _, head := range t.dropped {
			if head != "" {
				named = append(named, head)
			}
		}
		say("left out to fit the terminal: " + strings.Join(named, ", "))
	}
}
