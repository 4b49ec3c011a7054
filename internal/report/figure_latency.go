package report

import (
	"fmt"
	"math"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
)

// The percentiles of a latency curve are evenly spaced in the logarithm of the
// share of I/Os that wait longer: from all of them to one in 10,000.
const (
	tailSteps   = 10 // for each power of ten
	tailDecades = 4
	// leastTail is how many I/Os must wait longer than a percentile for it to
	// be drawn: fewer are a matter of chance.
	leastTail = 10
)

var percentileTicks = []valueTick{{0, "0"}, {math.Log10(2), "50"}, {1, "90"}, {2, "99"}, {3, "99.9"}, {4, "99.99"}}

func tailPercent(u float64) float64 { return 100 * (1 - math.Pow(10, -u)) }

const percentileLabel = "percentile of I/Os, %"

// latencyCurves draws the percentiles of total latency, one figure for each
// workload, from histograms merged over trials.
func latencyCurves(run *result.Run, points []fact.Point) (section, bool) {
	s := section{Title: "Latency percentiles", Note: fmt.Sprintf("Total latency, what the application waits, from the "+
		"merged histograms of all trials. To the right, ever fewer I/Os wait longer: a curve ends where fewer than %d did.",
		leastTail)}
	table := answer.Table{Caption: "percentiles of total latency", Folded: true,
		Columns: columnsOf(2, "Stack", "Workload")}
	for _, percent := range tablePercents {
		table.Columns = append(table.Columns, answer.Column{Head: fmt.Sprintf("p%g", percent)})
	}
	table.Columns = append(table.Columns, answer.Column{Head: "I/Os"})
	names := stackNames(run)
	for _, w := range run.Workloads {
		f := figure{Kind: figureCurves, Title: w.Name, Note: "total latency by percentile", Height: 230, Bottom: 40,
			Unit: "ns"}
		for i := range tailSteps*tailDecades + 1 {
			f.Xs = append(f.Xs, float64(i)/tailSteps)
		}
		low, high := math.Inf(1), 0.0
		for _, p := range points {
			if p.Workload != w.Name {
				continue
			}
			c := curve{Series: slotOf(names, p.Stack), Name: p.Stack}
			if sourceClass(p) == classMemory {
				c.Note = "memory"
			}
			merged := mergedLatency(run, p, result.Total)
			for _, u := range f.Xs {
				percent := max(tailPercent(u), 1e-9)
				ns, ok := hist.Percentile(merged.Bins, percent)
				if !ok || ns == 0 || float64(merged.Count)*math.Pow(10, -u) < leastTail {
					break
				}
				c.Y = append(c.Y, float64(ns))
				low, high = min(low, float64(ns)), max(high, float64(ns))
			}
			if len(c.Y) > 0 {
				f.Curves = append(f.Curves, c)
				table.Rows = append(table.Rows, percentileRow(p, merged))
			}
		}
		if len(f.Curves) == 0 {
			continue
		}
		scale := logScale(low, high)
		f.Y = axis{Label: "total latency", Log: true, Low: scale.low, High: scale.high,
			Ticks: valueTicks(scale.readableSteps(6), latencyText)}
		f.X = axis{Label: percentileLabel, High: tailDecades, Ticks: percentileTicks}
		s.Figures = append(s.Figures, f)
	}
	s.Tables, s.Folded = []answer.Table{table}, len(s.Figures) > mostUnfolded
	return s, len(s.Figures) > 0
}

var tablePercents = []float64{50, 90, 99, 99.9, 99.99}

func percentileRow(p fact.Point, merged hist.Histogram) answer.Row {
	row := answer.Row{Stack: p.Stack, Cells: []answer.Cell{answer.Text(p.Stack), answer.Text(p.Workload)}}
	for _, percent := range tablePercents {
		ns, ok := hist.Percentile(merged.Bins, percent)
		if !ok || float64(merged.Count)*(100-percent)/100 < leastTail {
			row.Cells = append(row.Cells, answer.Text("too few I/Os"))
			continue
		}
		row.Cells = append(row.Cells, answer.Latency.Cell(float64(ns)))
	}
	row.Cells = append(row.Cells, answer.Count.Cell(float64(merged.Count)))
	return row
}

func mergedLatency(run *result.Run, p fact.Point, stage result.Stage) hist.Histogram {
	var parts []hist.Histogram
	for _, m := range measurements(run, p) {
		parts = append(parts, m.Latency(stage))
	}
	return hist.Merge(parts...)
}

// latencySplits draws where an I/O waits on average: in the call that submits
// it (slat), or for its completion (clat).
func latencySplits(run *result.Run, points []fact.Point, findings []fact.Finding) (section, bool) {
	s := section{Title: "Where an I/O waits", Note: "Mean latency over all I/Os: submission, in the call that hands the " +
		"I/O to the kernel, and on top of it completion."}
	table := answer.Table{Caption: "mean latency of all I/Os", Folded: true,
		Columns: columnsOf(2, "Stack", "Workload", "Submission", "Completion", "Share of submission")}
	for _, w := range run.Workloads {
		f := figure{Kind: figureBars, Title: w.Name, Note: "mean latency", Height: 220}
		high, n := 0.0, 0
		var published []mark
		for _, p := range points {
			if p.Workload != w.Name {
				continue
			}
			slat := mergedLatency(run, p, result.Submission).MeanNS
			clat := mergedLatency(run, p, result.Completion).MeanNS
			if !(slat > 0) || !(clat > 0) {
				continue // not split: a synchronous engine, or not in an imported file
			}
			at := float64(n)
			n++
			f.addName(p.Stack)
			high = max(high, slat+clat)
			share := fmt.Sprintf("%.1f%% of both", 100*slat/(slat+clat))
			table.Rows = append(table.Rows, answer.Row{Stack: p.Stack, Cells: []answer.Cell{answer.Text(p.Stack),
				answer.Text(w.Name), answer.Latency.Cell(slat), answer.Latency.Cell(clat),
				answer.Share.Cell(slat / (slat + clat))}})
			f.Marks = append(f.Marks,
				mark{Series: n - 1, Name: p.Stack, X: at, Y: slat, Class: "slat",
					Text: fmt.Sprintf("%s, %s: submission %s, %s%s", p.Stack, w.Name, exactNS(slat), share, sourceNote(p))},
				mark{Series: n - 1, Name: p.Stack, X: at, From: slat, Y: slat + clat, Class: "clat",
					Text: fmt.Sprintf("%s, %s: completion %s%s", p.Stack, w.Name, exactNS(clat), sourceNote(p))})
			for _, f := range findings {
				if c := f.Claim; c != nil && c.Of == fact.OfSubmission && f.Workload == p.Workload && f.Stacks[0] == p.Stack {
					published = append(published, mark{Series: n - 1, Name: p.Stack, X: at + beside, Y: c.At * (slat + clat),
						Class: classPublished,
						Text: fmt.Sprintf("%s: published share of submission %s (%s, %s), %s", p.Stack, c.Published, c.Paper, c.Where,
							c.Verdict)})
				}
			}
		}
		if n == 0 {
			continue
		}
		scale := linearScale(high)
		f.Marks = append(f.Marks, published...)
		f.Wide = n > mostNarrow
		f.Y = axis{Label: "mean latency", High: scale.high, Ticks: valueTicks(scale.steps(4), latencyTick)}
		s.Figures = append(s.Figures, f)
	}
	s.Tables, s.Folded = []answer.Table{table}, len(s.Figures) > mostUnfolded
	s.Keys = []legendKey{{"slat", "submission (slat)"}, {"clat", "completion (clat)"}}
	for _, k := range barKeys(s.Figures) {
		if k.Class == classPublished {
			s.Keys = append(s.Keys, legendKey{classPublished, "published share of submission"})
		}
	}
	return s, len(s.Figures) > 0
}

func latencyTick(ns float64) string {
	if ns == 0 {
		return "0"
	}
	return latencyText(ns)
}
