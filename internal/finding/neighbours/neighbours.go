// Package neighbours says once what others did on the host while a run was measured, where it matters.
package neighbours

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
)

// Find says what others did, where it matters.
func Find(v *runview.View) []fact.Finding {
	n := v.Neighbours()
	if n == nil {
		return nil
	}
	f := fact.Finding{ID: "neighbours", Case: "neighbours", Kind: fact.KindNeighbours, Neighbours: n,
		Title: "The host was not quiet: " + prose.Neighbours(n)}
	f.Why = "Their load is in the numbers, and a stack that was measured beside more of it looks slower than it is."
	if len(n.Runs) > 0 {
		f.Why = "Runs at the same time measure each other's load, which is in the numbers of both."
	}
	f.Why += " Measure again when the host is quiet: `--wait-for-quiet 5m` has trials wait for that, and plimsoll doctor shows how busy it is."
	for _, d := range n.Disks {
		f.Stacks = runview.AddNew(f.Stacks, d.Stacks...)
	}
	return []fact.Finding{f}
}
