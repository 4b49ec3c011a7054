package verdict

import (
	"fmt"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/runview"
)

// LevelWorkload are the stacks that do not differ under a workload: all whose device answered.
type LevelWorkload struct {
	Workload string `json:"workload"`
	Plain    string `json:"plain"` // the workload, in plain words
	Stacks   int    `json:"stacks"`
}

// alike returns the workloads of the pick under which no stack whose device answered differs from another.
func alike(v *runview.View, pick candidate, words words) (out []LevelWorkload) {
	for _, of := range pick.cells {
		var answered []*runview.Cell
		for _, c := range v.All() {
			if c.Workload.Name == of.Workload.Name && c.Honest() {
				answered = append(answered, c)
			}
		}
		if len(answered) >= threshold.LevelStacks && allLevel(v, answered) {
			out = append(out, LevelWorkload{of.Workload.Name, words.workload(of.Workload.Name), len(answered)})
		}
	}
	return out
}

func allLevel(v *runview.View, cells []*runview.Cell) bool {
	for i, a := range cells {
		for _, b := range cells[:i] {
			e, ok := v.Compare(a, b)
			if !ok || e.Differs || e.TooFew {
				return false
			}
		}
	}
	return true
}

// headline returns the title as a sentence, and a second one where one of several workloads does not decide.
func (v Facts) headline(title string, sure fact.Confidence) string {
	if sure == fact.TooEarly || len(v.LevelWorkloads) != 1 || len(v.Deciding) < 2 {
		return title + "."
	}
	a := v.LevelWorkloads[0]
	return fmt.Sprintf("%s. For %s all %d stacks that the device served are level.", title, a.Plain, a.Stacks)
}
