package report

import (
	"fmt"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
)

// traceBreakdowns draws where the time of an I/O goes, one figure for each
// workload and direction that was traced: the parts of the mean total latency
// on each other, and the residue to what the application saw.
func traceBreakdowns(run *result.Run, points []fact.Point) (section, bool) {
	s := section{Title: "Latency, part by part"}
	traced := tracedPoints(run)
	if len(traced) == 0 {
		return s, false
	}
	s.Note = "Mean total latency over all I/Os of the traced trials, in the parts that an I/O passes one after the " +
		"other. The residue is what the application saw less the sum of the parts: a dashed box on top of them, or, where " +
		"they take more than the application saw, over their upper end."
	names := partsOf(traced)
	table := answer.Table{Caption: "means over all I/Os of the traced trials; residue is what the application saw less " +
		"the sum of the parts", Folded: true, Columns: columnsOf(2, "Stack", "Workload", "Total")}
	for _, name := range names {
		s.Keys = append(s.Keys, legendKey{partClass(name), keyText(name)})
		table.Columns = append(table.Columns, answer.Column{Head: string(name)})
	}
	s.Keys = append(s.Keys, legendKey{classResidue, "residue"})
	table.Columns = append(table.Columns, columnsOf(0, "residue", "Requests per I/O", "Bytes per I/O", "I/Os",
		"Trials")...)
	for from := 0; from < len(traced); {
		to := from + 1
		for to < len(traced) && traced[to].title() == traced[from].title() {
			to++
		}
		s.Figures = append(s.Figures, breakdownFigure(traced[from:to], points))
		from = to
	}
	for _, p := range traced {
		row := []string{p.Stack, p.title(), latencyText(p.TotalNS)}
		for _, name := range names {
			text := ""
			if ns, ok := p.part(name); ok {
				text = traceNS(ns)
			}
			row = append(row, text)
		}
		table.Rows = append(table.Rows, textRow(p.Stack, append(row, residueText(p), perIOText(p.PerIO),
			units.Bytes(uint64(number(p.BytesPerIO))), units.Grouped(float64(p.IOs)), fmt.Sprint(p.Trials))))
	}
	s.Tables = []answer.Table{table}
	s.Remarks = tracesLack(run)
	s.Folded = len(s.Figures) > mostUnfolded
	return s, true
}

func keyText(name result.PartName) string {
	if text, ok := partMeaning[name]; ok {
		return text
	}
	return string(name)
}

func breakdownFigure(points []tracedPoint, measured []fact.Point) figure {
	f := figure{Kind: figureBars, Title: points[0].title(), Note: "mean total latency, in parts", Height: 240,
		Wide: len(points) > mostNarrow}
	high := 0.0
	for i, p := range points {
		f.addName(p.Stack)
		high = max(high, p.TotalNS, p.sum())
		f.Marks = append(f.Marks, breakdownMarks(i, p, sourceOf(p, measured))...)
	}
	scale := linearScale(high)
	f.Y = axis{Label: "mean latency", High: scale.high, Ticks: valueTicks(scale.steps(4), latencyTick)}
	return f
}

// sourceOf says what answered a point, where it was not a device.
func sourceOf(p tracedPoint, measured []fact.Point) string {
	for _, m := range measured {
		if m.Stack == p.Stack && m.Workload == p.Workload {
			return sourceNote(m)
		}
	}
	return ""
}

func breakdownMarks(i int, p tracedPoint, source string) []mark {
	var marks []mark
	of := fmt.Sprintf("%s, %s: ", p.Stack, p.title())
	at := 0.0
	for _, part := range p.Parts {
		text := fmt.Sprintf("%s%s %s", of, part.Name, nsText(part.MeanNS))
		if p.TotalNS > 0 {
			text += fmt.Sprintf(", %s of what the application saw", shareText(part.MeanNS/p.TotalNS))
		}
		if part.From != "" {
			text += "; measured as " + part.From
		}
		marks = append(marks, mark{Series: i, Name: p.Stack, X: float64(i), From: min(at, at+part.MeanNS),
			Y: max(at, at+part.MeanNS), Class: partClass(part.Name), Text: text + source})
		at += part.MeanNS
	}
	low, high := min(at, p.TotalNS), max(at, p.TotalNS)
	return append(marks, mark{Series: i, Name: p.Stack, X: float64(i), From: low, Y: high, Class: classResidue,
		Text: fmt.Sprintf("%sresidue %s: the application saw %s, the parts are %s, over %s", of, residueText(p),
			exactNS(p.TotalNS), exactNS(at), counted(p.Trials, "trial"))})
}

// traceServed lists who used the devices while trials were traced.
func traceServed(run *result.Run) (section, bool) {
	s := section{Title: "Who used the devices", Note: "Requests that devices completed while the traced trials ran, for " +
		"whoever they were made. What a kernel thread queued, and nothing tells for whom, is charged to nobody: (kernel)."}
	table := answer.Table{Caption: "requests completed, of all traced trials together", Folded: true,
		Columns: columnsOf(5, "Stack", "Workload", "Device", "For", "Operation", "Requests", "Bytes")}
	rows := servedTogether(run)
	strangers := map[string]bool{}
	for _, r := range rows {
		table.Rows = append(table.Rows, textRow(r.Stack, []string{r.Stack, r.Workload, r.Device, r.whose(), r.Op,
			units.Grouped(float64(r.Requests)), decimalBytes(r.Bytes)}))
		if !r.Application {
			strangers[r.whose()] = true
		}
	}
	s.Tables = []answer.Table{table}
	if len(strangers) == 0 {
		s.Remarks = []string{"Nobody but the application used the devices."}
	}
	return s, len(rows) > 0
}

// traced prints where the time of the I/Os of a workload went.
func (t *terminal) traced(run *result.Run) {
	points := tracedPoints(run)
	if len(points) == 0 {
		return
	}
	t.section("Latency, part by part")
	t.text("  ", "    ", "mean total latency over all I/Os of the traced trials; residue: what the application saw less "+
		"the sum of the parts", t.style.dim)
	names := partsOf(points)
	unit, scale := "µs", 1e3
	if !slices.ContainsFunc(points, func(p tracedPoint) bool { return p.TotalNS < 1e7 }) {
		unit, scale = "ms", 1e6
	}
	value := func(ns float64) string {
		if ns/scale < 0.01 && ns > 0 { // as much as is worth a column
			return "< 0.01"
		}
		return units.Compact(ns / scale)
	}
	columns := []column{{head: "stack", left: true}, {head: "total " + unit}}
	for _, name := range names {
		columns = append(columns, column{head: string(name)})
	}
	columns = append(columns, column{head: "residue"}, column{head: "of total", drop: 3},
		column{head: "requests/IO", drop: 2}, column{head: "trials", drop: 1})
	served := servedTogether(run)
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && points[to].title() == points[from].title() {
			to++
		}
		t.line("")
		t.line("  " + t.style.bold(printable.Line(points[from].title())))
		var rows []tableRow
		for _, p := range points[from:to] {
			cells := []string{shortName(printable.Line(p.Stack)), value(p.TotalNS)}
			for _, name := range names {
				text := ""
				if ns, ok := p.part(name); ok {
					text = value(ns)
				}
				cells = append(cells, text)
			}
			rows = append(rows, tableRow{stack: p.Stack, cells: append(cells, signed(p.ResidueNS, value), residueShare(p),
				perIOText(p.PerIO), fmt.Sprint(p.Trials)), paint: t.style.plain})
		}
		t.table(columns, rows)
		if to == len(points) || points[to].Workload != points[from].Workload {
			t.tracedOthers(served, points[from].Workload)
		}
		from = to
	}
	for _, m := range tracesLack(run) {
		t.text("  - ", "    ", m, t.style.dim)
	}
}

// tracedOthers tells of each stack under a workload who else used its devices.
func (t *terminal) tracedOthers(rows []servedRow, workload string) {
	told := map[string]bool{}
	for _, r := range rows {
		if r.Workload != workload || told[r.Stack] {
			continue
		}
		told[r.Stack] = true
		if text := othersText(rows, r.Stack, workload); text != "" {
			t.text("  - ", "    ", "requests of others, "+r.Stack+": "+text, t.style.dim)
		}
	}
}
