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

// Verdict returns the plan's result in a sentence or two.
func (p *Plan) Verdict() string {
	total := p.Placed
	for _, l := range p.Left {
		total += l.Count
	}
	var text strings.Builder
	if n := len(p.Down); n > 0 {
		fmt.Fprintf(&text, "%s %s down. ", plural.And(p.Down[:min(len(p.Down), mostGroups)]), plural.Choose(n, "is", "are"))
	}
	if len(p.Left) > 0 {
		fmt.Fprintf(&text, "Not everything fits: %d of %s %s nowhere. ", total-p.Placed, plural.Count(total, "container"),
			plural.Choose(total-p.Placed, "stands", "stand"))
	}
	if len(p.Broken) > 0 {
		text.WriteString(p.breaks())
	}
	switch {
	case total == 0:
		return "The fleet has no containers."
	case p.Placed == 0:
		return strings.TrimSpace(text.String())
	case !p.Complete():
		fmt.Fprintf(&text, "What stands on %s", plural.Count(p.Used, "host"))
	default:
		whole := fmt.Sprintf("%d of %s", p.Used, plural.Count(p.Of, "host"))
		if p.Used == p.Of {
			whole = plural.Count(p.Used, "host")
		}
		text.WriteString(p.carries(whole, total))
	}
	fmt.Fprintf(&text, " would do %s operations a second together%s", units.Rate(float64(p.Rate.Value)), interval(p.Rate,
		units.Rate))
	if v := float64(p.P99.Value); v > 0 {
		fmt.Fprintf(&text, ", the slowest with a p99 of %s%s", units.Latency(1e9*v), interval(p.P99, seconds))
	}
	text.WriteString(". " + p.near())
	return strings.TrimSpace(text.String())
}

// breaks returns which limit is broken first, and how many others are, as a sentence.
func (p *Plan) breaks() string {
	first := p.Broken[0]
	text := fmt.Sprintf("%d of %s %s a limit on %s: %s", first.Count, first.Containers,
		plural.Choose(first.Count, "breaks", "break"), hostsText(first.Hosts), strings.TrimSuffix(first.Why, "."))
	if others := len(p.Broken) - 1; others > 0 {
		text += fmt.Sprintf(", and %s", plural.Count(others, "other limit"))
	}
	if m := p.Moves; m != nil && m.Most > 0 {
		return text + fmt.Sprintf("; %s %s not enough. ", plural.Count(m.Most, "move"), plural.Choose(m.Most, "is", "are"))
	}
	return text + ". "
}

// carries returns how many containers hosts carry, as the beginning of a sentence. A container that does less than
// leastCarried of what it does alone is not carried.
func (p *Plan) carries(hosts string, total int) string {
	crowded := 0
	for _, group := range p.Hosts {
		for _, st := range group.Stands {
			if st.Kept < leastCarried {
				crowded += st.Count * len(group.Hosts)
			}
		}
	}
	if crowded == 0 {
		return fmt.Sprintf("%s %s %s, which", hosts, plural.Choose(p.Used, "carries", "carry"),
			plural.Count(total, "container"))
	}
	return fmt.Sprintf("%s cannot carry %s: %d would do less than %s of what each does alone, %s at worst. All", hosts,
		plural.Count(total, "container"), crowded, units.Percent(leastCarried), units.Percent(float64(p.Kept)))
}

// leastCarried is the least share of what a container does alone that a host has to leave it to carry it.
const leastCarried = 0.5

func seconds(v float64) string { return units.Latency(1e9 * v) }

// interval returns the interval of an estimate, in brackets; "" for none.
func interval(e model.Estimate, text func(float64) string) string {
	if !e.Told() {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", text(float64(e.Low)), text(float64(e.High)))
}

// near returns how far from the best the plan may be, as a sentence.
func (p *Plan) near() string {
	gap, near := units.Percent(float64(p.Gap)), units.Percent(float64(p.Near))
	limited := ""
	if p.Moves != nil && p.Moves.Most > 0 {
		limited = fmt.Sprintf("Of plans with at most %s, this is the best that was found. ",
			plural.Count(p.Moves.Most, "move"))
		if p.Moves.Exact {
			limited = fmt.Sprintf("Of plans with at most %s, none is better. ", plural.Count(p.Moves.Most, "move"))
		}
	}
	switch {
	case math.IsNaN(float64(p.Gap)):
		return limited
	case p.Proven && float64(p.Gap) < 2*evenly:
		return "No plan is noticeably better, by the model."
	case p.Proven && math.IsNaN(float64(p.Near)):
		return limited + fmt.Sprintf("However many moves are made, no plan is better by more than %s.", gap)
	case p.Proven && float64(p.Near) > evenly:
		return fmt.Sprintf("No plan is better by more than %s, and none of the fillings that the search kept by more "+
			"than %s.",
			gap, near)
	case p.Proven:
		return fmt.Sprintf("No plan is better by more than %s, and none of the fillings that the search kept is.", gap)
	case float64(p.Gap) < 2*within:
		return "No plan that was looked at is noticeably better; other plans were not looked at."
	}
	return fmt.Sprintf("No plan that was looked at is better by more than %s; of others nothing is proven.", gap)
}

// Sections returns the plan and its reasons as sections.
func (p *Plan) Sections() (sections []*section.Section) {
	if len(p.Left) > 0 {
		sections = append(sections, p.left())
	}
	if len(p.Broken) > 0 {
		sections = append(sections, p.brokenLimits())
	}
	if p.Moves != nil {
		sections = append(sections, p.moves())
	}
	sections = append(sections, p.stands(), p.fills())
	if len(p.Worth) > 0 {
		sections = append(sections, p.helps())
	}
	return append(sections, p.strategies())
}

func (p *Plan) left() *section.Section {
	table := section.Table{Caption: "what keeps them from hosts", Columns: []section.Column{
		{Head: "containers", Text: true}, {Head: "left", Means: "containers without a host"}, {Head: "why", Text: true}}}
	for _, l := range p.Left {
		table.Rows = append(table.Rows, section.Row{Warn: true, Cells: []section.Cell{section.Text(l.Containers),
			section.Count.Cell(float64(l.Count)), section.Text(l.Why)}})
	}
	out := &section.Section{Title: "What stands nowhere", Tables: []section.Table{table}}
	if len(p.Clash) > 0 {
		remedy := "Lower what they are to do, or their number; or add a host."
		if slices.ContainsFunc(p.Left, func(l Left) bool { return l.Never && slices.Contains(p.Clash, l.Containers) }) {
			remedy = "Lower what they are to do, or add a host that can do it; more hosts of the same kinds do not help."
		}
		out.Remarks = []section.Remark{{Warn: true, Text: "The fewest that clash: " + plural.And(p.Clash) +
			" do not all fit, were there nothing else. " + remedy}}
	}
	return out
}

func (p *Plan) brokenLimits() *section.Section {
	table := section.Table{Caption: "containers that break a limit on their host", Columns: []section.Column{
		{Head: "hosts", Text: true}, {Head: "containers", Text: true},
		{Head: "on each", Means: "of these containers on each of the hosts"}, {Head: "what breaks", Text: true}}}
	for _, b := range p.Broken[:min(len(p.Broken), mostGroups)] {
		table.Rows = append(table.Rows, section.Row{Warn: true, Cells: []section.Cell{section.Text(hostsText(b.Hosts)),
			section.Text(b.Containers), section.Count.Cell(float64(b.Count)), section.Text(b.Why)}})
	}
	out := &section.Section{Title: "Which limits are broken", Tables: []section.Table{table}}
	if hidden := len(p.Broken) - mostGroups; hidden > 0 {
		out.Remarks = []section.Remark{{Text: fmt.Sprintf("%d more are in the plan's file.", hidden)}}
	}
	return out
}

// hostsText returns the names of hosts: the first and the last of many.
func hostsText(names []string) string {
	const limit = 3
	if len(names) <= limit {
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
	table := section.Table{Caption: "each container, predicted; intervals cover 90%", Columns: []section.Column{
		{Head: "hosts", Text: true}, {Head: "containers", Text: true},
		{Head: "on each", Means: "of these containers on each of the hosts"},
		{Head: "drive", Text: true},
		{Head: "ops/s", Means: "operations a second of each container"}, {Head: "interval", Drop: 4},
		{Head: "p99"}, {Head: "interval of p99", Drop: 5},
		{Head: "kept", Means: "of what one would do alone on its best host", Drop: 3},
		{Head: "memory", Means: "that each needs: with more, it would do as much", Drop: 2},
		{Head: "why here", Text: true, Drop: 1}}}
	shown, remarks := p.shown()
	for _, group := range shown {
		for _, st := range group.Stands {
			drive := st.Drive
			if st.Target != "" {
				drive += " of " + st.Target
			}
			breaks := slices.ContainsFunc(p.Broken, func(b Broken) bool {
				return b.Containers == st.Containers && slices.Equal(b.Hosts, group.Hosts)
			})
			table.Rows = append(table.Rows, section.Row{Warn: breaks, Cells: []section.Cell{section.Text(hostsText(group.Hosts)),
				section.Text(st.Containers),
				section.Count.Cell(float64(st.Count)), section.Text(drive), section.Count.Positive(float64(st.Rate.Value)),
				model.Interval(section.Count, st.Rate, 1),
				section.Latency.Positive(1e9 * float64(st.P99.Value)),
				model.Interval(section.Latency, st.P99, 1e9),
				section.Share.Cell(st.Kept), section.Bytes.Positive(st.Memory), section.Text(st.Why)}})
		}
	}
	for _, c := range p.Crowds {
		remarks = append(remarks, section.Remark{Warn: true, Text: fmt.Sprintf("%d of %s stand on one host, and at most "+
			"%d of their class were measured together. %s so far outside of what was measured. Before you fill hosts that "+
			"way, measure %s with instances: %d and fit that, too. A least-throughput keeps crowds small.", c.Count,
			c.Containers, c.Measured, plural.Count(c.Hosts, "host")+" "+plural.Choose(c.Hosts, "is", "are"), c.Class, c.Count)})
	}
	for _, why := range p.Doubts {
		remarks = append(remarks, section.Remark{Warn: true, Text: "not trusted: " + why + "."})
	}
	return &section.Section{Title: "Which container on which host", Tables: []section.Table{table.Known()},
		Remarks: remarks}
}

func (p *Plan) fills() *section.Section {
	shown, _ := p.shown()
	out := &section.Section{Title: "What fills the hosts",
		Note: "Of each host, the memory that its containers need, and what they use of its processors, its network " +
			"and its drives. Page cache that is only there is not in it. Memory is drawn to one scale for all hosts, " +
			"by container."}
	table := section.Table{Caption: "shares of what one of the hosts has", Columns: []section.Column{{Head: "hosts",
		Text: true},
		{Head: "ops/s", Means: "operations a second of all containers of one host"}, {Head: "interval", Drop: 2},
		{Head: "binds", Text: true, Means: "the bottleneck: 1% more of it helps most"},
		{Head: "memory"}, {Head: "processors"}, {Head: "fullest of the rest", Text: true, Drop: 1}}}
	if p.Moves != nil {
		before := p.Moves.From[:min(len(p.Moves.From), mostGroups)]
		out.Parts = []*section.Section{{Title: "Before, as they are filled now", Fill: []section.Fill{drawn(before)}}}
	}
	for _, group := range shown {
		binds := string(group.Binds)
		if group.Of != "" {
			binds += " of " + group.Of
		}
		if group.Binds == model.Clients {
			binds = "nothing"
		}
		var memory, cpus model.Use
		rest := model.Use{}
		for _, use := range group.Uses {
			switch {
			case use.Resource == model.Memory:
				memory = use
			case use.Resource == model.Processors:
				cpus = use
			case use.Share > rest.Share:
				rest = use
			}
		}
		restText := ""
		if rest.Share > 0 {
			restText = useName(rest) + " " + units.Percent(float64(rest.Share))
		}
		table.Rows = append(table.Rows, section.Row{Cells: []section.Cell{section.Text(hostsText(group.Hosts)),
			section.Count.Cell(float64(group.Rate.Value)), model.Interval(section.Count, group.Rate, 1),
			section.Text(binds), section.Share.Cell(float64(memory.Share)), section.Share.Cell(float64(cpus.Share)),
			section.Text(restText)}})
		for _, why := range group.Outside {
			out.Remarks = append(out.Remarks, section.Remark{Warn: true,
				Text: hostsText(group.Hosts) + ": extrapolated: " + why})
		}
	}
	if slices.ContainsFunc(shown, func(h Filled) bool { return !h.Rate.Told() }) {
		why := "those containers were hardly or never measured together. plimsoll predict --next writes the run " +
			"that would show."
		if p.Late {
			why = "the time of --budget was over before."
		}
		out.Remarks = append(out.Remarks, section.Remark{Text: "Where an interval is not known, " + why})
	}
	out.Fill, out.Tables = []section.Fill{drawn(shown)}, []section.Table{table}
	return out
}

// drawn draws groups of hosts to one scale.
func drawn(groups []Filled) section.Fill {
	fill := section.Fill{Caption: "What fills the hosts"}
	largest, series := 0.0, map[string]int{}
	for _, group := range groups {
		largest = max(largest, group.memory)
		for _, st := range group.Stands {
			if _, ok := series[st.Containers]; !ok {
				series[st.Containers] = len(series)
				fill.Series = append(fill.Series, st.Containers)
			}
		}
	}
	for _, group := range groups {
		fill.Rows = append(fill.Rows, group.fill(largest, series))
	}
	return fill
}

func useName(u model.Use) string {
	if u.Name == "" {
		return string(u.Resource)
	}
	return string(u.Resource) + " of " + u.Name
}

// fill draws a host: its memory by container, and the used share of its other resources.
func (h *Filled) fill(largest float64, series map[string]int) section.FillRow {
	row := section.FillRow{Name: hostsText(h.Hosts)}
	var contents []string
	var parts []section.FillPart
	for _, st := range h.Stands {
		contents = append(contents, fmt.Sprintf("%d %s", st.Count, st.Containers))
		place := ""
		if st.Drive != "" {
			place = " on " + st.Drive
		}
		if h.memory > 0 {
			parts = append(parts, section.FillPart{Share: st.Memory * float64(st.Count) / h.memory,
				Series: series[st.Containers],
				Text: fmt.Sprintf("%d %s%s: %s each; %s operations a second each. %s", st.Count, st.Containers, place,
					units.Bytes(uint64(st.Memory)), units.Rate(float64(st.Rate.Value)), st.Why)})
		}
	}
	row.Note = strings.Join(contents, ", ")
	for _, use := range h.Uses {
		if use.Share < 0.005 {
			continue
		}
		bar := section.FillBar{Of: useName(use), Size: 1, Text: units.Percent(float64(use.Share))}
		if use.Resource == model.Memory {
			bar.Size, bar.Parts = h.memory/largest, parts
			bar.Text = fmt.Sprintf("%s of %s", units.Bytes(uint64(float64(use.Share)*h.memory)), units.Bytes(uint64(h.memory)))
		} else {
			bar.Parts = []section.FillPart{{Share: float64(use.Share), Series: usedSeries, Text: bar.Of + ": " + bar.Text}}
		}
		row.Bars = append(row.Bars, bar)
	}
	return row
}

// usedSeries is the colour of resources that are not divided by container.
const usedSeries = 5

func (p *Plan) helps() *section.Section {
	table := section.Table{Caption: "how much more all would do", Columns: []section.Column{{Head: "one percent more of",
		Text: true},
		{Head: "of hosts", Text: true}, {Head: "all do more by", Text: true}}}
	for _, w := range p.Worth[:min(len(p.Worth), 8)] {
		table.Rows = append(table.Rows, section.Row{Cells: []section.Cell{
			section.Text(useName(model.Use{Resource: w.Resource, Name: w.Name})), section.Text(w.Kind),
			section.Text(fmt.Sprintf("%.2f%%", float64(w.Power)))}})
	}
	return &section.Section{Title: "What would help most", Tables: []section.Table{table}}
}

func (p *Plan) strategies() *section.Section {
	table := section.Table{Caption: "the same containers, placed otherwise; p99 is the greatest",
		Columns: []section.Column{{Head: "plan", Text: true}, {Head: "ops/s"}, {Head: "beside this one",
			Means: "its operations a second as a ratio to this plan's"},
			{Head: "p99"}, {Head: "hosts"}, {Head: "left", Means: "containers without a host"},
			{Head: "broken", Means: "hosts on which a limit or a wish is broken"}}}
	row := func(name string, rate, p99 float64, hosts, left, broken int, this bool) {
		table.Rows = append(table.Rows, section.Row{Strong: this, Warn: broken > 0 || left > 0,
			Cells: []section.Cell{section.Text(name),
				section.Count.Cell(rate), section.Times.Cell(rate / float64(p.Rate.Value)), section.Latency.Positive(1e9 * p99),
				section.Count.Cell(float64(hosts)), section.Count.Cell(float64(left)), section.Count.Cell(float64(broken))}})
	}
	left := 0
	for _, l := range p.Left {
		left += l.Count
	}
	broken := map[string]bool{}
	for _, b := range p.Broken {
		for _, name := range b.Hosts {
			broken[name] = true
		}
	}
	row("this plan", float64(p.Rate.Value), float64(p.P99.Value), p.Used, left, len(broken), true)
	for _, s := range p.Beside {
		row(s.Name, float64(s.Rate), float64(s.P99), s.Used, s.Left, s.Broken, false)
	}
	return &section.Section{Title: "Other ways to place them", Tables: []section.Table{table}}
}

// mostShownSteps is how many moves are shown.
const mostShownSteps = 60

func (p *Plan) moves() *section.Section {
	moves := p.Moves
	table := section.Table{Caption: "one after the other", Columns: []section.Column{{Head: "step"}, {Head: "containers",
		Text: true},
		{Head: "from", Text: true}, {Head: "to", Text: true}, {Head: "copied"}, {Head: "takes",
			Means: "at least, at the speed of drives and networks", Text: true},
		{Head: "mind", Text: true}}}
	place := func(host, drive string) string {
		if host == "" || drive == "" {
			return host
		}
		return host + ", " + drive
	}
	for i, move := range moves.Steps[:min(len(moves.Steps), mostShownSteps)] {
		takes, mind := "", move.Breaks
		switch {
		case move.From == "":
			takes = "a start"
		case move.To == "":
			takes = "a stop"
		case move.Reconnects:
			takes = "a reconnection"
		case move.Bytes == 0:
			takes = "as long as its data takes to copy: write data: 100GB"
		case move.Seconds > 0:
			takes = units.Latency(1e9 * move.Seconds)
		}
		if move.Detour {
			mind = "on its way to another host, to make room"
		}
		table.Rows = append(table.Rows, section.Row{Warn: move.Breaks != "", Cells: []section.Cell{
			section.Count.Cell(float64(i + 1)), section.Text(move.Containers),
			section.Text(place(move.From, move.FromDrive)), section.Text(place(move.To, move.ToDrive)),
			section.Bytes.Positive(float64(move.Bytes)), section.Text(takes), section.Text(mind)}})
	}
	out := &section.Section{Title: "How to get there", Tables: []section.Table{table}}
	moved := len(moves.Steps) - moves.Joins
	if len(moves.Steps) == 0 {
		out.Tables = nil
		out.Remarks = append(out.Remarks, section.Remark{Text: "No container has to move."})
		return out
	}
	text := plural.Count(moved, "move") + " of containers that stand somewhere"
	unknown := 0
	for _, move := range moves.Steps {
		if move.copies() && move.Bytes == 0 {
			unknown++
		}
	}
	if moves.Bytes > 0 || unknown == 0 {
		text += fmt.Sprintf(", with %s to copy", units.Bytes(uint64(moves.Bytes)))
	}
	if unknown > 0 {
		text += fmt.Sprintf("; %s %s data whose size is not known", plural.Count(unknown, "move"),
			plural.Choose(unknown, "copies", "copy"))
	}
	if moves.Now > 0 {
		text += fmt.Sprintf("; all do %s operations a second now, and would do %s", units.Rate(float64(moves.Now)),
			units.Rate(float64(p.Rate.Value)))
	}
	out.Remarks = append(out.Remarks, section.Remark{Text: text + "."})
	if len(moves.Steps) > mostShownSteps {
		out.Remarks = append(out.Remarks, section.Remark{Text: fmt.Sprintf("%d more steps are in the plan's file.",
			len(moves.Steps)-mostShownSteps)})
	}
	return out
}
