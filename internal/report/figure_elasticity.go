package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// worthOfLimits shows what more and less of each limit of the miniature does to throughput
// and to p99: ratios with their intervals.
func worthOfLimits(e *fact.Elasticity) (section, bool) {
	s := section{
		Title: worthTitle(e),
		Note: "Limits of the miniature (" + e.Host + ") were relaxed and tightened one at a time. Ratios to what " + e.Mix +
			" does as it is, in the same blocks, with their 95% intervals, on a logarithmic scale; ~ for no significant " +
			"difference.",
	}
	var unsure bool
	for _, of := range []struct {
		what   string
		title  string
		effect func(*fact.LimitChange) *fact.Effect
	}{
		{"throughput", "Throughput", func(c *fact.LimitChange) *fact.Effect { return &c.Rate }},
		{"p99", "99th percentile of latency", func(c *fact.LimitChange) *fact.Effect { return c.P99 }},
	} {
		f := figure{Kind: figureForest, Title: of.title, Bottom: 30, Wide: true}
		low, high := 1.0, 1.0
		for _, w := range e.Limits {
			for _, c := range []*fact.LimitChange{w.More, w.Less} {
				if c == nil {
					continue
				}
				effect := of.effect(c)
				if effect == nil || !(effect.Ratio > 0) {
					continue
				}
				m := changeMark(e, w, c, effect, of.what, len(f.Names))
				unsure = unsure || m.Class == classUnsure
				low, high = min(low, m.X), max(high, m.X)
				if m.Low > 0 {
					low, high = min(low, m.Low), max(high, m.High)
				}
				f.Marks = append(f.Marks, m)
				f.Names = append(f.Names, rowName{
					Subject: m.Name, Baseline: e.Mix, Workload: of.what, Text: effectText(effect),
				})
				f.Y.Names = append(f.Y.Names, m.Name)
			}
		}
		if len(f.Names) == 0 {
			continue
		}
		scale := logScale(low, high)
		f.X = axis{Label: "ratio", Log: true, Low: scale.low, High: scale.high,
			Ticks: valueTicks(scale.logSteps(6), func(v float64) string { return significant(v) + "x" })}
		f.Y.High, f.Height = float64(len(f.Names)), 46*len(f.Names)
		s.Figures = append(s.Figures, f)
	}
	s.Keys = []legendKey{{"ratio", "measured here, with its interval"}}
	if unsure {
		s.Keys = append(s.Keys, legendKey{classUnsure, "no significant difference"})
	}
	return s, len(s.Figures) > 0
}

// changeMark is one change of a limit, in a row of its own.
func changeMark(e *fact.Elasticity, w fact.Worth, c *fact.LimitChange, effect *fact.Effect, what string, row int) mark {
	name := changeText(w, c)
	interval := "no interval"
	m := mark{Series: row, Name: name, X: effect.Ratio, Y: float64(row), Class: classDevice}
	if effect.HasInterval() && !math.IsInf(effect.High, 0) {
		m.Low, m.High = effect.Low, effect.High
		interval = fmt.Sprintf("95%% interval %s to %s", exactText(effect.Low), exactText(effect.High))
	}
	m.Text = fmt.Sprintf("%s than %s has: %s of %s times, %s, %s", name, e.Mix, what, exactText(effect.Ratio), interval,
		testText(effect))
	if !effect.Differs {
		m.Class = classUnsure
		if !effect.TooFew {
			m.Text += ", no significant difference"
		}
	}
	return m
}

// changeText is a change of a limit in words: "20% more memory".
func changeText(w fact.Worth, c *fact.LimitChange) string {
	limit, less := strings.ReplaceAll(w.Limit, "-", " "), " less "
	if at := slices.Index([]string{"cpus", "read-iops", "write-iops"}, w.Limit); at >= 0 {
		limit, less = []string{"CPUs", "reads a second", "writes a second"}[at], " fewer "
	}
	if c.Factor < 1 {
		return units.Percent(1-c.Factor) + less + limit
	}
	return units.Percent(c.Factor-1) + " more " + limit
}
