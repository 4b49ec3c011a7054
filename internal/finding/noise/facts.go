// Package noise answers how far apart equal things came out: no smaller difference means anything.
package noise

import (
	"slices"

	"plimsoll/internal/fact"
)

// Facts has the noise of all workloads together.
type Facts struct {
	Twin        string `json:"twin,omitempty"`        // the first stack that the control is a copy of
	Control     bool   `json:"control"`               // there is one
	Comparisons int    `json:"comparisons,omitempty"` // of rates, that p values are adjusted for

	byWorkload []fact.Noise
	stacks     bool // some are compared, so that one has to know their floor
}

// mostSingly is how many workloads are told of one by one.
const mostSingly = 3

// part of the variance of rates.
type part struct {
	value func(fact.Noise) *float64
	place string
}

var parts = []part{
	{func(n fact.Noise) *float64 { return n.Within }, "within a setup"},
	{func(n fact.Noise) *float64 { return n.Between }, "between setups"},
	{func(n fact.Noise) *float64 { return n.Blocks }, "between rounds"},
}

// span is the least and the greatest of what is known of a part; ok is false where nothing is.
func (p part) span(noises ...fact.Noise) (low, high float64, ok bool) {
	var known []float64
	for _, n := range noises {
		if x := p.value(n); x != nil {
			known = append(known, *x)
		}
	}
	if len(known) == 0 {
		return 0, 0, false
	}
	return slices.Min(known), slices.Max(known), true
}
