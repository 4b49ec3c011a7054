package finding

import "plimsoll/internal/result"

// rule draws findings of one sort.
type rule struct {
	name string
	draw func(*view) []Finding
}

// rules are all rules, in the order in which their findings are shown.
var rules = []rule{
	{"recommendation", recommend},
	{"neighbours", neighbours},
	{"fastest", fastest},
	{"illusion", illusions},
	{"baseline", againstBaseline},
	{"siblings", siblings},
	{"noise", noise},
	{"fabric", fabric},
	{"targets", targets},
	{"drive", drivesOf},
	{"software", software},
	{"growth", growth},
	{"contention", contention},
	{"published", published},
	{"submission", submission},
	{"amplification", amplification},
	{"journal", journal},
	{"caveats", caveats},
	{"steadiness", steadiness},
	{"missing", missing},
}

// All draws every conclusion that the run supports, in the order of display.
// The same run gives the same findings. It accepts runs of any state, also
// without trials.
func All(run *result.Run) []Finding {
	v := newView(run)
	var all []Finding
	for _, r := range rules {
		for _, f := range r.draw(v) {
			f.Rule = r.name
			all = append(all, f)
		}
	}
	return all
}

// Pairs returns the comparison of rates of each stack with each other that was
// measured under the same workload, the control left out: by workload, in the
// order of the experiment. Which of them Differ is what every finding says.
func Pairs(run *result.Run) []PairOfStacks {
	v := newView(run)
	var out []PairOfStacks
	for _, w := range v.workloads {
		cells := v.under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				e, ok := v.compare(b, a)
				if ok {
					out = append(out, PairOfStacks{w.Name, e})
				}
			}
		}
	}
	return out
}

// PairOfStacks is the comparison of two stacks under a workload.
type PairOfStacks struct {
	Workload string
	Effect   Effect
}

// Points gives what was measured of each stack under each workload: by
// workload, then by stack, both in the order of the experiment. A pair
// without a finished trial has no point.
func Points(run *result.Run) []Point {
	v := newView(run)
	var points []Point
	for _, w := range v.workloads {
		for _, c := range v.under(w.Name) {
			points = append(points, c.point)
		}
	}
	return points
}
