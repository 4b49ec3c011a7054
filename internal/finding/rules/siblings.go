package rules

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// Siblings compares stacks that differ in one thing only, the faster one
// first: the comparison then shows what that one thing costs. Pairs with the
// baseline are left to that rule. The largest differences come first.
func Siblings(v *measured.View) []fact.Finding {
	var out []fact.Finding
	for _, w := range v.Workloads {
		var found []fact.Finding
		cells := v.Under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				what, ok := measured.Difference(a.Stack.Parsed, b.Stack.Parsed)
				if !ok || a.Stack.Name == v.Run.Experiment.Baseline || b.Stack.Name == v.Run.Experiment.Baseline {
					continue
				}
				illusion := a.Source() == result.SourceMemory || b.Source() == result.SourceMemory
				if illusion && a.Stack.InContainer() && b.Stack.InContainer() {
					continue // that one is an illusion is said, and shown against the layer below both
				}
				faster, slower := a, b
				if b.Point.Median > a.Point.Median {
					faster, slower = b, a
				}
				id := "siblings/" + a.Stack.Name + "/" + b.Stack.Name + "/" + w.Name
				found = append(found, comparison(v, id, faster, slower, what))
			}
		}
		slices.SortStableFunc(found, func(a, b fact.Finding) int { return cmp.Compare(weight(b), weight(a)) })
		out = append(out, found...)
	}
	return out
}

// weight orders comparisons: significant ones first, then by size.
func weight(f fact.Finding) float64 {
	if f.Effect == nil {
		return -1
	}
	size := math.Abs(math.Log(f.Effect.Ratio))
	if f.Effect.Differs {
		size += 1e6
	}
	return size
}
