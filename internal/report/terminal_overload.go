package report

import "plimsoll/internal/finding/fact"

// offeredRates prints what became of each rate of operations: one table, where each mix would have
// one.
func (t *terminal) offeredRates() {
	t.explained([]string{
		"offered: operations a second that were to begin; done: the share of those whose time came that were completed",
		"p99: from when operations were to begin; sent: from when they were sent, which is all that a closed loop sees",
		"longer: by how much p99 grows with every second; lag: how late the generator itself was, at the 99th percentile",
		"kept: nearly all are done, and p99 does not grow",
		wordsHint,
	}, func() (shown bool) {
		for _, o := range fact.Overloads(t.findings) {
			shown = true
			t.sectionOn(overloadTitle(o), o.Stack)
			columns, rows := t.overloadTable(o)
			t.table(columns, rows)
		}
		return shown
	})
}

// overloadTable has a row for each rate.
func (t *terminal) overloadTable(o *fact.Overload) (columns []column, rows []tableRow) {
	columns = []column{
		{head: "offered"}, {head: headOperations}, {head: "interval", drop: 4}, {head: "done"}, {head: "p50", drop: 3},
		{head: "p99"}, {head: "sent"}, {head: "longer"}, {head: "lag", drop: 2}, {head: "kept", left: true},
		{head: "binds", left: true, drop: 1},
	}
	for _, p := range o.Points {
		interval, growth := "", "-"
		if p.High > 0 {
			interval = rangeText(p.Low, p.High)
		}
		if p.Growth > 0 {
			growth = latencyText(p.GrowthPerSecond())
		}
		row := tableRow{paint: t.style.plain, stack: o.Stack, cells: []string{
			grouped(p.Offered), grouped(p.Achieved), interval, percentText(p.Done), latencyOr(p.P50NS), latencyOr(p.P99NS),
			latencyOr(p.ServiceNS), growth, latencyOr(p.LagNS), keptWord(p), string(p.Binds),
		}}
		if !p.Kept {
			row.paint = t.style.warn
		}
		rows = append(rows, row)
	}
	return columns, rows
}
