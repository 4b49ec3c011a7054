package verdict

import (
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// LevelWorkload are the stacks that are as fast as each other under a workload, within the margin: all whose device
// answered.
type LevelWorkload struct {
	Workload string `json:"workload"`
	Plain    string `json:"plain"` // the workload, in plain words
	Stacks   int    `json:"stacks"`
}

// alike returns the workloads of the pick under which all stacks whose device answered are as fast as
// each other.
func alike(v *runview.View, pick candidate, words words) (out []LevelWorkload) {
	for _, cell := range pick.cells {
		var answered []*runview.Cell
		for _, c := range v.All() {
			if c.Workload.Name == cell.Workload.Name && c.Honest() {
				answered = append(answered, c)
			}
		}
		if len(answered) >= threshold.LevelStacks && allLevel(v, answered) {
			out = append(out, LevelWorkload{cell.Workload.Name, words.workload(cell.Workload.Name), len(answered)})
		}
	}
	return out
}

// allLevel reports whether all cells are known to be within the margin of the best of them.
func allLevel(v *runview.View, cells []*runview.Cell) bool {
	bounds, ok := v.Best(cells, stats.Alpha)
	return ok && !slices.ContainsFunc(bounds, func(b stats.Bound) bool { return !b.WithinMargin() })
}

// headline returns the title as a sentence, and a second one where one of several workloads does not decide.
func (v Facts) headline(title string, r *fact.Recommendation) string {
	if r.Confidence == fact.TooEarly || len(v.LevelWorkloads) != 1 || len(v.Deciding) < 2 {
		return title + "."
	}
	a := v.LevelWorkloads[0]
	return fmt.Sprintf("%s. For %s all %d stacks that the device served are level within %s.", title, a.Plain, a.Stacks, units.Percent(r.Margin))
}
