package instances

import (
	"fmt"
	"math"

	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// Section returns the table of what ran at the same time, for each mix and stack a row for each tenant; nil of a run
// whose rows of workloads say all.
func Section(run *result.Run) *section.Section {
	points := Points(run)
	s := &section.Section{
		Title: "What ran at the same time",
		Note: prose.MeasuredIn(run, "A row for each tenant of a mix, and one for all where it has several. "+
			"Rates are operations per second: of all instances of a tenant together, and of an instance, "+
			"with the slowest and the fastest of a trial and their shares of all that ran."),
	}
	table := section.Table{
		Caption: "medians over " + run.RepeatUnit() + "s; p99 of total latency, from the merged histograms of all instances; " +
			"CPU and memory with the ramp",
		Columns: section.Columns(4, "Mix", "Stack", "Tenant", "Limits of each", "Instances", "Together", "Of an instance",
			"Slowest", "Fastest", "p99", "CPUs of each", "Peak memory of each"),
	}
	for _, p := range points {
		for _, v := range p.Tenants {
			table.Rows = append(table.Rows, section.TextRow("", tenantRow(p, v)))
		}
		if len(p.Tenants) > 1 {
			table.Rows = append(table.Rows, section.TextRow("", allRow(p)))
		}
		for _, text := range p.Doubts() {
			s.Remarks = append(s.Remarks, section.Remark{Text: text})
		}
	}
	for _, text := range Problems(points) {
		s.Remarks = append(s.Remarks, section.Remark{Text: text})
	}
	if len(table.Rows) == 0 {
		return nil
	}
	table.Folded = len(table.Rows) > section.MostPrinted
	s.Tables = []section.Table{table}
	return s
}

func tenantRow(p Point, v Tenant) []string {
	tenant := v.Tenant
	if v.Workload != v.Tenant {
		tenant += " (" + v.Workload + ")"
	}
	together := rateOf(v.Rate)
	if len(p.Tenants) > 1 && v.Share > 0 {
		together += ", " + units.SignificantPercent(v.Share)
	}
	row := []string{p.Mix, v.Stack, tenant, limitedText(v.Limited), fmt.Sprint(v.Count), together,
		rateOf(v.Median), p.shareOf(v.Least), p.shareOf(v.Most), units.Unknown, units.Unknown, units.Unknown}
	if v.Count == 1 {
		row[7], row[8] = "", "" // it is the only one
	}
	if v.P99NS > 0 {
		row[9] = section.Latency.Format(v.P99NS)
	}
	if !math.IsNaN(v.CPUs) {
		row[10] = units.Significant(v.CPUs)
		if v.Held > 0.01 {
			row[10] += ", held back " + units.SignificantPercent(v.Held)
		}
	}
	if !math.IsNaN(v.Memory) {
		row[11] = section.Bytes.Format(v.Memory)
	}
	return row
}

// allRow is what all tenants of a mix did together.
func allRow(p Point) []string {
	count := 0
	for _, v := range p.Tenants {
		count += v.Count
	}
	return []string{p.Mix, p.Stack, "all", "", fmt.Sprint(count), rateOf(p.Rate), "", "", "", "", "", ""}
}

// shareOf writes the rate of an instance with its share of all that ran.
func (p Point) shareOf(rate float64) string {
	if !(p.Rate > 0) || math.IsNaN(rate) {
		return rateOf(rate)
	}
	return rateOf(rate) + ", " + units.SignificantPercent(rate/p.Rate)
}

// limitedText says what an instance was held to, and whether the kernel says so
// too.
func limitedText(l *result.Limited) string {
	switch {
	case l == nil || l.Asked.None():
		return "none"
	case l.Asked == l.ReadBack:
		return l.Asked.String() + ", read back"
	case l.ReadBack.None():
		return l.Asked.String() + "; the kernel holds none"
	}
	return l.Asked.String() + "; the kernel holds " + l.ReadBack.String()
}
