package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// policyMetric is what is told of policies over the number of instances: throughput, disk bandwidth
// and the 99th percentile, as the figure of the study that it follows.
type policyMetric struct {
	title string
	log   bool
	of    func(*fact.Policy) float64 // 0 where it is not known
	text  func(float64) string
}

// policyMetrics are those of policies; rate is what their throughput is counted in.
func policyMetrics(rate string) []policyMetric {
	return []policyMetric{
		{"Throughput, " + rate, false, func(p *fact.Policy) float64 { return p.Rate }, units.Grouped},
		{"Disk bandwidth", false, func(p *fact.Policy) float64 { return p.DeviceBytes }, bandwidthText},
		{"p99", true, func(p *fact.Policy) float64 { return p.P99NS }, latencyText},
	}
}

// runRateHead is what the throughput of policies is counted in.
func runRateHead(points []fact.Point, o fact.PoliciesOver) string {
	return rateHead(slices.DeleteFunc(slices.Clone(points), func(p fact.Point) bool {
		return !slices.ContainsFunc(o, func(at *fact.Policies) bool { return at.Of(p.Workload) != nil })
	}))
}

func policiesOverTitle(o fact.PoliciesOver) string {
	return o[0].Workload + " under policies, over the number of instances"
}

// policiesOver prints a table for each metric, with a row for each number of instances.
func (t *terminal) policiesOver(points []fact.Point) {
	for _, o := range fact.AllPoliciesOver(t.findings) {
		t.sectionOn(policiesOverTitle(o), o[0].Stack)
		for _, m := range policyMetrics(runRateHead(points, o)) {
			columns := []column{{head: "instances"}}
			for _, name := range o.Names() {
				columns = append(columns, column{head: name})
			}
			var rows []tableRow
			for _, p := range o {
				rows = append(rows, tableRow{paint: t.style.plain, stack: p.Stack, cells: m.row(p, o.Names())})
			}
			t.text("  ", "  ", m.title, t.style.dim)
			t.table(columns, rows)
		}
	}
}

// row is a number of instances under each policy.
func (m policyMetric) row(p *fact.Policies, names []string) []string {
	cells := []string{fmt.Sprint(p.Instances)}
	for _, name := range names {
		one, text := p.Named(name), ""
		if one != nil {
			text = m.text(m.of(one))
		}
		cells = append(cells, text)
	}
	return cells
}

// policiesOver draws a figure for each metric, with a line for each policy.
func policiesOver(o fact.PoliciesOver, rate string) section {
	s := section{
		Title: policiesOverTitle(o),
		Note:  "Medians over bring-ups. What each policy costs, with intervals, is told below for each number of instances.",
		Table: &numberTable{Caption: "medians over bring-ups", Head: []string{"What", "Instances"}},
	}
	if o[0].Host != "" {
		s.Note += " All in a miniature of " + o[0].Host + "."
	}
	names := o.Names()
	s.Table.Head = append(s.Table.Head, names...)
	for _, m := range policyMetrics(rate) {
		f, drawn := m.figure(o)
		if drawn {
			s.Figures = append(s.Figures, f)
		}
		for _, p := range o {
			s.Table.Rows = append(s.Table.Rows, append([]string{m.title}, m.row(p, names)...))
		}
	}
	return s
}

// figure draws a metric; ok is false where nothing is known of it.
func (m policyMetric) figure(o fact.PoliciesOver) (f figure, ok bool) {
	f = figure{Kind: figureLines, Title: m.title, Height: overHeight, Bottom: 40}
	first, last := float64(o[0].Instances), float64(o[len(o)-1].Instances)
	margin := (last - first) / 20
	f.X = axis{Label: "instances", Low: first - margin, High: last + margin}
	low, high := math.Inf(1), 0.0
	for _, p := range o {
		at := float64(p.Instances)
		f.X.Ticks = append(f.X.Ticks, valueTick{at, fmt.Sprint(p.Instances)})
		for i, name := range o.Names() {
			one := p.Named(name)
			if one == nil || m.log && !(m.of(one) > 0) {
				continue
			}
			y := m.of(one)
			low, high = min(low, y), max(high, y)
			f.Marks = append(f.Marks, mark{Series: i, Name: name, X: at, Y: y,
				Text: fmt.Sprintf("%s under %s: %s", counted(p.Instances, "instance"), name, m.text(y))})
		}
	}
	if high == 0 {
		return f, false
	}
	if m.log {
		f.Note = "on a logarithmic scale"
		scale := logScale(low, high)
		f.Y = axis{Log: true, Low: scale.low, High: scale.high, Ticks: valueTicks(scale.readableSteps(6), m.text)}
		return f, true
	}
	scale := linearScale(high)
	f.Y = axis{High: scale.high, Ticks: valueTicks(scale.steps(5), m.text)}
	return f, true
}
