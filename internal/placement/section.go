package placement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/model"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Verdict says in a sentence or two what the plan comes to.
func (p *Plan) Verdict() string {
	all := p.Placed
	for _, l := range p.Left {
		all += l.Count
	}
	var b strings.Builder
	if len(p.Left) > 0 {
		fmt.Fprintf(&b, "Not everything fits: %d of %s stand nowhere. ", all-p.Placed, plural.Count(all, "container"))
		fmt.Fprintf(&b, "What stands on %s", plural.Count(p.Used, "host"))
	} else {
		whole := fmt.Sprintf("%d of %s", p.Used, plural.Count(p.Of, "host"))
		if p.Used == p.Of {
			whole = plural.Count(p.Used, "host")
		}
		fmt.Fprintf(&b, "%s %s %s, which", whole, plural.Choose(p.Used, "carries", "carry"), plural.Count(all, "container"))
	}
	fmt.Fprintf(&b, " would do %s operations a second together%s", units.Rate(float64(p.Rate.Value)), interval(p.Rate,
		units.Rate))
	if v := float64(p.P99.Value); v > 0 {
		fmt.Fprintf(&b, ", the slowest with a p99 of %s%s", units.Latency(1e9*v), interval(p.P99, seconds))
	}
	b.WriteString(". " + p.near())
	return b.String()
}

func seconds(v float64) string { return units.Latency(1e9 * v) }

// interval is that of an estimate, in brackets; "" for none.
func interval(e model.Estimate, text func(float64) string) string {
	if !e.Told() {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", text(float64(e.Low)), text(float64(e.High)))
}

// near says how far from the best the plan may be.
func (p *Plan) near() string {
	gap, near := units.Percent(float64(p.Gap)), units.Percent(float64(p.Near))
	switch {
	case p.Proven && float64(p.Gap) < 2*evenly:
		return "No plan is noticeably better, by the model."
	case p.Proven && math.IsNaN(float64(p.Near)):
		return fmt.Sprintf("However many moves are made, no plan is better by more than %s.", gap)
	case p.Proven && float64(p.Near) > evenly:
		return fmt.Sprintf("No plan is better by more than %s, and none of the fillings that the search kept by more "+
			"than %s.",
			gap, near)
	case p.Proven:
		return fmt.Sprintf("No plan is better by more than %s, and none of the fillings that the search kept is.", gap)
	case float64(p.Gap) < 2*within:
		return "No plan that was looked at is noticeably better; of others nothing is proven."
	}
	return fmt.Sprintf("No plan that was looked at is better by more than %s; of others nothing is proven.", gap)
}

// Sections returns the plan and its reasons as sections.
func (p *Plan) Sections() (all []*section.Section) {
	if len(p.Left) > 0 {
		all = append(all, p.left())
	}
	if p.Moves != nil {
		all = append(all, p.moves())
	}
	all = append(all, p.stands(), p.fills())
	if len(p.Worth) > 0 {
		all = append(all, p.helps())
	}
	return append(all, p.others())
}

func (p *Plan) left() *section.Section {
	t := section.Table{Caption: "what keeps them from hosts", Columns: []section.Column{{Head: "containers", Text: true},
		{Head: "left", Means: "containers that stand nowhere"}, {Head: "why", Text: true}}}
	for _, l := range p.Left {
		t.Rows = append(t.Rows, section.Row{Warn: true, Cells: []section.Cell{section.Text(l.Containers),
			section.Count.Cell(float64(l.Count)), section.Text(l.Why)}})
	}
	s := &section.Section{Title: "What stands nowhere", Tables: []section.Table{t}}
	if len(p.Clash) > 0 {
		s.Remarks = []section.Remark{{Warn: true, Text: "The fewest that clash: " + plural.And(p.Clash) +
			" do not all fit, were there nothing " +
			"else. Lower what they are to do, or their number; or add a host."}}
	}
	return s
}

// hostsText names hosts: the first and the last of many.
func hostsText(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, %s ... %s (%d)", names[0], names[1], names[len(names)-1], len(names))
}

// mostGroups is how many groups of hosts are shown; the others are in the document.
const mostGroups = 40

func (p *Plan) shown() ([]Filled, []section.Remark) {
	if len(p.Hosts) <= mostGroups {
		return p.Hosts, nil
	}
	return p.Hosts[:mostGroups], []section.Remark{{Text: fmt.Sprintf("%d more groups of hosts are in the plan's file.",
		len(p.Hosts)-mostGroups)}}
}

func (p *Plan) stands() *section.Section {
	t := section.Table{Caption: "each container, predicted; intervals are of 90%", Columns: []section.Column{
		{Head: "hosts", Text: true}, {Head: "containers", Text: true},
		{Head: "on each", Means: "of these containers on each of the hosts"},
		{Head: "drive", Text: true},
		{Head: "ops/s", Means: "operations a second of each container"}, {Head: "interval", Drop: 4},
		{Head: "p99"}, {Head: "interval of p99", Drop: 5},
		{Head: "kept", Means: "of what one would do alone on its best host", Drop: 3},
		{Head: "memory", Means: "that each needs: with more, it would do as much", Drop: 2},
		{Head: "why here", Text: true, Drop: 1}}}
	shown, more := p.shown()
	for _, h := range shown {
		for _, st := range h.Stands {
			drive := st.Drive
			if st.Target != "" {
				drive += " of " + st.Target
			}
			t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(hostsText(h.Hosts)),
				section.Text(st.Containers),
				section.Count.Cell(float64(st.Count)), section.Text(drive), section.Count.Positive(float64(st.Rate.Value)),
				model.Interval(section.Count, st.Rate, 1),
				section.Latency.Positive(1e9 * float64(st.P99.Value)),
				model.Interval(section.Latency, st.P99, 1e9),
				section.Share.Cell(st.Kept), section.Bytes.Positive(st.Memory), section.Text(st.Why)}})
		}
	}
	for _, c := range p.Crowds {
		more = append(more, section.Remark{Warn: true, Text: fmt.Sprintf("%d of %s stand on one host, and at most %d of "+
			"their class were measured together. %s so far outside of what was measured. Before you fill hosts that way, "+
			"measure %s with instances: %d and fit that, too. A least-throughput keeps crowds small.", c.Count, c.Containers,
			c.Measured, plural.Count(c.Hosts, "host")+" "+plural.Choose(c.Hosts, "is", "are"), c.Class, c.Count)})
	}
	for _, why := range p.Doubts {
		more = append(more, section.Remark{Warn: true, Text: "not trusted: " + why + "."})
	}
	return &section.Section{Title: "Which container on which host", Tables: []section.Table{t.Known()}, Remarks: more}
}

func (p *Plan) fills() *section.Section {
	shown, _ := p.shown()
	s := &section.Section{Title: "What fills the hosts",
		Note: "Of each host, the memory that its containers need, and what they use of its processors, its network " +
			"and its drives. Page cache that is only there is not in it. Memory is drawn to one scale for all hosts, " +
			"by container."}
	t := section.Table{Caption: "shares of what one of the hosts has", Columns: []section.Column{{Head: "hosts",
		Text: true},
		{Head: "ops/s", Means: "operations a second of all that stands on one"}, {Head: "interval", Drop: 2},
		{Head: "binds", Text: true, Means: "the bottleneck: 1% more of it helps most"},
		{Head: "memory"}, {Head: "processors"}, {Head: "fullest of the rest", Text: true, Drop: 1}}}
	if p.Moves != nil {
		before := p.Moves.From[:min(len(p.Moves.From), mostGroups)]
		s.Parts = []*section.Section{{Title: "Before, as they are filled now", Fill: []section.Fill{drawn(before)}}}
	}
	for _, h := range shown {
		binds := string(h.Binds)
		if h.Of != "" {
			binds += " of " + h.Of
		}
		if h.Binds == model.Clients {
			binds = "nothing"
		}
		var memory, cpus model.Use
		rest := model.Use{}
		for _, u := range h.Uses {
			switch {
			case u.Resource == model.Memory:
				memory = u
			case u.Resource == model.Processors:
				cpus = u
			case u.Share > rest.Share:
				rest = u
			}
		}
		restText := ""
		if rest.Share > 0 {
			restText = useName(rest) + " " + units.Percent(float64(rest.Share))
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(hostsText(h.Hosts)),
			section.Count.Cell(float64(h.Rate.Value)), model.Interval(section.Count, h.Rate, 1),
			section.Text(binds), section.Share.Cell(float64(memory.Share)), section.Share.Cell(float64(cpus.Share)),
			section.Text(restText)}})
		for _, why := range h.Outside {
			s.Remarks = append(s.Remarks, section.Remark{Warn: true, Text: hostsText(h.Hosts) + ": extrapolated: " + why})
		}
	}
	if slices.ContainsFunc(shown, func(h Filled) bool { return !h.Rate.Told() }) {
		s.Remarks = append(s.Remarks, section.Remark{Text: "Where an interval is not known, those containers were " +
			"hardly or never " +
			"measured beside each other. plimsoll predict --next writes the run that would show."})
	}
	s.Fill, s.Tables = []section.Fill{drawn(shown)}, []section.Table{t}
	return s
}

// drawn draws groups of hosts to one scale.
func drawn(groups []Filled) section.Fill {
	fill := section.Fill{Caption: "What fills the hosts"}
	largest, series := 0.0, map[string]int{}
	for _, h := range groups {
		largest = max(largest, h.memory)
		for _, st := range h.Stands {
			if _, ok := series[st.Containers]; !ok {
				series[st.Containers] = len(series)
				fill.Series = append(fill.Series, st.Containers)
			}
		}
	}
	for _, h := range groups {
		fill.Rows = append(fill.Rows, h.fill(largest, series))
	}
	return fill
}

func useName(u model.Use) string {
	if u.Name == "" {
		return string(u.Resource)
	}
	return string(u.Resource) + " of " + u.Name
}

// fill draws a host: its memory by container, and how much is used of the rest.
func (h *Filled) fill(largest float64, series map[string]int) section.FillRow {
	row := section.FillRow{Name: hostsText(h.Hosts)}
	var what []string
	var parts []section.FillPart
	for _, st := range h.Stands {
		what = append(what, fmt.Sprintf("%d %s", st.Count, st.Containers))
		where := ""
		if st.Drive != "" {
			where = " on " + st.Drive
		}
		if h.memory > 0 {
			parts = append(parts, section.FillPart{Share: st.Memory * float64(st.Count) / h.memory,
				Series: series[st.Containers],
				Text: fmt.Sprintf("%d %s%s: %s each; %s operations a second each. %s", st.Count, st.Containers, where,
					units.Bytes(uint64(st.Memory)), units.Rate(float64(st.Rate.Value)), st.Why)})
		}
	}
	row.Note = strings.Join(what, ", ")
	for _, u := range h.Uses {
		if u.Share < 0.005 {
			continue
		}
		bar := section.FillBar{Of: useName(u), Size: 1, Text: units.Percent(float64(u.Share))}
		if u.Resource == model.Memory {
			bar.Size, bar.Parts = h.memory/largest, parts
			bar.Text = fmt.Sprintf("%s of %s", units.Bytes(uint64(float64(u.Share)*h.memory)), units.Bytes(uint64(h.memory)))
		} else {
			bar.Parts = []section.FillPart{{Share: float64(u.Share), Series: usedSeries, Text: bar.Of + ": " + bar.Text}}
		}
		row.Bars = append(row.Bars, bar)
	}
	return row
}

// usedSeries is the colour of what is not told apart by container.
const usedSeries = 5

func (p *Plan) helps() *section.Section {
	t := section.Table{Caption: "how much more all would do", Columns: []section.Column{{Head: "one percent more of",
		Text: true},
		{Head: "of hosts", Text: true}, {Head: "all do more by", Text: true}}}
	for _, w := range p.Worth[:min(len(p.Worth), 8)] {
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{
			section.Text(useName(model.Use{Resource: w.Resource, Name: w.Name})), section.Text(w.Kind),
			section.Text(fmt.Sprintf("%.2f%%", float64(w.Power)))}})
	}
	return &section.Section{Title: "What would help most", Tables: []section.Table{t}}
}

func (p *Plan) others() *section.Section {
	t := section.Table{Caption: "the same containers, placed otherwise; p99 is the greatest", Columns: []section.Column{
		{Head: "plan", Text: true}, {Head: "ops/s"}, {Head: "beside this one",
			Means: "its operations a second as a ratio to this plan's"},
		{Head: "p99"}, {Head: "hosts"}, {Head: "left", Means: "containers that stand nowhere"},
		{Head: "broken", Means: "hosts on which a limit or a wish is broken"}}}
	row := func(name string, rate, p99 float64, hosts, left, broken int, this bool) {
		t.Rows = append(t.Rows, section.Row{Strong: this, Warn: broken > 0 || left > 0,
			Cells: []section.Cell{section.Text(name),
				section.Count.Cell(rate), section.Times.Cell(rate / float64(p.Rate.Value)), section.Latency.Positive(1e9 * p99),
				section.Count.Cell(float64(hosts)), section.Count.Cell(float64(left)), section.Count.Cell(float64(broken))}})
	}
	n := 0
	for _, l := range p.Left {
		n += l.Count
	}
	row("this plan", float64(p.Rate.Value), float64(p.P99.Value), p.Used, n, 0, true)
	for _, s := range p.Beside {
		row(s.Name, float64(s.Rate), float64(s.P99), s.Used, s.Left, s.Broken, false)
	}
	return &section.Section{Title: "Other ways to place them", Tables: []section.Table{t}}
}

// mostShownSteps is how many moves are shown.
const mostShownSteps = 60

func (p *Plan) moves() *section.Section {
	m := p.Moves
	t := section.Table{Caption: "one after the other", Columns: []section.Column{{Head: "step"}, {Head: "containers",
		Text: true},
		{Head: "from", Text: true}, {Head: "to", Text: true}, {Head: "copied"}, {Head: "takes",
			Means: "at least, at the speed of drives and networks", Text: true},
		{Head: "mind", Text: true}}}
	at := func(host, drive string) string {
		if host == "" || drive == "" {
			return host
		}
		return host + ", " + drive
	}
	for i, o := range m.Steps[:min(len(m.Steps), mostShownSteps)] {
		takes, mind := "", o.Breaks
		switch {
		case o.From == "":
			takes = "a start"
		case o.To == "":
			takes = "a stop"
		case o.Bytes == 0:
			takes = "a reconnection"
		case o.Seconds > 0:
			takes = units.Latency(1e9 * o.Seconds)
		}
		if o.Detour {
			mind = "on its way to another host, to make room"
		}
		t.Rows = append(t.Rows, section.Row{Warn: o.Breaks != "", Cells: []section.Cell{section.Count.Cell(float64(i + 1)),
			section.Text(o.Containers), section.Text(at(o.From, o.FromDrive)), section.Text(at(o.To, o.ToDrive)),
			section.Bytes.Positive(float64(o.Bytes)), section.Text(takes), section.Text(mind)}})
	}
	s := &section.Section{Title: "How to get there", Tables: []section.Table{t}}
	moved := len(m.Steps) - m.Joins
	if len(m.Steps) == 0 {
		s.Tables = nil
		s.Remarks = append(s.Remarks, section.Remark{Text: "Nothing is to be moved."})
		return s
	}
	text := fmt.Sprintf("%s of containers that stand somewhere, with %s to copy", plural.Count(moved, "move"),
		units.Bytes(uint64(m.Bytes)))
	if m.Now > 0 {
		text += fmt.Sprintf("; all do %s operations a second now, and would do %s", units.Rate(float64(m.Now)),
			units.Rate(float64(p.Rate.Value)))
	}
	s.Remarks = append(s.Remarks, section.Remark{Text: text + "."})
	if len(m.Steps) > mostShownSteps {
		s.Remarks = append(s.Remarks, section.Remark{Text: fmt.Sprintf("%d more steps are in the plan's file.",
			len(m.Steps)-mostShownSteps)})
	}
	return s
}
