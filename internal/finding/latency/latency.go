// Package latency shows the percentiles of what applications waited. It is pure.
package latency

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
)

// Percentiles returns the percentiles of total latency of points, one figure for each mix, from histograms merged over
// trials; nil where none is known.
func Percentiles(run *result.Run, points []fact.Point) *section.Section {
	s := &section.Section{Title: "Latency percentiles", Note: fmt.Sprintf("Total latency, what the application waits, "+
		"from the merged histograms of all trials. To the right, ever fewer I/Os wait longer: a curve ends where fewer "+
		"than %d did.", hist.LeastAbove)}
	table := section.Table{Folded: true,
		Caption: "percentiles of total latency, as the curves have them: all trials merged",
		Columns: section.Columns(2, "Stack", "Workload")}
	for _, percent := range tablePercents {
		table.Columns = append(table.Columns, section.Column{Head: fmt.Sprintf("p%g", percent)})
	}
	table.Columns = append(table.Columns, section.Column{Head: "I/Os"})
	view := runview.New(run)
	for _, m := range run.Ran() {
		if m.Varies != nil {
			continue
		}
		f := section.PercentileFigure(m.Name, "total latency by percentile", "total latency")
		f.Colours = run.StackNames()
		for _, p := range points {
			if p.Workload != m.Name {
				continue
			}
			series := section.Series{Name: p.Stack}
			if p.FromMemory() {
				series.Note = "memory"
			}
			merged := view.Cell(p.Stack, p.Workload).Merge(result.Total)
			series.Curve = f.Percentiles(merged.Count, func(percent float64) (uint64, bool) {
				ns, ok := hist.Percentile(merged.Bins, percent)
				return ns, ok && ns > 0
			})
			if len(series.Curve) > 0 {
				f.Series = append(f.Series, series)
				table.Rows = append(table.Rows, percentileRow(p, merged))
			}
		}
		if len(f.Series) > 0 {
			s.Figures = append(s.Figures, f)
		}
	}
	if len(s.Figures) == 0 {
		return nil
	}
	s.Tables, s.Folded = []section.Table{table}, len(s.Figures) > section.MostUnfolded
	return s
}

var tablePercents = []float64{50, 90, 99, 99.9, 99.99}

func percentileRow(p fact.Point, merged hist.Histogram) section.Row {
	row := section.Row{Stack: p.Stack, Cells: []section.Cell{section.Text(p.Stack), section.Text(p.Workload)}}
	for _, percent := range tablePercents {
		ns, ok := hist.Percentile(merged.Bins, percent)
		if !ok || !hist.Known(merged.Count, percent) {
			row.Cells = append(row.Cells, section.Text("too few I/Os"))
			continue
		}
		row.Cells = append(row.Cells, section.Latency.Cell(float64(ns)))
	}
	row.Cells = append(row.Cells, section.Count.Cell(float64(merged.Count)))
	return row
}
