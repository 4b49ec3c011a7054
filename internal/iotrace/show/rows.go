package show

import (
	"slices"

	"plimsoll/internal/iotrace"
)

// Dimension is a property that groups the requests of a trace.
type Dimension string

// The dimensions of a trace.
const (
	ByDevice  Dimension = "device"
	ByOp      Dimension = "op"
	BySize    Dimension = "size"
	ByProcess Dimension = "process" // or container, or cgroup: what is known
)

// Dimensions are all of them, in the order in which they are shown.
var Dimensions = []Dimension{ByDevice, ByOp, BySize, ByProcess}

// total is the dimension of the row that sums all up.
const total Dimension = "total"

// intervals are the intervals that are shown, in the order of a request's
// events. Those of the application come first and last.
var intervals = []iotrace.Interval{
	iotrace.S2Q, iotrace.S2X, iotrace.Q2Q, iotrace.Q2G, iotrace.G2I, iotrace.Q2M, iotrace.I2D, iotrace.M2D, iotrace.Q2D,
	iotrace.D2N, iotrace.N2C, iotrace.D2C, iotrace.A2Q, iotrace.F2Q, iotrace.Q2C, iotrace.C2R, iotrace.T,
}

// meaning says in words what an interval is.
var meaning = map[iotrace.Interval]string{
	iotrace.S2Q: "system call to bio: file system and overlay",
	iotrace.S2X: "the submitting system call",
	iotrace.Q2Q: "from one bio to the next",
	iotrace.Q2G: "waiting for a request",
	iotrace.G2I: "plugged, on the way to the scheduler",
	iotrace.Q2M: "until merged",
	iotrace.I2D: "in the scheduler",
	iotrace.M2D: "merged, until issued",
	iotrace.Q2D: "in the block layer",
	iotrace.D2N: "in the driver",
	iotrace.N2C: "in the NVMe device",
	iotrace.D2C: "driver and device",
	iotrace.Q2C: "bio to completion, the whole time",
	iotrace.C2R: "completion to application",
	iotrace.T:   "at the target: command to completion, the whole time",
	iotrace.A2Q: "at the target: command to bio, nvmet's own work",
	iotrace.F2Q: "the same of writes whose data is fetched, and that",
}

// row is the requests of one key of a dimension.
type row struct {
	iotrace.Row
	Dimension Dimension
}

// dist is the distribution of an interval; nil where there is none.
func (r row) dist(i iotrace.Interval) *iotrace.Dist {
	if d := r.Intervals[i]; d != nil && d.Count > 0 {
		return d
	}
	return nil
}

func (r row) count(i iotrace.Interval) uint64 {
	if d := r.dist(i); d != nil {
		return d.Count
	}
	return 0
}

// issuers returns the part of an account that counts each request once, as far as the trace shows. It leaves out
// devices that pass all requests on to other traced devices, as device mapper and md do, and the namespaces of a
// target. passing has the names of these.
func issuers(a *iotrace.Account) (only *iotrace.Account, passing []string) {
	queues, issues := map[string]bool{}, map[string]bool{}
	for _, c := range a.Cells {
		queues[c.Device] = queues[c.Device] || c.Intervals[iotrace.Q2C] != nil
		issues[c.Device] = issues[c.Device] || c.Intervals[iotrace.D2C] != nil
	}
	passes := func(name string) bool { return queues[name] && !issues[name] }
	anyIssues := slices.ContainsFunc(a.Devices, func(d iotrace.Device) bool { return issues[d.Name] })
	if !anyIssues || !slices.ContainsFunc(a.Devices, func(d iotrace.Device) bool {
		return issues[d.Name] && d.Remaps > 0 ||
			d.NQN != ""
	}) {
		return a, nil // no device passes requests on
	}
	only = &iotrace.Account{}
	for _, d := range a.Devices {
		if passes(d.Name) {
			passing = append(passing, d.Name)
		} else {
			only.Devices = append(only.Devices, d)
		}
	}
	for _, c := range a.Cells {
		if !passes(c.Device) {
			only.Cells = append(only.Cells, c)
		}
	}
	return only, passing
}

// rowsBy sums the cells of an account up by a dimension: by device all of
// them, otherwise those of issuers.
func rowsBy(a *iotrace.Account, dimension Dimension) []row {
	if dimension != ByDevice {
		a, _ = issuers(a)
	}
	var rows []row
	for _, r := range a.By(map[Dimension]iotrace.Dimension{
		total: iotrace.Total, ByDevice: iotrace.ByDevice, ByOp: iotrace.ByOp, BySize: iotrace.BySize,
		ByProcess: iotrace.ByOwner,
	}[dimension]) {
		if r.Key.Owner.Kernel {
			r.Label += " (kernel)" // and nothing tells for whom
		}
		rows = append(rows, row{r, dimension})
	}
	return rows
}

// deviceOps sums the cells of an account up by device and operation together.
func deviceOps(a *iotrace.Account) []row {
	var rows []row
	for _, device := range a.By(iotrace.ByDevice) {
		account := &iotrace.Account{}
		for _, c := range a.Cells {
			if c.Device == device.Key.Device {
				account.Cells = append(account.Cells, c)
			}
		}
		for _, r := range account.By(iotrace.ByOp) {
			r.Label = device.Label + " " + r.Label
			rows = append(rows, row{r, ByDevice})
		}
	}
	return rows
}

// sumOf is the row of all requests.
func sumOf(a *iotrace.Account) row {
	if rows := rowsBy(a, total); len(rows) > 0 {
		return rows[0]
	}
	return row{iotrace.Row{Label: "all"}, total}
}

// part is a part of what a request takes from Q to C.
type part struct {
	Name   string  // of the interval, or directPart, rest
	MeanNS float64 // per request or bio that has a Q2C
	Share  float64 // of Q2C; below 0 where the parts take more than the whole
}

// Parts that are no interval: of Q2D, what requests take that are issued
// without being inserted; and what nothing tells of.
const (
	directPart = "G2D"
	restPart   = "rest"
)

// leastRest is the share from which on a rest is shown: below, it comes of
// requests that were under way at the ends of the trace.
const leastRest = 0.005

// partsOf splits the time from Q to C into the intervals that follow each
// other. They are compared by their sums: a merged bio waits in Q2M and M2D,
// others in Q2G, G2I and I2D. Where sums were made in the kernel, Q2C is of
// requests, and tells of no bio that was merged into one. nil where no Q2C is
// known.
func partsOf(r row) []part {
	whole := r.dist(iotrace.Q2C)
	if whole == nil || whole.SumNS == 0 || r.dist(iotrace.T) != nil { // of a target's T, Q2C is itself a part
		return nil
	}
	var parts []part
	rest := float64(whole.SumNS)
	take := func(name string, sum float64) {
		if sum <= 0 {
			return
		}
		rest -= sum
		parts = append(parts, part{Name: name, MeanNS: sum / float64(whole.Count), Share: sum / float64(whole.SumNS)})
	}
	sum := func(i iotrace.Interval) float64 {
		if d := r.dist(i); d != nil {
			return float64(d.SumNS - r.UnqueuedNS[i]) // Q2C has nothing of these
		}
		return 0
	}
	fine := []iotrace.Interval{iotrace.Q2G, iotrace.G2I, iotrace.Q2M, iotrace.I2D, iotrace.M2D}
	if whole.Count <= r.count(iotrace.Q2D)+r.count(iotrace.Q2M)/2 { // of no merged one
		fine = []iotrace.Interval{iotrace.Q2G, iotrace.G2I, iotrace.I2D}
	}
	if slices.ContainsFunc(fine, func(i iotrace.Interval) bool { return r.dist(i) != nil }) {
		for _, i := range fine {
			take(i.String(), sum(i))
		}
		// What was not inserted went from G to D at once.
		take(directPart, sum(iotrace.Q2D)-sum(iotrace.Q2G)-sum(iotrace.G2I)-sum(iotrace.I2D))
	} else {
		take(iotrace.Q2D.String(), sum(iotrace.Q2D))
	}
	driver, device := sum(iotrace.D2N), sum(iotrace.N2C)
	take(iotrace.D2N.String(), driver)
	take(iotrace.N2C.String(), device)
	take(iotrace.D2C.String(), sum(iotrace.D2C)-driver-device) // of requests that have no N
	if share := rest / float64(whole.SumNS); share >= leastRest || share <= -leastRest {
		parts = append(parts, part{Name: restPart, MeanNS: rest / float64(whole.Count), Share: share})
	}
	return parts
}

// known reports which of a device's counts are known. What was not recorded is
// 0 in an account.
type known struct {
	depth      bool // completions were seen: without them depth only grows
	maxDepth   bool // events were, and not only their sums
	sequential bool // all issues were
	stages     bool // all that lies between Q and D was: plugs, and what is sequential
}

func knownOf(a *iotrace.Account, d iotrace.Device) known {
	depth := (d.Requests > 0 || d.Unfinished == 0) && d.Knows(iotrace.QuantityDepth)
	return known{
		depth: depth, maxDepth: depth && d.Knows(iotrace.QuantityMaxDepth) && (d.MaxDepth > 0 || d.Depth == 0),
		sequential: d.Knows(iotrace.QuantitySequential),
		stages: d.Sequential > 0 || d.Plugs > 0 || d.Unplugs > 0 ||
			slices.ContainsFunc(a.Cells, func(c iotrace.Cell) bool {
				return c.Device == d.Name &&
					c.Intervals[iotrace.Q2G] != nil
			}),
	}
}
