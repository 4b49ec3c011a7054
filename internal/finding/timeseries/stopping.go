package timeseries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// stops adds to a section why the trials of points, and the trials themselves, ended when they did. It returns
// false for a run whose trials were all planned, and of a fixed time.
func stops(run *result.Run, s *section.Section) bool {
	points, trials := PointsEnded(run), TrialsEnded(run)
	if points != "" {
		s.Remarks = append(s.Remarks, section.Remark{Text: "Points ended: " + points + "."})
	}
	if trials != "" {
		s.Remarks = append(s.Remarks, section.Remark{Text: "Trials ended: " + trials + "."})
	}
	if len(run.Points) == 0 {
		return points+trials != ""
	}
	table := section.Table{Folded: true, Summary: "Why each point got as many trials as it did",
		Caption: "what ended the trials; the precision is half of the 95% interval of the mean over trials",
		Columns: []section.Column{{Head: "Stack", Text: true}, {Head: "Workload", Text: true}, {Head: "Trials"},
			{Head: "Precision"}, {Head: "Ended", Text: true}, {Head: "Why", Text: true}, {Head: "Its trials", Text: true}}}
	for _, p := range run.Points {
		reasons := trialsEnded(run, func(t result.Trial) bool { return t.Stack == p.Stack && t.Mix == p.Mix })
		row := section.Row{Stack: p.Stack, Warn: p.Reason != result.StopSettled && p.Reason != result.StopPrecise,
			Cells: []section.Cell{section.Text(p.Stack), section.Text(p.Mix), section.Count.Cell(float64(p.Trials))}}
		for _, text := range []string{precisionText(p.RelativeHalfWidth), string(p.Reason), p.Why,
			cmp.Or(reasons, "took their whole time")} {
			row.Cells = append(row.Cells, section.Text(text))
		}
		table.Rows = append(table.Rows, row)
	}
	s.Tables = append(s.Tables, table)
	return true
}

func precisionText(half float64) string {
	if !(half > 0) {
		return units.Unknown
	}
	return fmt.Sprintf("±%.1f%%", 100*half)
}

// PointsEnded counts the points by what ended their trials, those of which
// enough is known first. It is "" for a run that was planned.
func PointsEnded(run *result.Run) string {
	var ended []ending
	for _, p := range run.Points {
		ended = addEnding(ended, p.Reason, p.RelativeHalfWidth)
	}
	return endings(ended)
}

// TrialsEnded counts the trials by what ended them. It is "" for a run whose trials took a fixed time.
func TrialsEnded(run *result.Run) string {
	return trialsEnded(run, func(result.Trial) bool { return true })
}

func trialsEnded(run *result.Run, takes func(result.Trial) bool) string {
	var ended []ending
	for _, t := range run.Trials {
		if t.Stop == nil || !takes(t) {
			continue
		}
		half := 0.0
		if t.Stop.MeanIOPS > 0 {
			half = (t.Stop.HighIOPS - t.Stop.LowIOPS) / 2 / t.Stop.MeanIOPS
		}
		ended = addEnding(ended, t.Stop.Reason, half)
	}
	return endings(ended)
}

// ending is how often there was a reason, and the widest interval it left.
type ending struct {
	reason result.StopReason
	n      int
	widest float64
}

func addEnding(counted []ending, reason result.StopReason, half float64) []ending {
	i := slices.IndexFunc(counted, func(e ending) bool { return e.reason == reason })
	if i < 0 {
		i, counted = len(counted), append(counted, ending{reason: reason})
	}
	counted[i].n++
	counted[i].widest = max(counted[i].widest, half)
	return counted
}

// endings says it in one line: "12 settled, 3 by the budget (widest ±8.0%)".
func endings(counted []ending) string {
	order := []result.StopReason{result.StopSettled, result.StopPrecise, result.StopRepeats, result.StopMaximum,
		result.StopBudget, result.StopNever, result.StopFailed}
	words := map[result.StopReason]string{result.StopBudget: "by the budget", result.StopMaximum: "at the longest time",
		result.StopRepeats: "after all repeats"}
	slices.SortStableFunc(counted, func(a, b ending) int {
		return cmp.Compare(slices.Index(order, a.reason), slices.Index(order, b.reason))
	})
	var parts []string
	for _, e := range counted {
		part := fmt.Sprintf("%d %s", e.n, cmp.Or(words[e.reason], string(e.reason)))
		if e.widest > 0 && e.reason != result.StopSettled && e.reason != result.StopPrecise {
			part += " (widest " + precisionText(e.widest) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
