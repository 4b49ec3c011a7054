package workloads

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// column is a column of the table, and its cell of a row.
type column struct {
	section.Column
	cell func(row) section.Cell
}

// columns returns the columns of the table, from left to right: terminals, pages, JSON and CSV have these. A new one is
// an entry more; metric makes the cells of any metric of runview. What columns mean is said of all points.
func (t table) columns(points []fact.Point) []column {
	latency, repeats := latencyUnit(t.points), t.run.RepeatUnit()
	baseline := t.run.Experiment.Baseline
	merged := fmt.Sprintf("total latency, from the merged histograms of a %[1]s, then the median of %[1]ss", repeats)
	columns := []column{
		{section.Column{Head: "stack", Key: "stack", Text: true}, func(r row) section.Cell { return section.Text(r.Stack) }},
		{section.Column{Head: repeats + "s", Word: repeats, Key: "n", OnPage: true},
			func(r row) section.Cell { return section.Count.Cell(float64(r.N)) }},
		{section.Column{Head: RateUnit(t.points), Word: RateUnit(t.points), Key: "rate"},
			func(r row) section.Cell { return section.Count.Cell(r.Median) }},
		{section.Column{Head: "interval", Word: "interval", Key: "rate_low", KeyHigh: "rate_high", Drop: 4,
			Means: t.intervals(points)}, func(r row) section.Cell {
			if r.Coverage == 0 {
				return section.Text(section.Blank)
			}
			return section.Cell{Of: section.Count, Value: r.Low, To: r.High, Range: true}
		}},
		{section.Column{Head: "ratio", Long: "ratio to " + baseline, Word: "ratio", Key: "ratio", Means: t.ratios()}, t.ratio},
		{section.Column{Head: "95% interval", Key: "ratio_low", KeyHigh: "ratio_high", OnPage: true}, t.ratioInterval},
		{section.Column{Head: "p", Word: "p", Key: "p", OnPage: true}, func(r row) section.Cell {
			if e := t.effect(r); e != nil && !e.TooFew {
				return section.Cell{Of: section.Number, Value: e.P, Text: units.P(e.P)}
			}
			return section.Text(section.Blank)
		}},
		{section.Column{Head: "MB/s", Long: "bandwidth", Key: "bytes_per_second", Unit: section.Unit{Size: 1e6}, Drop: 2},
			metric(runview.Bandwidth, section.Bandwidth)},
		{section.Column{Head: "p50", Word: "p50", Key: "p50_ns", Unit: latency, Drop: 3, Means: merged}, percentile(50)},
		{section.Column{Head: "p99", Word: "p99", Key: "p99_ns", Unit: latency, Means: merged}, percentile(99)},
		{section.Column{Head: "p99.9", Word: "p99.9", Key: "p999_ns", Unit: latency, Drop: 5, Means: merged}, percentile(99.9)},
		{section.Column{Head: "served", Long: "device I/Os per " + t.served(), Word: "served", Key: "device_ios_per_io",
			Means: "I/Os that the device served per " + servedPer(points)}, served},
		{section.Column{Head: "source", Key: "source", Text: true, Drop: 1},
			func(r row) section.Cell { return section.Text(source(r.Point).Words()) }},
	}
	return slices.DeleteFunc(columns, func(c column) bool {
		return baseline == "" && ofBaseline[c.Key] || c.Key == "rate_low" && !anyInterval(t.points)
	})
}

// ofBaseline are the keys of columns that compare with the baseline.
var ofBaseline = map[string]bool{"ratio": true, "ratio_low": true, "p": true}

// metric returns the cells of a metric of a run's trials, whose medians over setups are numbers of a kind.
func metric(m runview.Metric, quantity section.Quantity) func(row) section.Cell {
	return func(r row) section.Cell {
		sample := m.Sample(r.trials, "")
		if len(sample) == 0 {
			return section.Text(section.Blank)
		}
		return quantity.Cell(sample.Median())
	}
}

// RateUnit is the unit of the rates of points: what databases do are operations, and no I/Os.
func RateUnit(points []fact.Point) string {
	if slices.ContainsFunc(points, func(p fact.Point) bool { return !result.Source(p.Source).Operations() }) {
		return units.IOPS
	}
	return units.Operations
}

func anyInterval(points []fact.Point) bool {
	return slices.ContainsFunc(points, func(p fact.Point) bool { return p.Coverage > 0 })
}

// intervals says what the intervals of all points are worth; "" where there are none.
func (t table) intervals(points []fact.Point) string {
	n, coverage, orMore := 0, 1.0, ""
	for _, p := range points {
		if p.Coverage == 0 {
			continue // no interval
		}
		if n > 0 && p.N != n {
			orMore = " or more"
		}
		if n == 0 || p.N < n {
			n = p.N
		}
		coverage = min(coverage, p.Coverage)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% confidence interval of the median, from %s%s per stack", 100*coverage,
		plural.Count(n, t.run.RepeatUnit()), orMore)
}

// ratios says how stacks are compared with the baseline.
func (t table) ratios() string {
	if t.run.InSetups() {
		return fmt.Sprintf("to %s (base), in pairs of the same round; ~ is no significant difference in a paired test",
			t.run.Experiment.Baseline)
	}
	return fmt.Sprintf("of the medians, to that of %s (base); ~ is no significant difference in a Mann-Whitney test",
		t.run.Experiment.Baseline)
}

// ratio is that of a stack's median to the baseline's. Memory is not compared with a device.
func (t table) ratio(r row) section.Cell {
	switch {
	case r.FromMemory():
		return section.Text("memory")
	case r.Stack == t.run.Experiment.Baseline:
		return section.Text("base")
	}
	e := t.effect(r)
	if e == nil {
		return section.Text(section.Blank)
	}
	cell, _ := e.Cells()
	return cell
}

func (t table) ratioInterval(r row) section.Cell {
	if e := t.effect(r); e != nil {
		if _, interval := e.Cells(); interval != (section.Cell{}) {
			return interval
		}
	}
	return section.Text(section.Blank)
}

// effect is how a row compares with the baseline; nil where no finding says, and where memory answered.
func (t table) effect(r row) *fact.Effect {
	if r.FromMemory() {
		return nil
	}
	return VersusBaseline(t.run.Experiment.Baseline, r.Point, t.findings)
}

// VersusBaseline returns how a point compares with the baseline, by the metric that the point is of; nil where no
// finding says.
func VersusBaseline(baseline string, p fact.Point, findings []fact.Finding) *fact.Effect {
	for _, f := range findings {
		e := f.Effect
		if e != nil && f.Workload == p.Workload && e.Subject == p.Stack && e.Baseline == baseline && e.Metric == p.Metric {
			return e
		}
	}
	return nil
}

// latencyUnit is the unit in which the latencies of a table read best.
func latencyUnit(points []fact.Point) section.Unit {
	smallest := math.Inf(1)
	for _, p := range points {
		if p.P50NS > 0 {
			smallest = min(smallest, p.P50NS)
		}
	}
	if smallest >= 1e5 && !math.IsInf(smallest, 1) {
		return section.Unit{Name: "ms", Size: 1e6}
	}
	return section.Unit{Name: "µs", Size: 1e3}
}

// percentile returns the cells of a percentile of latency.
func percentile(percent float64) func(row) section.Cell {
	return func(r row) section.Cell {
		ns := map[float64]float64{50: r.P50NS, 99: r.P99NS, 99.9: r.P999NS}[percent]
		switch {
		case r.TooFewFor(percent):
			return section.Cell{}
		case !(ns > 0):
			return section.Text(section.Blank)
		}
		return section.Latency.Cell(ns)
	}
}

// servedPer names what I/Os of the device are counted against.
func servedPer(points []fact.Point) string {
	if slices.ContainsFunc(points, func(p fact.Point) bool { return result.Source(p.Source).Operations() }) {
		return "operation of the workload"
	}
	return "I/O that fio issued"
}

// served names the same of the table's points, in the head of its column.
func (t table) served() string {
	if RateUnit(t.points) == units.Operations {
		return "operation"
	}
	return "fio I/O"
}

// served is the device's I/Os per I/O of the workload.
func served(r row) section.Cell {
	if r.Ratio == nil || math.IsNaN(*r.Ratio) {
		return section.Text(units.Unknown)
	}
	return section.Cell{Of: section.Number, Value: *r.Ratio, Text: PerIO(*r.Ratio)}
}

// PerIO writes device I/Os per I/O of the workload.
func PerIO(ratio float64) string {
	if ratio != 0 && ratio < 0.005 {
		return strconv.FormatFloat(ratio, 'f', 4, 64)
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64)
}
