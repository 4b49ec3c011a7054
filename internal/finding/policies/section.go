package policies

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// sectionAmong is the section of so many instances among those of all numbers. Where there are several,
// that of the number which the verdict is on has them all.
func (f *Facts) sectionAmong(found []*Facts) *section.Section {
	var family []*Facts
	for _, other := range found {
		a, b := f.Policies, other.Policies
		if a.Stack == b.Stack && a.Workload == b.Workload && a.Host == b.Host {
			family = append(family, other)
		}
	}
	switch {
	case len(family) == 1:
		return f.section()
	case f != slices.MaxFunc(family, byRate):
		return nil
	}
	slices.SortStableFunc(family, func(a, b *Facts) int { return cmp.Compare(a.Policies.Instances, b.Policies.Instances) })
	return overInstances(family)
}

// section shows what policies of limits do to throughput and p99, against none.
func (f *Facts) section() *section.Section {
	p := &f.Policies
	s := &section.Section{
		Title: f.whose() + " under policies", Stack: p.Stack,
		Note: "Each instance has the limits that the policy gives it. Ratios to none, which gives none, in the same " +
			"rounds, with their 95% intervals, on a logarithmic scale; ~ for no significant difference." + p.setting(),
		Tables: []section.Table{f.table().Known()},
	}
	if f.runs != "" {
		s.Remarks = []section.Remark{{Text: f.runs}}
	}
	var held []prose.Held
	for _, one := range p.withNone() {
		s.Covers = append(s.Covers, result.Point{Stack: p.Stack, Mix: one.Mix})
		held = append(held, prose.Held{Name: one.Name, Against: p.None.Name, Text: "policy " + one.Name + " against " + p.None.Name,
			Summary: one.Summary})
	}
	s.Figures = prose.Ratios(held)
	return s
}

// setting describes where all of it was measured.
func (p *Policies) setting() string {
	if p.Host == "" {
		return ""
	}
	return " All in a scaled-down host of " + p.Host + "."
}

// table has a row for each policy.
func (f *Facts) table() section.Table {
	t := section.Table{Caption: "medians over setups", Columns: []section.Column{
		{Head: "policy", Text: true},
		{Head: f.rate, Means: "of all together"},
		{Head: "against none", Means: "ratio to instances without limits of their own, in the same rounds, and ~ where that is no " +
			"significant difference"},
		{Head: "interval", Drop: 3},
		{Head: "p99"},
		{Head: "against none"},
		{Head: "interval of p99", Drop: 2},
		{Head: "fair", Means: "Jain's index over the rates of instances, 1 where all get the same", Drop: 5},
		{Head: "least", Means: "what the slowest instance gets of an equal share", Drop: 6},
		{Head: "reads/op", Means: "reads of the device for each operation", Drop: 7},
		{Head: "cache", Means: "page cache of each instance", Drop: 4},
		{Head: "held by", Means: "what keeps instances from doing more, by what was used", Text: true},
		{Head: "not reached", Means: "limits of their own that keep none from it", Text: true, Drop: 1},
	}}
	for _, policy := range f.Policies.withNone() {
		rate, interval := policy.Throughput.Cells()
		p99, ofP99 := policy.P99.Cells()
		t.Rows = append(t.Rows, section.Row{Stack: f.Policies.Stack, Cells: []section.Cell{section.Text(policy.Name),
			section.Count.Cell(policy.Rate), rate, interval, section.Latency.Positive(policy.P99NS), p99, ofP99,
			section.Text(units.Digits(policy.Fair)), section.Share.Cell(policy.Weakest), section.Number.Cell(policy.DeviceReads),
			section.Bytes.Positive(policy.CacheBytes), words(policy.Held), words(policy.idle())}})
	}
	return t
}

// words name resources.
func words(all []fact.Resource) section.Cell {
	return section.Text(plural.List(all, fact.Resource.Word))
}

// metric is a quantity of policies that is drawn over the number of instances.
type metric struct {
	title    string
	quantity section.Quantity
	log      bool
	value    func(Policy) float64 // 0 where it is not known
}

// overInstances shows policies over the number of instances: throughput, disk bandwidth and p99, as the figure of
// the study that it follows. What they cost at each number is folded.
func overInstances(family []*Facts) *section.Section {
	first := family[0].Policies
	s := &section.Section{
		Title: first.Workload + " under policies, over the number of instances", Stack: first.Stack,
		Note: "Medians over setups. What each policy costs, with intervals, is shown below for each number of instances." +
			first.setting(),
	}
	for _, f := range family {
		s.Parts = append(s.Parts, f.section())
	}
	for _, m := range []metric{
		{"Throughput, " + family[0].rate, section.Count, false, func(p Policy) float64 { return p.Rate }},
		{"Disk bandwidth", section.Bandwidth, false, func(p Policy) float64 { return p.DeviceBytes }},
		{"p99", section.Latency, true, func(p Policy) float64 { return p.P99NS }},
	} {
		table, figure := m.draw(family)
		s.Tables, s.Figures = append(s.Tables, table), append(s.Figures, figure)
	}
	return s
}

// draw makes a table and a figure: a row for each number of instances, and a line for each policy.
func (m metric) draw(family []*Facts) (section.Table, section.Figure) {
	t := section.Table{Caption: m.title, Columns: []section.Column{{Head: "instances"}}}
	f := section.Figure{Title: m.title, X: section.Axis{Label: "instances", Of: section.Count, Each: true},
		Y: section.Axis{Of: m.quantity, Log: m.log}}
	if m.log {
		f.Note = "on a logarithmic scale"
	}
	for _, facts := range family {
		for _, p := range facts.Policies.withNone() {
			if !slices.ContainsFunc(f.Series, func(s section.Series) bool { return s.Name == p.Name }) {
				f.Series = append(f.Series, section.Series{Name: p.Name})
				t.Columns = append(t.Columns, section.Column{Head: p.Name})
			}
		}
	}
	for _, facts := range family {
		n := facts.Policies.Instances
		row := section.Row{Stack: facts.Policies.Stack, Cells: []section.Cell{section.Count.Cell(float64(n))}}
		for i := range f.Series {
			var value section.Cell
			if p := facts.Policies.named(f.Series[i].Name); p != nil {
				value = m.quantity.Positive(m.value(*p))
			}
			row.Cells = append(row.Cells, value)
			if value != (section.Cell{}) {
				f.Series[i].Marks = append(f.Series[i].Marks, section.Mark{X: float64(n), Y: value.Value,
					Text: fmt.Sprintf("%s under %s: %s", plural.Count(n, "instance"), f.Series[i].Name, value)})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t, f
}
