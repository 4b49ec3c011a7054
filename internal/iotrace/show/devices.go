package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// devices is what is counted of devices as a whole.
func devices(a *iotrace.Account) *section.Section {
	if len(a.Devices) == 0 {
		return nil
	}
	table := section.Table{Caption: "what was counted of each", Columns: []section.Column{
		{Head: "device", Text: true},
		{Head: "requests"},
		{Head: "bytes", Drop: 1},
		{Head: "IOPS"},
		{Head: "MB/s"},
		{Head: "depth", Means: "mean number of requests between D and C"},
		{Head: "most", Means: "the greatest"},
		{
			Head:  "sequential",
			Means: "of issued requests, those that go on where the one before, of the same direction, ended",
		},
		{Head: "merges", Drop: 8, Means: "back+front+other"},
		{Head: "splits", Drop: 5},
		{Head: "remaps", Drop: 4},
		{Head: "requeues", Drop: 6},
		{Head: "plugs", Drop: 2},
		{Head: "unplugs", Drop: 3, Means: "called+by timer"},
		{Head: "unfinished", Drop: 7},
	}}
	for _, d := range a.Devices {
		recorded := knownOf(a, d)
		rate := func(n uint64, scale float64) section.Cell {
			if a.Duration <= 0 {
				return section.Cell{}
			}
			return section.Text(units.Compact(float64(n) / scale / a.Duration.Seconds()))
		}
		name := d.Name
		if d.MajMin != "" && d.MajMin != d.Name {
			name += " " + d.MajMin
		}
		table.Rows = append(table.Rows, section.Row{Cells: []section.Cell{
			section.Text(
				name,
			),
			count(d.Requests),
			section.Text(units.DecimalBytes(d.Bytes)),
			rate(d.Requests, 1),
			rate(d.Bytes, 1e6),
			cellIf(recorded.depth, section.Text(strconv.FormatFloat(number(d.Depth), 'f', 2, 64))),
			cellIf(recorded.maxDepth, count(d.MaxDepth)),
			cellIf(recorded.stages && recorded.sequential, section.Text(units.Tenths(d.Sequential))),
			several(d.BackMerges, d.FrontMerges, d.OtherMerges),
			count(d.Splits),
			count(d.Remaps),
			count(d.Requeues),
			cellIf(recorded.stages, count(d.Plugs)),
			cellIf(recorded.stages, several(d.Unplugs, d.UnpluggedByTimer)),
			count(d.Unfinished),
		}})
	}
	return &section.Section{Title: "Devices", Tables: []section.Table{table}}
}

// several returns counts that belong together: "12+0+3", or 0 when all are.
func several(counts ...uint64) section.Cell {
	var texts []string
	sum := uint64(0)
	for _, n := range counts {
		sum += n
		texts = append(texts, strconv.FormatUint(n, 10))
	}
	if sum == 0 {
		return section.Text("0")
	}
	return section.Text(strings.Join(texts, "+"))
}

// target is where the time of the requests went that a target's namespaces were asked for.
func target(a *iotrace.Account) *section.Section {
	rows := exports(a)
	if len(rows) == 0 {
		return nil
	}
	s := &section.Section{Title: "At this target"}
	for _, e := range rows {
		name := fmt.Sprintf("%s is namespace %d of %s", e.Device.Name, e.Device.NSID, e.Device.NQN)
		if !slices.Contains(s.Remarks, section.Remark{Text: name}) {
			s.Remarks = append(s.Remarks, section.Remark{Text: name})
		}
	}
	table := section.Table{Caption: "where the time of its requests went", Columns: []section.Column{
		{Head: "namespace", Text: true},
		{Head: "op", Text: true},
		{Head: "requests"},
		{Head: "bytes", Drop: 2},
		{
			Head: "T mean",
			Means: "from the arrival of a command until it is complete; what nvmet, fetch and device leave of it " +
				"was in no device",
		},
		{Head: "T p99", Drop: 1},
		{Head: "nvmet", Means: "its own work"},
		{Head: "fetch", Means: "the same of writes, and fetching their data over the network"},
		{Head: "device", Means: "behind the namespace, from its bio on"},
		{Head: "device p99", Drop: 3},
	}}
	for _, e := range rows {
		t, q2c := e.dist(iotrace.T), e.dist(iotrace.Q2C)
		cells := []section.Cell{section.Text(e.Device.Name), section.Text(e.Label), count(e.Requests),
			section.Text(units.DecimalBytes(e.Bytes)), mean(t), percentileCell(t, 99)}
		for _, i := range []iotrace.Interval{iotrace.A2Q, iotrace.F2Q, iotrace.Q2C} {
			ns, known := e.share(i)
			cells = append(cells, cellIf(known, span(ns)))
		}
		table.Rows = append(table.Rows, section.Row{Cells: append(cells, percentileCell(q2c, 99))})
	}
	s.Tables = []section.Table{table}
	return s
}
