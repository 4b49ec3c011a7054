package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/printable"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// mostRows is how many rows a table has: the rest is in the document.
const mostRows = 30

// Verdict returns the answer in a sentence or a few. Names in it are safe for a terminal.
func (d *Document) Verdict() string {
	var sentences []string
	for _, f := range d.Findings {
		if f.Kind == Disturbs || f.Kind == MayDisturb {
			sentences = append(sentences, printable.Line(f.Text))
		}
	}
	if len(sentences) > 0 {
		return strings.Join(sentences, " ")
	}
	if n := len(d.Findings); n > 0 {
		return fmt.Sprintf("No noisy neighbor seen; %s of limits and memory.", plural.Count(n, "finding"))
	}
	return "No noisy neighbor seen."
}

// Sections returns the document as tables. Names in them are safe for a terminal.
func (d *Document) Sections() []*section.Section {
	s := &section.Section{Title: fmt.Sprintf("Who does what, in %s seconds", units.Digits(d.Seconds))}
	s.Tables = []section.Table{d.uses()}
	for _, f := range d.Findings {
		if f.Kind != Disturbs && f.Kind != MayDisturb { // those are the verdict
			s.Remarks = append(s.Remarks, section.Remark{Text: printable.Line(f.Text), Warn: f.Kind != OwnLimit})
		}
	}
	for _, u := range d.Unknown {
		s.Remarks = append(s.Remarks, section.Remark{Text: printable.Line("Not known: " + strings.TrimSuffix(u, ".") + ".")})
	}
	sections := []*section.Section{s}
	for _, other := range []struct {
		title string
		table section.Table
	}{{"Limits", d.limits()}, {"Memory", d.memory()}, {"Predicted and measured", d.predicted()}} {
		if len(other.table.Rows) > 0 {
			sections = append(sections, &section.Section{Title: other.title, Tables: []section.Table{other.table.Known()}})
		}
	}
	return sections
}

// cut leaves the first rows of a table, and says how many are left out.
func cut(t section.Table) section.Table {
	if more := len(t.Rows) - mostRows; more > 0 {
		t.Rows = append(t.Rows[:mostRows:mostRows], section.Row{Words: fmt.Sprintf("%d more are in --json", more)})
	}
	return t
}

// longestName is how much of a name tables show.
const longestName = 40

func name(g *Group) section.Cell {
	return section.Text(printable.Shorten(printable.Line(g.Name), longestName))
}

// uses returns a row for each group on each drive, those first that keep the drive busiest.
func (d *Document) uses() section.Table {
	type row struct {
		g *Group
		u Use
	}
	var rows []row
	for i := range d.Groups {
		g := &d.Groups[i]
		for _, u := range g.Drives {
			rows = append(rows, row{g, u})
		}
		if len(g.Drives) == 0 && g.Kind == Container {
			rows = append(rows, row{g, Use{}})
		}
	}
	weight := func(r row) float64 { return r.u.Read.BytesPerSecond + r.u.Write.BytesPerSecond }
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.u.Depth, a.u.Depth), cmp.Compare(weight(b), weight(a)))
	})
	t := section.Table{
		Columns: section.Columns(3, "who", "is", "drive", "reads/s", "read", "p50", "p99", "writes/s", "written",
			"p50", "p99", "under way", "waits for I/O", "CPUs"),
	}
	t.Columns[11].Means = "requests on the drive at a time, in the mean"
	t.Columns[12].Means = "share of the time in which at least one of its tasks does"
	for i, drop := range map[int]int{4: 3, 5: 1, 8: 4, 9: 2, 13: 5, 1: 6} {
		t.Columns[i].Drop = drop
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{
			name(r.g), section.Text(strings.TrimSpace(r.g.Engine + " " + string(r.g.Kind))),
			section.Text(printable.Line(r.u.Device)),
			section.Number.Positive(r.u.Read.PerSecond), section.Bandwidth.Positive(r.u.Read.BytesPerSecond),
			section.Latency.Positive(1e9 * r.u.Read.P50), section.Latency.Positive(1e9 * r.u.Read.P99),
			section.Number.Positive(r.u.Write.PerSecond), section.Bandwidth.Positive(r.u.Write.BytesPerSecond),
			section.Latency.Positive(1e9 * r.u.Write.P50), section.Latency.Positive(1e9 * r.u.Write.P99),
			section.Number.Positive(r.u.Depth), section.Share.Positive(d.pressure(r.g)),
			section.Number.Positive(r.g.used(keyCPUs, "")),
		}})
	}
	if len(t.Rows) == 0 {
		t.Rows = append(t.Rows, section.Row{Words: "no group did any I/O"})
		return t
	}
	return cut(t.Known())
}

// limits returns a row for each limit.
func (d *Document) limits() section.Table {
	t := section.Table{Columns: section.Columns(5, "whose", "drive", "in force", "asked for", "used", "held by")}
	t.Columns[5].Text = true
	for i := range d.Groups {
		g := &d.Groups[i]
		for _, l := range g.Limits {
			held, wanted, used := "none", "not known", ""
			if l.Held > 0 {
				held = l.amount(l.Held)
			}
			switch {
			case l.Asked != nil && *l.Asked > 0:
				wanted = l.amount(*l.Asked)
			case l.Asked != nil:
				wanted = "none"
			}
			if l.Used > 0 && l.Held > 0 {
				used = units.Percent(l.Used / l.Held)
			}
			t.Rows = append(t.Rows, section.Row{Warn: l.Asked != nil && l.Above == "" && !nearlyEqual(l.Held, *l.Asked),
				Cells: []section.Cell{name(g), section.Text(printable.Line(l.Device)), section.Text(held), section.Text(wanted),
					section.Text(used), section.Text(printable.Shorten(printable.Line(l.Above), longestName))}})
		}
	}
	return cut(t)
}

// memory returns a row for each group that holds memory, those first that hold most.
func (d *Document) memory() section.Table {
	t := section.Table{Columns: section.Columns(1, "whose", "held", "page cache", "enough", "limit", "met it", "killed")}
	t.Columns[1].Means = "what no shortage takes, unless there is swap: a lower limit kills"
	t.Columns[3].Means = "held, and page cache that is used again and again: a lower limit makes it read more"
	var rows []*Group
	for i := range d.Groups {
		if g := &d.Groups[i]; g.Memory != nil && g.Kind != Slice {
			rows = append(rows, g)
		}
	}
	slices.SortStableFunc(rows, func(a, b *Group) int { return cmp.Compare(b.Memory.Held, a.Memory.Held) })
	for _, g := range rows {
		limit := 0.0
		for _, l := range g.Limits {
			if l.Of == keyMemory {
				limit = l.Held
			}
		}
		m := g.Memory
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{name(g), section.Bytes.Positive(float64(m.Held)),
			section.Bytes.Positive(float64(m.Cache)), section.Bytes.Positive(float64(m.Enough)), section.Bytes.Positive(limit),
			section.Count.Positive(float64(m.AtLimit)), section.Count.Positive(float64(m.OOMKills))}})
	}
	return cut(t)
}

// predicted returns a row for each class.
func (d *Document) predicted() section.Table {
	t := section.Table{Columns: section.Columns(1, "class", "instances", "load line", "reads/s", "of predicted", "CPUs",
		"of predicted", "more would help")}
	t.Columns[2].Means = "instances that the host carries if they run alone"
	t.Columns[4].Means = "share of what they would do under full load: the rest is head room"
	t.Columns[7].Text = true
	for _, c := range d.Classes {
		if c.Unknown != "" {
			t.Rows = append(t.Rows, section.Row{Words: printable.Line("nothing is predicted for " + c.Name + ": " + c.Unknown)})
			continue
		}
		share := func(seen, predicted float64) section.Cell {
			if !(predicted > 0) {
				return section.Cell{}
			}
			return section.Share.Cell(seen / predicted)
		}
		t.Rows = append(t.Rows, section.Row{Warn: c.Carries > 0 && c.Count > c.Carries, Cells: []section.Cell{
			section.Text(printable.Shorten(printable.Line(c.Name), longestName)), section.Count.Cell(float64(c.Count)),
			section.Count.Positive(float64(c.Carries)), section.Number.Positive(c.SeenReads), share(c.SeenReads, c.Reads),
			section.Number.Positive(c.SeenCPUs), share(c.SeenCPUs, c.CPUs), section.Text(c.Helps)}})
	}
	return t
}
