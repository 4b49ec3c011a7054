package rules

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
)

// Baseline compares every stack with the experiment's baseline.
func Baseline(v *measured.View) []fact.Finding {
	name := v.Run.Experiment.Baseline
	if name == "" {
		return nil
	}
	var out []fact.Finding
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		baseline := v.Cell(name, w.Name)
		if baseline == nil {
			if len(cells) > 0 {
				out = append(out, fact.Finding{
					ID: "baseline/" + name + "/" + w.Name, Case: "no baseline", Kind: fact.KindComparison, Workload: w.Name, Stacks: []string{name},
				})
			}
			continue
		}
		for _, c := range cells {
			if c != baseline {
				out = append(out, comparison(v, "baseline/"+c.Stack.Name+"/"+w.Name, c, baseline, ""))
			}
		}
	}
	return out
}
