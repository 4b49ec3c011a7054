package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/finding/fact"
)

// worthOfLimits prints what more and less of each limit of a miniature did: one table, where each
// of the mixes that the run added for it would have one.
func (t *terminal) worthOfLimits() {
	t.explained([]string{
		"throughput, p99: ratios to the mix as it is, in the same blocks; ~ is no significant difference",
		"per 1%: by how many percent throughput changes for each percent of the limit, over what was tried",
	}, func() (shown bool) {
		for _, f := range t.findings {
			e := f.Elasticity
			if e == nil || len(e.Limits) == 0 {
				continue
			}
			shown = true
			t.section(worthTitle(e))
			columns, rows := t.worthTable(e)
			t.table(columns, rows)
			if e.Doubled != nil {
				t.text("  ", "    ", doubledText(e.Doubled), t.style.plain)
			}
		}
		return shown
	})
}

// worthTitle heads what limits are worth, on the page and on a terminal.
func worthTitle(e *fact.Elasticity) string {
	return fmt.Sprintf("What a limit is worth, with %s of %s", counted(e.Instances, "instance"), e.Workload)
}

// doubledText says how many instances the host would carry with twice of each limit.
func doubledText(d *fact.Doubled) string {
	words := make([]string, len(d.Moved))
	for i, m := range d.Moved {
		words[i] = fmt.Sprintf("%s %d", m.Limit, m.Instances)
		if m.High == m.Most {
			words[i] += " or more"
		} else if m.Low < m.High {
			words[i] += fmt.Sprintf(" (%d to %d)", m.Low, m.High)
		}
	}
	return fmt.Sprintf("predicted load line, now %d, with twice of one limit: %s", d.Line, strings.Join(words, ", "))
}

// worthTable has a row for each change of a limit.
func (t *terminal) worthTable(e *fact.Elasticity) (columns []column, rows []tableRow) {
	columns = []column{
		{head: "limit", left: true}, {head: "throughput"}, {head: "interval", drop: 2}, {head: "p99"},
		{head: "interval of p99", drop: 1}, {head: "per 1%", drop: 3},
	}
	for _, w := range e.Limits {
		of := powerText(w.Rate)
		for _, c := range []*fact.LimitChange{w.More, w.Less} {
			if c == nil {
				continue
			}
			row := tableRow{paint: t.style.plain, stack: e.Stack, cells: []string{changeText(w, c)}}
			row.cells = append(append(row.cells, ratioCells(&c.Rate)...), ratioCells(c.P99)...)
			row.cells = append(row.cells, of)
			rows, of = append(rows, row), "" // once for both
		}
		for _, factor := range w.Failed {
			rows = append(rows, tableRow{paint: t.style.warn,
				span: changeText(w, &fact.LimitChange{Factor: factor}) + ": no trial was completed"})
		}
	}
	return columns, rows
}

// ratioCells are a ratio, or ~ where it is not significant, and its interval.
func ratioCells(e *fact.Effect) []string {
	if e == nil || !(e.Ratio > 0) {
		return []string{"", ""}
	}
	ratio, interval := timesText(e.Ratio), ""
	switch {
	case e.TooFew:
		ratio = "too few"
	case !e.Differs:
		ratio = "~"
	}
	if e.HasInterval() && !math.IsInf(e.High, 0) {
		interval = intervalText(e)
	}
	return []string{ratio, interval}
}

// powerText is an elasticity with its interval; "" for none. It is of the order of 1, and all of a
// column have as many decimals.
func powerText(p *fact.Power) string {
	if p == nil {
		return ""
	}
	decimals := func(x float64) float64 { return math.Round(100*x)/100 + 0 } // no -0.00
	return fmt.Sprintf("%.2f (%.2f to %.2f)", decimals(p.Value), decimals(p.Low), decimals(p.High))
}
