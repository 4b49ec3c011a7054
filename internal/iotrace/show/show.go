// Package show turns the account of a trace into sections, which any report draws, and into JSON and CSV. It is pure.
package show

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/printable"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// Sections returns what a trace shows: what it lacks, what a target was asked for, how the time from Q to C is shared,
// percentiles, what devices did over time and in all, and all intervals by the dimensions that are asked for.
func Sections(a *iotrace.Account, selected ...Dimension) (all []*section.Section) {
	all = append(all, lacks(a), target(a), shares(a), percentiles(a), overTime(a), devices(a))
	for i, d := range selected {
		all = append(all, allIntervals(a, d, i == 0))
	}
	return slices.DeleteFunc(all, func(s *section.Section) bool { return s == nil })
}

// lacks is what cannot be known, and why.
func lacks(a *iotrace.Account) *section.Section {
	s := &section.Section{Title: "What cannot be known"}
	if a.Lost > 0 {
		s.Remarks = append(s.Remarks, section.Remark{Warn: true,
			Text: grouped(a.Lost) + " events were lost: counts are too low, and intervals may be missing"})
	}
	for _, m := range a.Missing {
		s.Remarks = append(s.Remarks, section.Remark{Text: m, Warn: true})
	}
	if len(s.Remarks) == 0 {
		return nil
	}
	return s
}

// mostKeys is how many keys of a dimension are shown for people.
const mostKeys = 24

// omittedNote returns how many keys are not shown; "" for none.
func omittedNote(rows []row) string {
	if len(rows) <= mostKeys {
		return ""
	}
	return fmt.Sprintf("and %d more: in --format csv and --json", len(rows)-mostKeys)
}

// words are what titles call a dimension.
var words = map[Dimension]string{ByDevice: "device", ByOp: "operation", BySize: "size",
	ByProcess: "process or container"}

// shares is how the time from Q to C is shared, for each key of each dimension.
func shares(a *iotrace.Account) *section.Section {
	s := &section.Section{Title: "Time from queue to completion"}
	rows := deviceOps(a)
	for _, f := range []section.Figure{partsFigure("by device and operation", rows, false),
		partsFigure("by device and operation", rows, true), partsFigure("by size", rowsBy(a, BySize), false),
		partsFigure("by process or container", rowsBy(a, ByProcess), false)} {
		if len(f.Series) > 0 {
			s.Figures = append(s.Figures, f)
		}
	}
	if _, passing := issuers(a); len(passing) > 0 {
		s.Remarks = []section.Remark{{Text: "operations, sizes and processes are without " + strings.Join(passing, ", ") +
			": what they get, they pass on to the others"}}
	}
	drawn := map[string]bool{}
	for _, d := range Dimensions {
		if table := sharesTable(rowsBy(a, d), d, drawn); len(table.Rows) > 0 {
			table.Folded = len(s.Figures) > 0
			s.Tables = append(s.Tables, table)
		}
	}
	if len(s.Tables) == 0 {
		return nil
	}
	for _, k := range partKeys {
		if drawn[k.name] {
			s.Keys = append(s.Keys, section.Key{Class: k.class, Letter: k.letter, Text: k.name + ": " + k.text})
		}
	}
	return s
}

// sharesTable returns a table with a row for each key of a dimension. It adds the rows' parts to drawn.
func sharesTable(rows []row, dimension Dimension, drawn map[string]bool) section.Table {
	table := section.Table{Caption: "by " + words[dimension], Summary: "The numbers by " + words[dimension],
		Columns: []section.Column{
			{Head: string(dimension), Text: true}, {Head: "requests"}, {Head: "bytes", Drop: 2}, {Head: "Q2C mean"},
			{Head: "Q2C p99", Drop: 4}, {Head: "D2C mean", Drop: 3}, {Head: "D2C p99", Drop: 1},
			{Head: "parts of Q2C", Text: true, Drop: 5},
		}}
	for _, r := range rows[:min(len(rows), mostKeys)] {
		parts := partsOf(r)
		for _, p := range parts {
			drawn[p.Name] = true
		}
		q2c, d2c := r.dist(iotrace.Q2C), r.dist(iotrace.D2C)
		table.Rows = append(table.Rows, section.Row{Cells: []section.Cell{
			section.Text(printable.Shorten(r.Label, mostLetters)), count(r.Requests),
			section.Text(units.DecimalBytes(r.Bytes)), mean(q2c), percentileCell(q2c, 99), mean(d2c), percentileCell(d2c, 99),
			partsBar(parts)}})
	}
	if text := omittedNote(rows); text != "" {
		table.Rows = append(table.Rows, section.Row{Words: text})
	}
	return table
}

// mostLetters is how long a key is in a table that has all of them below each other.
const mostLetters = 34

// partKeys are how the parts of Q2C are drawn, and what a legend says of them.
var partKeys = []struct {
	name   string
	class  section.Class
	letter string
	text   string
}{
	{"Q2G", "part-4", "g", meaning[iotrace.Q2G]},
	{"G2I", "part-0", "i", meaning[iotrace.G2I]},
	{"Q2M", "part-6", "m", meaning[iotrace.Q2M]},
	{"I2D", "part-1", "s", meaning[iotrace.I2D]},
	{directPart, "part-5", "d", "until issued, where no scheduler or plug held the request"},
	{"M2D", "part-3", "w", meaning[iotrace.M2D]},
	{"Q2D", "part-1", "q", meaning[iotrace.Q2D]},
	{"D2N", "part-2", "n", meaning[iotrace.D2N]},
	{"N2C", "part-device", "N", meaning[iotrace.N2C]},
	{"D2C", "part-device", "D", meaning[iotrace.D2C]},
	{restPart, "residue", ".", "reported by no interval; below 0, the parts overlap"},
}

func keyOf(name string) (class section.Class, letter string) {
	for _, k := range partKeys {
		if k.name == name {
			return k.class, k.letter
		}
	}
	return "unknown", "?"
}

// partsBar is the cell of the parts of Q2C.
func partsBar(parts []part) section.Cell {
	if len(parts) == 0 {
		return section.Cell{}
	}
	var texts []string
	bar := &section.Bar{}
	for _, p := range parts {
		class, letter := keyOf(p.Name)
		bar.Slices = append(bar.Slices, section.Slice{Share: p.Share, Class: class, Letter: letter})
		texts = append(texts, p.Name+" "+units.Tenths(p.Share))
	}
	return section.Cell{Text: strings.Join(texts, ", "), Bar: bar}
}

// allIntervals is a table of all intervals of each key of a dimension. The first of several explains them.
func allIntervals(a *iotrace.Account, dimension Dimension, first bool) *section.Section {
	rows := rowsBy(a, dimension)
	if len(rows) == 0 {
		return nil
	}
	s := &section.Section{Title: "Intervals by " + words[dimension]}
	table := section.Table{Caption: "all of each", Folded: dimension != ByDevice, Columns: []section.Column{
		{Head: "interval", Text: true}, {Head: "count"}, {Head: "min", Drop: 4}, {Head: "mean"}, {Head: "max", Drop: 6},
		{Head: "stddev", Drop: 2}, {Head: "p50"}, {Head: "p90", Drop: 1}, {Head: "p99"}, {Head: "p99.9", Drop: 3},
		{Head: "of Q2C", Drop: 5},
	}}
	var named []string
	for _, i := range intervals {
		if slices.ContainsFunc(rows, func(r row) bool { return r.dist(i) != nil }) {
			named = append(named, i.String()+" "+meaning[i])
		}
	}
	if first {
		table.Columns[0].Means = strings.Join(named, ", ")
		s.Note = "Q: a bio was queued. G: it got a request. M: it was merged into one. I: the request was inserted into a " +
			"scheduler or plug list. D: it was issued to the driver. N: the NVMe device has the command. C: it completed. " +
			"S, X and R are the application's: into the system call, out of it, and when it was given the completion. Counts, " +
			"means, extremes and deviations are exact; percentiles come from a histogram, and are right to 1 in 128."
	}
	for _, r := range rows[:min(len(rows), mostKeys)] {
		table.Rows = append(table.Rows, intervalRows(r)...)
	}
	if text := omittedNote(rows); text != "" {
		table.Rows = append(table.Rows, section.Row{Words: text})
	}
	if len(rows) > 1 {
		sum := sumOf(a)
		sum.Label = "all together"
		table.Rows = append(table.Rows, intervalRows(sum)...)
		if first {
			s.Remarks = together(a)
		}
	}
	s.Tables = []section.Table{table}
	return s
}

// together says which requests all devices together have.
func together(a *iotrace.Account) (remarks []section.Remark) {
	only, passing := issuers(a)
	if len(passing) > 0 {
		remarks = append(remarks, section.Remark{Text: "all together are without " + strings.Join(passing, ", ") +
			": what they get, they pass on to the others"})
	}
	if len(only.Devices) > 1 {
		remarks = append(remarks, section.Remark{Text: "all together: a request that passes several devices counts at each"})
	}
	return remarks
}

// intervalRows are a row of words on a key, and one for each of its intervals.
func intervalRows(r row) []section.Row {
	rows := []section.Row{{Strong: true,
		Words: fmt.Sprintf("%s: %s requests, %s", r.Label, grouped(r.Requests), units.DecimalBytes(r.Bytes))}}
	parts := partsOf(r)
	share := func(name string) section.Cell {
		for _, p := range parts {
			if p.Name == name {
				return section.Text(units.Tenths(p.Share))
			}
		}
		return section.Cell{}
	}
	for _, i := range intervals {
		d := r.dist(i)
		if d == nil {
			continue
		}
		rows = append(rows, section.Row{Cells: []section.Cell{
			section.Text(i.String()), count(d.Count), span(float64(d.MinNS)), mean(d), span(float64(d.MaxNS)),
			span(d.StddevNS()), percentileCell(d, 50), percentileCell(d, 90), percentileCell(d, 99), percentileCell(d, 99.9),
			share(i.String()),
		}})
	}
	for _, p := range parts {
		if p.Name == directPart || p.Name == restPart { // no interval has a row for it
			cells := make([]section.Cell, 11)
			cells[0], cells[3], cells[10] = section.Text(p.Name), span(p.MeanNS), share(p.Name)
			rows = append(rows, section.Row{Cells: cells})
		}
	}
	if len(rows) == 1 {
		rows = append(rows, section.Row{Words: "  no interval is known"})
	}
	return rows
}
