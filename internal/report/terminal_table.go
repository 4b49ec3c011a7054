package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// column of a table of stacks. Where the terminal is too narrow, columns go
// in the order of drop; 0 stays.
type column struct {
	head string
	left bool
	drop int
	cell func(fact.Point) string

	paint func(string) string // of its cells, beside what paints their row; nil for none
}

// tableRow is a row of cells, or a line of its own across all columns.
type tableRow struct {
	cells []string
	stack string // that it is of; "" for none
	span  string
	paint func(string) string
}

// workload prints what was measured of each stack under a workload: what the
// device answered first, what memory answered last and apart.
func (t *terminal) workload(w result.Workload, all []fact.Point) {
	t.section(w.Title())
	points := slices.DeleteFunc(slices.Clone(all), func(p fact.Point) bool { return p.Workload != w.Name })
	slices.SortStableFunc(points, func(a, b fact.Point) int { return cmp.Compare(b.Median, a.Median) })
	if len(points) == 0 {
		t.line("  nothing was measured")
		t.instances(w.Name)
		return
	}
	if mixes(t.run, w.Name) {
		t.text("  ", "    ", "reads and writes together; plimsoll export has them apart", t.style.dim)
	}
	shared, tags, legend := marks(points)
	for _, m := range shared {
		t.text("  ! ", "    ", prose.EveryNumber(m), t.style.warn)
	}
	columns := t.columns(points, tags)
	var rows []tableRow
	for _, group := range []struct {
		source result.Source
		title  string
		paint  func(string) string
	}{
		{result.SourceDevice, "", t.style.plain},
		{result.SourceServer, "", t.style.plain},
		{result.SourceFiles, "", t.style.plain},
		{result.SourceUnknown, "source unknown: no device could be asked", t.style.plain},
		{result.SourceMemory, "from memory: a cache answered, these are not the device's numbers", t.style.warn},
	} {
		first := true
		for _, p := range points {
			if p.Source != string(group.source) {
				continue
			}
			if first && group.title != "" {
				rows = append(rows, tableRow{span: group.title, paint: group.paint})
			}
			first = false
			rows = append(rows, tableRow{cells: cells(columns, p), stack: p.Stack, paint: group.paint})
		}
	}
	if none := t.withoutPoint(w.Name, points); len(none) > 0 {
		rows = append(rows, tableRow{span: "no result: " + strings.Join(none, ", "), paint: t.style.warn})
	}
	t.table(columns, rows)
	t.instances(w.Name)
	for _, l := range legend {
		t.text("  ", "    ", l, t.style.warn)
	}
	t.text("  ", "    ", noiseText(t.findings, w.Name), t.style.dim)
	t.otherLatencies(w.Name)
}

// instances prints what each tenant of a mix did.
func (t *terminal) instances(mix string) {
	stacks := 0
	for _, p := range t.mixed {
		if p.Mix == mix {
			stacks++
		}
	}
	for _, p := range t.mixed {
		if p.Mix != mix {
			continue
		}
		for _, v := range p.Tenants {
			said := v.Said()
			if stacks > 1 || v.Stack != p.Stack {
				said = v.Stack + ", " + said
			}
			t.text("  ", "    ", said, t.style.plain)
		}
		for _, r := range p.Doubts() {
			t.text("  ! ", "    ", r, t.style.warn)
		}
	}
}

func (t *terminal) columns(points []fact.Point, tags map[string]string) []column {
	unit, scale := latencyUnit(points)
	latency := func(ns float64) string {
		if !(ns > 0) {
			return ""
		}
		if v := ns / scale; v < 10 {
			return strconv.FormatFloat(v, 'f', 2, 64)
		}
		return units.Compact(ns / scale)
	}
	columns := []column{
		{head: "stack", left: true, cell: func(p fact.Point) string { return p.Stack + tags[p.Stack] }},
		{head: rateHead(points), cell: func(p fact.Point) string { return units.Grouped(p.Median) }},
		{head: "interval", drop: 4, cell: func(p fact.Point) string {
			if p.Coverage == 0 {
				return ""
			}
			return units.Range(p.Low, p.High)
		}},
		{head: "ratio", cell: func(p fact.Point) string { return t.versusBaseline(p) }},
		{head: "MB/s", drop: 2, cell: func(p fact.Point) string { return units.Compact(p.BytesPerSecond / 1e6) }},
		{head: "p50 " + unit, drop: 3, cell: func(p fact.Point) string { return latency(p.P50NS) }},
		{head: "p99", cell: func(p fact.Point) string { return latency(p.P99NS) }},
		{head: "p99.9", drop: 5, cell: func(p fact.Point) string { return latency(p.P999NS) }},
		{head: "served", cell: func(p fact.Point) string { return honestyText(p.Ratio) }},
		{head: "source", left: true, drop: 1, cell: func(p fact.Point) string { return result.Source(p.Source).Words() }},
	}
	if !slices.ContainsFunc(points, func(p fact.Point) bool { return p.Coverage > 0 }) {
		columns = slices.DeleteFunc(columns, func(c column) bool { return c.head == "interval" })
	}
	if t.run.Experiment.Baseline == "" {
		columns = slices.DeleteFunc(columns, func(c column) bool { return c.head == "ratio" })
	}
	return columns
}

// rateHead heads the column of rates: what databases do are operations, and no I/Os.
func rateHead(points []fact.Point) string {
	if slices.ContainsFunc(points, func(p fact.Point) bool { return !result.Source(p.Source).Operations() }) {
		return units.IOPS
	}
	return units.Operations
}

func cells(columns []column, p fact.Point) []string {
	var out []string
	for _, c := range columns {
		out = append(out, printable.Line(c.cell(p)))
	}
	return out
}

// versusBaseline is the ratio of a stack's median to the baseline's, or ~
// when it is not significant. Memory is not compared with a device.
func (t *terminal) versusBaseline(p fact.Point) string {
	switch {
	case p.Source == string(result.SourceMemory):
		return "memory"
	case p.Stack == t.run.Experiment.Baseline:
		return "base"
	}
	e := versusBaseline(t.run.Experiment.Baseline, p, t.findings)
	switch {
	case e == nil:
		return ""
	case e.TooFew:
		return "too few"
	case !e.Differs:
		return "~"
	}
	return timesText(e.Ratio)
}

// versusBaseline returns how a point compares with the baseline, by the metric that the point is of; nil where no
// finding says.
func versusBaseline(baseline string, p fact.Point, findings []fact.Finding) *fact.Effect {
	for _, f := range findings {
		e := f.Effect
		if e != nil && f.Workload == p.Workload && e.Subject == p.Stack && e.Baseline == baseline && e.Metric == p.Metric {
			return e
		}
	}
	return nil
}

// withoutPoint names the stacks that gave no result under a workload.
func (t *terminal) withoutPoint(workload string, points []fact.Point) []string {
	var names []string
	for _, s := range t.run.Stacks {
		if slices.ContainsFunc(points, func(p fact.Point) bool { return p.Stack == s.Name }) {
			continue
		}
		for _, trial := range t.run.Trials {
			if trial.Stack == s.Name && trial.Mix == workload {
				names = append(names, fmt.Sprintf("%s (%s)", s.Name, trial.Status))
				break
			}
		}
	}
	return names
}

// table prints rows in as many columns as fit the terminal.
func (t *terminal) table(columns []column, rows []tableRow) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c.head)
		for _, r := range rows {
			if r.cells != nil {
				widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
			}
		}
	}
	shown := make([]bool, len(columns))
	total := 0
	for i := range columns {
		shown[i] = true
		total += 2 + widths[i]
	}
	for drop := 1; total > t.width; drop++ {
		i := slices.IndexFunc(columns, func(c column) bool { return c.drop == drop })
		if i < 0 {
			break
		}
		shown[i] = false
		total -= 2 + widths[i]
		if !slices.Contains(t.dropped, columns[i].head) {
			t.dropped = append(t.dropped, columns[i].head)
		}
	}
	print := func(cells []string, stack string, paint func(string) string, own bool) {
		b := strings.Builder{}
		indent := t.indent(stack)
		for i, c := range columns {
			if !shown[i] {
				continue
			}
			text, space := cells[i], strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cells[i]))
			if own && c.paint != nil {
				text = c.paint(text)
			}
			if c.left {
				b.WriteString(indent + text + space)
			} else {
				b.WriteString(indent + space + text)
			}
			indent = "  "
		}
		t.line(paint(strings.TrimRight(b.String(), " ")))
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
	}
	print(heads, "", t.style.dim, false)
	for _, r := range rows {
		if r.cells == nil {
			indent := "  " + r.span[:len(r.span)-len(strings.TrimLeft(r.span, " "))]
			t.text(indent, indent, r.span, r.paint)
			continue
		}
		print(r.cells, r.stack, r.paint, true)
	}
}

// marks gives what to say of all points at once, and a short tag for every
// stack that a mark holds for alone: "loop device" is "[L]".
func marks(points []fact.Point) (shared []string, tags map[string]string, legend []string) {
	count := map[string]int{}
	var order []string
	for _, p := range points {
		for _, m := range p.Marks {
			if count[m]++; count[m] == 1 {
				order = append(order, m)
			}
		}
	}
	tags = map[string]string{}
	for _, m := range order {
		if count[m] == len(points) {
			shared = append(shared, m)
			continue
		}
		tag := "[" + strings.ToUpper(m[:1]) + "]"
		legend = append(legend, tag+" "+m)
		for _, p := range points {
			if slices.Contains(p.Marks, m) {
				tags[p.Stack] += " " + tag
			}
		}
	}
	return shared, tags, legend
}

// legend explains the columns, once for all tables.
func (t *terminal) legend(points []fact.Point) {
	if len(points) == 0 {
		return
	}
	t.line("")
	say := func(text string) { t.text("  ", "    ", text, t.style.dim) }
	n, coverage, orMore := 0, 1.0, ""
	for _, p := range points {
		if p.Coverage == 0 {
			continue // no interval
		}
		if n > 0 && p.N != n {
			orMore = " or more"
		}
		if n == 0 || p.N < n {
			n = p.N
		}
		coverage = min(coverage, p.Coverage)
	}
	if n > 0 {
		say(fmt.Sprintf("interval: %.0f%% confidence interval of the median, from %s%s per stack", 100*coverage,
			counted(n, t.run.RepeatUnit()), orMore))
	}
	if len(picks(t.findings)) > 0 {
		say(strings.TrimSpace(picked) + " the stack of the verdict")
	}
	if t.run.Experiment.Baseline != "" {
		say(ratioLegend(t.run.InSetups(), t.run.Experiment.Baseline))
	}
	say("p50, p99, p99.9: total latency, " + mergedIn(t.run))
	per := "I/O that fio issued"
	if slices.ContainsFunc(points, func(p fact.Point) bool { return result.Source(p.Source).Operations() }) {
		per = "operation of the workload"
	}
	say("served: I/Os that the device served per " + per)
	say(wordsHint)
	// The source is said by the groups of rows too.
	if left := slices.DeleteFunc(t.dropped, func(head string) bool { return head == "source" }); len(left) > 0 {
		say("left out to fit the terminal: " + strings.Join(left, ", "))
	}
}

// ratioLegend says how stacks are compared with the baseline.
func ratioLegend(paired bool, baseline string) string {
	if paired {
		return fmt.Sprintf("ratio: to %s (base), in pairs of the same round; "+
			"~ is no significant difference in a paired test", baseline)
	}
	return fmt.Sprintf("ratio: of the medians, to that of %s (base); "+
		"~ is no significant difference in a Mann-Whitney test", baseline)
}

// latencyUnit is the unit in which the latencies of a table read best, and
// its length in nanoseconds.
func latencyUnit(points []fact.Point) (unit string, ns float64) {
	smallest := math.Inf(1)
	for _, p := range points {
		if p.P50NS > 0 {
			smallest = min(smallest, p.P50NS)
		}
	}
	if smallest >= 1e5 && !math.IsInf(smallest, 1) {
		return "ms", 1e6
	}
	return "µs", 1e3
}

// timesText gives a ratio of medians: "0.81x", "12x", "0.0012x".
func timesText(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return unknown
	}
	return units.Times(ratio) + "x"
}
