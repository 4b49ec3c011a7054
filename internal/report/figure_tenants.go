package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/plural"
	"plimsoll/internal/units"
)

// heatMap is a table whose cells have the stronger a colour the more a tenant suffers.
type heatMap struct {
	Caption string
	Corner  string // what rows are, and columns
	Columns []string
	Rows    []heatRow
}

type heatRow struct {
	Name  string
	Cells []heatCell
}

// heatCell is one; the zero value is of what was not measured.
type heatCell struct {
	Text  string
	Title string
	Level int // of heat, 0 to mostHeat
}

// mostHeat is the level of the hottest cells.
const mostHeat = 5

// whoSuffers shows what each tenant keeps beside the others, as a matrix.
func whoSuffers(t *fact.Tenants) (section, bool) {
	s := section{
		Title: tenantsTitle(t),
		Note: "What an instance does beside others, against what it does alone under the same limits, in the same blocks. " +
			"Rows suffer, columns are what they are beside; the stronger the colour, the worse, and ~ is no significant " +
			"difference.",
		Table: tenantsTable(t),
	}
	if t.Host != "" {
		s.Note += " All in a miniature of " + t.Host + "."
	}
	for _, of := range []struct {
		caption string
		cell    func(fact.TenantShare) heatCell
	}{
		{"Throughput that is kept", keptCell}, {"p99, against alone", waitCell},
	} {
		one := heatOf(t, of.cell)
		one.Caption = of.caption
		if slices.ContainsFunc(one.Rows, func(r heatRow) bool {
			return slices.ContainsFunc(r.Cells, func(c heatCell) bool { return c.Text != "" })
		}) {
			s.Heat = append(s.Heat, one)
		}
	}
	return s, len(s.Heat) > 0
}

// tenantsTitle heads what tenants do to each other, on the page and on a terminal.
func tenantsTitle(t *fact.Tenants) string {
	title := "Who suffers from whom"
	if t.Stack != "" {
		title += ", on " + t.Stack
	}
	return title
}

func heatOf(t *fact.Tenants, cell func(fact.TenantShare) heatCell) heatMap {
	m := heatMap{Corner: "beside"}
	for _, s := range sharesOf(t) {
		m.Columns = with(m.Columns, besideText(s))
	}
	for _, s := range sharesOf(t) {
		name := tenantText(s.Tenant, s.Count)
		at := slices.IndexFunc(m.Rows, func(r heatRow) bool { return r.Name == name })
		if at < 0 {
			at = len(m.Rows)
			m.Rows = append(m.Rows, heatRow{Name: name, Cells: make([]heatCell, len(m.Columns))})
		}
		m.Rows[at].Cells[slices.Index(m.Columns, besideText(s))] = cell(s)
	}
	return m
}

// sharesOf are what all tenants keep of the mixes that are known, in their order.
func sharesOf(t *fact.Tenants) (all []fact.TenantShare) {
	for _, m := range t.Known() {
		all = append(all, m.Tenants...)
	}
	return all
}

func tenantText(name string, count int) string {
	if count > 1 {
		return fmt.Sprintf("%d x %s", count, name)
	}
	return name
}

// besideText names what a tenant is beside.
func besideText(s fact.TenantShare) string {
	var others []string
	for _, b := range s.Beside {
		others = append(others, tenantText(b.Tenant, b.Count))
	}
	return plural.And(others)
}

// keptCell is what a tenant keeps of its throughput: 20% less is a level.
func keptCell(s fact.TenantShare) heatCell {
	if !s.Known() {
		return heatCell{}
	}
	c := heatCell{Text: units.Percent(s.Rate.Ratio), Title: heatTitle(s, "throughput", s.Rate)}
	switch {
	case s.Rate.TooFew:
		c.Text = "too few"
	case !s.Rate.Differs:
		c.Text = "~"
	case s.Loses:
		c.Level = int(math.Ceil((1 - s.Rate.Ratio) * mostHeat))
	}
	return c
}

// waitCell is how much longer its operations take: each doubling is a level.
func waitCell(s fact.TenantShare) heatCell {
	if s.P99 == nil || !(s.P99.Ratio > 0) {
		return heatCell{}
	}
	c := heatCell{Text: timesText(s.P99.Ratio), Title: heatTitle(s, "p99", *s.P99)}
	switch {
	case s.P99.TooFew:
		c.Text = "too few"
	case !s.P99.Differs:
		c.Text = "~"
	case s.Waits:
		for r := s.P99.Ratio; r >= 1.5 && c.Level < mostHeat; r /= 2 {
			c.Level++
		}
	}
	return c
}

func heatTitle(s fact.TenantShare, what string, e fact.Effect) string {
	return fmt.Sprintf("%s of %s beside %s, against alone: %s", what, tenantText(s.Tenant, s.Count), besideText(s),
		effectText(&e))
}

// tenantsTable has the numbers behind the matrix.
func tenantsTable(t *fact.Tenants) *numberTable {
	table := &numberTable{
		Caption: "medians over bring-ups, per second of one instance where rates are meant; fairness is Jain's index over " +
			"the slowdowns of a mix",
		Head: []string{"Mix", "Tenant", "For want of", "Alone", "Beside", "Kept", "p99 alone", "p99 beside", "Times as long",
			"Fairness"},
		Words: 3,
	}
	for _, m := range t.Known() {
		fair := unknown
		if m.Fair != nil {
			fair = units.Digits(m.Fair.Median)
		}
		for _, s := range m.Tenants {
			row := []string{m.Mix, tenantText(s.Tenant, s.Count), blameWords(s.Blame), unknown, units.Grouped(s.Each), unknown,
				latencyOr(s.P99Alone), latencyOr(s.P99NS), unknown, fair}
			if s.Known() {
				rate := s.Rate
				row[3], row[5] = units.Grouped(s.EachAlone), effectText(&rate)
			}
			if s.P99 != nil {
				row[8] = effectText(s.P99)
			}
			table.Rows, fair = append(table.Rows, row), ""
		}
	}
	return table
}

func latencyOr(ns float64) string {
	if !(ns > 0) {
		return unknown
	}
	return latencyText(ns)
}

// blameWords say for want of what a tenant is slower; "" for nothing that is known.
func blameWords(all []fact.Blame) string {
	var words []string
	for _, b := range all {
		word := b.Resource.Word()
		if b.By != "" {
			word += " (" + b.By + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// isShared reports whether a point is of a mix of several tenants: its figures are those of all.
func isShared(findings []fact.Finding, p fact.Point) bool {
	return slices.ContainsFunc(fact.Tenancies(findings), func(t *fact.Tenants) bool {
		return (t.Stack == "" || t.Stack == p.Stack) && t.Has(p.Workload)
	})
}
