package compare

import (
	"fmt"
	"slices"

	"plimsoll/internal/runview"
)

// Imports name their stacks by the files and devices that the jobs name, unless
// whoever imported them said more. Two of them may be of one stack although
// their files lay elsewhere.

// nameUnknown returns stacks of which only such a name is known what stands for
// them. One whose name both runs have is the same in both; of the others, the
// only one of A is the only one of B. Which of several is which cannot be told.
func nameUnknown(left, right []*unit) {
	as, bs := onlyHere(left, right), onlyHere(right, left)
	for _, units := range [][]*unit{left, right} {
		for _, u := range units {
			if u.shape.line == "" {
				u.shape.unknown = u.stack.Name
			}
		}
	}
	if len(as) != 1 || len(bs) != 1 {
		return
	}
	for _, u := range right {
		if u.shape.unknown == bs[0] {
			u.shape.unknown = as[0]
		}
	}
}

// onlyHere names the stacks without a line that the other run does not have by
// the same name.
func onlyHere(units, otherUnits []*unit) []string {
	var out []string
	for _, u := range units {
		namesake := func(o *unit) bool { return o.shape.line == "" && o.stack.Name == u.stack.Name }
		if u.shape.line == "" && !slices.ContainsFunc(otherUnits, namesake) {
			out = runview.AddNew(out, u.stack.Name)
		}
	}
	return out
}

// importRemedy says how an imported unit becomes comparable with a unit of the other run that may be the same; "" if
// there is no such unit.
func importRemedy(u *unit, otherUnits []*unit, otherRun string) string {
	if !u.shape.imported || u.shape.table {
		return ""
	}
	sameJobs := func(o *unit) bool { return o.shape.imported && o.shape.line == "" && u.shape.sameWorkload(o.shape) }
	if u.shape.line == "" && slices.ContainsFunc(otherUnits, sameJobs) {
		return fmt.Sprintf(": its jobs name other files than those of %s, and which stack is which is not known; import both with the same --stack NAME", otherRun)
	}
	optionsUnknown := func(o *unit) bool {
		return o.shape.imported && u.shape.sameStack(o.shape) && (u.shape.identity == "" || o.shape.identity == "")
	}
	if slices.ContainsFunc(otherUnits, optionsUnknown) {
		return ": the options of its jobs are not known in both runs; import both with the same --workload NAME"
	}
	return ""
}
