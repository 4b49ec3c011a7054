package report

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	answer "plimsoll/internal/section"
)

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
		Columns: answer.Columns(2, "Stack", "Workload", "Submission", "Completion", "Share of submission")}
	for _, w := range ran(run) {
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
			position := float64(n)
			n++
			f.addName(p.Stack)
			high = max(high, slat+clat)
			share := fmt.Sprintf("%.1f%% of both", 100*slat/(slat+clat))
			table.Rows = append(table.Rows, answer.Row{Stack: p.Stack, Cells: []answer.Cell{answer.Text(p.Stack),
				answer.Text(w.Name), answer.Latency.Cell(slat), answer.Latency.Cell(clat),
				answer.Share.Cell(slat / (slat + clat))}})
			f.Marks = append(f.Marks,
				mark{Series: n - 1, Name: p.Stack, X: position, Y: slat, Class: "slat",
					Text: fmt.Sprintf("%s, %s: submission %s, %s%s", p.Stack, w.Name, exactNS(slat), share, p.SourceNote())},
				mark{Series: n - 1, Name: p.Stack, X: position, From: slat, Y: slat + clat, Class: "clat",
					Text: fmt.Sprintf("%s, %s: completion %s%s", p.Stack, w.Name, exactNS(clat), p.SourceNote())})
			for _, f := range findings {
				if c := f.Claim; c != nil && c.Of == fact.OfSubmission && f.Workload == p.Workload && f.Stacks[0] == p.Stack {
					published = append(published, mark{Series: n - 1, Name: p.Stack, X: position + publishedOffset,
						Y:     c.At * (slat + clat),
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
	s.Tables, s.Folded = []answer.Table{table}, len(s.Figures) > answer.MostUnfolded
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
