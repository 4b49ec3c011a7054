package report

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// whoSuffers prints what tenants keep beside each other: one table, where each mix would have one.
func (t *terminal) whoSuffers() {
	t.explained([]string{
		"alone, beside: operations a second of one instance; kept: their ratio in the same blocks, ~ is no " +
			"significant difference",
		"p99: times as long as alone",
		"for want of: what slows it more than alone, and who has most of that",
		wordsHint,
	}, func() (shown bool) {
		for _, one := range fact.Tenancies(t.findings) {
			if len(one.Known()) == 0 {
				continue // each mix has a table
			}
			shown = true
			t.section(tenantsTitle(one))
			columns, rows := t.tenantTable(one)
			t.table(columns, rows)
		}
		return shown
	})
}

// tenantTable has a row for each tenant of each mix.
func (t *terminal) tenantTable(all *fact.Tenants) (columns []column, rows []tableRow) {
	columns = []column{
		{head: "tenant", left: true}, {head: "beside", left: true}, {head: "alone", drop: 2}, {head: "beside"},
		{head: "kept"}, {head: "interval", drop: 3}, {head: "p99"}, {head: "interval of p99", drop: 1},
		{head: "for want of", left: true},
	}
	for _, s := range sharesOf(all) {
		row := tableRow{paint: t.style.plain, stack: all.Stack,
			cells: []string{tenantText(s.Tenant, s.Count), besideText(s), "", units.Grouped(s.Each)}}
		if s.Known() {
			row.cells[2] = units.Grouped(s.EachAlone)
			if s.Loses || s.Waits {
				row.paint = t.style.warn
			}
		}
		rate := s.Rate
		row.cells = append(append(row.cells, ratioCells(&rate)...), ratioCells(s.P99)...)
		row.cells = append(row.cells, blameWords(s.Blame))
		rows = append(rows, row)
	}
	return columns, rows
}
