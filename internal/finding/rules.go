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
	{"fastest", fastest},
	{"illusion", illusions},
	{"baseline", againstBaseline},
	{"siblings", siblings},
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
