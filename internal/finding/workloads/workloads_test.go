package workloads_test

import (
	"encoding/json"
	"slices"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/result"
	"plimsoll/internal/section"
)

func text(v string) section.Cell { return section.Text(v) }

// drawn returns the table of points under RR, whose baseline is raw.
func drawn(t *testing.T, points []fact.Point, findings ...fact.Finding) section.Table {
	t.Helper()
	run := &result.Run{Experiment: result.Experiment{Baseline: "raw"}}
	all := workloads.Sections(run, []result.Workload{{Name: "RR"}}, points, findings)
	if len(all) != 1 || len(all[0].Tables) != 1 {
		t.Fatalf("%d sections", len(all))
	}
	return all[0].Tables[0]
}

// cell returns the cell of a column in the row of a stack.
func cell(t *testing.T, table section.Table, stack, head string) section.Cell {
	t.Helper()
	column := slices.IndexFunc(table.Columns, func(c section.Column) bool { return c.Head == head })
	row := slices.IndexFunc(table.Rows, func(r section.Row) bool { return r.Stack == stack })
	if column < 0 || row < 0 {
		t.Fatalf("the table has no %s of %s", head, stack)
	}
	return table.Rows[row].Cells[column]
}

// The ratio to the baseline is of the metric that a row ranks by: what p99 does stands in no column of rates.
func TestRatioIsOfTheRowsMetric(t *testing.T) {
	p := fact.Point{Stack: "xfs", Workload: "RR", Metric: "IOPS", Source: string(result.SourceDevice)}
	effect := func(metric string, ratio float64) fact.Finding {
		e := &fact.Effect{Metric: metric, Subject: "xfs", Baseline: "raw", Ratio: ratio, Differs: true}
		return fact.Finding{Workload: "RR", Effect: e}
	}
	for want, findings := range map[string][]fact.Finding{
		section.Blank: {effect("p99", 3)},
		"0.50x":       {effect("p99", 3), effect("IOPS", 0.5)},
	} {
		if got := cell(t, drawn(t, []fact.Point{p}, findings...), "xfs", "ratio").String(); got != want {
			t.Errorf("the ratio is %q, not %q", got, want)
		}
	}
}

// What a device answered stands before what could not be checked, and that before what memory answered, which is
// compared with nothing. Marks that all rows have are none of a row.
func TestRowsStandByTheirWorth(t *testing.T) {
	point := func(stack string, source result.Source, rate float64, marks ...string) fact.Point {
		return fact.Point{Stack: stack, Workload: "RR", Metric: "IOPS", Source: string(source), Marks: append(marks, "loop device"),
			Estimate: fact.Estimate{N: 3, Median: rate}}
	}
	table := drawn(t, []fact.Point{point("tmpfs", result.SourceMemory, 9e5, "served from memory"),
		point("unchecked", result.SourceUnknown, 2e3), point("slow", result.SourceDevice, 1e3), point("raw", result.SourceDevice, 5e3)})
	var order []string
	for _, r := range table.Rows {
		order = append(order, r.Stack+r.Words)
	}
	want := []string{"raw", "slow", "source unknown: no device could be asked", "unchecked",
		"from memory: a cache answered, these are not the device's numbers", "tmpfs"}
	if !slices.Equal(order, want) {
		t.Errorf("the rows are %q", order)
	}
	if tags := table.Rows[5].Tags; !slices.Equal(tags, []section.Tag{{Letter: "M", Text: "served from memory"}}) || table.Rows[0].Tags != nil {
		t.Errorf("tags %v and %v", tags, table.Rows[0].Tags)
	}
	if got := cell(t, table, "tmpfs", "ratio"); got != text("memory") {
		t.Errorf("memory has the ratio %v", got)
	}
}

// Programs read numbers that are not rounded, by keys with their units, and null where a reader sees words.
func TestRecordsHaveNumbers(t *testing.T) {
	p := fact.Point{Stack: "x<y", Workload: "RR", Metric: "IOPS", Source: string(result.SourceDevice), P50NS: 123456.5,
		Estimate:    fact.Estimate{N: 4, Median: 1234.5, Low: 1200.25, High: 1300, Coverage: 0.88},
		Percentiles: []fact.Percentile{{Percent: 99, Unknown: "too few I/Os"}}}
	records := drawn(t, []fact.Point{p}).Records()
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	text, err := json.Marshal(records[0])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"stack": "x<y", "n": 4.0, "rate": 1234.5, "rate_low": 1200.25, "rate_high": 1300.0, "ratio": nil, "ratio_low": nil,
		"ratio_high": nil, "p": nil, "bytes_per_second": nil, "p50_ns": 123456.5, "p99_ns": nil, "device_ios_per_io": nil, "source": "device",
	} {
		if value, has := got[key]; !has || value != want {
			t.Errorf("%s is %v (%t), want %v", key, value, has, want)
		}
	}
}

// Each key is one column's.
func TestKeysAreUnique(t *testing.T) {
	p := fact.Point{Stack: "xfs", Workload: "RR", Metric: "IOPS", Estimate: fact.Estimate{Coverage: 0.9}}
	known := map[string]bool{"": true}
	for _, c := range drawn(t, []fact.Point{p}).Columns {
		if c.Key == "" {
			t.Errorf("JSON lacks the column %s", c.Head)
		}
		for _, key := range []string{c.Key, c.KeyHigh} {
			if key != "" && known[key] {
				t.Errorf("two columns have the key %s", key)
			}
			known[key] = true
		}
	}
}
