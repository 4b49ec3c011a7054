package tenants

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// section shows what each tenant keeps beside the others, as matrices and a table; nil where nothing is
// known of that, as each mix is then shown by itself.
func (f *Facts) section() *section.Section {
	t := &f.Tenants
	if !f.Known() {
		return nil
	}
	s := &section.Section{
		Title: "Interference", Stack: t.Stack,
		Note: "What an instance does beside others, against what it does alone under the same limits, in the same rounds. " +
			"Rows suffer, columns are what they are beside; the stronger the colour, the worse, and ~ is no significant " +
			"difference.",
		Tables: []section.Table{t.table().Known()},
	}
	if t.Host != "" {
		s.Note += " " + prose.Inside(t.Host, t.Imported)
	}
	for _, m := range t.known() {
		s.Covers = append(s.Covers, result.Point{Stack: t.Stack, Mix: m.Mix})
		for _, share := range m.Tenants {
			if share.Alone != "" {
				s.Covers = append(s.Covers, result.Point{Stack: t.Stack, Mix: share.Alone})
			}
		}
	}
	for _, heat := range []section.Heat{t.heat("Throughput that is kept", Share.kept), t.heat("p99, against alone", Share.longer)} {
		if heat.Any() {
			s.Heat = append(s.Heat, heat)
		}
	}
	return s
}

// heat has a row for each tenant, and a column for what some are beside.
func (t *Tenants) heat(caption string, value func(Share) section.HeatCell) section.Heat {
	m := section.Heat{Caption: caption, Corner: "beside"}
	for _, mix := range t.known() {
		for _, s := range mix.Tenants {
			if !slices.Contains(m.Columns, s.neighbors()) {
				m.Columns = append(m.Columns, s.neighbors())
			}
		}
	}
	for _, mix := range t.known() {
		for _, s := range mix.Tenants {
			name := withCount(s.Tenant, s.Count)
			i := slices.IndexFunc(m.Rows, func(r section.HeatRow) bool { return r.Name == name })
			if i < 0 {
				i = len(m.Rows)
				m.Rows = append(m.Rows, section.HeatRow{Name: name, Cells: make([]section.HeatCell, len(m.Columns))})
			}
			m.Rows[i].Cells[slices.Index(m.Columns, s.neighbors())] = value(s)
		}
	}
	return m
}

// kept is what a tenant keeps of its throughput: 20% less is a level.
func (s Share) kept() section.HeatCell {
	if !s.Known() {
		return section.HeatCell{}
	}
	level := 0
	if s.Loses {
		level = int(math.Ceil((1 - s.Rate.Ratio) * section.MostHeat))
	}
	return s.cell("throughput", s.Rate, units.Percent(s.Rate.Ratio), level)
}

// longer is how much longer its operations take: each doubling is a level.
func (s Share) longer() section.HeatCell {
	if s.P99 == nil || !(s.P99.Ratio > 0) {
		return section.HeatCell{}
	}
	level := 0
	for r := s.P99.Ratio; s.Waits && r >= 1.5 && level < section.MostHeat; r /= 2 {
		level++
	}
	return s.cell("p99", *s.P99, section.Times.Format(s.P99.Ratio), level)
}

func (s Share) cell(quantity string, e fact.Effect, text string, level int) section.HeatCell {
	switch {
	case e.TooFew:
		text, level = "too few", 0
	case !e.Differs:
		text, level = "~", 0
	}
	title := fmt.Sprintf("%s of %s beside %s, against alone: %s", quantity, withCount(s.Tenant, s.Count), s.neighbors(),
		e.Written())
	return section.HeatCell{Text: text, Level: level, Title: title}
}

// table has a row for each tenant of each mix.
func (t *Tenants) table() section.Table {
	table := section.Table{Caption: "medians over setups", Columns: []section.Column{
		{Head: "tenant", Text: true},
		{Head: "beside", Text: true},
		{Head: "alone", Means: "operations a second of one instance alone", Drop: 5},
		{Head: "together", Means: "and beside the others"},
		{Head: "kept", Means: "their ratio in the same rounds, and ~ where that is no significant difference"},
		{Head: "interval", Drop: 6},
		{Head: "p99", Means: "times as long as alone"},
		{Head: "interval of p99", Drop: 4},
		{Head: "p99 alone", Drop: 2},
		{Head: "p99 together", Drop: 3},
		{Head: "fair", Means: "Jain's index over the slowdowns of a mix, 1 where all are slowed equally", Drop: 1},
		{Head: "for want of", Means: "what slows it more than alone, and who has most of that", Text: true},
	}}
	for _, m := range t.known() {
		var fair section.Cell
		if m.Fair != nil {
			fair = section.Text(units.Digits(m.Fair.Median))
		}
		for _, s := range m.Tenants {
			rate, interval := s.Rate.Cells()
			p99, ofP99 := s.P99.Cells()
			table.Rows = append(table.Rows, section.Row{Stack: t.Stack, Warn: s.Known() && (s.Loses || s.Waits), Cells: []section.Cell{
				section.Text(withCount(s.Tenant, s.Count)), section.Text(s.neighbors()), section.Count.Positive(s.EachAlone),
				section.Count.Cell(s.Each), rate, interval, p99, ofP99, section.Latency.Positive(s.P99AloneNS),
				section.Latency.Positive(s.P99NS), fair, section.Text(s.want())}})
		}
	}
	return table
}

// want names for want of what a tenant is slower; "" for nothing that is known.
func (s Share) want() string {
	var words []string
	for _, b := range s.Blame {
		word := b.Resource.Word()
		if b.By != "" {
			word += " (" + b.By + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
