package headroom

import (
	"fmt"
	"math"
	"strconv"

	"plimsoll/internal/printable"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Sections returns the answer as tables. Names in them are safe for a terminal.
func (a *Answer) Sections() []*section.Section {
	main := &section.Section{Title: fmt.Sprintf("Use of resources, in %s of %s", units.Elapsed(a.RecordedSeconds),
		printable.Line(a.Host.Name)), Tables: []section.Table{a.resources()}, Remarks: a.remarks(), Figures: a.figures()}
	sections := []*section.Section{main}
	for _, other := range []struct {
		title, note string
		table       section.Table
		heats       []section.Heat
	}{
		{"How many more fit", "", a.moreTable(), nil},
		{"Operations of servers", "", a.operations(), nil},
		{"Limits in force", "", a.limitsInForce(), nil},
		{"What would have been enough", "", a.enoughTable(), nil},
		{"Containers that peak together", "", a.together(), nil},
		{"What memory is worth", "", a.memoryTable(), nil},
		{"Hours of the day, in UTC", a.ofBinding(), a.shape(), a.week()},
		{"Days of the week, in UTC", a.ofBinding(), a.days(), nil},
	} {
		if len(other.table.Rows) > 0 {
			sections = append(sections, &section.Section{Title: other.title, Note: other.note,
				Tables: []section.Table{other.table.Known()}, Heat: other.heats})
		}
	}
	unseen := &section.Section{Title: "Never seen, and not guessed"}
	for _, u := range a.Unseen {
		unseen.Remarks = append(unseen.Remarks, section.Remark{Text: printable.Line(u)})
	}
	if len(unseen.Remarks) > 0 {
		sections = append(sections, unseen)
	}
	return sections
}

// percentText writes a share with all its digits: "99.99%".
func percentText(share float64) string {
	return strconv.FormatFloat(math.Round(1e8*share)/1e6, 'f', -1, 64) + "%"
}

// quantity returns the quantity that a resource's amounts are of.
func (r Resource) quantity() section.Quantity {
	switch r {
	case CPU:
		return section.Number
	case Memory:
		return section.Bytes
	case Bandwidth, ReadBandwidth, WriteBandwidth:
		return section.Bandwidth
	case Mixed:
		return section.Share
	}
	return section.Count
}

// cell returns a quantile with what is missing.
func (q Quantile) cell(quantity section.Quantity) section.Cell {
	if q.Value == nil {
		return section.Text("needs " + units.Elapsed(q.MoreSeconds) + " more")
	}
	return quantity.Cell(*q.Value)
}

// interval writes the interval of a quantile.
func (q Quantile) interval(quantity section.Quantity) section.Cell {
	switch {
	case q.Value == nil || q.Low == nil:
		return section.Cell{}
	case q.High == nil:
		return section.Text("from " + quantity.Format(*q.Low) + "; end in " + units.Elapsed(q.MoreSeconds))
	}
	return section.Text(quantity.Format(*q.Low) + " to " + quantity.Format(*q.High))
}

func (a *Answer) resources() section.Table {
	t := section.Table{Columns: section.Columns(1, "resource", "median", "p99", "p99.9", "95% interval", "most",
		"capacity",
		"is", "used", "busy")}
	t.Columns[4].Means = "of p99.9, or of p99 if the recording is too short for p99.9"
	t.Columns[7].Text = true
	t.Columns[8].Means = fmt.Sprintf("share of the capacity at the %s", ordinal(a.Quantile))
	t.Columns[9].Means = "share of time with a request under way, at that percentile"
	if a.Quantile == 0 {
		t.Columns[8].Means, t.Columns[9].Means = "", ""
	}
	for i, drop := range map[int]int{9: 1, 5: 2, 4: 3, 2: 4} {
		t.Columns[i].Drop = drop
	}
	for i := range a.Resources {
		u := &a.Resources[i]
		quantity := u.Resource.quantity()
		tail := u.Quantiles[2]
		if tail.Value == nil {
			tail = u.Quantiles[1]
		}
		source := string(u.Capacity.Source)
		if u.Capacity.From != "" {
			source += ": " + u.Capacity.From
		}
		row := section.Row{Strong: i == a.Binding, Cells: []section.Cell{section.Text(printable.Line(u.Label())),
			u.Quantiles[0].cell(quantity), u.Quantiles[1].cell(quantity), u.Quantiles[2].cell(quantity),
			tail.interval(quantity), quantity.Cell(u.Most),
			quantity.Cell(u.Capacity.Value), section.Text(printable.Line(source)), {}, section.Share.Positive(u.Busy)}}
		if u.Share != nil {
			row.Cells[8] = section.Share.Cell(*u.Share)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		t.Rows = append(t.Rows, section.Row{Words: "nothing is known"})
		return t
	}
	return t.Known()
}

// remarks returns what readers need beside the resources.
func (a *Answer) remarks() (remarks []section.Remark) {
	add := func(warn bool, format string, args ...any) {
		remarks = append(remarks, section.Remark{Text: printable.Line(fmt.Sprintf(format, args...)), Warn: warn})
	}
	missing := 0.0
	why := ""
	for _, g := range a.Gaps {
		missing += g.Seconds
		if g.Why != "" {
			why = " Of one: " + g.Why + "."
		}
	}
	if len(a.Gaps) > 0 {
		add(true, "%s, of %s: nothing is known of them.%s", plural.Count(len(a.Gaps), "gap"), units.Elapsed(missing), why)
	}
	if a.Torn > 0 {
		add(true, "%s torn, and left out.", plural.Count(a.Torn, "record is|records are"))
	}
	if a.OutOfOrder > 0 {
		add(true, "%s out of order, and left out.", plural.Count(a.OutOfOrder, "interval is|intervals are"))
	}
	if a.Resets > 0 {
		add(false, "Counters went back %s: these intervals are unknown.", plural.Count(a.Resets, "time"))
	}
	if a.IntervalSeconds >= 1.5 {
		add(true, "Intervals have %s: a second may be far above the mean of its interval.", units.Elapsed(a.IntervalSeconds))
	}
	for _, u := range a.Resources {
		if u.LatencyRatio > 0 && u.Resource == Operations {
			add(false, "Requests of %s took %s times as long in its busiest 1%% of intervals as at the median.",
				u.Drive, units.Digits(u.LatencyRatio))
		}
		if u.AtCapacity >= 0.001 {
			add(true, "%s was at its capacity in %s of intervals: more may have been wanted.", u.Label(),
				units.SignificantPercent(u.AtCapacity))
		}
	}
	for _, u := range a.Unknown {
		add(false, "Not known: %s.", u)
	}
	return remarks
}

func (a *Answer) moreTable() section.Table {
	t := section.Table{Columns: section.Columns(1, "container", "runs", "more fit", "95% interval", "if in step",
		"then binds",
		"left out")}
	t.Columns[4].Means = "if all do the same at the same moment"
	t.Columns[5].Text, t.Columns[6].Text = true, true
	t.Columns[6].Drop = 1
	for _, m := range a.More {
		name := section.Text(printable.Line(m.Service))
		if m.Fit == nil {
			t.Rows = append(t.Rows, section.Row{Words: printable.Line(m.Service + ": not known: " + m.Unknown)})
			continue
		}
		fit := strconv.Itoa(*m.Fit)
		if *m.Fit >= MostMore {
			fit = "more than " + fit
		} else if m.AtLeast {
			fit = "at least " + fit
		}
		missing := ""
		for i, text := range m.Missing {
			if i > 0 {
				missing += "; "
			}
			missing += text
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{name, section.Count.Cell(float64(m.Copies)),
			section.Text(fit), section.Text(fmt.Sprintf("%d to %d", m.Low, m.High)), section.Text(strconv.Itoa(m.InStep)),
			section.Text(printable.Line(labelOf(m.Drive, m.Binds))), section.Text(printable.Line(missing))}})
	}
	return t
}

func (a *Answer) operations() section.Table {
	t := section.Table{Columns: section.Columns(2, "container", "counts", "servers", "median", "p99", "p99.9", "most",
		"mean time", "of all that fit")}
	t.Columns[3].Means = "operations a second of one server, as the server counts them"
	t.Columns[7].Means = "of an operation; known if the server measures it"
	t.Columns[8].Means = "of all containers that fit besides, at the median"
	for _, m := range a.More {
		u := m.Server
		if u == nil {
			continue
		}
		row := section.Row{Cells: []section.Cell{section.Text(printable.Line(m.Service)), section.Text(u.unitOf()),
			section.Count.Cell(float64(u.Servers)), u.Quantiles[0].cell(section.Count), u.Quantiles[1].cell(section.Count),
			u.Quantiles[2].cell(section.Count), section.Count.Cell(u.Most), section.Latency.Positive(1e9 * u.MeanSeconds), {}}}
		if m.Fit != nil && *m.Fit < MostMore && u.Quantiles[0].Value != nil {
			row.Cells[8] = section.Count.Cell(float64(*m.Fit) * *u.Quantiles[0].Value)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (a *Answer) limitsInForce() section.Table {
	t := section.Table{Columns: section.Columns(2, "container", "limit", "in force", "used")}
	t.Columns[3].Means = "at the answer's percentile, of the copy that uses most"
	for _, m := range a.More {
		for _, l := range m.Limits {
			share := section.Cell{}
			if l.Share != nil {
				share = section.Share.Cell(*l.Share)
			}
			t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(printable.Line(m.Service)),
				section.Text(printable.Line(labelOf(l.Drive, l.Resource))), l.Resource.quantity().Cell(l.Value), share}})
		}
	}
	return t
}

func (a *Answer) enoughTable() section.Table {
	t := section.Table{Columns: section.Columns(2, "of", "resource", "intervals", "enough", "waits > 10 ms",
		"evenly to at once",
		"longest wait", "longest backlog")}
	t.Columns[4].Means = "share of what was asked for that would have waited for more than 10 ms at this limit, if " +
		"requests come independently of each other within an interval"
	t.Columns[5].Means = "if they come at a steady pace, or all at its begin"
	for i, drop := range map[int]int{5: 1, 7: 2} {
		t.Columns[i].Drop = drop
	}
	short := map[float64]float64{}
	for _, e := range a.Enough {
		if e.Value == nil {
			short[e.Share] = max(short[e.Share], e.MoreSeconds)
			continue
		}
		quantity := e.Resource.quantity()
		share := percentText(e.Share)
		if e.Given {
			share = units.SignificantPercent(e.Share) + ", given"
		}
		row := section.Row{Cells: []section.Cell{section.Text(printable.Line(e.Subject)),
			section.Text(printable.Line(labelOf(e.Drive, e.Resource))), section.Text(share),
			quantity.Cell(*e.Value), {}, {}, {}, {}}}
		if r := e.Replay; r != nil {
			row.Cells[4] = section.Text(units.SignificantPercent(r.Delayed))
			row.Cells[5] = section.Text(units.SignificantPercent(r.DelayedEvenly) + " to " +
				units.SignificantPercent(r.DelayedAtOnce))
			row.Cells[6] = section.Latency.Cell(1e9 * r.Longest)
			row.Cells[7] = section.Latency.Cell(1e9 * r.LongestBacklog)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, share := range EnoughQuantiles {
		if seconds := short[share]; seconds > 0 {
			t.Rows = append(t.Rows, section.Row{Words: fmt.Sprintf("%s of intervals: record for %s more", percentText(share),
				units.Elapsed(seconds))})
		}
	}
	return t
}

func (a *Answer) together() section.Table {
	t := section.Table{Columns: section.Columns(3, "container", "and", "in", "together", "p")}
	t.Columns[3].Means = "how often both are among their busiest 1% of intervals, as a multiple of chance"
	t.Columns[4].Means = "of services that know nothing of each other; of all pairs together (Holm)"
	for _, p := range a.Together {
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(printable.Line(p.A)),
			section.Text(printable.Line(p.B)), section.Text(printable.Line(labelOf(p.Drive, p.Resource))),
			section.Times.Cell(p.Ratio), section.Text(units.P(p.P))}})
	}
	return t
}

// ofBinding names the resource that hours and days are of.
func (a *Answer) ofBinding() string {
	if u := a.Binds(); u != nil {
		return printable.Line(u.Label())
	}
	return ""
}

func (a *Answer) shape() section.Table {
	t := section.Table{Columns: section.Columns(1, "hour", "median", "p99", "most")}
	for _, h := range a.Shape {
		quantity := a.Binds().Resource.quantity()
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(fmt.Sprintf("%02d", h.Hour)),
			quantity.Cell(h.Median), quantity.Cell(h.P99), quantity.Cell(h.Most)}})
	}
	return t
}

func (a *Answer) days() section.Table {
	t := section.Table{Columns: section.Columns(1, "day", "median", "p99", "most")}
	for _, d := range a.Days {
		quantity := a.Binds().Resource.quantity()
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(d.Weekday), quantity.Cell(d.Median),
			quantity.Cell(d.P99),
			quantity.Cell(d.Most)}})
	}
	return t
}
