package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
)

// stopTable tells why the trials of a point, and the trials themselves, ended
// when they did.
type stopTable struct {
	Summary string // "12 settled, 3 by the budget (widest ±8%)"
	Trials  string // the same of single trials; "" when all took their whole time
	Rows    []stopRow
	Roles   roles // of the stacks
}

type stopRow struct {
	Stack, Workload string
	Trials          int
	Reason          result.StopReason
	Precision       string // "±2.1%"
	Why             string
	Short           bool   // less is known than was asked for
	Ended           string // how its trials did: "5 precise"
}

// Long reports whether the table is left out on paper.
func (t stopTable) Long() bool { return len(t.Rows) > mostPrinted }

// stops is nil for a run whose trials were all planned, and of a fixed time.
func stops(run *result.Run) *stopTable {
	t := &stopTable{Summary: pointsEnded(run), Trials: trialsEnded(run, everyTrial)}
	if t.Summary == "" && t.Trials == "" {
		return nil
	}
	for _, p := range run.Points {
		t.Rows = append(t.Rows, stopRow{
			Stack: p.Stack, Workload: p.Mix, Trials: p.Trials, Reason: p.Reason, Precision: precisionText(p.RelativeHalfWidth),
			Why:   p.Why,
			Short: p.Reason != result.StopSettled && p.Reason != result.StopPrecise,
			Ended: trialsEnded(run, func(t result.Trial) bool { return t.Stack == p.Stack && t.Mix == p.Mix }),
		})
	}
	return t
}

func everyTrial(result.Trial) bool { return true }

func precisionText(half float64) string {
	if !(half > 0) {
		return unknown
	}
	return fmt.Sprintf("±%.1f%%", 100*half)
}

// pointsEnded counts the points by what ended their trials, those of which
// enough is known first. It is "" for a run that was planned.
func pointsEnded(run *result.Run) string {
	var ended []ending
	for _, p := range run.Points {
		ended = addEnding(ended, p.Reason, p.RelativeHalfWidth)
	}
	return endings(ended)
}

// trialsEnded counts trials by what ended them.
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

func addEnding(all []ending, reason result.StopReason, half float64) []ending {
	i := slices.IndexFunc(all, func(e ending) bool { return e.reason == reason })
	if i < 0 {
		i, all = len(all), append(all, ending{reason: reason})
	}
	all[i].n++
	all[i].widest = max(all[i].widest, half)
	return all
}

// endings says it in one line: "12 settled, 3 by the budget (widest ±8.0%)".
func endings(all []ending) string {
	order := []result.StopReason{result.StopSettled, result.StopPrecise, result.StopRepeats, result.StopMaximum,
		result.StopBudget, result.StopNever, result.StopFailed}
	words := map[result.StopReason]string{result.StopBudget: "by the budget", result.StopMaximum: "at the longest time",
		result.StopRepeats: "after all repeats"}
	slices.SortStableFunc(all, func(a, b ending) int {
		return cmp.Compare(slices.Index(order, a.reason), slices.Index(order, b.reason))
	})
	var parts []string
	for _, e := range all {
		part := fmt.Sprintf("%d %s", e.n, cmp.Or(words[e.reason], string(e.reason)))
		if e.widest > 0 && e.reason != result.StopSettled && e.reason != result.StopPrecise {
			part += " (widest " + precisionText(e.widest) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
