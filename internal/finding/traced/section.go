package traced

import (
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

const residue section.Class = "residue"

// keys say in words what a part is, and what draws it.
var keys = map[result.PartName]section.Key{
	result.PartUser:   {Class: "part-4", Text: "user: in the application"},
	result.PartKernel: {Class: "part-3", Text: "kernel: system call, file system, and the way back"},
	result.PartBlock:  {Class: "part-1", Text: "block: queue, plug and scheduler"},
	result.PartDriver: {Class: "part-2", Text: "driver: until an NVMe device has it"},
	result.PartFabric: {Class: "part-5", Text: "fabric: to the target and back"},
	result.PartTarget: {Class: "part-0", Text: "target: its software"},
	result.PartDevice: {Class: "part-device", Text: "device"},
}

func keyOf(name result.PartName) section.Key {
	if k, ok := keys[name]; ok {
		return k
	}
	return section.Key{Class: "part-6", Text: string(name)} // of a later version
}

// Section returns where the time of an I/O goes, one figure for each workload and direction that was traced: the parts
// of the mean total latency on each other, and the residue to what the application saw. It is nil where nothing was
// traced.
func Section(run *result.Run, measured []fact.Point) *section.Section {
	points := pointsOf(run)
	if len(points) == 0 {
		return nil
	}
	s := &section.Section{Title: "Latency, part by part",
		Note: "Mean total latency over all I/Os of the traced trials, in the parts that an I/O passes one after the " +
			"other. The residue is what the application saw less the sum of the parts: a dashed box on top of them, or, where " +
			"they take more than the application saw, over their upper end."}
	unit, scale := "µs", 1e3
	if !slices.ContainsFunc(points, func(p point) bool { return p.TotalNS < 1e7 }) {
		unit, scale = "ms", 1e6
	}
	names := partsOf(points)
	table := section.Table{Caption: "means over all I/Os of the traced trials, in " + unit, Folded: true,
		Columns: []section.Column{{Head: "stack", Text: true}, {Head: "total " + unit}}}
	for _, name := range names {
		s.Keys = append(s.Keys, keyOf(name))
		table.Columns = append(table.Columns, section.Column{Head: string(name)})
	}
	s.Keys = append(s.Keys, section.Key{Class: residue, Text: "residue"})
	table.Columns = append(table.Columns,
		section.Column{Head: "residue", Means: "what the application saw less the sum of the parts"},
		section.Column{Head: "of total", Drop: 5}, section.Column{Head: "requests/IO", Drop: 4},
		section.Column{Head: "bytes/IO", Drop: 1}, section.Column{Head: "I/Os", Drop: 2},
		section.Column{Head: "trials", Drop: 3})
	titled := slices.ContainsFunc(points, func(p point) bool { return p.title() != points[0].title() })
	title := ""
	for _, p := range points {
		if p.title() != title {
			title = p.title()
			s.Figures = append(s.Figures, section.Figure{Kind: section.Bars, Title: title,
				Note: "mean total latency, in parts", Y: section.Axis{Label: "mean latency", Tick: units.Time}})
			if titled {
				table.Rows = append(table.Rows, section.Row{Words: title, Strong: true})
			}
		}
		f := &s.Figures[len(s.Figures)-1]
		f.Series = append(f.Series, bar(p, sourceOf(p, measured)))
		table.Rows = append(table.Rows, tableRow(p, names, scale))
	}
	s.Tables = []section.Table{table}
	s.Remarks = remarks(run)
	s.Parts = used(run)
	s.Folded = len(s.Figures) > section.MostUnfolded
	return s
}

// tableRow is a row of the table of points. Its times have the unit of that scale.
func tableRow(p point, names []result.PartName, scale float64) section.Row {
	value := func(ns float64) string {
		if ns/scale < 0.01 && ns > 0 { // as much as is worth a column
			return "< 0.01"
		}
		return units.Compact(ns / scale)
	}
	cells := []section.Cell{section.Text(p.Stack), section.Text(value(p.TotalNS))}
	for _, name := range names {
		cell := section.Cell{}
		if ns, ok := p.part(name); ok {
			cell = section.Text(value(ns))
		}
		cells = append(cells, cell)
	}
	return section.Row{Stack: p.Stack, Cells: append(cells, section.Text(signed(p.ResidueNS, value)),
		section.Text(residueShare(p)), section.Text(fmt.Sprintf("%.2f", p.PerIO)), section.Bytes.Cell(p.BytesPerIO),
		section.Count.Cell(float64(p.IOs)), section.Count.Cell(float64(p.Trials)))}
}

// sourceOf says what answered a point, where it was not a device.
func sourceOf(p point, measured []fact.Point) string {
	for _, m := range measured {
		if m.Stack == p.Stack && m.Workload == p.Workload {
			return m.SourceNote()
		}
	}
	return ""
}

// bar is the parts of a point on each other, and the residue.
func bar(p point, source string) section.Series {
	s := section.Series{Name: p.Stack}
	prefix := fmt.Sprintf("%s, %s: ", p.Stack, p.title())
	total := 0.0
	for _, part := range p.Parts {
		text := fmt.Sprintf("%s%s %s", prefix, part.Name, units.ExactTime(part.MeanNS))
		if p.TotalNS > 0 {
			text += fmt.Sprintf(", %s of what the application saw", units.Tenths(part.MeanNS/p.TotalNS))
		}
		if part.From != "" {
			text += "; measured as " + part.From
		}
		s.Marks = append(s.Marks, section.Mark{From: min(total, total+part.MeanNS), Y: max(total, total+part.MeanNS),
			Class: keyOf(part.Name).Class, Text: text + source})
		total += part.MeanNS
	}
	s.Marks = append(s.Marks, section.Mark{From: min(total, p.TotalNS), Y: max(total, p.TotalNS), Class: residue,
		Text: fmt.Sprintf("%sresidue %s: the application saw %s, the parts are %s, over %s", prefix, residueText(p),
			units.ExactTime(p.TotalNS), units.ExactTime(total), plural.Count(p.Trials, "trial"))})
	return s
}

// remarks say who else used the devices, and what cannot be known.
func remarks(run *result.Run) (notes []section.Remark) {
	rows := servedBy(run)
	var remarked []result.Point
	for _, r := range rows {
		p := result.Point{Stack: r.Stack, Mix: r.Workload}
		if slices.Contains(remarked, p) {
			continue
		}
		remarked = append(remarked, p)
		if text := othersText(rows, r.Stack, r.Workload); text != "" {
			notes = append(notes, section.Remark{Text: "requests of others, " + r.Workload + ", " + r.Stack + ": " + text})
		}
	}
	for _, text := range lacks(run) {
		notes = append(notes, section.Remark{Text: text})
	}
	return notes
}

// used lists who used the devices while trials were traced.
func used(run *result.Run) []*section.Section {
	rows := servedBy(run)
	if len(rows) == 0 {
		return nil
	}
	table := section.Table{Caption: "requests that devices completed while the traced trials ran, for whatever program " +
		"they were made. I/O of kernel threads without a known process is listed as (kernel)",
		Columns: section.Columns(5, "stack", "workload", "device", "for", "operation", "requests", "bytes")}
	for _, r := range rows {
		table.Rows = append(table.Rows, section.Row{Stack: r.Stack, Cells: []section.Cell{section.Text(r.Stack),
			section.Text(r.Workload), section.Text(r.Device), section.Text(r.whose()), section.Text(r.Op),
			section.Count.Cell(float64(r.Requests)), section.Text(units.DecimalBytes(r.Bytes))}})
	}
	if !slices.ContainsFunc(rows, func(r servedRow) bool { return !r.Application }) {
		table.Caption += ". Only the application used the devices"
	}
	return []*section.Section{{Title: "Who used the devices", Tables: []section.Table{table}}}
}
