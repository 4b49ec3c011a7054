package report

import (
	"slices"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/printable"
	"plimsoll/internal/units"
)

// exported is the requests of one operation of a namespace that the host, as a
// target, exports.
type exported struct {
	Device iotrace.Device
	traceRow
}

// exports gives what a target's namespaces were asked for, by operation.
func exports(a *iotrace.Account) (all []exported) {
	for _, d := range a.Devices {
		if d.NQN == "" {
			continue
		}
		own := &iotrace.Account{}
		for _, c := range a.Cells {
			if c.Device == d.Name {
				own.Cells = append(own.Cells, c)
			}
		}
		for _, r := range own.By(iotrace.ByOp) {
			all = append(all, exported{d, traceRow{r, TraceByOp}})
		}
	}
	return all
}

// of is what an interval takes of the mean T; not known for any request that
// was not passed on to a device.
func (e exported) of(i iotrace.Interval) (ns float64, known bool) {
	d, all := e.dist(i), e.dist(iotrace.T)
	if d == nil || all == nil {
		return 0, false
	}
	return float64(d.SumNS) / float64(all.Count), true
}

// traceExports prints where the time of a target's requests went.
func (t *terminal) traceExports(a *iotrace.Account) {
	all := exports(a)
	if len(all) == 0 {
		return
	}
	t.section("At this target")
	columns := []column{
		{head: "namespace", left: true}, {head: "op", left: true}, {head: "requests"}, {head: "bytes", drop: 2},
		{head: "T mean"}, {head: "p99", drop: 1}, {head: "nvmet"}, {head: "fetch"}, {head: "device"},
		{head: "device p99", drop: 3},
	}
	var rows []tableRow
	for _, e := range all {
		cells := []string{
			printable.Line(e.Device.Name), e.Label, units.Grouped(float64(e.Requests)), decimalBytes(e.Bytes),
			meanText(e.dist(iotrace.T)), percentileText(e.dist(iotrace.T), 99), "", "", "",
			percentileText(e.dist(iotrace.Q2C), 99),
		}
		for i, interval := range []iotrace.Interval{iotrace.A2Q, iotrace.F2Q, iotrace.Q2C} {
			if ns, known := e.of(interval); known {
				cells[6+i] = traceNS(ns)
			}
		}
		rows = append(rows, tableRow{cells: cells, paint: t.style.plain})
	}
	t.table(columns, rows)
	t.text("  ", "    ", "T is from the arrival of a command until it is complete: nvmet's own work, fetching the data "+
		"of writes over the network, and the device behind the namespace, from its bio on; what is left was in no device",
		t.style.dim)
	var named []string
	for _, e := range all {
		if name := e.Device.Name + " is namespace " + units.Grouped(float64(e.Device.NSID)) + " of " +
			e.Device.NQN; !slices.Contains(named, name) {
			named = append(named, name)
			t.text("  ", "    ", printable.Line(name), t.style.dim)
		}
	}
}

// traceExport is an operation of a namespace in JSON.
type traceExport struct {
	NQN    string `json:"nqn"`
	NSID   uint32 `json:"nsid"`
	Device string `json:"device"`
	traceKey
}

func newTraceExports(a *iotrace.Account) (all []traceExport) {
	for _, e := range exports(a) {
		all = append(all, traceExport{e.Device.NQN, e.Device.NSID, e.Device.Name, newTraceKey(e.traceRow)})
	}
	return all
}
