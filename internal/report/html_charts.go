package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/workloads"
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
	Numbers     section    // the table
	Span        int        // grid rows that a chart takes: caption, axis, one for each stack
	Interval    string     // what the whiskers are worth
	Unit        string     // that N of its points counts: "setup", "trial"
	Notes       []string   // below the heading
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
	Known     bool
	P50       percent
	P99, P999 *percent // nil where operations are too few
	Last      percent  // the last one that is known
	Title     string
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
	mixes := ran(run)
	numbers := workloads.Sections(run, mixes, points, findings)
	for i, w := range mixes {
		var mixPoints []fact.Point
		for _, p := range points {
			if p.Workload == w.Name {
				mixPoints = append(mixPoints, p)
			}
		}
		view := newWorkloadView(i, w, run, mixPoints, findings)
		view.Numbers = sectionOf(numbers[i], axes{})
		view.Numbers.Title, view.Numbers.Roles = w.Name, rolesOf(run, findings)
		for _, r := range numbers[i].Remarks {
			if !r.Warn { // what warns is a mark of all rows, which the legend of the charts has
				view.Notes = append(view.Notes, r.Text)
			}
		}
		views = append(views, view)
	}
	return views
}

func newWorkloadView(i int, w result.Workload, run *result.Run, points []fact.Point,
	findings []fact.Finding) workloadView {
	view := workloadView{
		ID: fmt.Sprintf("workload-%d", i+1), Shade: shade(i), Workload: w,
		CommonMarks: workloads.SharedMarks(points), Span: len(points) + 2,
	}
	slices.SortStableFunc(points, bestHonestFirst)
	stackRoles := rolesOf(run, findings)

	view.Unit = run.RepeatUnit()
	view.RateUnit, view.Per = workloads.RateUnit(points), "fio I/O"
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
	reference := honesty.position(1)
	view.Honesty.Reference = &reference

	for _, p := range points {
		row := stackRow{
			Point:    p,
			Class:    sourceClass(p),
			Baseline: p.Stack == run.Experiment.Baseline,
			Role:     stackRoles.Of(p.Stack),
			IOPS:     rateBar(p, rates, view.RateUnit),
			Latency:  latencyRow(p, latencies),
			Honesty:  honestyRow(p, honesty, view.Per),
		}
		row.Bandwidth = bandwidthBar(p, bandwidths)
		for _, m := range measurements(run, p) {
			row.IOPS.Trials = append(row.IOPS.Trials, rates.position(m.IOPS()))
			row.Bandwidth.Trials = append(row.Bandwidth.Trials, bandwidths.position(m.BytesPerSecond()))
		}
		for _, mark := range p.Marks {
			// The class of the row says so already.
			if !slices.Contains(view.CommonMarks, mark) && mark != string(result.MarkMemory) {
				row.Tags = append(row.Tags, mark)
			}
		}
		if row.Baseline {
			view.Baseline = p.Stack
			view.IOPS.Reference, view.Bandwidth.Reference = ptr(rates.position(p.Median)),
				ptr(bandwidths.position(p.BytesPerSecond))
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
	fewest, coverage, tooFew := math.MaxInt, 1.0, ""
	for _, p := range points {
		if p.Coverage == 0 {
			tooFew = fmt.Sprintf(" (none below %s)", counted(stats.FewestPairs, unit))
			continue
		}
		fewest, coverage = min(fewest, p.N), min(coverage, p.Coverage)
	}
	switch {
	case fewest == math.MaxInt:
		return "no intervals" + tooFew
	case coverage >= stats.Confidence:
		return "95% interval" + tooFew
	}
	return fmt.Sprintf("interval: smallest to largest of %s, %.0f%%%s", counted(fewest, unit), 100*coverage, tooFew)
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

func measurements(run *result.Run, p fact.Point) []*result.Measurement {
	var measured []*result.Measurement
	for i := range run.Trials {
		if t := &run.Trials[i]; t.Stack == p.Stack && t.Mix == p.Workload && runview.Measured(t) {
			measured = append(measured, t.Measured())
		}
	}
	return measured
}

// barScale is made for what devices answered. Memory may stretch it threefold;
// beyond that its bars are cut, so that the honest ones can still be compared.
func barScale(points []fact.Point, reach func(fact.Point) float64) scale {
	var honest, highest float64
	for _, p := range points {
		highest = max(highest, reach(p))
		if sourceClass(p) != classMemory {
			honest = max(honest, reach(p))
		}
	}
	if honest > 0 {
		highest = min(highest, 3*honest)
	}
	return linearScale(highest)
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
	b := bar{Length: s.position(median), Cut: median > s.high}
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
	marks := latencyMarks{Known: true, P50: s.position(p.P50NS), Last: s.position(p.P50NS)}
	texts := []string{"p50 " + exactNS(p.P50NS)}
	for _, quantile := range []struct {
		percent, ns float64
		mark        **percent
	}{{99, p.P99NS, &marks.P99}, {99.9, p.P999NS, &marks.P999}} {
		if p.TooFewFor(quantile.percent) {
			texts = append(texts, fmt.Sprintf("p%g unknown: too few I/Os", quantile.percent))
			continue
		}
		marks.Last = s.position(quantile.ns)
		*quantile.mark = ptr(marks.Last)
		texts = append(texts, fmt.Sprintf("p%g %s", quantile.percent, exactNS(quantile.ns)))
	}
	marks.Title = fmt.Sprintf("%s: total latency %s%s", p.Stack, strings.Join(texts, ", "), p.SourceNote())
	return marks
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
	return honestyMark{Known: true, At: s.position(*p.Ratio),
		Title: fmt.Sprintf("%s: %s device I/Os per %s%s", p.Stack, honestyText(p.Ratio), per, p.SourceNote())}
}

// against is a stack compared with the baseline.
type against struct {
	Text string // "0.83x (0.78 to 0.89)", "~", "too few", "baseline"
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
	e := workloads.VersusBaseline(baseline, p, findings)
	switch {
	case e == nil:
		return nil
	case e.TooFew:
		return &against{Text: "too few", Test: e.Tested()}
	case e.Differs:
		return &against{Text: e.Written(), Test: e.Tested()}
	}
	return &against{Text: "~", Test: e.Tested()}
}
