package loadline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// section shows what all do together over their number, where the host's load line is, what binds,
// and what each waits for and takes.
func (f *Facts) section() *section.Section {
	c := f.Curve
	s := &section.Section{
		Title: fmt.Sprintf("How many instances of %s this host carries", c.Workload), Stack: c.Stack,
		Note: "Medians over setups with their intervals. The load line is at as many instances as together do as much as " +
			"any number does, within 10%" + c.Line.condition() + ".",
		Remarks: f.remarks(), Tables: []section.Table{f.table()}, Keys: c.keys(),
		Figures: []section.Figure{c.throughput(), c.latencies(), c.deviceReads(), c.pageCache(), c.cpus(), c.diskRequests(), c.diskBandwidth()},
	}
	switch c.Host.Origin {
	case fact.ImportedHost:
		s.Title = fmt.Sprintf("How many instances of %s that host carried", c.Workload)
		if c.Host.Has != "" {
			s.Title += ": " + c.Host.Has
			s.Note += " All imported, of a host of " + c.Host.Has + "."
		}
	case fact.ScaledDown:
		s.Title = fmt.Sprintf("How many instances of %s the scaled-down host carries", c.Workload)
		s.Note += " All in a scaled-down host of " + c.Host.Has + "."
	}
	for _, p := range c.Points {
		s.Covers = append(s.Covers, result.Point{Stack: c.Stack, Mix: p.Mix})
	}
	return s
}

// condition says what the load line is for; "" where that is most throughput.
func (l Line) condition() string {
	var limits []string
	if l.Objective.P99NS > 0 {
		limits = append(limits, "99% of operations take at most "+units.Latency(l.Objective.P99NS))
	}
	if l.Objective.Standalone > 0 {
		limits = append(limits, fmt.Sprintf("each does at least %s of what one alone does", units.Percent(l.Objective.Standalone)))
	}
	if len(limits) == 0 {
		return ""
	}
	return ", of those numbers with which " + plural.And(limits)
}

// remarks returns the remarks beside the numbers.
func (f *Facts) remarks() (remarks []section.Remark) {
	if f.runs != "" {
		remarks = append(remarks, section.Remark{Text: f.runs})
	}
	for _, m := range f.marks {
		remarks = append(remarks, section.Remark{Text: prose.EveryNumber(m), Warn: true})
	}
	if f.Curve.Floor > 0 {
		remarks = append(remarks, section.Remark{Text: fmt.Sprintf(
			"noise floor: setups of the same mix differ by %s", units.Percent(f.Curve.Floor))})
	}
	if len(f.out) > 0 {
		remarks = append(remarks, section.Remark{Text: fmt.Sprintf(
			"with %s, an instance was measured for up to %s of its time while not all others were", numbers(f.out),
			units.Percent(f.outside)), Warn: true})
	}
	return remarks
}

// numbers lists numbers of instances: "3, 6 and 8".
func numbers(counts []int) string {
	var words []string
	for _, n := range counts {
		words = append(words, fmt.Sprint(n))
	}
	return plural.And(words)
}

// table has a row for each number of instances.
func (f *Facts) table() section.Table {
	c := f.Curve
	noun := "I/Os"
	if f.rate != "IOPS" {
		noun = "operations"
	}
	t := section.Table{Caption: "medians over setups", Folded: true, Columns: []section.Column{
		{Head: "instances"},
		{Head: f.rate, Means: noun + " a second of all instances together"},
		{Head: "interval", Drop: 6},
		{Head: "each", Means: "of one instance", Drop: 1},
		{Head: "least", Means: "what the slowest instance gets of an equal share", Drop: 3},
		{Head: "p50", Drop: 4},
		{Head: "p99", Means: "with p50 and p99.9: total latency, from the merged histograms of a setup"},
		{Head: "p99.9", Drop: 5},
		{Head: "reads/op", Means: "reads of the device for each operation", Drop: 8},
		{Head: "cache", Means: "page cache of each instance", Drop: 7},
		{Head: "CPUs", Means: "at work for all instances", Drop: 2},
		{Head: "binds", Means: "the resource that limits all together, by use (-: none that was measured)", Text: true},
		{Head: "here", Means: "the load line; knee: more instances add less from about there on; valley: they do less", Text: true},
	}}
	for _, p := range c.Points {
		single := section.Count.Cell(p.Rate / float64(p.Instances))
		if single.Value < 100 {
			single.Of = section.Number
		}
		binds := section.None
		if p.Binds != "" {
			binds = p.Binds.Word()
		}
		t.Rows = append(t.Rows, section.Row{Stack: c.Stack, Strong: p.Instances == c.Line.Instances, Cells: []section.Cell{
			section.Count.Cell(float64(p.Instances)), section.Count.Cell(p.Rate), section.Count.Between(p.RateLow, p.RateHigh),
			single,
			section.Share.Positive(p.Weakest), section.Latency.Positive(p.Percentile(50).NS), section.Latency.Positive(p.P99NS),
			section.Latency.Positive(p.Percentile(99.9).NS), section.Number.Cell(p.DeviceReads), section.Bytes.Positive(p.CacheBytes),
			section.Number.Cell(p.CPUs), section.Text(binds), c.marks(p),
		}})
	}
	if len(c.Missing) > 0 {
		t.Rows = append(t.Rows, section.Row{Words: "no trial was completed with " + numbers(c.Missing), Warn: true})
	}
	return t.Known()
}

// marks names what a number of instances is on its curve: the load line, the knee, the valley.
func (c Curve) marks(p fact.ScalingPoint) section.Cell {
	var is []string
	if p.Instances == c.Line.Instances {
		is = append(is, "load line")
	}
	if c.Rate != nil && c.Rate.Knee != nil && p.Instances == c.nearest(c.Rate.Knee.At) {
		is = append(is, "knee")
	}
	if c.Valley != nil && p.Instances == c.Valley.To {
		is = append(is, "valley")
	}
	return section.Text(strings.Join(is, ", "))
}

// nearest is the number of instances that was measured nearest to one.
func (c Curve) nearest(instances float64) int {
	return slices.MinFunc(c.Points, func(a, b fact.ScalingPoint) int {
		return cmp.Compare(math.Abs(float64(a.Instances)-instances), math.Abs(float64(b.Instances)-instances))
	}).Instances
}

// keys explain the figures.
func (c Curve) keys() []section.Key {
	keys := []section.Key{{Class: section.Carries, Text: "load line, and where it may lie"},
		{Class: section.Alone, Text: c.alone().Word}}
	if !c.Line.Objective.None() {
		keys = append(keys, section.Key{Class: section.Limit, Text: "objective"}, section.Key{Class: section.Missed, Text: "misses it"})
	}
	if len(c.Missing) > 0 {
		keys = append(keys, section.Key{Class: section.Gone, Text: "no trial was completed"})
	}
	for i, p := range c.Points {
		if slices.IndexFunc(c.Points, func(q fact.ScalingPoint) bool { return q.Binds == p.Binds }) == i {
			keys = append(keys, section.Key{Class: bindingClass(p.Binds), Text: p.Binds.Means()})
		}
	}
	return keys
}

func bindingClass(of fact.Resource) section.Class {
	if of == "" {
		return "binds-nothing"
	}
	return section.Class("binds-" + strings.ReplaceAll(string(of), " ", "-"))
}
