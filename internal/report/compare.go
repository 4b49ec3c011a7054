package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/cell"
	"plimsoll/internal/export"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
)

// CompareJSON writes a comparison as one document.
func CompareJSON(w io.Writer, c compare.Comparison) error { return export.Indented(w, c) }

// CompareVerdict writes the verdict of a comparison alone, on one line.
func CompareVerdict(w io.Writer, c compare.Comparison) error {
	_, err := fmt.Fprintln(w, printable.Line(c.Title))
	return err
}

// Compare prints a comparison for people: the runs, what differs between
// them, a table per workload and metric, what was not compared, and the
// verdict as the last line.
func Compare(w io.Writer, c compare.Comparison, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	t.comparedRun("A", c.A)
	t.comparedRun("B", c.B)
	t.differences(c.Differs)
	t.comparedRows(c)
	t.apart(c.Apart)
	for i, note := range c.Notes {
		if i == 0 {
			t.section("Mind")
		}
		t.text("  - ", "    ", note, t.style.warn)
	}
	t.line("")
	paint := t.style.warn
	if c.Verdict == compare.Holds {
		paint = t.style.good
	}
	t.line(paint("Verdict: " + printable.Line(c.Title)))
	return out.Flush()
}

func (t *terminal) comparedRun(name string, r compare.Run) {
	text := r.Experiment
	if r.Host != "" {
		text += " on " + r.Host
	}
	if !r.Started.IsZero() {
		text += r.Started.UTC().Format(", 2 January 2006 15:04 UTC")
	}
	text += fmt.Sprintf(", %d of %s done", r.Done, counted(r.Trials, "trial"))
	t.text(t.style.bold(name)+"  ", "   ", r.ID+": "+text, t.style.plain)
}

func (t *terminal) differences(all []compare.Difference) {
	if len(all) > 0 {
		t.section("Differs")
	}
	for _, d := range all {
		text := fmt.Sprintf("%s: %s in A, %s in B", d.What, cmp.Or(d.A, unknown), cmp.Or(d.B, unknown))
		if len(d.Stacks) > 0 {
			text += " (" + strings.Join(d.Stacks, ", ") + ")"
		}
		t.text("  - ", "    ", text, t.style.plain)
	}
}

// comparedRows prints a section per workload, or curve of several, and in it a table per metric.
func (t *terminal) comparedRows(c compare.Comparison) {
	var workloads []string
	for _, r := range c.Rows {
		if w := cmp.Or(r.Curve, r.Workload); !slices.Contains(workloads, w) {
			workloads = append(workloads, w)
		}
	}
	for _, w := range workloads {
		under := slices.DeleteFunc(slices.Clone(c.Rows), func(r compare.Row) bool { return cmp.Or(r.Curve, r.Workload) != w })
		title := w
		if s := under[0].Summary; s != "" {
			title += ": " + s
		}
		t.section(printable.Line(title))
		shared, tags, legend := marks(markedPoints(under))
		for _, m := range shared {
			t.text("  ! ", "    ", "every number here: "+m, t.style.warn)
		}
		for _, m := range compare.Metrics() {
			t.comparedTable(m, under, tags)
		}
		for _, l := range legend {
			t.text("  ", "    ", l, t.style.warn)
		}
	}
	if len(c.Rows) > 0 {
		t.compareLegend(c)
	}
}

// markedPoints are rows as marks sees them, one per stack.
func markedPoints(rows []compare.Row) []fact.Point {
	var points []fact.Point
	for _, r := range rows {
		if !slices.ContainsFunc(points, func(p fact.Point) bool { return p.Stack == r.Stack }) {
			points = append(points, fact.Point{Stack: r.Stack, Marks: r.Marks})
		}
	}
	return points
}

func (t *terminal) comparedTable(m cell.Metric, under []compare.Row, tags map[string]string) {
	columns := []column{
		{head: "stack", left: true},
		{head: "A"}, {head: "±", drop: 3},
		{head: "B"}, {head: "±", drop: 4},
		{head: "B / A"}, {head: "95% interval"},
		{head: "p", drop: 2}, {head: "trials", drop: 1},
		{head: "source", left: true},
		{head: "verdict", left: true},
	}
	var rows []tableRow
	decides, metric := false, ""
	for _, r := range under {
		if r.Metric != m.ID {
			continue
		}
		decides = r.Decides
		named := r.MetricName(m)
		if metric != "" && named != metric {
			named = m.Name
		}
		metric = named
		name := r.Stack
		if r.StackB != "" {
			name += " / " + r.StackB
		}
		if r.Curve != "" {
			name += " " + r.Workload
		}
		cells := []string{
			printable.Line(name) + tags[r.Stack],
			medianText(m, r.A), spreadText(r.A),
			medianText(m, r.B), spreadText(r.B),
			comparedRatio(r), comparedInterval(r),
			pText(r.PAdjusted), fmt.Sprintf("%d+%d", r.A.N, r.B.N),
			sourceText(r.Source), verdictText(r.Verdict),
		}
		paint := t.style.plain
		if r.Verdict == compare.Regression || r.Source == string(result.SourceMemory) {
			paint = t.style.warn
		}
		rows = append(rows, tableRow{cells: cells, paint: paint})
	}
	if len(rows) == 0 {
		return
	}
	direction := "lower is better"
	if m.HigherIsBetter {
		direction = "higher is better"
	}
	if !decides {
		direction += "; does not decide"
	}
	t.text("  ", "  ", metric+", "+direction, t.style.dim)
	t.table(columns, rows)
}

func (t *terminal) compareLegend(c compare.Comparison) {
	t.line("")
	say := func(text string) { t.text("  ", "    ", text, t.style.dim) }
	n, coverage := math.MaxInt, 1.0
	for _, r := range c.Rows {
		for _, s := range []compare.Sample{r.A, r.B} {
			if s.N > 0 && s.Coverage > 0 {
				n, coverage = min(n, s.N), min(coverage, s.Coverage)
			}
		}
	}
	if n > 1 && n < math.MaxInt {
		say(fmt.Sprintf("A, B: medians; ± is the farther end of the interval of the median, from %s or more: it holds with "+
			"%.0f%%", counted(n, "trial"), 100*coverage))
	}
	say(fmt.Sprintf("B / A: ratio of the medians; ~ is no significant difference (p below %s)", units.Setting(c.Alpha)))
	if c.Family > 1 {
		say(fmt.Sprintf("p: Mann-Whitney, corrected by Holm for the %d rows that decide", c.Family))
	} else {
		say("p: Mann-Whitney")
	}
	say(fmt.Sprintf("ok: the interval excludes a regression beyond %s; too noisy: it does not; too few: so few trials "+
		"cannot differ significantly", units.Setting(c.Threshold)))
	if slices.ContainsFunc(c.Rows, func(r compare.Row) bool { return r.Points > 0 }) {
		say("a curve of several numbers of instances is judged in one row: ranks within each number, the geometric mean of " +
			"all ratios; one number decides only where it is worse by itself")
	}
	if len(t.dropped) > 0 {
		say("left out to fit the terminal: " + strings.Join(t.dropped, ", "))
	}
}

func (t *terminal) apart(all []compare.Apart) {
	if len(all) > 0 {
		t.section("Not compared")
	}
	type reason struct{ stack, why string }
	var order []reason
	workloads := map[reason][]string{}
	for _, a := range all {
		r := reason{a.Stack, a.Why}
		if workloads[r] == nil {
			order = append(order, r)
		}
		workloads[r] = append(workloads[r], a.Workload)
	}
	for _, r := range order {
		t.text("  - ", "    ", fmt.Sprintf("%s under %s: %s", r.stack, strings.Join(workloads[r], ", "), r.why), t.style.warn)
	}
}

func medianText(m cell.Metric, s compare.Sample) string {
	switch {
	case s.N == 0:
		return "none"
	case m.Unit == "ns":
		return latencyText(s.Median)
	case m.Unit == "bytes per second":
		return bandwidthText(s.Median)
	}
	return rateText(s.Median)
}

// spreadText gives the farther end of an interval: "±18%".
func spreadText(s compare.Sample) string {
	if s.Coverage == 0 || !(s.Median > 0) {
		return ""
	}
	return fmt.Sprintf("±%.0f%%", 100*max(s.High-s.Median, s.Median-s.Low)/s.Median)
}

func comparedRatio(r compare.Row) string {
	switch {
	case r.A.N == 0 || r.B.N == 0:
		return ""
	case !r.Differs:
		return "~"
	case r.Ratio == nil:
		return unknown
	}
	return timesText(*r.Ratio)
}

func comparedInterval(r compare.Row) string {
	if r.Low == nil {
		return ""
	}
	return answer.Times.Between(*r.Low, *r.High).String()
}

// verdictText is a verdict as a row shows it: what is as it was stands back.
func verdictText(v compare.Verdict) string {
	if v == compare.Holds {
		return "ok"
	}
	return string(v)
}
