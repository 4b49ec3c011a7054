package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// workloadView is the section of one workload: four charts that share their
// rows, and the numbers behind them.
type workloadView struct {
	ID          string // usable as an HTML id
	Shade       string // in the timeline
	Workload    result.Workload
	Baseline    string // "" when it was not measured
	CommonMarks []string
	Rows        []stackRow // best honest first
	Span        int        // grid rows that a chart takes: caption, axis, one for each stack
	Interval    string     // what the whiskers are worth
	Unit        string     // that N of its points counts: "setup", "trial"
	Noise       string     // how far apart equal things came out; "" when not known
	Mixes       bool       // numbers are of reads and writes together
	RateUnit    string     // "IOPS"; "ops/s" of databases
	Per         string     // what I/Os of the device are counted against: "fio I/O", "operation"
	HasMemory   bool
	HasCut      bool

	IOPS, Bandwidth, Latency, Honesty chart
}

// chart has the scale that the rows of a chart share.
type chart struct {
	Ticks     []tick
	Reference *percent // the line that all rows are compared with
}

// stackRow is one stack in all charts of a workload.
type stackRow struct {
	Point    fact.Point
	Class    string   // device, memory, unknown: how the bars are drawn
	Answered string   // what answered: a class, or a server
	Tags     []string // marks that not all rows share
	Baseline bool
	Role     role
	Against  *against

	IOPS, Bandwidth bar
	Latency         latencyMarks
	Honesty         honestyMark
}

type bar struct {
	Length   percent
	Interval *span // nil when there is none: too few setups
	Trials   []percent
	Cut      bool // longer than the chart
	Title    string
}

type latencyMarks struct {
	Known          bool
	P50, P99, P999 percent
	Title          string
}

type honestyMark struct {
	Known bool
	At    percent
	Title string
}

// workloadViews lays out the sections of all workloads, in the order of the
// experiment.
func workloadViews(run *result.Run, points []fact.Point, findings []fact.Finding) []workloadView {
	var views []workloadView
	for i, w := range ran(run) {
		var own []fact.Point
		for _, p := range points {
			if p.Workload == w.Name {
				own = append(own, p)
			}
		}
		views = append(views, newWorkloadView(i, w, run, own, findings))
	}
	return views
}

func newWorkloadView(i int, w result.Workload, run *result.Run, points []fact.Point,
	findings []fact.Finding) workloadView {
	view := workloadView{
		ID: fmt.Sprintf("workload-%d", i+1), Shade: shade(i), Workload: w,
		CommonMarks: commonMarks(points), Span: len(points) + 2, Mixes: mixes(run, w.Name),
	}
	slices.SortStableFunc(points, bestHonestFirst)
	who := rolesOf(run, findings)

	view.Unit, view.Noise = run.RepeatUnit(), noiseText(findings, w.Name)
	view.RateUnit, view.Per = rateHead(points), "fio I/O"
	if view.RateUnit == units.Operations {
		view.Per = "operation"
	}
	view.Interval = intervalNote(points, view.Unit)
	rates, bandwidths := barScale(points, iopsReach), barScale(points, bandwidthReach)
	latencies, honesty := latencyScale(points), honestyScale(points)
	view.IOPS.Ticks = rates.ticks(4, tickLabel(rateText))
	view.Bandwidth.Ticks = bandwidths.ticks(2, tickLabel(bandwidthText))
	view.Latency.Ticks = latencies.decades(4, tickLabel(latencyText))
	view.Honesty.Ticks = honesty.ticks(2, tickLabel(units.Significant))
	one := honesty.at(1)
	view.Honesty.Reference = &one

	for _, p := range points {
		row := stackRow{
			Point:    p,
			Class:    sourceClass(p),
			Answered: answeredBy(p),
			Baseline: p.Stack == run.Experiment.Baseline,
			Role:     who.Of(p.Stack),
			IOPS:     rateBar(p, rates, view.RateUnit),
			Latency:  latencyRow(p, latencies),
			Honesty:  honestyRow(p, honesty, view.Per),
		}
		row.Bandwidth = bandwidthBar(p, bandwidths)
		for _, m := range measurements(run, p) {
			row.IOPS.Trials = append(row.IOPS.Trials, rates.at(m.IOPS()))
			row.Bandwidth.Trials = append(row.Bandwidth.Trials, bandwidths.at(m.BytesPerSecond()))
		}
		for _, mark := range p.Marks {
			// The class of the row says so already.
			if !slices.Contains(view.CommonMarks, mark) && mark != string(result.MarkMemory) {
				row.Tags = append(row.Tags, mark)
			}
		}
		if row.Baseline {
			view.Baseline = p.Stack
			view.IOPS.Reference, view.Bandwidth.Reference = ptr(rates.at(p.Median)), ptr(bandwidths.at(p.BytesPerSecond))
		}
		row.Against = againstBaseline(run.Experiment.Baseline, p, findings)
		view.HasMemory = view.HasMemory || row.Class == classMemory
		view.HasCut = view.HasCut || row.IOPS.Cut || row.Bandwidth.Cut
		view.Rows = append(view.Rows, row)
	}
	return view
}

// intervalNote says what the intervals of medians are worth: below six trials
// even the whole range holds the true median with less than 95% probability.
func intervalNote(points []fact.Point, unit string) string {
	fewest, coverage, few := math.MaxInt, 1.0, ""
	for _, p := range points {
		if p.Coverage == 0 {
			few = fmt.Sprintf(" (none below %s)", counted(stats.FewestPairs, unit))
			continue
		}
		fewest, coverage = min(fewest, p.N), min(coverage, p.Coverage)
	}
	switch {
	case fewest == math.MaxInt:
		return "no intervals" + few
	case coverage >= stats.Confidence:
		return "95% interval" + few
	}
	return fmt.Sprintf("interval: smallest to largest of %s, %.0f%%%s", counted(fewest, unit), 100*coverage, few)
}

func ptr[T any](v T) *T { return &v }

// The classes of rows, best first.
const (
	classDevice  = "device"
	classUnknown = "unknown"
	classMemory  = "memory"
)

func sourceClass(p fact.Point) string {
	switch {
	case p.FromMemory():
		return classMemory
	case p.Source == string(result.SourceDevice), result.Source(p.Source).Operations():
		return classDevice // what a server did was asked of it, and nothing makes it less
	}
	return classUnknown
}

// answeredBy names what answered a point: its class, or a server or file system, whose caches and device did.
func answeredBy(p fact.Point) string {
	if result.Source(p.Source).Operations() {
		return p.Source
	}
	return sourceClass(p)
}

// bestHonestFirst puts what a device answered before what nobody could check
// before what memory answered, each by falling rate.
func bestHonestFirst(a, b fact.Point) int {
	order := []string{classDevice, classUnknown, classMemory}
	return cmp.Or(
		cmp.Compare(slices.Index(order, sourceClass(a)), slices.Index(order, sourceClass(b))),
		cmp.Compare(b.Median, a.Median),
		cmp.Compare(a.Stack, b.Stack),
	)
}

// commonMarks are the marks that every point carries; they are said once.
func commonMarks(points []fact.Point) []string {
	if len(points) == 0 {
		return nil
	}
	var common []string
	for _, mark := range points[0].Marks {
		if !slices.ContainsFunc(points, func(p fact.Point) bool { return !slices.Contains(p.Marks, mark) }) {
			common = append(common, mark)
		}
	}
	return common
}

func measurements(run *result.Run, p fact.Point) []*result.Measurement {
	var all []*result.Measurement
	for _, t := range runview.Of(run).Done(result.Point{Stack: p.Stack, Mix: p.Workload}) {
		all = append(all, t.Measured())
	}
	return all
}

// mixes tells whether a workload reads and writes: its numbers are then of
// both together.
func mixes(run *result.Run, workload string) bool {
	return slices.ContainsFunc(run.Trials, func(t result.Trial) bool {
		return t.Mix == workload && t.Measured() != nil && t.Measured().Operation(result.Read).Count > 0 &&
			t.Measured().Operation(result.Write).Count > 0
	})
}

// barScale is made for what devices answered. Memory may stretch it threefold;
// beyond that its bars are cut, so that the honest ones can still be compared.
func barScale(points []fact.Point, reach func(fact.Point) float64) scale {
	var honest, all float64
	for _, p := range points {
		all = max(all, reach(p))
		if sourceClass(p) != classMemory {
			honest = max(honest, reach(p))
		}
	}
	if honest > 0 {
		all = min(all, 3*honest)
	}
	return linearScale(all)
}

func iopsReach(p fact.Point) float64      { return finite(max(p.Median, p.High)) }
func bandwidthReach(p fact.Point) float64 { return finite(max(p.BytesPerSecond, p.BytesHigh)) }

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func rateBar(p fact.Point, s scale, unit string) bar {
	return newBar(p, s, p.Median, p.Low, p.High, exactRate(unit))
}

func bandwidthBar(p fact.Point, s scale) bar {
	return newBar(p, s, p.BytesPerSecond, p.BytesLow, p.BytesHigh, exactBandwidth)
}

func newBar(p fact.Point, s scale, median, low, high float64, text func(float64) string) bar {
	b := bar{Length: s.at(median), Cut: median > s.high}
	title := fmt.Sprintf("%s: median %s", p.Stack, text(median))
	if p.Coverage > 0 && low > 0 && high >= low {
		b.Interval = ptr(s.span(low, high))
		title += fmt.Sprintf(", interval %s to %s", text(low), text(high))
	}
	b.Title = title + ", " + counted(p.N, "trial") + p.SourceNote()
	return b
}

func latencyScale(points []fact.Point) scale {
	low, high := math.Inf(1), 0.0
	for _, p := range points {
		if p.P50NS > 0 {
			low, high = min(low, p.P50NS), max(high, p.P50NS, p.P99NS, p.P999NS)
		}
	}
	return logScale(low, high)
}

func latencyRow(p fact.Point, s scale) latencyMarks {
	if !(p.P50NS > 0) {
		return latencyMarks{Title: p.Stack + ": latency unknown"}
	}
	return latencyMarks{
		Known: true, P50: s.at(p.P50NS), P99: s.at(p.P99NS), P999: s.at(p.P999NS),
		Title: fmt.Sprintf("%s: total latency p50 %s, p99 %s, p99.9 %s%s", p.Stack,
			exactNS(p.P50NS), exactNS(p.P99NS), exactNS(p.P999NS), p.SourceNote()),
	}
}

func honestyScale(points []fact.Point) scale {
	high := 1.2
	for _, p := range points {
		if p.Ratio != nil {
			high = max(high, finite(*p.Ratio))
		}
	}
	return linearScale(high)
}

func honestyRow(p fact.Point, s scale, per string) honestyMark {
	if p.Ratio == nil {
		return honestyMark{Title: p.Stack + ": no device counter could be read"}
	}
	return honestyMark{Known: true, At: s.at(*p.Ratio),
		Title: fmt.Sprintf("%s: %s device I/Os per %s%s", p.Stack, honestyText(p.Ratio), per, p.SourceNote())}
}

// against is a stack compared with the baseline.
type against struct {
	Text string // "0.83x (0.78 to 0.89)", "~", "too few", "baseline"
	P    string // "0.008"
	Test string // "p = 0.008, n = 5 and 5"
}

// againstBaseline finds the comparison of a point with the baseline. It is nil
// when no finding makes one. What memory answered is no match for a device:
// only the finding on the illusion says what one would conclude from it.
func againstBaseline(baseline string, p fact.Point, findings []fact.Finding) *against {
	if baseline == "" {
		return nil
	}
	if p.Stack == baseline {
		return &against{Text: "baseline"}
	}
	if sourceClass(p) == classMemory {
		return &against{Text: "memory"}
	}
	e := versusBaseline(baseline, p, findings)
	switch {
	case e == nil:
		return nil
	case e.TooFew:
		return &against{Text: "too few", Test: e.Tested()}
	case e.Differs:
		return &against{Text: e.Written(), P: units.P(e.P), Test: e.Tested()}
	}
	return &against{Text: "~", P: units.P(e.P), Test: e.Tested()}
}
