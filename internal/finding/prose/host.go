package prose

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Miniature returns the text on the scaled-down host of a run, for the top of its report; "" for none.
func Miniature(run *result.Run) string {
	var all []string
	for _, m := range run.Mixes {
		if m.Varies != nil {
			continue // its limits are told where they are compared
		}
		all = runview.AddNew(all, InHost(m.Host, run.Imported != nil))
	}
	switch {
	case len(all) == 1:
		return all[0]
	case slices.ContainsFunc(all, func(s string) bool { return s != "" }):
		if run.Imported != nil {
			return fmt.Sprintf("on %d hosts: each mix says on which", len(all))
		}
		return fmt.Sprintf("in %d sizes of host: each mix says in which scaled-down host", len(all))
	}
	return ""
}

// WholeHost says of a run that was to measure the host itself what that has; "" for any other.
func WholeHost(run *result.Run) string {
	if !run.Experiment.HostAsked.None || Miniature(run) != "" {
		return ""
	}
	return fmt.Sprintf("on the whole host: %s, %s of memory, and none of it limited",
		plural.Count(run.Environment.CPUs, "CPU"), units.Bytes(run.Environment.MemoryBytes))
}

// MeasuredIn puts the scaled-down host that numbers were measured in before a note on them.
func MeasuredIn(run *result.Run, note string) string {
	where := cmp.Or(Miniature(run), WholeHost(run))
	if where == "" {
		return note
	}
	return "Measured " + where + ". " + note
}
