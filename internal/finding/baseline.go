package finding

import "fmt"

// againstBaseline compares every stack with the experiment's baseline.
func againstBaseline(v *view) []Finding {
	name := v.run.Experiment.Baseline
	if name == "" {
		return nil
	}
	var out []Finding
	for _, w := range v.workloads {
		cells := v.under(w.Name)
		baseline := v.cell(name, w.Name)
		if baseline == nil {
			if len(cells) > 0 {
				out = append(out, Finding{
					ID: "baseline/" + name + "/" + w.Name, Kind: KindComparison, Workload: w.Name, Stacks: []string{name},
					Title: fmt.Sprintf("Nothing can be compared with the baseline: %s has no measurement of %s", name, w.Name),
					Why:   "None of its trials finished; the findings on what was not measured say why.",
				})
			}
			continue
		}
		for _, c := range cells {
			if c != baseline {
				out = append(out, v.comparison("baseline/"+c.stack.Name+"/"+w.Name, c, baseline, name+" is the baseline of the experiment."))
			}
		}
	}
	return out
}
