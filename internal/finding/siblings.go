package finding

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/result"
)

// siblings compares stacks that differ in one thing only, the faster one
// first: the comparison then shows what that one thing costs. Pairs with the
// baseline are left to that rule. The largest differences come first.
func siblings(v *view) []Finding {
	var out []Finding
	for _, w := range v.workloads {
		var found []Finding
		cells := v.under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				what, ok := difference(a.stack.line, b.stack.line)
				if !ok || a.stack.Name == v.run.Experiment.Baseline || b.stack.Name == v.run.Experiment.Baseline {
					continue
				}
				illusion := a.source() == result.SourceMemory || b.source() == result.SourceMemory
				if illusion && a.stack.inContainer() && b.stack.inContainer() {
					continue // that one is an illusion is said, and shown against the layer below both
				}
				faster, slower := a, b
				if b.point.Median > a.point.Median {
					faster, slower = b, a
				}
				id := "siblings/" + a.stack.Name + "/" + b.stack.Name + "/" + w.Name
				found = append(found, v.comparison(id, faster, slower, "They differ only in "+what+"."))
			}
		}
		slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(weight(b), weight(a)) })
		out = append(out, found...)
	}
	return out
}

// weight orders comparisons: significant ones first, then by size.
func weight(f Finding) float64 {
	if f.Effect == nil {
		return -1
	}
	size := math.Abs(math.Log(f.Effect.Ratio))
	if f.Effect.Differs {
		size += 1e6
	}
	return size
}
