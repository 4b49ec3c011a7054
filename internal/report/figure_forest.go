package report

import (
	"fmt"
	"math"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// forestRow is one thing that is held against another, by throughput and by p99.
type forestRow struct {
	name       string
	baseline   string
	throughput *fact.Effect
	p99        *fact.Effect // nil where latencies are not known
	text       string       // what it is, for the words of its mark
}

// forests draw ratios with their intervals, a row for each: of throughput and of the 99th percentile
// of latency. unsure reports whether some ratio is no significant one.
func forests(rows []forestRow) (figures []figure, unsure bool) {
	for _, of := range []struct {
		what   string
		title  string
		effect func(forestRow) *fact.Effect
	}{
		{"throughput", "Throughput", func(r forestRow) *fact.Effect { return r.throughput }},
		{"p99", "99th percentile of latency", func(r forestRow) *fact.Effect { return r.p99 }},
	} {
		f := figure{Kind: figureForest, Title: of.title, Bottom: 30, Wide: true}
		low, high := 1.0, 1.0
		for _, r := range rows {
			effect := of.effect(r)
			if effect == nil || !(effect.Ratio > 0) {
				continue
			}
			m := r.mark(effect, of.what, len(f.Names))
			unsure = unsure || m.Class == classUnsure
			low, high = min(low, m.X), max(high, m.X)
			if m.Low > 0 {
				low, high = min(low, m.Low), max(high, m.High)
			}
			f.Marks = append(f.Marks, m)
			f.Names = append(f.Names, rowName{
				Subject: m.Name, Baseline: r.baseline, Workload: of.what, Text: effectText(effect),
			})
			f.Y.Names = append(f.Y.Names, m.Name)
		}
		if len(f.Names) == 0 {
			continue
		}
		scale := logScale(low, high)
		f.X = axis{Label: "ratio", Log: true, Low: scale.low, High: scale.high,
			Ticks: valueTicks(scale.logSteps(6), func(v float64) string { return units.Significant(v) + "x" })}
		f.Y.High, f.Height = float64(len(f.Names)), 46*len(f.Names)
		figures = append(figures, f)
	}
	return figures, unsure
}

// forestKeys explain the marks of forests.
func forestKeys(unsure bool) []legendKey {
	keys := []legendKey{{"ratio", "measured here, with its interval"}}
	if unsure {
		keys = append(keys, legendKey{classUnsure, "no significant difference"})
	}
	return keys
}

func (r forestRow) mark(effect *fact.Effect, what string, row int) mark {
	interval := "no interval"
	m := mark{Series: row, Name: r.name, X: effect.Ratio, Y: float64(row), Class: classDevice}
	if effect.HasInterval() && !math.IsInf(effect.High, 0) {
		m.Low, m.High = effect.Low, effect.High
		interval = fmt.Sprintf("95%% interval %s to %s", units.Exact(effect.Low), units.Exact(effect.High))
	}
	m.Text = fmt.Sprintf("%s: %s of %s times, %s, %s", r.text, what, units.Exact(effect.Ratio), interval, testText(effect))
	if !effect.Differs {
		m.Class = classUnsure
		if !effect.TooFew {
			m.Text += ", no significant difference"
		}
	}
	return m
}

// underPolicies shows what policies of limits do to throughput and p99, against none.
func underPolicies(p *fact.Policies) (section, bool) {
	s := section{
		Title: policiesTitle(p),
		Note: "Each instance has the limits that the policy gives it. Ratios to none, which gives none, in the same " +
			"blocks, with their 95% intervals, on a logarithmic scale; ~ for no significant difference.",
		Table: policiesTable(p),
	}
	if p.Host != "" {
		s.Note += " All in a miniature of " + p.Host + "."
	}
	var rows []forestRow
	for _, one := range p.Policies {
		rows = append(rows, forestRow{
			name: one.Name, baseline: p.None.Name, throughput: one.Throughput, p99: one.P99,
			text: "policy " + one.Name + " against " + p.None.Name,
		})
	}
	var unsure bool
	s.Figures, unsure = forests(rows)
	s.Keys = forestKeys(unsure)
	return s, len(s.Figures) > 0
}

// policiesTitle heads what policies cost, on the page and on a terminal.
func policiesTitle(p *fact.Policies) string {
	return fmt.Sprintf("%s of %s under policies", counted(p.Instances, "instance"), p.Workload)
}

// policiesTable has the numbers behind the figures.
func policiesTable(p *fact.Policies) *numberTable {
	t := &numberTable{
		Caption: "medians over bring-ups, per second where rates are meant; fairness is Jain's index over the rates of " +
			"instances",
		Head: []string{"Policy", "What holds instances back", "Not reached", "All together", "p99", "Fairness",
			"Slowest, of an equal share", "Device reads per operation", "Page cache of each"},
		Words: 3, Open: true,
	}
	for _, one := range append([]fact.Policy{p.None}, p.Policies...) {
		row := []string{one.Name, resourceWords(one.Held), resourceWords(one.Idle()), units.Grouped(one.Rate), unknown,
			units.Digits(one.Fair), units.Percent(one.Weakest), units.Significant(one.DeviceReads), unknown}
		if one.P99NS > 0 {
			row[4] = latencyText(one.P99NS)
		}
		if one.CacheBytes > 0 {
			row[8] = bytesText(int64(one.CacheBytes))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
