package prose

import (
	"fmt"
	"math"

	"plimsoll/internal/fact"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// Held is one thing that is held against another, by throughput and by p99.
type Held struct {
	Name    string
	Against string
	Text    string // what it is, for the words of its mark
	fact.Summary
}

// Ratios draw what is held against something: throughput, and the 99th percentile of latency.
func Ratios(compared []Held) (figures []section.Figure) {
	for _, metric := range []struct {
		name, title string
		effect      func(Held) *fact.Effect
	}{
		{"throughput", "Throughput", func(h Held) *fact.Effect { return h.Throughput }},
		{"p99", "99th percentile of latency", func(h Held) *fact.Effect { return h.P99 }},
	} {
		f := section.Figure{Title: metric.title, X: section.Axis{Label: "ratio", Of: section.Times, Log: true}}
		for _, h := range compared {
			e := metric.effect(h)
			if e != nil && e.Ratio > 0 {
				f.Ratios = append(f.Ratios, h.ratio(*e, metric.name))
			}
		}
		if len(f.Ratios) > 0 {
			figures = append(figures, f)
		}
	}
	return figures
}

func (h Held) ratio(e fact.Effect, metric string) section.Ratio {
	r := section.Ratio{Mark: section.Mark{X: e.Ratio}, Name: h.Name, Against: h.Against, Of: metric, Written: e.Written()}
	interval := "no interval"
	if e.HasInterval() && !math.IsInf(e.High, 0) {
		r.Low, r.High = e.Low, e.High
		interval = fmt.Sprintf("95%% interval %s to %s", units.Exact(e.Low), units.Exact(e.High))
	}
	r.Text = fmt.Sprintf("%s: %s of %s times, %s, %s", h.Text, metric, units.Exact(e.Ratio), interval, e.Tested())
	if !e.Differs {
		r.Class = section.Unsure
	}
	if !e.Differs && !e.TooFew {
		r.Text += ", no significant difference"
	}
	return r
}
