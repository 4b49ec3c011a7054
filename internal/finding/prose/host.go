package prose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Miniature returns the text on the scaled-down host of a run, for the top of its report; "" for none.
func Miniature(run *result.Run) string {
	var hosts []string
	for _, m := range run.Mixes {
		if m.Varies != nil {
			continue // its limits are told where they are compared
		}
		hosts = runview.AddNew(hosts, InHost(m.Host, run.Imported != nil))
	}
	switch {
	case len(hosts) == 1:
		return hosts[0]
	case slices.ContainsFunc(hosts, func(s string) bool { return s != "" }):
		if run.Imported != nil {
			return fmt.Sprintf("on %d hosts: each mix says on which", len(hosts))
		}
		return fmt.Sprintf("in %d sizes of host: each mix says in which scaled-down host", len(hosts))
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

// HostOf returns the host that a run measured a mix on, which has these limits.
func HostOf(limits *result.Limits, imported bool) fact.Host {
	host := fact.Host{Origin: fact.WholeHost}
	if limits != nil && !limits.None() {
		host = fact.Host{Origin: fact.ScaledDown, Has: limits.String()}
	}
	if imported {
		host.Origin = fact.ImportedHost
	}
	return host
}

// Subject names a host as the subject of a sentence: "this host" is the whole host that measured.
func Subject(host fact.Host) string {
	has, note, noted := strings.Cut(host.Has, "; ")
	if at := strings.LastIndex(has, ", "); at >= 0 {
		has = has[:at] + " and " + has[at+len(", "):]
	}
	if noted {
		has += " (" + note + ")"
	}
	switch {
	case host.Origin == fact.ScaledDown:
		return "a host of " + has + ", made of this one,"
	case host.Origin == fact.ImportedHost && has == "":
		return "the host that was imported"
	case host.Origin == fact.ImportedHost:
		return "the host that was imported, of " + has + ","
	case host.Origin == fact.PredictedHost && has == "":
		return "such a host"
	case host.Origin == fact.PredictedHost:
		return "a host of " + has
	}
	return "this host"
}

// MeasuredIn puts the scaled-down host that numbers were measured in before a note on them.
func MeasuredIn(run *result.Run, note string) string {
	where := cmp.Or(Miniature(run), WholeHost(run))
	if where == "" {
		return note
	}
	return "Measured " + where + ". " + note
}

// FromRuns says how many runs are pooled: " This is from 4 runs."; "" for a run by itself.
func FromRuns(run *result.Run) string {
	if len(run.Pooled) == 0 {
		return ""
	}
	return fmt.Sprintf(" This is from %s.", plural.Count(len(run.Pooled), "run"))
}
