package report

import (
	"fmt"
	"math"

	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
)

// instancesSection is the table of what ran at the same time, for each mix and
// stack a row for each tenant.
func instancesSection(run *result.Run) (section, bool) {
	points := mixPoints(run)
	s := section{
		ID: "instances", Title: "What ran at the same time",
		Note: noteIn(run, "A row for each tenant of a mix, and one for all where it has several. "+
			"Rates are operations per second: of all instances of a tenant together, and of an instance, "+
			"with the slowest and the fastest of a trial and their shares of all that ran."),
	}
	table := answer.Table{
		Caption: "medians over trials; p99 of total latency, from all instances together; CPU and memory with the ramp",
		Columns: columnsOf(4, "Mix", "Stack", "Tenant", "Limits of each", "Instances", "Together", "Of an instance",
			"Slowest", "Fastest", "p99", "CPUs of each", "Peak memory of each"),
	}
	for _, p := range points {
		for _, v := range p.Tenants {
			table.Rows = append(table.Rows, textRow("", tenantRow(p, v)))
		}
		if len(p.Tenants) > 1 {
			table.Rows = append(table.Rows, textRow("", allRow(p)))
		}
		s.Remarks = append(s.Remarks, p.remarks()...)
	}
	table.Folded = len(table.Rows) > mostPrinted
	s.Tables = []answer.Table{table}
	return s, len(table.Rows) > 0
}

// textRow is a row of texts; what is empty is nothing.
func textRow(stack string, texts []string) answer.Row {
	r := answer.Row{Stack: stack}
	for _, text := range texts {
		r.Cells = append(r.Cells, answer.Text(text))
	}
	return r
}

func tenantRow(p mixPoint, v tenantView) []string {
	tenant := v.Tenant
	if v.Workload != v.Tenant {
		tenant += " (" + v.Workload + ")"
	}
	together := rateOf(v.Rate)
	if len(p.Tenants) > 1 && v.Share > 0 {
		together += ", " + percentText(v.Share)
	}
	row := []string{p.Mix, v.Stack, tenant, limitedText(v.Limited), fmt.Sprint(v.Count), together,
		rateOf(v.Median), p.shareOf(v.Least), p.shareOf(v.Most), unknown, unknown, unknown}
	if v.Count == 1 {
		row[7], row[8] = "", "" // it is the only one
	}
	if v.P99NS > 0 {
		row[9] = latencyText(v.P99NS)
	}
	if !math.IsNaN(v.CPUs) {
		row[10] = units.Significant(v.CPUs)
		if v.Held > 0.01 {
			row[10] += ", held back " + percentText(v.Held)
		}
	}
	if !math.IsNaN(v.Memory) {
		row[11] = bytesText(int64(v.Memory))
	}
	return row
}

// allRow is what all tenants of a mix did together.
func allRow(p mixPoint) []string {
	count := 0
	for _, v := range p.Tenants {
		count += v.Count
	}
	return []string{p.Mix, p.Stack, "all", "", fmt.Sprint(count), rateOf(p.Rate), "", "", "", "", "", ""}
}

// shareOf gives the rate of an instance with its share of all that ran.
func (p mixPoint) shareOf(rate float64) string {
	if !(p.Rate > 0) || math.IsNaN(rate) {
		return rateOf(rate)
	}
	return rateOf(rate) + ", " + percentText(rate/p.Rate)
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
